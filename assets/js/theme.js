/* Light or dark, normal or projector size; reads the page's colours and puts them into figures. */
((D) => {
  "use strict";

  const KEYS = [
    "paper",
    "panel",
    "ink",
    "mute",
    "hair",
    "faint",
    "law",
    "accepted",
    "rejected",
    "correction",
    "bonus",
    "relaxed",
    "bonus-text",
    "relaxed-text",
    "kept",
    "cut",
    "sel",
    "hue-0",
    "hue-1",
    "hue-2",
    "hue-3",
    "hue-4",
    "hue-5",
  ];
  const TEXT = new Set(["text", "hovertext", "ticktext", "customdata", "ids", "name", "meta"]);
  const roots = new Set();
  const listeners = new Set();
  const palettes = new Map(); // by theme: to ask the style sheet during a step lays the page out once more
  const system = matchMedia("(prefers-color-scheme: dark)");

  function stored(key) {
    try {
      return localStorage.getItem(`draftscope.${key}`);
    } catch {
      return null; // storage is closed in a sandboxed frame: the choice then lasts for the page
    }
  }

  function store(key, value) {
    try {
      localStorage.setItem(`draftscope.${key}`, value);
    } catch {
      // as above: nothing is lost but the memory of the choice
    }
  }

  let mode = ["light", "dark"].includes(stored("theme")) ? stored("theme") : "system";
  let projector = false;

  let printing = false; // paper is light

  const inGradio = () => document.querySelector("gradio-app, .gradio-container") !== null;

  function isDark() {
    if (printing) return false;
    if (mode !== "system") return mode === "dark";
    return inGradio() ? document.body.classList.contains("dark") : system.matches;
  }

  function apply() {
    const dark = isDark();
    for (const root of roots) {
      root.dataset.theme = dark ? "dark" : "light";
      root.classList.toggle("ds-projector", projector);
    }
    listeners.forEach((fn) => fn());
  }

  system.addEventListener("change", apply);
  const print = (on) => () => {
    printing = on;
    apply();
  };
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));

  /** Keep `root` in the page's theme and size; gives back how to stop. */
  D.wear = (root) => {
    roots.add(root);
    if (mode !== "system" && inGradio()) document.body.classList.toggle("dark", mode === "dark");
    root.dataset.theme = isDark() ? "dark" : "light";
    root.classList.toggle("ds-projector", projector);
    const watcher = new MutationObserver(() => mode === "system" && apply());
    watcher.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    return () => {
      roots.delete(root);
      watcher.disconnect();
    };
  };

  /** Call `fn` after every change of colours or size; gives back how to stop. */
  D.onTheme = (fn) => {
    listeners.add(fn);
    return () => listeners.delete(fn);
  };

  D.theme = {
    get mode() {
      return mode;
    },
    /** `light`, `dark` or `system`. */
    set(next) {
      mode = next;
      store("theme", next);
      if (inGradio()) document.body.classList.toggle("dark", isDark());
      apply();
    },
    get projector() {
      return projector;
    },
    setProjector(on) {
      projector = on;
      apply();
    },
    get scale() {
      return projector ? 1.4 : 1;
    },
  };

  /** Colours of `root` by theme key, as the style sheet says. */
  D.colours = (root) => {
    const theme = root.closest("[data-theme]")?.dataset.theme;
    const known = palettes.get(theme);
    if (known) return known;
    const style = getComputedStyle(root);
    const read = Object.fromEntries(KEYS.map((key) => [key, style.getPropertyValue(`--ds-${key}`).trim()]));
    if (theme && read.ink) palettes.set(theme, read);
    return read;
  };

  /** A copy of a figure's part with `@key` replaced by colours. Words are left alone: a token may read "@ink". */
  D.paint = (part, colours, key = "") => {
    if (typeof part === "string") {
      return !TEXT.has(key) && part[0] === "@" && part.slice(1) in colours ? colours[part.slice(1)] : part;
    }
    if (Array.isArray(part)) return part.map((item) => D.paint(item, colours, key));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, D.paint(value, colours, name)]),
    );
  };
})((window.Draftscope = window.Draftscope ?? {}));

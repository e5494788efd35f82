/* Mark and hue of every compared method, by the order in which they were chosen. Paths are those of `glyphs.js`: M, L,
   C and Z only. It knows no page. */
((D) => {
  "use strict";

  const SHAPES = ["square", "disc", "triangle", "diamond", "wedge"]; // beside hues 1 to 5; plain has hue 0 and the bar

  /** `{shape, hue}` per method; after the fifth beside plain decoding all are grey dots with a name. */
  D.methodLooks = (methods) => {
    let chosen = 0;
    return methods.map((method) => {
      if (method.plain) return { shape: "bar", hue: 0 };
      const place = chosen;
      chosen += 1;
      return place < SHAPES.length ? { shape: SHAPES[place], hue: place + 1 } : { shape: "dot", hue: 0 };
    });
  };

  const n = (value) => Math.round(value * 100) / 100;
  const polygon = (corners) => `M${corners.map(([x, y]) => `${n(x)},${n(y)}`).join("L")}Z`;

  const SHAPE = {
    bar: (x, y, r) =>
      polygon([
        [x - r, y - r * 0.28],
        [x + r, y - r * 0.28],
        [x + r, y + r * 0.28],
        [x - r, y + r * 0.28],
      ]),
    square: (x, y, r) =>
      polygon([
        [x - r * 0.9, y - r * 0.9],
        [x + r * 0.9, y - r * 0.9],
        [x + r * 0.9, y + r * 0.9],
        [x - r * 0.9, y + r * 0.9],
      ]),
    disc: (x, y, r) => D.circlePath(x, y, r),
    triangle: (x, y, r) =>
      polygon([
        [x, y - r],
        [x + r * 1.08, y + r * 0.88],
        [x - r * 1.08, y + r * 0.88],
      ]),
    diamond: (x, y, r) =>
      polygon([
        [x, y - r * 1.2],
        [x + r * 1.2, y],
        [x, y + r * 1.2],
        [x - r * 1.2, y],
      ]),
    dot: (x, y, r) => D.circlePath(x, y, r * 0.6),
    wedge: (x, y, r) =>
      polygon([
        [x, y + r],
        [x + r * 1.08, y - r * 0.88],
        [x - r * 1.08, y - r * 0.88],
      ]),
  };

  /** The outline of a mark at (x, y) that is about `2 r` wide. */
  D.markPath = (shape, x, y, r) => SHAPE[shape](x, y, r);

  /** Class under which `--hue`, `--hue-text`, `--hue-edge`, `--hue-on` and the tints are those of a method. */
  D.hueClass = (look) => `ds-hue-${look.hue}`;

  /** A mark within a drawing, in the hue around it; hollow: promised, or drafted and not accepted. */
  D.markShape = (look, x, y, r, { hollow = false } = {}) =>
    D.s("path", {
      d: D.markPath(look.shape, x, y, r),
      class: `ds-method-mark ${D.hueClass(look)}${hollow ? " ds-hollow" : ""}`,
    });

  /** The mark as a small picture. */
  D.methodMark = (look, { size = 12, hollow = false } = {}) =>
    D.h(
      "span",
      { class: "ds-method-sign" },
      D.canvas(size, size, D.theme.scale, D.markShape(look, size / 2, size / 2, size * 0.42, { hollow })),
    );

  const NAMES = { least: 112, most: 176, beside: 30 }; // design pixels of a column of names; what mark and gap take

  /** Room for the longest of `names`, within bounds. */
  D.nameColumn = (names) => {
    const widest = Math.max(0, ...names.map((name) => D.textWidth(name, 13, 600)));
    return Math.min(NAMES.most, Math.max(NAMES.least, Math.ceil(widest) + NAMES.beside));
  };

  /** Class of a name that needs two small lines in a column `wide` design pixels wide. */
  D.inTwoLines = (name, wide) => (D.textWidth(name, 13, 600) > wide - NAMES.beside + 4 ? "ds-two-lines" : "");

  /** Mark and name in the method's hue; `more` follows in mute. */
  D.methodName = (method, look, more = "") =>
    D.h(
      "span",
      { class: `ds-method-name-line ${D.hueClass(look)}` },
      D.methodMark(look),
      D.h("bdi", { class: "ds-method-word" }, method.name),
      more ? D.h("span", { class: "ds-method-more" }, ` ${more}`) : null,
    );

  /** Head of a section, and the line how to read it. */
  D.compareHead = (words, note, ...beside) => {
    const head = D.h("h2", { class: "ds-section-head" }, words);
    const line = note ? D.h("p", { class: "ds-section-note" }, note) : null;
    return D.h("div", { class: "ds-section-top" }, D.h("div", null, head, line), ...beside);
  };

  /** Buttons of which one is pressed: `{element, press(key)}`. */
  D.switchOf = (entries, chosen, label, choose) => {
    const buttons = entries.map(([key, words]) =>
      D.h("button", { type: "button", "data-key": key, on: { click: () => choose(key) } }, words),
    );
    const press = (key) =>
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.key === key)));
    press(chosen);
    return {
      element: D.h("div", { class: "ds-switch", role: "group", "aria-label": label }, buttons),
      press,
    };
  };

  /** `work`, once before the next picture, however often it is called. */
  D.framed = (work) => {
    let due = 0;
    return () => {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(work);
    };
  };

  /** Calls `draw` when the width of `host`, the theme or the size of type changes: `{width, stop}`. The width is kept:
      to ask for it during a step would lay the page out once more. */
  D.fitted = (host, draw) => {
    const kept = { width: host.clientWidth };
    const watcher = new ResizeObserver(() => {
      if (Math.abs(host.clientWidth - kept.width) < 1) return;
      kept.width = host.clientWidth;
      draw();
    });
    watcher.observe(host);
    const stopTheme = D.onTheme(draw);
    kept.stop = () => {
      watcher.disconnect();
      stopTheme();
    };
    return kept;
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* The left column: what to run. Its fields come from the methods' own declarations; it knows no method by name. */
((D) => {
  "use strict";

  const blank = () => ({ prompt: "", chat: true, method: "", config: {}, sampling: {}, models: {} });
  const section = (...content) => D.h("section", null, content);
  const heading = (words, id) => D.h("label", { class: "ds-label", for: id }, words);

  const options = (entries, chosen) =>
    entries.map(({ key, title }) => D.h("option", { value: key, selected: key === chosen }, title));

  /** The column's elements, empty. */
  function skeleton() {
    const parts = {
      example: D.h("select", { id: "ds-example", class: "ds-box" }),
      pick: D.h("button", { type: "button", class: "ds-link" }, "Open a trace file"),
      picker: D.h("input", { type: "file", accept: ".gz,.json", hidden: true }),
      prompt: D.h("textarea", {
        id: "ds-prompt", class: "ds-box ds-prompt-box", rows: 2, spellcheck: "false", "data-field": "prompt",
      }),
      chat: D.h("input", { type: "checkbox" }),
      tokens: D.h("span"),
      method: D.h("select", { id: "ds-method", class: "ds-box", "data-field": "method" }),
      badge: D.h("div", { class: "ds-badge-line" }),
      config: D.h("div"),
      tuned: D.h("button", { type: "button", class: "ds-link ds-none" }, "Tuned for this machine"),
      sampling: D.h("div"),
      models: D.h("div"),
      button: D.h("button", { type: "button", class: "ds-button ds-run", "data-field": "run" }),
      note: D.h("p", { class: "ds-note" }),
    };
    parts.configSection = section(D.h("h3", null, "Draft"), parts.config, parts.tuned);
    parts.samplingSection = section(D.h("h3", null, "Sampling"), parts.sampling);
    parts.fold = D.h("details", { class: "ds-fold" }, D.h("summary", { class: "ds-label" }, "Models"), parts.models);
    return parts;
  }

  function laidOut(parts) {
    const chat = D.h("p", { class: "ds-note ds-chat" }, D.h("label", null, parts.chat, " chat template"), parts.tokens);
    return [
      section(heading("Example", "ds-example"), parts.example, parts.pick, parts.picker),
      section(heading("Prompt", "ds-prompt"), parts.prompt, chat),
      section(heading("Method", "ds-method"), parts.method, parts.badge),
      parts.configSection,
      parts.samplingSection,
      parts.fold,
      section(parts.button, parts.note),
    ];
  }

  /** Mount the column. `run(order)`, `cancel()`, `open(name)` of an example or own run, and `file(File)` act. */
  D.mountControls = (root, { examples, run, cancel, open, file }) => {
    const parts = skeleton();
    let catalogue = null;
    let order = blank();
    let fields = null; // rows by part, once the catalogue is here
    let busy = false;
    root.append(...laidOut(parts));

    const methodOf = (key) => catalogue?.methods.find((one) => one.key === key);

    function clearErrors() {
      root.querySelectorAll(".ds-state-error").forEach((one) => one.remove());
      root.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
    }

    function fitPrompt() {
      if (!parts.prompt.clientWidth) return;
      parts.prompt.style.height = "auto";
      parts.prompt.style.height = `${Math.min(parts.prompt.scrollHeight + 2, 134 * D.theme.scale)}px`;
    }

    function drawBadge() {
      const found = methodOf(order.method);
      if (!found) return;
      const greedy = Number(fields.sampling.read().temperature) === 0;
      const word = found.lossless ? "Lossless" : "Lossy";
      parts.badge.replaceChildren(
        D.badge({ lossless: found.lossless, word, meaning: found.idea }),
        D.h("p", { class: "ds-note", title: found.idea }, greedy ? found.meaning_greedy : found.meaning),
      );
    }

    function changed() {
      clearErrors();
      drawBadge();
    }

    function drawFields() {
      const found = methodOf(order.method) ?? catalogue.methods[0];
      order.method = found.key;
      parts.method.title = found.name;
      parts.method.replaceChildren(...options(catalogue.methods.map(({ key, name }) => ({ key, title: name })), found.key));
      fields = {
        config: D.fieldRows(found.parameters, order.config, "config.", changed),
        sampling: D.fieldRows(catalogue.sampling, order.sampling, "", changed),
        models: D.fieldRows(catalogue.models, order.models, "", changed),
      };
      for (const [name, rows] of Object.entries(fields)) parts[name].replaceChildren(...rows.elements);
      parts.configSection.classList.toggle("ds-none", !found.parameters.length);
      parts.tuned.title = found.tuned?.words ?? "";
      parts.tuned.classList.toggle("ds-none", !found.tuned);
      drawBadge();
    }

    function draw() {
      parts.prompt.value = order.prompt;
      parts.chat.checked = order.chat;
      fitPrompt();
      if (catalogue) drawFields();
      [parts.samplingSection, parts.fold].forEach((part) => part.classList.toggle("ds-none", !catalogue));
    }

    /** The order in the fields. */
    function read() {
      const written = { ...order, prompt: parts.prompt.value, chat: parts.chat.checked };
      if (!fields) return written;
      return { ...written, config: fields.config.read(), sampling: fields.sampling.read(), models: fields.models.read() };
    }

    function start() {
      if (busy || !catalogue) return;
      clearErrors();
      run(read());
    }

    function setBusy(on) {
      busy = on;
      parts.button.textContent = on ? "Cancel" : "Run with my prompt";
      parts.button.classList.toggle("ds-primary", !on);
      parts.button.disabled = !catalogue;
      if (on) parts.note.textContent = "";
    }

    parts.example.addEventListener("change", () => open(parts.example.value));
    parts.pick.addEventListener("click", () => parts.picker.click());
    parts.picker.addEventListener("change", () => {
      if (parts.picker.files[0]) file(parts.picker.files[0]);
      parts.picker.value = "";
    });
    parts.prompt.addEventListener("input", () => {
      fitPrompt();
      changed();
    });
    parts.prompt.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
    });
    parts.method.addEventListener("change", () => {
      order = { ...read(), method: parts.method.value, config: {} };
      draw();
      clearErrors();
    });
    parts.tuned.addEventListener("click", () => {
      const { settings, threads } = methodOf(order.method).tuned;
      const written = read();
      order = { ...written, config: settings, models: { ...written.models, threads, target: "default" } };
      draw();
    });
    parts.button.addEventListener("click", () => (busy ? cancel() : start()));
    D.onTheme(() => {
      fitPrompt();
      drawBadge();
    });
    new ResizeObserver(fitPrompt).observe(root); // it has no height while the column is folded
    draw();
    setBusy(false);

    return {
      read,
      start,
      setBusy,
      /** Say which trace is on the page; `own`: runs and files of this visit, oldest first. */
      setShown(name, own) {
        const numbered = own.map(({ key, title }, place) => ({ key, title: `${place + 1}. ${title}` }));
        parts.example.replaceChildren(
          ...(own.length ? [D.h("optgroup", { label: "Your runs" }, options(numbered, name))] : []),
          D.h("optgroup", { label: "Recorded examples" }, options(examples, name)),
        );
      },
      /** The settings of the shown trace as text, until the fields are here. */
      setSettings(overview) {
        if (catalogue) return;
        const meaning = D.h("p", { class: "ds-note" }, overview.badge.meaning);
        parts.method.replaceChildren(D.h("option", null, overview.method_name));
        parts.badge.replaceChildren(D.badge(overview.badge), meaning);
        parts.config.replaceChildren(...overview.settings.map((one) =>
          D.h("div", { class: "ds-set" }, D.h("span", null, one.label), D.h("span", null, one.value))));
      },
      setTokens(count) {
        parts.tokens.textContent = count === null ? "" : `, ${count.toLocaleString("en")} tokens`;
      },
      setOrder(next) {
        order = { ...blank(), ...next };
        draw();
      },
      setCatalogue(next) {
        order = read();
        catalogue = next;
        parts.note.textContent = next.note;
        draw();
        setBusy(busy);
      },
      /** An order without what is usual, for comparing and for links. */
      compact: (one) => ({
        prompt: one.prompt,
        chat: one.chat !== false,
        method: one.method,
        config: D.unusual(one.config ?? {}, methodOf(one.method)?.parameters ?? []),
        sampling: D.unusual(one.sampling ?? {}, catalogue?.sampling ?? []),
        models: D.unusual(one.models ?? {}, catalogue?.models ?? []),
      }),
      /** Say what is wrong at the field it speaks of; false if the column is folded away. */
      setError(field, words) {
        clearErrors();
        const place = root.querySelector(`[data-field="${CSS.escape(field)}"]`) ?? parts.button;
        place.closest("details")?.setAttribute("open", "");
        place.after(D.states.error(words));
        const input = place.querySelector("input, select") ?? place;
        if (input !== parts.button) {
          input.setAttribute("aria-invalid", "true");
          input.focus({ preventScroll: true });
        }
        return root.getClientRects().length > 0;
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* What to compare: one row of text, and the fields that open over it. Fields come from the methods' own declarations; it
   knows no method by name but plain decoding, which is always compared with. */
((D) => {
  "use strict";

  const PLAIN = "plain";
  const WORDS = ["", "", "both", "all three", "all four", "all five", "all six", "all seven", "all eight", "all nine", "all ten"];

  const blank = () => ({ prompt: "", chat: true, sampling: {}, models: {}, methods: [] });
  const label = (words, id) => D.h("label", { class: "ds-label", for: id }, words);
  const act = (words, on, more = {}) => D.h("button", { type: "button", ...more, on: { click: on } }, words);

  /**
   * Mount the row into `root`. `most`: methods beside plain decoding. `examples`: `{key, title}` of recorded comparisons.
   * `run(order)`, `cancel()`, `open(key)`, `file(File)` act; `explore(place)` gives the address of a method's run.
   */
  D.mountCompareForm = (root, { most, examples, run, cancel, open, file, explore }) => {
    let order = blank();
    let catalogue = null;
    let names = new Map(); // before the catalogue is here
    let notes = null; // of the methods as they were run; null as soon as one is changed
    let own = []; // runs and files of this visit
    let busy = false;

    const picker = D.h("input", { type: "file", accept: ".gz,.json", hidden: true });
    const prompt = D.h("button", { type: "button", class: "ds-ask-prompt", "aria-haspopup": "dialog" });
    const methods = D.h("ul", { class: "ds-ask-methods", "aria-label": "Methods" });
    const settings = D.h("button", { type: "button", class: "ds-ask-settings", "aria-haspopup": "dialog" });
    const button = D.h("button", { type: "button", class: "ds-button ds-run-all" });
    const menuPlace = D.h("div", { class: "ds-ask-examples" });
    const note = D.h("p", { class: "ds-note ds-ask-note" });
    root.append(
      D.h("div", { class: "ds-ask" },
        D.h("div", { class: "ds-ask-lines" },
          D.h("p", { class: "ds-ask-line" }, D.h("span", { class: "ds-ask-label", "aria-hidden": "true" }, "Prompt"), prompt),
          D.h("div", { class: "ds-ask-line" }, D.h("span", { class: "ds-ask-label", "aria-hidden": "true" }, "Methods"), D.h("div", { class: "ds-ask-chosen" }, methods, settings))),
        D.h("div", { class: "ds-ask-actions" }, menuPlace, button, picker)),
      note,
    );
    const over = D.createOver(root, { openerOf, redraw: drawRow, otherwise: settings });

    const specsOf = (key) => catalogue?.methods.find((one) => one.key === key)?.parameters ?? [];
    const methodOf = (key) => catalogue?.methods.find((one) => one.key === key);
    const nameOf = (key) => methodOf(key)?.name ?? names.get(key) ?? key;
    const looks = () => D.methodLooks([{ plain: true }, ...order.methods.map(() => ({ plain: false }))]);

    /* -- the row -- */

    function openerOf(key) {
      if (key === "prompt") return prompt;
      if (key === "settings") return settings;
      return methods.querySelector(key === "add" ? ".ds-ask-add" : `[data-place="${key}"]`);
    }

    const chip = (place, look, words) =>
      D.h("li", null,
        act([D.methodMark(look), D.h("bdi", { class: "ds-ask-name" }, nameOf(order.methods[place].method)), words && D.h("span", { class: "ds-quiet" }, ` ${words}`)],
          () => over.toggle(String(place), () => openMethod(place)),
          {
            class: `ds-ask-method ${D.hueClass(look)}`,
            "aria-haspopup": "dialog",
            "aria-expanded": String(over.isOpen(String(place))),
            "data-place": place,
            disabled: !catalogue,
          }));

    function drawRow() {
      const [plain, ...others] = looks();
      prompt.replaceChildren(D.h("span", { class: "ds-heard" }, "Prompt: "), order.prompt.trim() || "Write a prompt");
      settings.replaceChildren(D.h("span", { class: "ds-heard" }, "Settings: "), D.settingsWords(order));
      methods.replaceChildren(
        D.h("li", { class: `ds-ask-plain ${D.hueClass(plain)}` }, D.methodMark(plain), "Plain"),
        ...order.methods.map(({ method, config }, place) =>
          chip(place, others[place], notes?.[place] || D.configWords(config, specsOf(method)))),
        ...(order.methods.length < most
          ? [D.h("li", null, act("+ method", () => over.toggle("add", openAdding), {
              class: "ds-ask-add", "aria-haspopup": "dialog", "aria-expanded": String(over.isOpen("add")), disabled: !catalogue,
            }))]
          : []),
      );
      const count = order.methods.length + 1;
      const all = count < 2 ? "" : ` ${WORDS[count] ?? `all ${count}`}`;
      button.textContent = busy ? "Cancel" : `Run${all}`;
      settings.disabled = !catalogue;
      prompt.setAttribute("aria-expanded", String(over.isOpen("prompt")));
      settings.setAttribute("aria-expanded", String(over.isOpen("settings")));
      button.classList.toggle("ds-primary", !busy);
      button.disabled = !busy && (!catalogue || count < 2);
    }

    function drawMenu() {
      const opened = own.map(({ key, title }, place) => [`${place + 1}. ${title}`, () => open(key)]);
      const recorded = examples.map(({ key, title }) => [title, () => open(key)]);
      const menu = D.menu("Examples", [...recorded, ...opened, ["Open a comparison file", () => picker.click()]]);
      menu.firstElementChild.className = "ds-button ds-menu-button";
      menuPlace.replaceChildren(menu);
    }

    /* -- the fields over it -- */

    const clearErrors = () => {
      root.querySelectorAll(".ds-state-error").forEach((one) => one.remove());
      root.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
    };

    function openPrompt() {
      const field = D.h("textarea", { id: "ds-compare-prompt", class: "ds-box ds-prompt-box", rows: 5, spellcheck: "false", "data-field": "prompt" });
      const chat = D.h("input", { type: "checkbox", checked: order.chat !== false });
      field.value = order.prompt;
      field.addEventListener("input", clearErrors);
      field.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        over.close();
        start();
      });
      const words = D.h("p", { class: "ds-note ds-chat" }, D.h("label", null, chat, " chat template"));
      over.show("prompt", "Prompt", [label("Prompt", field.id), field, words], () => {
        order = { ...order, prompt: field.value, chat: chat.checked };
      });
    }

    const choices = (chosen, first = null) => [
      ...(first ? [D.h("option", { value: "" }, first)] : []),
      ...catalogue.methods
        .filter(({ key }) => key !== PLAIN)
        .map(({ key, name }) => D.h("option", { value: key, selected: key === chosen }, name)),
    ];

    function openAdding() {
      const field = D.h("select", { id: "ds-compare-add", class: "ds-box", "data-field": "methods" }, choices("", "Choose a method"));
      field.addEventListener("change", () => {
        if (!field.value) return;
        notes = null;
        order = { ...order, methods: [...order.methods, { method: field.value, config: {} }] };
        openMethod(order.methods.length - 1);
      });
      over.show("add", "Add a method", [label("Method", field.id), field], null);
    }

    function openMethod(place) {
      const { method, config } = order.methods[place];
      const known = methodOf(method);
      const changed = () => {
        notes = null;
        clearErrors();
      };
      const rows = D.fieldRows(known?.parameters ?? [], config, `methods.${place}.config.`, changed);
      const field = D.h("select", { id: "ds-compare-method", class: "ds-box", "data-field": `methods.${place}.method` }, choices(method));
      field.addEventListener("change", () => {
        notes = null;
        order = { ...order, methods: order.methods.map((one, at) => (at === place ? { method: field.value, config: {} } : one)) };
        over.leave();
        openMethod(place);
      });
      const remove = act("Remove", () => {
        notes = null;
        order = { ...order, methods: order.methods.filter((_, at) => at !== place) };
        over.leave();
        (openerOf("add") ?? settings).focus();
      }, { class: "ds-link" });
      const alone = D.h("a", { class: "ds-link" }, "Open in Explore");
      ["pointerover", "focus", "click"].forEach((event) =>
        alone.addEventListener(event, () => {
          over.keep();
          alone.href = explore(place);
        }));
      alone.href = explore(place);
      const word = known?.lossless === false ? "Lossy" : "Lossless";
      over.show(String(place), nameOf(method), [
        label("Method", field.id),
        field,
        known ? D.h("div", { class: "ds-badge-line" }, D.badge({ lossless: known.lossless, word, meaning: known.meaning }), D.h("p", { class: "ds-note" }, known.idea)) : null,
        D.h("div", { class: "ds-over-fields" }, rows.elements),
        D.h("p", { class: "ds-over-links" }, alone, remove),
      ].filter(Boolean), () => {
        order = { ...order, methods: order.methods.map((one, at) => (at === place ? { method, config: rows.read() } : one)) };
      });
    }

    function openSettings() {
      const sampling = D.fieldRows(catalogue.sampling, order.sampling, "", clearErrors);
      const models = D.fieldRows(catalogue.models, order.models, "", clearErrors);
      const block = (head, rows) => D.h("section", null, D.h("h3", null, head), rows.elements);
      over.show("settings", "Settings of all methods", [
        D.h("div", { class: "ds-over-columns" }, block("Sampling", sampling), block("Models", models)),
      ], () => {
        order = { ...order, sampling: sampling.read(), models: models.read() };
      });
    }

    prompt.addEventListener("click", () => over.toggle("prompt", openPrompt));
    settings.addEventListener("click", () => over.toggle("settings", openSettings));
    picker.addEventListener("change", () => {
      if (picker.files[0]) file(picker.files[0]);
      picker.value = "";
    });

    function start() {
      if (busy || !catalogue || !order.methods.length) return;
      over.keep();
      clearErrors();
      run(order);
    }
    button.addEventListener("click", () => (busy ? cancel() : start()));

    /** What opens the fields that a refusal speaks of. */
    function openingFor(field) {
      if (field === "prompt" || field === "chat") return openPrompt;
      const place = field.match(/^methods\.(\d+)\./u)?.[1];
      if (place !== undefined) return () => openMethod(Number(place));
      const shared = [...(catalogue?.sampling ?? []), ...(catalogue?.models ?? [])];
      return shared.some(({ name }) => name === field) ? openSettings : null;
    }

    const compact = (one) => ({
      prompt: one.prompt,
      chat: one.chat !== false,
      sampling: D.unusual(one.sampling ?? {}, catalogue?.sampling ?? []),
      models: D.unusual(one.models ?? {}, catalogue?.models ?? []),
      methods: (one.methods ?? []).map(({ method, config }) => ({ method, config: D.unusual(config ?? {}, specsOf(method)) })),
    });
    const words = (one) => JSON.stringify(compact(one));

    D.onTheme(drawRow);
    drawRow();
    drawMenu();
    return {
      start,
      /** The order as the row says it. */
      read() {
        over.keep();
        return order;
      },
      /** An order without what is usual, for links. */
      compact,
      /** True where two orders ask for the same. */
      isSame: (one, other) => words(one) === words(other),
      setOrder(next, methodNotes = null) {
        order = { ...blank(), ...next };
        notes = methodNotes;
        over.leave();
      },
      /** What the methods of the order were run with, in words, unless the order is another one by now. */
      setNotes(ofOrder, methodNotes) {
        over.keep();
        if (words(ofOrder) !== words(order)) return;
        notes = methodNotes;
        drawRow();
      },
      /** Names that are known before the catalogue is. */
      setNames(pairs) {
        names = new Map([...names, ...pairs]);
        drawRow();
      },
      setCatalogue(next) {
        catalogue = next;
        note.textContent = next.note;
        drawRow();
      },
      /** Offer runs and files of this visit, oldest first: `{key, title}`. */
      setOwn(ofVisit) {
        own = ofVisit;
        drawMenu();
      },
      setBusy(on) {
        busy = on;
        if (on) {
          over.close({ refocus: false });
          note.textContent = "";
        }
        drawRow();
      },
      /** Say what is wrong at the field it speaks of. */
      setError(field, words) {
        clearErrors();
        openingFor(field)?.();
        const found = over.element.querySelector(`[data-field="${CSS.escape(field)}"]`);
        (found ?? note).after(D.states.error(words));
        const input = found?.querySelector("input, select") ?? found;
        if (!input) return;
        input.setAttribute("aria-invalid", "true");
        input.focus({ preventScroll: true });
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

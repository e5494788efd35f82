/* The Methods page: search and filters on the left, entries by family on the right. Everything is here at once; filters
   only hide and show. */
((D) => {
  "use strict";

  const REST = 200; // milliseconds without a key before the address follows
  const KEYS = [
    [["/"], "search"],
    [["Esc"], "clear the search"],
    [["?"], "this list"],
  ];
  const NONE = Object.freeze({});

  const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  function skeleton() {
    const parts = {
      header: D.h("div"),
      find: D.h("input", { type: "search", id: "ds-find", class: "ds-box ds-find", autocomplete: "off", spellcheck: "false" }),
      filters: D.h("div"),
      prompt: D.h("textarea", { id: "ds-carried", class: "ds-box ds-prompt-box", rows: 3, spellcheck: "false" }),
      result: D.h("p", { class: "ds-result", role: "status" }),
      chosen: D.h("div", { class: "ds-chosen-filters" }),
      list: D.h("div"),
      live: D.h("div", { class: "ds-heard", role: "status" }),
    };
    const label = (words, id) => D.h("label", { class: "ds-label", for: id }, words);
    const note = D.h("p", { class: "ds-note" }, "For the buttons and the command lines.");
    const more = D.h(
      "details",
      { class: "ds-fold ds-catalogue-more", open: true },
      D.h("summary", { class: "ds-label" }, "Filters and prompt"),
      parts.filters,
      D.h("section", null, label("Prompt", "ds-carried"), parts.prompt, note),
    );
    const side = D.h(
      "aside",
      { class: "ds-side ds-catalogue-side", "aria-label": "Find methods" },
      D.h("section", null, label("Search", "ds-find"), parts.find),
      more,
    );
    const main = D.h("main", { class: "ds-main" }, parts.list, parts.live);
    const root = D.h("div", { class: "ds ds-with-side ds-catalogue" }, parts.header, D.h("div", { class: "ds-body" }, side, main));
    return { ...parts, root, side, more, main };
  }

  /** A row per filter; `changed(name, value)` hears. */
  function filterRows(filters, changed) {
    const rows = new Map();
    for (const { name, label, options } of filters) {
      const choices = options.map(({ value, words }) => ({ value, words, element: D.h("option", { value }, words) }));
      const field = D.h("select", { on: { change: () => changed(name, field.value) } }, D.h("option", { value: "" }, "any"), choices.map((one) => one.element));
      rows.set(name, { field, choices, root: D.h("label", { class: "ds-set", "data-filter": name }, D.h("span", null, label), field) });
    }
    return rows;
  }

  const paragraph = (words, name = "ds-note") => D.h("p", { class: name }, words);

  function family({ head, branch, note }, entries) {
    const title = D.h("h2", null, head, branch ? D.h("span", { class: "ds-branch" }, branch) : null);
    return D.h("section", { class: "ds-family" }, title, paragraph(note), entries.map((entry) => entry.root));
  }

  function plannedRow({ name, cited, idea, family_words }) {
    return D.h(
      "li",
      null,
      D.h("div", { class: "ds-planned-head" }, D.h("b", null, name), D.h("span", { class: "ds-note" }, D.prose(cited), ` · ${family_words}`)),
      D.h("p", null, idea),
    );
  }

  function plannedSection({ planned_head, planned_note, planned }) {
    const rows = planned.map((one) => ({ one, element: plannedRow(one) }));
    const root = D.h(
      "section",
      { class: "ds-family ds-planned", id: "planned", tabindex: -1 },
      D.h("h2", null, planned_head),
      paragraph(planned_note),
      D.h("ul", null, rows.map(({ element }) => element)),
    );
    return { root, rows };
  }

  /** A button per filter in use that lifts it, and one that lifts all; `lift(names)` acts. */
  function liftButtons(filters, narrowing, lift) {
    const button = (words, names, more = {}) =>
      D.h("button", { type: "button", class: "ds-link", on: { click: () => lift(names) }, ...more }, words);
    const chosen = filters.filter(({ name }) => narrowing[name]).map(({ name, label, options }) => {
      const words = `${label}: ${options.find((one) => one.value === narrowing[name]).words}`;
      return button([words, D.h("span", { "aria-hidden": "true" }, " ×")], [name], { "aria-label": `Leave out ${words}` });
    });
    return D.isNarrowed(narrowing) ? [...chosen, button("Show all", Object.keys(narrowing))] : [];
  }

  /** The keys of the page: they rest while someone types, but for Escape in the search. */
  function listenKeys(find, { help, clear }) {
    document.addEventListener("keydown", (event) => {
      const { target, key } = event;
      if (target === find && key === "Escape" && find.value) {
        event.preventDefault();
        clear();
      }
      const typing = target instanceof Element && target.closest("input, textarea, select");
      if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (key === "?") help();
      if (key === "/") {
        event.preventDefault();
        find.focus();
        find.select();
      }
    });
  }

  /** The column stands beside the entries; on a narrow page it folds out above them. */
  function keepPlace({ side, main, more }, results) {
    const narrow = matchMedia("(max-width: 860px)");
    const place = () => {
      if (narrow.matches) results.before(side);
      else main.before(side);
      more.open = !narrow.matches;
    };
    narrow.addEventListener("change", place);
    place();
  }

  /**
   * Mount the page into `element`. `examples`: `{key, prompt}`; `most`: letters of a prompt that fit into a link;
   * `picture(card)` gives what draws a recorded round, or null. Gives `{root, narrow}`.
   */
  D.mountCatalogue = (element, catalogue, { pages, examples, most, picture }) => {
    const { filters } = catalogue;
    const parts = skeleton();
    let narrowing = D.readNarrowing(filters);
    const carried = D.carried(filters);
    let prompt = D.carriedPrompt(carried, examples);

    const hrefOf = (name) => pages.find((page) => page.name === name)?.href;
    const to = (href, query) => `${href}?${query}`;
    const say = (words) => {
      parts.live.textContent = words;
    };
    const actions = [
      ["Run it", (card) => to(hrefOf("Explore"), D.runQuery(card.key, prompt, carried, most)), () => Boolean(hrefOf("Explore"))],
      [
        "Compare with plain",
        (card) => to(hrefOf("Compare"), D.compareQuery(card.key, prompt, carried, most)),
        (card) => card.comparable && Boolean(hrefOf("Compare")),
      ],
    ];
    const show = {
      url: (name, value) => D.narrowedUrl({ [name]: value }, carried),
      follow(event, name, value) {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a tab of its own
        event.preventDefault();
        narrow({ ...none(), [name]: value }, { keep: true });
        parts.result.scrollIntoView({ block: "start" });
        parts.result.focus({ preventScroll: true });
      },
    };
    const lift = (names) => narrow({ ...narrowing, ...Object.fromEntries(names.map((name) => [name, ""])) }, { keep: true });
    const none = () => Object.fromEntries(Object.keys(narrowing).map((name) => [name, ""]));

    const entries = catalogue.families.flatMap(({ cards }) => cards).map((card) => D.methodEntry(card, { show, actions, say, most: catalogue.most, picture }));
    const families = catalogue.families.map((one) => {
      const own = entries.filter(({ card }) => one.cards.includes(card));
      return { own, root: family(one, own) };
    });
    const planned = plannedSection(catalogue);
    const rows = filterRows(filters, (name, value) => narrow({ ...narrowing, [name]: value }, { keep: true }));
    const empty = D.h("div");

    function drawCounts() {
      for (const { name, choices, field } of filters.map((one) => ({ name: one.name, ...rows.get(one.name) }))) {
        const possible = entries.filter(({ card }) => D.fits(card, narrowing, name));
        for (const { value, words, element: option } of choices) {
          const number = possible.filter(({ card }) => card.filters[name] === value).length;
          option.textContent = `${words} (${number})`;
          option.disabled = number === 0 && value !== narrowing[name];
        }
        field.value = narrowing[name];
      }
    }

    function draw() {
      let number = 0;
      for (const { own, root } of families) {
        const fitting = own.filter((entry) => {
          const fits = D.fits(entry.card, narrowing);
          entry.root.classList.toggle("ds-none", !fits);
          return fits;
        });
        root.classList.toggle("ds-none", !fitting.length);
        number += fitting.length;
      }
      const toCome = planned.rows.filter(({ one, element: row }) => {
        const fits = D.fitsPlanned(one, narrowing);
        row.classList.toggle("ds-none", !fits);
        return fits;
      }).length;
      planned.root.classList.toggle("ds-none", !toCome);
      const all = count(entries.length, "method");
      parts.result.textContent = D.isNarrowed(narrowing)
        ? `${number} of ${all}${toCome ? `, and ${toCome} planned` : ""}`
        : `${all}, and ${planned.rows.length} planned`;
      empty.replaceChildren(number || toCome ? "" : D.states.empty("No method is like that."));
      drawCounts();
      parts.chosen.replaceChildren(...liftButtons(filters, narrowing, lift));
    }

    function drawLinks() {
      entries.forEach((entry) => {
        entry.setPrompt(prompt);
        entry.setLinks();
      });
    }

    const address = (hash) => `${D.narrowedUrl(narrowing, carried)}${hash}`;
    const keepAddress = () => history.replaceState(history.state, "", address(location.hash));
    const keepCalmly = D.calmly(keepAddress, REST);

    /** Narrow the list down; `keep`: as a step that the browser's Back undoes. */
    function narrow(next, { keep = false } = NONE) {
      narrowing = next;
      if (keep) history.pushState(history.state, "", address(""));
      else keepCalmly();
      if (parts.find.value !== narrowing.find) parts.find.value = narrowing.find;
      draw();
    }

    /** Go to the method that the address names; what hides it is lifted. */
    function goToNamed() {
      const found = entries.find(({ card }) => `#${card.key}` === location.hash);
      if (!found) return;
      if (found.root.classList.contains("ds-none")) {
        narrowing = none();
        parts.find.value = "";
        history.replaceState(history.state, "", address(location.hash));
        draw();
      }
      found.root.scrollIntoView({ block: "start" });
      found.root.focus({ preventScroll: true });
    }

    parts.find.value = narrowing.find;
    parts.find.addEventListener("input", () => narrow({ ...narrowing, find: parts.find.value }));
    parts.filters.append(...[...rows.values()].map(({ root }) => root));
    parts.prompt.value = prompt;
    parts.prompt.addEventListener("input", () => {
      prompt = parts.prompt.value;
      carried.delete("example");
      carried.delete("cut");
      if (prompt.length <= most) carried.set("prompt", prompt);
      else carried.delete("prompt");
      drawLinks();
      keepCalmly();
    });
    parts.result.tabIndex = -1;
    const results = D.h("div", { class: "ds-results" }, parts.result, parts.chosen);
    parts.main.prepend(
      D.h("h1", { class: "ds-sentence" }, D.sentence(catalogue.sentence)),
      paragraph(catalogue.source, "ds-note ds-source"),
      D.pairLegend(catalogue.legend),
      results,
    );
    parts.list.append(empty, ...families.map(({ root }) => root), planned.root, paragraph(D.prose(catalogue.note), "ds-note ds-catalogue-note"));

    const dialog = D.keysDialog(KEYS, "");
    const help = () => dialog.open || dialog.showModal();
    const copyLink = async () => ((await D.copy(location.href)) ? "Link copied" : "Not copied");
    parts.root.append(dialog);
    element.replaceChildren(parts.root);
    keepPlace(parts, results);
    D.wear(parts.root);
    D.mountHeader(parts.header, { pages, current: "Methods", copyLink, help });
    D.handOn(parts.root, () => carried);
    draw();
    drawLinks();

    addEventListener("popstate", () => {
      narrowing = D.readNarrowing(filters);
      parts.find.value = narrowing.find;
      keepAddress(); // the prompt stays what it is
      draw();
      goToNamed();
    });
    listenKeys(parts.find, { help, clear: () => narrow({ ...narrowing, find: "" }) });
    requestAnimationFrame(goToNamed);
    return { root: parts.root, narrow };
  };
})((window.Draftscope = window.Draftscope ?? {}));

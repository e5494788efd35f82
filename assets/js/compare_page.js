/* The body of the Compare page: finding, table, score, position, race and waterfalls over one selection, a method and a
   place of the exact text. The live page and the offline file mount the same. It knows which drawings there are, not
   what they draw. */
((D) => {
  "use strict";

  D.COMPARE_KEYS = [
    [["←", "→"], "previous, next position"],
    [["↑", "↓"], "previous, next method"],
    [["Home", "End"], "first, last position"],
    [["Space"], "play or pause the race"],
    [["?"], "this list"],
  ];

  const FIELDS =
    "input, textarea, select, [contenteditable], [role=textbox], [role=combobox], [role=listbox], [role=slider]";
  const HEARD = 250; // milliseconds of rest before a step is said

  const last = (comparison) => comparison.places.length - 1;

  /** Where most can be seen: the first difference, else the middle of the text. */
  function tellingPlace(comparison) {
    const places = comparison.table.rows.map((row) => row.verdict.place).filter((place) => place !== null);
    const place = places.length ? Math.min(...places) : Math.floor(last(comparison) / 2);
    return last(comparison) < 0 ? null : Math.min(Math.max(0, place), last(comparison));
  }

  /** The method with which to begin: the fastest beside plain decoding. */
  function tellingMethod(comparison) {
    const row = comparison.table.rows.find(({ method }) => !comparison.methods[method].plain);
    return row?.method ?? 0;
  }

  function listenKeys(root, page, help) {
    const actions = {
      ArrowLeft: () => page.step(-1),
      ArrowRight: () => page.step(1),
      ArrowUp: () => page.stepMethod(-1),
      ArrowDown: () => page.stepMethod(1),
      Home: () => page.choose(page.selection.method, 0),
      End: () => page.choose(page.selection.method, last(page.comparison)),
      "?": help,
    };
    function press(event) {
      const { target } = event;
      const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
      if (!action || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target instanceof Element && target.closest(FIELDS)) return;
      if (document.querySelector("dialog[open]") || !root.getClientRects().length) return;
      event.preventDefault();
      action();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }

  /** What screen readers hear of a step. */
  function saidOf({ methods, table }, { method, place }, position) {
    const verdict = table.rows.find((row) => row.method === method)?.verdict;
    const caption = position?.trees.find((tree) => tree.method === method)?.caption ?? "";
    const where = place === null ? "" : `Position ${place}. `;
    return `${where}${methods[method].name}${verdict?.head ? `, ${verdict.head}` : ""}. ${caption}`;
  }

  /**
   * Mount the body into `host`.
   *
   * `comparison` as Python gives it; `positions`: those of `comparison.places` by number, as far as known;
   * `fetchPosition(number)` gives a promise of one that is not, or of null where it is no longer to be had; `plotly` is
   * the chart library or a promise of it; `method` and `place` are selected at first; `onSelect(selection)` hears of
   * every change; `keys` (true) listens to the keyboard, `help()` answers "?"; `explore(method)` gives the address of
   * its run on the Explore page, or null.
   * Gives `{root, comparison, selection, choose, step, stepMethod, update, destroy}`.
   */
  D.mountCompare = (host, given) => {
    const { fetchPosition = null, plotly, onSelect = () => {}, keys = true, help = () => {}, explore = () => null } = given;
    let { comparison } = given;
    let known = new Map();
    let asked = new Set();

    const part = (name) => D.h("section", { class: "ds-compare-part", "data-part": name });
    const parts = { table: part("table"), score: part("score"), position: part("position"), race: part("race"), falls: part("falls") };
    const source = D.h("p", { class: "ds-note ds-source" });
    const trouble = D.h("div");
    const heard = D.h("div", { class: "ds-heard", "aria-live": "polite", role: "status" });
    const root = D.h(
      "div",
      { class: "ds-compare-body" },
      parts.table,
      source,
      parts.score,
      trouble,
      parts.position,
      parts.race,
      parts.falls,
      heard,
    );
    host.replaceChildren(root);

    const number = () => comparison.places[api.selection.place] ?? null;
    const here = () => known.get(number()) ?? null;

    const api = {
      selection: { method: 0, place: null },
      choose(method, place) {
        const isPlace = place === null || (place >= 0 && place <= last(comparison));
        if (!comparison.methods[method] || !isPlace) return;
        if (method === api.selection.method && place === api.selection.place) return;
        const before = number();
        D.time("step", () => {
          api.selection = { method, place };
          if (number() !== before) drawings.position.update(here(), comparison);
          Object.values(drawings).forEach((drawing) => drawing.select(api.selection));
        });
        want();
        say();
        onSelect(api.selection);
      },
      plotly: plotly ?? Promise.resolve(window.Plotly),
      explore,
    };

    const say = D.calmly(() => {
      heard.textContent = saidOf(comparison, api.selection, here());
    }, HEARD);

    async function want() {
      const wanted = number();
      if (wanted === null || known.has(wanted) || asked.has(wanted) || !fetchPosition) return;
      const of = known;
      asked.add(wanted);
      try {
        const position = await fetchPosition(wanted);
        if (of !== known) return;
        if (position) known.set(wanted, position);
        trouble.replaceChildren();
        if (number() === wanted) drawings.position.update(here(), comparison);
      } catch (error) {
        if (of !== known) return;
        asked.delete(wanted);
        trouble.replaceChildren(D.states.error(`The trees of this position could not be fetched. ${error.message}`));
      }
    }

    /** Take over what is known, and keep the selection where it still exists. */
    function take({ positions = [], method = api.selection.method, place = api.selection.place } = {}) {
      known = new Map([...positions].map((position, index) => [index, position]).filter(([, position]) => position));
      asked = new Set();
      const isPlace = place !== null && place >= 0 && place <= last(comparison);
      api.selection = {
        method: comparison.methods[method] ? method : tellingMethod(comparison),
        place: isPlace ? place : tellingPlace(comparison),
      };
      source.textContent = comparison.source;
    }

    take({ positions: given.positions, method: given.method ?? tellingMethod(comparison), place: given.place ?? null });
    const drawings = {
      table: D.compareTable(parts.table, comparison, api),
      score: D.compareScore(parts.score, comparison, api),
      position: D.comparePosition(parts.position, here(), comparison, api),
      race: D.compareRace(parts.race, comparison, api),
      falls: D.compareWaterfalls(parts.falls, comparison, api),
    };
    want();

    const page = {
      root,
      get comparison() {
        return comparison;
      },
      get selection() {
        return api.selection;
      },
      get position() {
        return here();
      },
      choose: api.choose,
      step(delta) {
        const { method, place } = api.selection;
        if (place !== null) api.choose(method, Math.min(last(comparison), Math.max(0, place + delta)));
      },
      stepMethod(delta) {
        const { method, place } = api.selection;
        api.choose(Math.min(comparison.methods.length - 1, Math.max(0, method + delta)), place);
      },
      /** Show what the comparison has grown to, or another one. */
      update(next, positions = []) {
        const same = next.id === comparison.id;
        comparison = next;
        take(same ? { positions } : { positions, method: tellingMethod(next), place: null });
        drawings.position.update(here(), comparison);
        ["table", "score", "race", "falls"].forEach((name) => drawings[name].update(comparison));
        want();
        onSelect(api.selection);
      },
      destroy() {
        stops.forEach((stop) => stop());
        Object.values(drawings).forEach((drawing) => drawing.stop());
        root.remove();
      },
    };
    const stops = keys ? [listenKeys(root, page, help)] : [];
    return page;
  };

  const TABLE = ["method", "settings", "verdict", "where", "speed-up"];

  /** The table as CSV, as it is shown. */
  D.compareCsv = ({ methods, table }) =>
    D.csv(
      [...TABLE, ...table.columns.map((column) => column.label)],
      table.rows.map((row) => [
        methods[row.method].name,
        methods[row.method].note,
        row.verdict.head,
        row.verdict.line.map((run) => run.text).join(""),
        row.delivered,
        ...row.cells.map((cell) => cell.value),
      ]),
    );
})((window.Draftscope = window.Draftscope ?? {}));

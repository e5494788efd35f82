/* The one state of a page: trace, round, node, and who wants to hear of it. It knows no pixels and no words. */
((D) => {
  "use strict";

  /** Durations in milliseconds of all synchronous work per step, newest last; `react` is the tree's share. */
  D.timings = { step: [], react: [] };

  D.time = (name, work) => {
    const start = performance.now();
    const result = work();
    const list = D.timings[name];
    list.push(performance.now() - start);
    if (list.length > 500) list.shift();
    return result;
  };

  function createEvents() {
    const listeners = new Map();
    return {
      on(event, fn) {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event).add(fn);
        return () => listeners.get(event).delete(fn);
      },
      emit(event, value) {
        for (const fn of [...(listeners.get(event) ?? [])]) fn(value);
      },
    };
  }

  /** The round that shows most at first sight: something kept, something thrown away. */
  function tellingRound(overview) {
    const telling = overview.strip.find(
      (round, place) => overview.scrub[place]?.accepted >= 2 && round.rejected.length > 0,
    );
    const refused = overview.strip.find((round) => round.rejected.length > 0);
    return (telling ?? refused ?? overview.strip[1] ?? overview.strip[0])?.index ?? null;
  }

  /**
   * State and events of one page.
   *
   * Events: `trace` (another trace), `strip` (it grew), `round` (another round, or its view arrived), `node` (pin or
   * hover), `reveal` (darts thrown so far), `select` (for the address bar), `trouble` (a fetch failed).
   */
  D.createStore = ({ fetchRounds = null } = {}) => {
    const events = createEvents();
    const views = new Map();
    const stale = new Set(); // rounds as they stood while the text grew: they show less than is known now
    const most = { rows: 1, darts: 0 };
    let indices = [];
    const state = { overview: null, round: null, pin: null, hover: null, thrown: null, following: false };

    function add(rounds) {
      for (const view of rounds) {
        views.set(view.index, view);
        stale.delete(view.index);
        most.rows = Math.max(most.rows, view.rows);
        most.darts = Math.max(most.darts, view.darts.length);
      }
    }

    function take(overview) {
      state.overview = overview;
      indices = overview.strip.map((round) => round.index);
    }

    const isKnown = (index) => views.has(index) && !stale.has(index);

    const pages = D.createPages(
      fetchRounds,
      (rounds) => {
        const missing = !isKnown(state.round);
        add(rounds);
        if (missing && isKnown(state.round)) events.emit("round");
      },
      (error) => events.emit("trouble", error),
    );

    const want = () => state.round !== null && pages.want(state.round, indices, isKnown);

    function moveTo(round, node) {
      const changed = round !== state.round;
      Object.assign(state, { round, pin: node, hover: null });
      if (changed) state.thrown = null;
      state.following = round === indices[indices.length - 1];
      events.emit(changed ? "round" : "node");
      events.emit("select", { round: state.round, node: state.pin });
      want();
    }

    const store = {
      on: events.on,
      emit: events.emit,
      get overview() {
        return state.overview;
      },
      get round() {
        return state.round;
      },
      get pin() {
        return state.pin;
      },
      get hovered() {
        return state.hover;
      },
      get thrown() {
        return state.thrown;
      },
      get order() {
        return indices;
      },
      /** View of the selected round; null while it is on its way. */
      get view() {
        return views.get(state.round) ?? null;
      },
      /** Node that the inspector shows: hovered, else pinned, else the round's own focus. */
      get shown() {
        return state.hover ?? state.pin ?? store.view?.focus ?? null;
      },
      /** Node marked as selected, whatever is hovered. */
      get marked() {
        return state.pin ?? store.view?.focus ?? null;
      },
      viewOf: (round) => views.get(round) ?? null,
      /** Most rows and darts of any round so far: room kept free, so that the page stands still. */
      most,
      views: () => [...views.values()].sort((a, b) => a.index - b.index),

      /** Show another trace; `rounds` may be some of its views only. */
      setTrace(overview, rounds = [], { round = null, node = null } = {}) {
        views.clear();
        stale.clear();
        Object.assign(most, { rows: 1, darts: 0 });
        take(overview);
        pages.reset(overview.id);
        add(rounds);
        const known = overview.strip.some((entry) => entry.index === round);
        const newest = overview.strip[overview.strip.length - 1]?.index ?? null;
        Object.assign(state, { hover: null, thrown: null, pin: known ? node : null });
        state.round = known ? round : overview.finished ? tellingRound(overview) : newest;
        state.following = !overview.finished && state.round === newest;
        events.emit("trace");
        events.emit("round");
        events.emit("select", { round: state.round, node: state.pin });
        want();
      },

      /** A running trace grew: keep the place, or follow the newest round while the reader stands on it. */
      update(overview, rounds = []) {
        if (state.overview?.id !== overview.id) return store.setTrace(overview, rounds);
        if (overview.finished && !state.overview.finished && fetchRounds) {
          for (const index of views.keys()) stale.add(index);
          pages.reset(overview.id);
        }
        add(rounds);
        take(overview);
        const newest = overview.strip[overview.strip.length - 1]?.index ?? null;
        events.emit("strip");
        if (overview.finished && state.following) {
          moveTo(tellingRound(overview), null);
          state.following = false;
        } else if (newest !== null && newest !== state.round && (state.following || state.round === null))
          moveTo(newest, null);
        else want();
        return undefined;
      },

      /** Go to a round, pin a node (null: none), or both. Unknown rounds are ignored. */
      select({ round = state.round, node = null } = {}) {
        if (!indices.includes(round)) return;
        if (round === state.round && node === state.pin && state.hover === null) return;
        D.time("step", () => moveTo(round, node));
      },

      /** Move by rounds: +1 next, -1 previous, clamped to the ends. */
      step(delta) {
        const at = indices.indexOf(state.round);
        const next = indices[Math.min(indices.length - 1, Math.max(0, at + delta))];
        if (next !== undefined && next !== state.round) store.select({ round: next });
      },

      /** Preview a node of the selected round; null returns to the pin. */
      hover(node) {
        if (node === state.hover) return;
        state.hover = node;
        events.emit("node");
      },

      unpin() {
        Object.assign(state, { pin: null, hover: null });
        events.emit("node");
        events.emit("select", { round: state.round, node: null });
      },

      /** Show only the first `count` darts of the round; null shows the finished round. */
      reveal(count) {
        if (count === state.thrown) return;
        state.thrown = count;
        const dart = store.view?.darts[(count ?? 0) - 1];
        if (dart) state.pin = dart.node;
        events.emit("reveal");
        events.emit("node");
      },

      /** Nodes in the order tried, the target's own token last. */
      tried() {
        const view = store.view;
        if (!view) return [];
        const darts = view.darts.map((dart) => dart.node);
        const own = view.nodes.filter((node) => node.id === -1).map((node) => node.id);
        return darts.length ? [...darts, ...own] : view.nodes.map((node) => node.id);
      },

      /** Pin the next (+1) or previous (-1) node in the order tried; false at the ends. */
      stepNode(delta) {
        const nodes = store.tried();
        const at = nodes.indexOf(store.marked);
        const next = nodes[at < 0 ? 0 : at + delta];
        if (next === undefined) return false;
        store.select({ node: next });
        return true;
      },
    };
    return store;
  };

  /** The round as it stood after `thrown` darts: later verdicts hidden, rows unmoved. */
  D.asThrown = (view, thrown) => {
    if (thrown === null || thrown >= view.darts.length) return view;
    const open = (node) => (node.dart !== null ? node.dart > thrown : node.id === -1 || node.path);
    const nodes = view.nodes
      .filter((node) => node.id !== -1)
      .map((node) =>
        node.state === "root" || !open(node)
          ? node
          : { ...node, state: "unreached", tested: false, dart: null, path: false },
      );
    return { ...view, nodes };
  };
})((window.Draftscope = window.Draftscope ?? {}));

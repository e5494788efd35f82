/* The Explore page: lays out the panels over one store. It knows which panels there are, not what they draw. */
((D) => {
  "use strict";

  const part = (name) => D.h("div", { class: `ds-part ds-part-${name}` });

  function skeleton(options) {
    const names = [
      "top",
      "method",
      "state",
      "strip",
      "scrubber",
      "tree",
      "outline",
      "ledger",
      "inspector",
      "timeline",
      "acceptance",
      "hardest",
      "picture",
      "aside",
      "dock",
    ];
    const parts = Object.fromEntries(names.map((name) => [name, part(name)]));
    const live = D.h("div", { class: "ds-heard", "aria-live": "polite", role: "status" });
    const left = D.h(
      "div",
      { class: "ds-column" },
      D.h("div", { class: "ds-cell ds-cell-tree" }, parts.tree, parts.outline, parts.ledger),
      D.h("div", { class: "ds-cell ds-cell-timeline" }, parts.timeline, parts.picture),
    );
    const right = D.h(
      "div",
      { class: "ds-column ds-right" },
      D.h("div", { class: "ds-cell ds-cell-inspector" }, parts.inspector),
      D.h("div", { class: "ds-cell ds-cell-acceptance" }, parts.acceptance, parts.hardest, parts.aside),
    );
    const main = D.h(
      "main",
      { class: "ds-main" },
      parts.top,
      parts.method,
      parts.state,
      parts.strip,
      parts.scrubber,
      D.h("div", { class: "ds-grid" }, left, right),
      live,
    );
    const side = options.side
      ? D.h("aside", { class: "ds-side", "aria-label": "Settings of this run" })
      : null;
    const header = options.header ? D.h("div") : null;
    const root = D.h(
      "div",
      { class: `ds${side ? " ds-with-side" : ""}` },
      header,
      D.h("div", { class: "ds-body" }, side, main),
      parts.dock,
    );
    return { root, header, side, main, live, ...parts };
  }

  function mountTop(root, store) {
    const draw = () => {
      const { overview } = store;
      root.replaceChildren(
        D.h("h1", { class: "ds-sentence" }, D.sentence(overview.sentence)),
        D.h("p", { class: "ds-note ds-source" }, overview.source),
      );
    };
    return [store.on("trace", draw), store.on("strip", draw)];
  }

  function mountState(root, store) {
    const draw = (error) => {
      const words = error instanceof Error ? error.message : "";
      root.replaceChildren(words ? D.states.error(`The round could not be fetched. ${words}`) : "");
    };
    return [
      store.on("trouble", draw),
      store.on("trace", () => draw(null)),
      store.on("round", () => draw(null)),
    ];
  }

  const TWO_COLUMNS = 860; // design pixels: less than this and the inspector stands below the tree

  /** Keep the number of columns in step with the room. */
  function watchWidth(root, main) {
    const fit = () => root.classList.toggle("ds-narrow", main.clientWidth / D.theme.scale <= TWO_COLUMNS);
    const watcher = new ResizeObserver(fit);
    watcher.observe(main);
    fit();
    return [D.onTheme(fit), () => watcher.disconnect()];
  }

  function announce(live, store) {
    let timer = 0;
    return store.on("round", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const { view } = store;
        live.textContent = view ? `Round ${view.index} of ${store.order.at(-1)}. ${view.headline}` : "";
      }, 250);
    });
  }

  function exportEntries(store, root, plotly, tree, more) {
    const stem = () => `draftscope-${store.overview.id}`;
    const charted = (name) => (name === "tree" ? tree() : root.querySelector(`[data-export="${name}"]`));
    const picture = (name, format) => async () => {
      const figure = charted(name);
      if (figure?.layout) {
        const file = `${stem()}-round-${store.round}-${name}`;
        await D.savePicture(await plotly, figure, format, file, D.colours(root));
      }
    };
    return [
      ...more,
      ["Draft tree, PNG", picture("tree", "png")],
      ["Draft tree, SVG", picture("tree", "svg")],
      ["Timeline, SVG", picture("timeline", "svg")],
      ["Acceptance, SVG", picture("acceptance", "svg")],
      ["Darts, CSV", () => D.save(`${stem()}-darts.csv`, D.dartsCsv(store))],
      ["Draft nodes, CSV", () => D.save(`${stem()}-nodes.csv`, D.nodesCsv(store))],
      ["Tokens, CSV", () => D.save(`${stem()}-tokens.csv`, D.tokensCsv(store))],
    ];
  }

  function mountPanels(parts, store, player, plotly, options) {
    const section = (key) => () => store.overview && { section: store.overview[key], html: "" };
    const tree = D.mountTree(parts.tree, store, plotly);
    const stops = [
      mountTop(parts.top, store),
      D.mountMethodRow(parts.method, store, options.onChange),
      mountState(parts.state, store),
      D.mountStrip(parts.strip, store),
      D.mountScrubber(parts.scrubber, store, player),
      tree.stops,
      D.mountInspector(parts.inspector, store),
      D.mountLedger(parts.ledger, store),
      D.mountOutline(parts.outline, store),
      D.mountSection(parts.timeline, store, plotly, section("timeline"), { byRound: true, name: "timeline" }),
      D.mountSection(parts.acceptance, store, plotly, section("acceptance"), { name: "acceptance" }),
      D.mountHardest(parts.hardest, store),
      D.mountPictures(parts.picture, store, plotly),
      D.mountPictures(parts.aside, store, plotly, { aside: true }),
      D.mountDock(parts.dock, store, player),
      announce(parts.live, store),
    ].flat();
    return { stops, tree };
  }

  /**
   * Mount the page into `element`.
   *
   * Options: `store` (else one is made of `overview`, `rounds`, `fetchRounds`); `header`, `side`, `keys`, `address`
   * (true) switch parts; `pages` and `exports` of the header; `params()` adds to the address, `linkNote()` says what a
   * link leaves out; `onChange()` opens the controls on phones; `plotly` is a promise of the chart library (else the
   * page's own).
   * Gives `{root, store, player, exports, copyLink, help, destroy}`.
   */
  D.mountExplore = (element, given = {}) => {
    const options = {
      header: true,
      side: true,
      keys: true,
      address: true,
      pages: [],
      exports: [],
      params: () => ({}),
      linkNote: () => "",
      onChange: null,
      ...given,
    };
    if (location.protocol === "about:") options.address = false; // a frame in a notebook has none

    const store = options.store ?? D.createStore({ fetchRounds: options.fetchRounds });
    const plotly = options.plotly ?? Promise.resolve(window.Plotly);
    const player = D.createPlayer(store);
    const dialog = D.keysDialog();
    const help = () => {
      if (!dialog.open) dialog.showModal();
    };
    const parts = skeleton(options);
    const { root } = parts;
    const showSide = () => root.classList.toggle("ds-side-open");
    if (options.side && !options.onChange) options.onChange = showSide;
    root.append(dialog);
    element.replaceChildren(root);

    const treeFigure = () => panels.tree.figure();
    const exports = exportEntries(store, root, plotly, treeFigure, options.exports);
    /** Copy the link; gives back what to say of it. */
    const copyLink = async () => {
      const done = await D.copy(D.placeUrl(store, options.params()));
      return done ? options.linkNote() || "Link copied" : "Not copied";
    };
    const stops = [D.wear(root), ...watchWidth(root, parts.main)];
    if (parts.header)
      stops.push(
        ...D.mountHeader(parts.header, {
          ...options,
          exports,
          copyLink: options.address ? copyLink : null,
          help,
        }),
      );
    if (parts.side) stops.push(...D.mountSide(parts.side, store));
    const panels = mountPanels(parts, store, player, plotly, options);
    stops.push(...panels.stops);
    const roundless = () => root.classList.toggle("ds-roundless", !store.order.length);
    stops.push(store.on("trace", roundless), store.on("strip", roundless));
    if (options.keys) stops.push(D.listenKeys(root, store, player, help));
    if (options.address) stops.push(D.keepAddress(store, options.params));
    if (options.overview) {
      store.setTrace(options.overview, options.rounds ?? [], options.address ? D.readPlace() : {});
    } else if (store.overview) {
      ["trace", "round"].forEach((event) => store.emit(event));
    }
    const destroy = () => {
      player.stop();
      stops.forEach((stop) => stop());
      root.remove();
    };
    return { root, store, player, exports, copyLink, help, destroy };
  };
})((window.Draftscope = window.Draftscope ?? {}));

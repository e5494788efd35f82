/* The panel around the draft tree: draws, scrolls, answers pointers, opens folded branches. */
((D) => {
  "use strict";

  const CONFIG = { displayModeBar: false, staticPlot: true, typesetMath: false, responsive: false };

  const WORDS = {
    accepted: "accepted",
    relaxed: "accepted by the relaxed rule",
    rejected: "rejected",
    unreached: "not reached",
    pruned: "pruned by the budget",
    probe: "scored, never offered",
    correction: "correction",
    bonus: "bonus",
    plain: "written by the target",
  };

  /** Words of a node state, as legends and lists say it. */
  D.stateWords = (state) => WORDS[state] ?? "";

  function legendOf(view) {
    const states = view.states.filter((state) => state in WORDS);
    const entries = states.map((state) => [
      D.mark(state, { size: 18, p: state === "unreached" ? 0.25 : 0.75 }),
      WORDS[state],
    ]);
    const tested = view.nodes.some((node) => node.tested);
    if (tested) entries.push(["", "ring: tested, full at p = 1"]);
    if (view.darts.length) entries.push([D.h("b", null, "1 2 3"), view.darts[0].greedy ? "checks" : "darts"]);
    return D.legend(entries);
  }

  /** The preview over the chart: a dashed ring and a rule below the label; no redraw of the chart. */
  function hoverMark(layout, id) {
    const placed = layout.nodes.get(id);
    if (!placed) return [];
    const { x, y, label, node } = placed;
    const ring = D.s("circle", {
      cx: x,
      cy: y,
      r: layout.R + 3.5,
      fill: "none",
      stroke: "var(--ds-ink)",
      "stroke-width": 1.2,
      "stroke-dasharray": "2.5 2",
    });
    const rule = D.s("line", {
      x1: label.start - 2,
      x2: label.end + 2,
      y1: label.y + 9,
      y2: label.y + 9,
      stroke: "var(--ds-ink)",
      "stroke-width": 1.2,
    });
    return [node.state === "root" ? null : ring, label.text ? rule : null];
  }

  function growBand(plot, before) {
    const band = plot.querySelector(".shapelayer path");
    if (!band || D.still()) return 0;
    const length = band.getTotalLength();
    if (length > before) {
      band.animate(
        [{ strokeDasharray: `${before} ${length}` }, { strokeDasharray: `${length} ${length}` }],
        150,
      );
    }
    return length;
  }

  /** Mount the tree of the selected round; `plotly` is a promise of the chart library. Gives `{stops, figure()}`. */
  D.mountTree = (root, store, plotly) => {
    const head = D.h("h2", { class: "ds-hero" });
    const note = D.h("p", { class: "ds-note ds-tree-note" });
    const plot = D.h("div", { class: "ds-tree-plot" });
    const [words, pin, hover] = ["words", "pin", "hover"].map((name) => D.s("g", { class: `ds-tree-${name}` }));
    const overlay = D.s("svg", { class: "ds-tree-over", "aria-hidden": "true" }, words, pin, hover);
    const stage = D.h("div", { class: "ds-tree-stage" }, plot, overlay);
    const scroller = D.h("div", { class: "ds-tree-scroll", role: "img" }, stage);
    const legend = D.h("div");
    root.append(head, note, scroller, legend);

    let Plotly = null;
    let layout = null;
    let drawn = null; // what the figure shows, so that a pin or a hover costs no redraw
    let bandLength = 0;
    let width = 0; // kept by the observer: to ask for it during a step would lay the page out once more
    const open = new Set();

    const view = () => store.view && D.asThrown(store.view, store.thrown);

    function reserve() {
      const rows = Math.min(28, store.most.rows);
      scroller.style.setProperty("min-height", `${D.treeHeight(rows) * D.theme.scale}px`);
    }

    function react() {
      const shown = view();
      const scale = D.theme.scale;
      layout = D.treeLayout(shown, width / scale, open);
      const figure = D.treeFigure(layout, { scale, colours: D.colours(root) });
      plot.classList.toggle(
        "ds-banded",
        shown.nodes.some((node) => node.path && node.state !== "root"),
      );
      D.time("react", () => Plotly.react(plot, figure.data, figure.layout, CONFIG));
      overlay.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
      overlay.setAttribute("width", layout.width * scale);
      overlay.setAttribute("height", layout.height * scale);
      words.replaceChildren(...D.wordElements(D.treeWords(layout)));
    }

    function drawText() {
      const { view: shown } = store;
      head.textContent = shown?.headline ?? "";
      note.textContent = shown?.note ?? "";
      legend.replaceChildren(shown ? legendOf(shown) : "");
      scroller.setAttribute(
        "aria-label",
        shown ? `Draft tree of round ${shown.index}: ${shown.headline}` : "Draft tree",
      );
      root.classList.toggle("ds-waiting", !shown);
    }

    function draw(fade = false) {
      drawText();
      if (!store.view || !Plotly || D.isPhone() || !width) return;
      react();
      drawn = { view: store.view, thrown: store.thrown };
      pin.replaceChildren(...D.pinElements(layout, store.marked));
      hover.replaceChildren();
      reserve();
      if (fade && !D.still()) stage.animate([{ opacity: 0.35 }, { opacity: 1 }], 160);
    }

    function markNode() {
      if (!layout || !drawn || D.isPhone()) return;
      if (drawn.thrown !== store.thrown || drawn.view !== store.view) draw();
      pin.replaceChildren(...D.pinElements(layout, store.marked));
      hover.replaceChildren(
        ...(store.hovered === null ? [] : hoverMark(layout, store.hovered).filter(Boolean)),
      );
      reach(store.hovered === null ? store.marked : null);
    }

    /** Scroll sideways until a pinned node is in sight. */
    function reach(id) {
      const placed = layout.nodes.get(id);
      if (!placed || scroller.scrollWidth <= scroller.clientWidth) return;
      const x = placed.x * D.theme.scale;
      if (x < scroller.scrollLeft + 20) scroller.scrollLeft = Math.max(0, x - 120);
      else if (x > scroller.scrollLeft + scroller.clientWidth - 90)
        scroller.scrollLeft = x - scroller.clientWidth + 160;
    }

    function pick(id) {
      const placed = layout?.nodes.get(id);
      if (placed?.hidden) open.add(id);
      if (placed?.hidden) draw();
      store.select({ node: id });
    }

    function nodeUnder(event) {
      if (!layout) return null;
      const box = overlay.getBoundingClientRect();
      const scale = D.theme.scale;
      return D.nodeAt(layout, (event.clientX - box.left) / scale, (event.clientY - box.top) / scale);
    }

    scroller.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      const id = nodeUnder(event);
      scroller.classList.toggle("ds-over", id !== null);
      store.hover(id);
    });
    scroller.addEventListener("pointerleave", () => store.hover(null));
    scroller.addEventListener("click", (event) => {
      const id = nodeUnder(event);
      if (id !== null) pick(id);
    });

    plotly.then((library) => {
      Plotly = library;
      draw();
    });

    const watcher = new ResizeObserver(() => {
      if (Math.abs(scroller.clientWidth - width) < 1) return;
      width = scroller.clientWidth;
      draw();
    });
    watcher.observe(scroller);

    /** The tree as a chart that holds its words too, for pictures that leave the page; null before it is drawn. */
    const figure = () => {
      if (!layout) return null;
      const look = { scale: D.theme.scale, colours: D.colours(root) };
      return D.treeFigure(layout, { ...look, words: D.treeWords(layout) });
    };

    const stops = [
      D.cue(scroller, "x"),
      store.on("round", () => {
        open.clear();
        bandLength = 0;
        scroller.scrollLeft = 0;
        draw(true);
      }),
      store.on("node", markNode),
      store.on("reveal", () => {
        draw();
        bandLength = store.thrown === null ? 0 : growBand(plot, store.thrown === 0 ? 0 : bandLength);
      }),
      D.onTheme(() => draw()),
      () => watcher.disconnect(),
      () => Plotly?.purge(plot),
    ];
    return { stops, figure };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* A titled chart that Python drew: paints it in the page's colours, fits it to its place, lets a round be picked. */
((D) => {
  "use strict";

  const CONFIG = { displayModeBar: false, doubleClick: false, typesetMath: false, responsive: false };
  const AFTER = 60; // milliseconds after a step at which charts below the tree follow
  const SIZES = new Set(["size", "width", "l", "r", "t", "b", "height", "thickness", "standoff", "ticklen"]);

  /** The figure's sizes in projector mode; numbers of the data stay as they are. */
  function enlarge(part, scale, key = "") {
    if (scale === 1) return part;
    if (Array.isArray(part))
      return key === "size" ? part.map((size) => size * scale) : part.map((item) => enlarge(item, scale));
    if (part === null || typeof part !== "object") {
      return SIZES.has(key) && typeof part === "number" ? part * scale : part;
    }
    return Object.fromEntries(
      Object.entries(part).map(([name, value]) => [
        name,
        ["x", "y", "base", "customdata"].includes(name) ? value : enlarge(value, scale, name),
      ]),
    );
  }

  /** Bars are measured in data units: their width never grows with the type. */
  const keepBars = (data, original) =>
    data.map((trace, place) =>
      original[place].type === "bar" ? { ...trace, width: original[place].width } : trace,
    );

  const WIDEST = 22; // design pixels of a bar

  /** Bars are given in rounds; few rounds would make them slabs. */
  function fitBars(data, original, figure, room) {
    const [from, to] = figure.layout.xaxis?.range ?? [0, 1];
    const { l = 0, r = 0 } = figure.layout.margin ?? {};
    const unit = Math.max(1, room - l - r) / Math.abs(to - from);
    return data.map((trace, place) => {
      const { type, width } = original[place];
      return type === "bar" && typeof width === "number" && trace.orientation !== "h"
        ? { ...trace, width: Math.min(width, WIDEST / unit) }
        : trace;
    });
  }

  /** The bar that stands for `round`, or null; averaged bars stand for several rounds. */
  function barOf(data, round) {
    const bars = data.find((trace) => trace.type === "bar" && typeof trace.width === "number");
    const left = (bars?.x ?? []).filter((x) => x <= round);
    return left.length ? { x: Math.max(...left), width: bars.width } : null;
  }

  /** Shapes that mark the column of `round`: one, or none where the chart leaves the round out. */
  function chosenColumn(data, round) {
    const bar = barOf(data, round);
    if (!bar) return [];
    const [x0, x1] = [bar.x - bar.width * 0.8, bar.x + bar.width * 0.8];
    const place = { type: "rect", layer: "below", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1 };
    return [{ ...place, fillcolor: "@sel", line: { width: 0 } }];
  }

  /** Mount one section. `get` gives it, or null; `byRound` says that its x axis counts rounds. */
  D.mountSection = (
    root,
    store,
    plotly,
    get,
    { events = ["trace", "strip"], byRound = false, name = "chart" } = {},
  ) => {
    const head = D.h("h3");
    const note = D.h("p", { class: "ds-note" });
    const plot = D.h("div", { class: "ds-plot", role: "img", "data-export": name });
    const extra = D.h("div", { class: "ds-extra" });
    const legend = D.h("div");
    const foot = D.h("p", { class: "ds-note ds-foot" });
    root.append(head, note, plot, extra, legend, foot);
    let Plotly = null;
    let listening = false;

    function draw() {
      const part = get();
      root.classList.toggle("ds-none", !part);
      if (!part) return;
      const { section, html } = part;
      head.textContent = section.head;
      note.textContent = section.note;
      foot.textContent = section.foot;
      extra.innerHTML = html; // built and escaped by the views; never token text as it came
      plot.hidden = !section.figure;
      plot.setAttribute("aria-label", section.alt || section.head);
      legend.replaceChildren(
        section.legend.length ? D.legend(section.legend.map(([key, words]) => [D.swatch(key), words])) : "",
      );
      drawFigure(section.figure);
    }

    function drawFigure(figure) {
      if (!figure || !Plotly || !plot.clientWidth) return;
      const scale = D.theme.scale;
      const enlarged = enlarge(figure.data, scale);
      const data = byRound
        ? fitBars(enlarged, figure.data, figure, plot.clientWidth / scale)
        : keepBars(enlarged, figure.data);
      const layout = enlarge(figure.layout, scale);
      const shapes = [
        ...(byRound && store.round !== null ? chosenColumn(data, store.round) : []),
        ...(layout.shapes ?? []),
      ];
      const yaxis = { ticklabelstandoff: 6 * scale, ...layout.yaxis };
      const whole = {
        ...layout,
        yaxis,
        shapes,
        width: plot.clientWidth,
        font: { ...layout.font, family: D.SANS },
      };
      const painted = D.paint({ data, layout: whole }, D.colours(root));
      Plotly.react(plot, painted.data, painted.layout, CONFIG);
      listen();
    }

    function listen() {
      if (listening || !byRound) return;
      listening = true;
      plot.addEventListener("click", (event) => {
        const axis = plot._fullLayout?.xaxis;
        if (!axis) return;
        const x = event.clientX - plot.getBoundingClientRect().left - axis._offset;
        const round = barOf(plot.data, Math.round(axis.p2d(x)))?.x;
        if (round !== undefined) store.select({ round });
      });
    }

    /** The chosen column follows once the reader rests: a step never waits for it. */
    const follow = D.calmly(() => {
      const figure = get()?.section.figure;
      if (!figure || !plot._fullLayout || !Plotly) return;
      const own = D.paint(enlarge(figure.layout.shapes ?? [], D.theme.scale), D.colours(root));
      Plotly.relayout(plot, {
        shapes: [...D.paint(chosenColumn(plot.data, store.round), D.colours(root)), ...own],
      });
    }, AFTER);
    const redraw = D.calmly(() => draw(), AFTER);

    plotly.then((library) => {
      Plotly = library;
      draw();
    });
    let width = 0;
    const watcher = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - width) < 1) return;
      width = root.clientWidth;
      draw();
    });
    watcher.observe(root);
    return [
      ...events.map((event) => store.on(event, event === "round" ? redraw : draw)),
      byRound ? store.on("round", follow) : () => undefined,
      D.onTheme(draw),
      () => watcher.disconnect(),
      () => Plotly?.purge(plot),
    ];
  };

  /** Mount the list of the hardest tokens: the lowest accept chances met. */
  D.mountHardest = (root, store) => {
    function draw() {
      const rows = store.overview?.hardest ?? [];
      root.classList.toggle("ds-none", !rows.length);
      root.replaceChildren(
        D.h("h3", null, "Hardest tokens"),
        D.h("p", { class: "ds-note" }, "The lowest accept chances met."),
        D.h(
          "ul",
          { class: "ds-hardest" },
          rows.map((row) =>
            D.h(
              "li",
              null,
              D.h(
                "button",
                {
                  type: "button",
                  on: { click: () => store.select({ round: row.round, node: row.node }) },
                },
                D.token(row.label),
                D.h("span", { class: "ds-note" }, `round ${row.round}`),
                D.h("span", { class: "ds-number" }, row.accept),
              ),
            ),
          ),
        ),
      );
    }
    return [store.on("trace", draw), store.on("strip", draw)];
  };
})((window.Draftscope = window.Draftscope ?? {}));

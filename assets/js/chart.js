/* A titled chart that Python drew: paints it in the page's colours, fits it to its place, lets a round be picked. */
((D) => {
  "use strict";

  const CONFIG = { displayModeBar: false, doubleClick: false, typesetMath: false, responsive: false };
  const AFTER = 60; // milliseconds after a step at which charts of the round follow
  const SIZES = new Set(
    ["size", "width", "l", "r", "t", "b", "height", "xshift", "yshift", "thickness", "standoff", "ticklen"],
  );

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

  const TICK = 20; // design pixels that a round's number needs

  /** Numbers of rounds that fit: every second, fifth ... of them where there is room for no more. */
  function fitTicks(xaxis, room) {
    const { tickvals, ticktext } = xaxis;
    if (!tickvals) return xaxis;
    const least = (tickvals.length * TICK) / Math.max(1, room);
    const step = [1, 2, 5, 10, 20].find((each) => each >= least) ?? 50;
    const kept = (_, place) => place === 0 || (place + 1) % step === 0;
    return { ...xaxis, tickangle: 0, tickvals: tickvals.filter(kept), ticktext: ticktext.filter(kept) };
  }

  /** The bar that stands for `round`, or null; averaged bars stand for several rounds. */
  function barOf(data, round) {
    const bars = data.filter((trace) => trace.type === "bar" && typeof trace.width === "number");
    const left = bars.flatMap((trace) => trace.x).filter((x) => x <= round);
    return left.length ? { x: Math.max(...left), width: bars[0].width } : null;
  }

  /** Lay `mark` under the column of `round`; hide it where the chart leaves the round out. */
  function markColumn(mark, plot, round) {
    const { xaxis, _size: size } = plot._fullLayout;
    const bar = barOf(plot.data, round);
    mark.hidden = !bar;
    if (!bar) return;
    const [from, to] = [-0.8, 0.8].map((side) => xaxis._offset + xaxis.d2p(bar.x + side * bar.width));
    const place = { left: from, width: to - from, top: size.t, height: size.h };
    Object.entries(place).forEach(([name, value]) => mark.style.setProperty(name, `${value}px`));
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
    const mark = byRound ? D.h("div", { class: "ds-column-mark", hidden: true }) : null;
    const stage = D.h("div", { class: "ds-plot-stage" }, mark, plot);
    const extra = D.h("div", { class: "ds-extra" });
    const legend = D.h("div");
    const foot = D.h("p", { class: "ds-note ds-foot" });
    root.append(head, note, stage, extra, legend, foot);
    let Plotly = null;
    let listening = false;
    let shown = null; // what the page shows, so that an equal picture is not drawn again

    function draw() {
      const part = get();
      root.classList.toggle("ds-none", !part);
      if (!part) return;
      const state = JSON.stringify([part, plot.clientWidth, D.theme.scale, D.colours(root).ink, !!Plotly]);
      if (state === shown) return;
      shown = state;
      const { section, html, films, dials } = part;
      head.textContent = section.head;
      note.textContent = section.note;
      foot.textContent = section.foot;
      extra.innerHTML = html; // built and escaped by the views; never token text as it came
      if (films) extra.append(D.films(films));
      if (dials) extra.append(D.draftDials(dials, section.figure, drawFigure));
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
      const { l = 0, r = 0 } = layout.margin ?? {};
      const xaxis = byRound ? fitTicks(layout.xaxis, (plot.clientWidth - l - r) / scale) : layout.xaxis;
      const yaxis = { ticklabelstandoff: 6 * scale, ...layout.yaxis };
      const whole = {
        ...layout,
        xaxis,
        yaxis,
        width: plot.clientWidth,
        font: { ...layout.font, family: D.SANS },
      };
      const painted = D.paint(D.fitWords({ data, layout: whole }, plot.clientWidth, scale), D.colours(root));
      Plotly.react(plot, painted.data, painted.layout, CONFIG);
      follow();
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

    /** The chosen column: a box under the chart, so that a step draws no chart again. */
    function follow() {
      if (mark && plot._fullLayout && store.round !== null) markColumn(mark, plot, store.round);
    }
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

  /** Mount the list of the hardest tokens. */
  D.mountHardest = (root, store) => {
    function draw() {
      const rows = store.overview?.hardest ?? [];
      root.classList.toggle("ds-none", !rows.length);
      root.replaceChildren(
        D.h("h3", null, "Hardest tokens"),
        D.h("p", { class: "ds-note" }, store.overview?.hardest_note ?? ""),
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
                D.h("span", { class: "ds-number" }, row.numbers),
              ),
            ),
          ),
        ),
      );
    }
    return [store.on("trace", draw), store.on("strip", draw)];
  };
})((window.Draftscope = window.Draftscope ?? {}));

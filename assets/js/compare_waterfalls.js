/* From plain decoding's time to each method's, side by side on one scale, and below each why in a sentence. */
((D) => {
  "use strict";

  const PITCH = 30; // design pixels of a row
  const BAR = 17;
  const TOP = 6;
  const FOOT = 24;
  const GAP = 40; // between two
  const LEAST = 216; // of a chart's width
  const PAD = 6; // between a bar and its number
  const TYPE = 12.5;

  const text = (x, y, words, anchor, classes = "") =>
    D.s("text", { x, y, "text-anchor": anchor, class: `ds-svg-text ${classes}` }, words);

  function hatch(id) {
    const line = D.s("line", { x1: 0, y1: 0, x2: 0, y2: 5, class: "ds-hatch-line" });
    return D.s(
      "pattern",
      { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      line,
    );
  }

  /** Bar with its hatched part at the end that costs. */
  function barShapes(bar, x, y, pattern) {
    const [from, to] = [Math.min(bar.start, bar.stop), Math.max(bar.start, bar.stop)];
    const left = x(from);
    const width = Math.max(1, x(to) - left);
    const box = (at, wide, name, fill) =>
      D.s("rect", { x: at, y, width: wide, height: BAR, class: name, fill });
    if (bar.kind !== "cost" || !bar.wasted) return [box(left, width, `ds-fall-${bar.kind}`)];
    const wasted = width * bar.wasted;
    return [
      box(left, width - wasted, "ds-fall-cost"),
      D.s("rect", {
        x: left + width - wasted + 0.5,
        y: y + 0.5,
        width: Math.max(0.5, wasted - 1),
        height: BAR - 1,
        class: "ds-fall-wasted",
        fill: `url(#${pattern})`,
      }),
    ];
  }

  /** The number: in the bar of plain decoding, left of what is saved, right of the others where there is room. */
  function barText(bar, x, y, width) {
    const base = y + BAR - 4.5;
    const [from, to] = [x(Math.min(bar.start, bar.stop)), x(Math.max(bar.start, bar.stop))];
    const room = D.textWidth(bar.text, TYPE, bar.kind === "total" ? 600 : 400) + PAD;
    const strong = bar.kind === "total" ? "ds-svg-bold" : "";
    if (bar.kind === "plain" && to - from > room + PAD)
      return text(from + 8, base, bar.text, "start", "ds-fall-on-plain");
    if (bar.kind === "saved" && from > room) return text(from - PAD, base, bar.text, "end");
    if (bar.kind === "saved" && to - from > room + PAD) return text(from + PAD, base, bar.text, "start");
    if (to + room <= width) return text(to + PAD, base, bar.text, "start", strong);
    if (bar.kind === "total" && to - from > room + PAD)
      return text(to - 8, base, bar.text, "end", "ds-fall-on");
    return text(Math.max(from - PAD, room), base, bar.text, "end", strong);
  }

  /** One waterfall `width` wide; all share `most` milliseconds. */
  D.waterfallDrawing = (fall, look, most, width) => {
    const tall = TOP + fall.bars.length * PITCH;
    const x = (ms) => (ms / Math.max(most, 1e-6)) * (width - 8);
    const pattern = D.uid("hatch");
    const ticks = D.niceTicks(most, Math.max(1, width / 110));
    const joints = fall.bars.slice(0, -1).map((bar, row) => {
      const at = x(bar.stop);
      const y = TOP + row * PITCH + (PITCH - BAR) / 2 + BAR;
      return D.s("line", { x1: at, x2: at, y1: y, y2: y + PITCH - BAR, class: "ds-fall-joint" });
    });
    const drawing = D.canvas(
      width,
      tall + FOOT,
      D.theme.scale,
      D.s("defs", null, hatch(pattern)),
      ticks.map((tick) => D.s("line", { x1: x(tick), x2: x(tick), y1: 0, y2: tall, class: "ds-svg-guide" })),
      joints,
      fall.bars.map((bar, row) => {
        const y = TOP + row * PITCH + (PITCH - BAR) / 2;
        return [...barShapes(bar, x, y, pattern), barText(bar, x, y, width)];
      }),
      ticks.map((tick, place) =>
        text(
          x(tick),
          tall + 16,
          place ? D.wholeNumber(tick) : "0 ms",
          place ? "middle" : "start",
          "ds-svg-quiet ds-svg-small",
        ),
      ),
    );
    drawing.setAttribute("class", `ds-fall ${D.hueClass(look)}`);
    return drawing;
  };

  /** How many stand side by side, and how wide each is. */
  D.waterfallColumns = (count, width, names) => {
    const fit = Math.max(1, Math.floor((width - names + GAP) / (LEAST + GAP)));
    const lines = Math.ceil(count / fit);
    const columns = Math.max(1, Math.ceil(count / lines));
    return { columns, each: Math.min(360, Math.floor((width - names - GAP * (columns - 1)) / columns)) };
  };

  /** Mount the waterfalls. */
  D.compareWaterfalls = (host, comparison, api) => {
    let shown = comparison;
    const fit = D.fitted(host, () => draw());
    let boxes = new Map();

    /** Room for the names of the rows, and a gap. */
    function nameWidth(falls, gap) {
      const words = falls.flatMap((fall) => fall.bars.map((bar) => D.textWidth(bar.label, 13, 600)));
      return Math.ceil(Math.max(0, ...words)) + gap;
    }

    function names(fall) {
      const words = fall.bars.map((bar) =>
        D.h(
          "li",
          { class: bar.kind === "plain" || bar.kind === "total" ? "ds-fall-strong" : null },
          bar.label,
        ),
      );
      return D.h("ul", { class: "ds-fall-names", "aria-hidden": "true" }, words);
    }

    const alt = (fall) => fall.bars.map((bar) => `${bar.label} ${bar.text}`).join(", ");

    function box(fall, looks, each) {
      const look = looks[fall.method];
      const made = D.h(
        "div",
        { class: `ds-fall-box ${D.hueClass(look)}` },
        D.h(
          "h3",
          { class: "ds-fall-head" },
          D.h(
            "button",
            { type: "button", on: { click: () => api.choose(fall.method, api.selection.place) } },
            D.methodName(shown.methods[fall.method], look),
            D.h("span", { class: "ds-fall-ms" }, fall.head),
          ),
        ),
        D.h(
          "div",
          { class: "ds-fall-plot", role: "img", "aria-label": alt(fall) },
          D.waterfallDrawing(fall, look, shown.axis_ms, each),
        ),
        D.h("p", { class: "ds-fall-said" }, D.sentence(fall.sentence)),
      );
      boxes.set(fall.method, made);
      return made;
    }

    function draw() {
      const falls = shown.waterfalls;
      host.classList.toggle("ds-none", !falls.length);
      if (!falls.length || !fit.width) return;
      const width = fit.width / D.theme.scale;
      const wide = nameWidth(falls, width < 700 ? 10 : 20);
      const { columns, each } = D.waterfallColumns(falls.length, width, wide);
      const looks = D.methodLooks(shown.methods);
      boxes = new Map();
      const lines = [];
      for (let start = 0; start < falls.length; start += columns) {
        const line = falls.slice(start, start + columns);
        lines.push(
          D.h(
            "div",
            { class: "ds-falls", style: { "--wide": each, "--names": wide } },
            names(line[0]),
            line.map((fall) => box(fall, looks, each)),
          ),
        );
      }
      host.replaceChildren(D.compareHead(shown.waterfall_head, shown.waterfall_note), ...lines);
      select(api.selection);
    }

    function select({ method }) {
      boxes.forEach((element, of) => element.classList.toggle("ds-chosen", of === method));
    }

    draw();
    return {
      update(next) {
        shown = next;
        draw();
      },
      select,
      stop: fit.stop,
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

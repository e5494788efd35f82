/* What was measured of a method, and what its paper says: numbers in, rows out. */
((D) => {
  "use strict";

  const [WIDE, TALL, PAD, R] = [176, 22, 6, 4.2]; // design pixels

  /** Speed with its interval, tokens per pass, and what lies between them, on one axis from 0 to `most`. */
  function drawing(pair, most) {
    const x = (value) => PAD + (value * (WIDE - 2 * PAD)) / most;
    const middle = TALL / 2;
    const line = (from, to, y, name) => D.s("line", { x1: x(from), x2: x(to), y1: y, y2: y, class: name });
    const ticks = Array.from({ length: most + 1 }, (_, tick) =>
      D.s("line", { x1: x(tick), x2: x(tick), y1: 0, y2: TALL, class: tick === 1 ? "ds-pair-one" : "ds-pair-tick" }),
    );
    const picture = D.canvas(
      WIDE, TALL, D.theme.scale,
      ticks,
      line(pair.speed, pair.tokens, middle, "ds-pair-lost"),
      line(pair.low, pair.high, middle, "ds-pair-span"),
      D.s("circle", { cx: x(pair.tokens), cy: middle, r: R, class: "ds-pair-promised" }),
      D.s("circle", { cx: x(pair.speed), cy: middle, r: R, class: "ds-pair-delivered" }),
    );
    picture.setAttribute("class", "ds-pair");
    return picture;
  }

  const swatch = (mark) =>
    D.canvas(
      11, 12, D.theme.scale,
      mark === "one"
        ? D.s("line", { x1: 5.5, x2: 5.5, y1: 0, y2: 12, class: "ds-pair-one" })
        : D.s("circle", { cx: 5.5, cy: 6, r: R, class: `ds-pair-${mark}` }),
    );

  /** The legend of the rows: words by mark. */
  D.pairLegend = (legend) => {
    const list = D.h("ul", { class: "ds-legend" });
    const draw = () =>
      list.replaceChildren(...Object.entries(legend).map(([mark, words]) => D.h("li", null, swatch(mark), words)));
    draw();
    D.onTheme(draw);
    return list;
  };

  /** A row per temperature, under the heads of its numbers. */
  D.pairs = (pairs, most) => {
    const body = D.h("tbody");
    const draw = () =>
      body.replaceChildren(
        ...pairs.map((pair) =>
          D.h(
            "tr",
            { title: pair.words },
            D.h("th", { scope: "row" }, pair.label),
            D.h("td", null, drawing(pair, most)),
            D.h("td", { class: "ds-number ds-strong" }, pair.speed_text),
            D.h("td", { class: "ds-number" }, pair.tokens_text),
          ),
        ),
      );
    draw();
    D.onTheme(draw); // the projector's size
    const head = D.h(
      "tr",
      null,
      D.h("td", { colspan: 2 }),
      D.h("th", { scope: "col" }, "speed"),
      D.h("th", { scope: "col" }, "tokens"),
    );
    const columns = ["label", "drawing", "number", "number"].map((kind) => D.h("col", { class: `ds-pairs-${kind}` }));
    return D.h("table", { class: "ds-pairs" }, D.h("colgroup", null, columns), D.h("thead", null, head), body);
  };

  /** The paper's own numbers. */
  D.reported = (numbers) =>
    D.h(
      "dl",
      { class: "ds-reported" },
      numbers.map(({ number, words }) => D.h("div", null, D.h("dt", null, number), D.h("dd", null, words))),
    );
})((window.Draftscope = window.Draftscope ?? {}));

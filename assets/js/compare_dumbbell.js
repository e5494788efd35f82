/* What a method delivered and what it promised, as one row of a common axis. Pure: numbers in, a drawing out. */
((D) => {
  "use strict";

  const TALL = 44; // design pixels
  const MIDDLE = 25;
  const PAD = 18;
  const LEAST = 44; // pixels between two numbers of the axis
  const EDGE = 60; // nearer to the right edge than this, a number stands left of its mark
  const R = 5.6;

  /** `{x, ticks}`: the axis of all rows, from 1x, or from 0 where something is slower than plain, to `axis`. */
  D.dumbbellScale = (rows, axis, width) => {
    const values = rows.flatMap((row) => [row.delivered, row.promised]).filter((value) => value !== null);
    const low = values.some((value) => value < 1) ? 0 : 1;
    const high = Math.max(axis, low + 1);
    const unit = (width - 2 * PAD) / (high - low);
    const step = [1, 2, 5, 10].find((each) => each * unit >= LEAST) ?? 20;
    const ticks = [];
    for (let tick = low; tick <= high; tick += 1)
      if (tick === 1 || (tick - 1) % step === 0 || low === tick) ticks.push(tick);
    return { x: (value) => PAD + (value - low) * unit, ticks, width };
  };

  const text = (x, y, words, { anchor = "middle", strong = false, quiet = false } = {}) =>
    D.s(
      "text",
      {
        x,
        y,
        "text-anchor": anchor,
        class: `ds-svg-text${strong ? " ds-svg-bold" : ""}${quiet ? " ds-svg-quiet" : ""}`,
      },
      words,
    );

  const guides = (scale) =>
    scale.ticks.map((tick) =>
      D.s("line", {
        x1: scale.x(tick),
        x2: scale.x(tick),
        y1: 0,
        y2: TALL,
        class: tick === 1 ? "ds-svg-axis" : "ds-svg-guide",
      }),
    );

  /** Place of the promised number: right of its mark; near the edge left of it, above the dotted line; below the marks
      where both would cover something. */
  function promisedPlace(scale, row) {
    const x = scale.x(row.promised);
    const room = D.textWidth(row.promised_text, 13) + 12;
    const solid = row.delivered === null ? -Infinity : scale.x(row.delivered);
    const half = Math.max(8, D.textWidth(row.delivered_text, 13, 600) / 2 + 4);
    const covers = (from, to, around) => solid + around > from && solid - around < to;
    if (scale.width - x >= Math.max(EDGE, room) && !covers(x + 6, x + room, 8))
      return [x + 11, MIDDLE + 4.5, "start"];
    if (x > room && !covers(x - room, x + 6, half)) return [x - 9, MIDDLE - 5, "end"];
    return [Math.min(x, scale.width - room / 2), MIDDLE + 18, "middle"];
  }

  function plainRow(row, look, scale) {
    const x = scale.x(1);
    return [
      D.markShape(look, x, MIDDLE - 3, R),
      text(x + 11, MIDDLE + 1.5, row.delivered_text, { anchor: "start", quiet: true }),
    ];
  }

  function marks(row, look, scale) {
    const parts = [];
    const [delivered, promised] = [row.delivered, row.promised];
    if (delivered !== null && promised !== null) {
      const [from, to] = [scale.x(delivered), scale.x(promised)];
      parts.push(D.s("line", { x1: from, x2: to, y1: MIDDLE, y2: MIDDLE, class: "ds-dumbbell-gap" }));
    }
    if (promised !== null) {
      const [x, y, anchor] = promisedPlace(scale, row);
      parts.push(
        D.markShape(look, scale.x(promised), MIDDLE, R, { hollow: true }),
        text(x, y, row.promised_text, { anchor, quiet: true }),
      );
    }
    if (delivered !== null) {
      const half = D.textWidth(row.delivered_text, 13, 600) / 2;
      const x = Math.min(Math.max(scale.x(delivered), half), scale.width - half);
      parts.push(
        D.markShape(look, scale.x(delivered), MIDDLE, R),
        text(x, MIDDLE - 11, row.delivered_text, { strong: true }),
      );
    }
    return parts;
  }

  /** The row of a method; `plain`: the reference, which has one mark. */
  D.dumbbell = (row, look, scale, { plain = false } = {}) => {
    const drawing = D.canvas(
      scale.width,
      TALL,
      D.theme.scale,
      guides(scale),
      plain && row.delivered !== null ? plainRow(row, look, scale) : marks(row, look, scale),
    );
    drawing.setAttribute("class", `ds-dumbbell ${D.hueClass(look)}`);
    return drawing;
  };

  /** The numbers of the axis, for the head of the table. */
  D.dumbbellAxis = (scale) => {
    const drawing = D.canvas(
      scale.width,
      16,
      D.theme.scale,
      scale.ticks.map((tick) => text(scale.x(tick), 12, `${tick}×`, { quiet: true })),
    );
    drawing.setAttribute("class", "ds-dumbbell");
    return drawing;
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* One dart as a picture: the draft's bar, stretched to a line from 0 to 1, and where the dart fell on it. */
((D) => {
  "use strict";

  const SIZE = 12;
  const HALF = 8; // of the wedge, with the air that a word keeps from it
  const END = 12; // room that the figures 0 and 1 take at the ends

  const text = (x, y, words, more = {}) => D.s("text", { x, y, ...more }, words);

  function draftBar(board, width, top) {
    const q = board.q * width;
    const covered = board.covered * width;
    const beside = q + 8 + D.textWidth(board.bar_text, SIZE) <= width;
    const y = beside ? top : top + 18;
    return {
      bottom: y + 13,
      parts: [
        D.s("rect", {
          x: 0.6,
          y: y + 0.6,
          width: Math.max(1, q - 1.2),
          height: 11.8,
          fill: "none",
          stroke: "var(--ds-law)",
          "stroke-width": 1.2,
        }),
        D.s("rect", { x: 0, y, width: covered, height: 13, fill: "var(--ds-law)" }),
        text(beside ? q + 8 : 0, beside ? y + 10.5 : top + 10.5, board.bar_text, { class: "ds-svg-ink" }),
      ],
    };
  }

  function guides(board, width, from, to) {
    const lines = [
      [0, 0],
      [board.covered * width, board.keep * width],
      [board.q * width, width],
    ];
    return lines.map(([top, bottom]) =>
      D.s("line", {
        x1: Math.min(width - 0.5, Math.max(0.5, top)),
        y1: from,
        x2: Math.min(width - 0.5, Math.max(0.5, bottom)),
        y2: to,
        stroke: "var(--ds-faint)",
      }),
    );
  }

  function hatch(id) {
    return D.s(
      "defs",
      null,
      D.s(
        "pattern",
        { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        D.s("rect", { width: 2.6, height: 6, fill: "var(--ds-cut)" }),
      ),
    );
  }

  function dartLine(board, width, y) {
    const keep = board.keep * width;
    const id = D.uid("hatch");
    const parts = [hatch(id)];
    if (board.keep < 1) {
      parts.push(
        D.s("rect", {
          x: keep + 0.6,
          y: y + 0.6,
          width: Math.max(0.5, width - keep - 1.2),
          height: 16.8,
          fill: `url(#${id})`,
          stroke: "var(--ds-rejected)",
          "stroke-width": 1.2,
        }),
      );
    }
    if (board.keep > 0) {
      parts.push(
        D.s("rect", {
          x: 0.6,
          y: y + 0.6,
          width: Math.max(0.5, keep - 1.2),
          height: 16.8,
          fill: "var(--ds-kept)",
          stroke: "var(--ds-accepted)",
          "stroke-width": 1.2,
        }),
      );
    }
    const labels = D.boardLabels(board, width).map(({ word, from }) =>
      text(from, y + 13, word, {
        class: `ds-svg-strong${word === "reject" ? " ds-halo" : ""}`,
        fill: `var(--ds-${word === "keep" ? "accepted" : "rejected"})`,
      }),
    );
    return [...parts, ...labels];
  }

  const wedgeAt = (board, width) => Math.min(width - 5, Math.max(5, board.u * width));

  /** Where a word stands between two ends: at its own end, else beyond the wedge, else nowhere. */
  function clearOf(wedge, spots, low, high, size) {
    const free = (from) =>
      from >= low && from + size <= high && (from > wedge + HALF || from + size < wedge - HALF);
    return spots.find(free);
  }

  /** Places `{word, from, to}` of "keep" and "reject" on the line; the wedge meets neither, or the word is left out. */
  D.boardLabels = (board, width) => {
    const [keep, wedge] = [board.keep * width, wedgeAt(board, width)];
    const place = (word, spots, low, high) => {
      const size = D.textWidth(word, SIZE, 600);
      const from = clearOf(wedge, spots(size), low, high, size);
      return from === undefined ? [] : [{ word, from, to: from + size }];
    };
    return [
      ...place("keep", () => [7, wedge + HALF + 1], 5, keep - 5),
      ...place(
        "reject",
        (size) => [width - 7 - size, wedge - HALF - 1 - size],
        keep + 5,
        width - 5,
      ),
    ];
  };

  function wedge(board, width, y) {
    const colour = board.passed ? "accepted" : "rejected";
    const x = wedgeAt(board, width);
    return D.s(
      "g",
      { class: "ds-wedge" },
      D.s("path", {
        d: `M${x - 5.5},${y - 8}L${x + 5.5},${y - 8}L${x},${y + 9}Z`,
        fill: `var(--ds-${colour})`,
        stroke: "var(--ds-paper)",
        "stroke-width": 0.8,
      }),
      D.s("line", { x1: x, x2: x, y1: y - 7, y2: y + 20, stroke: "var(--ds-ink)", "stroke-width": 1.4 }),
    );
  }

  /** Side on which a text stands at its mark: outward if it fits between the ends, else inward. */
  function beside(x, width, size, outward) {
    const left = outward < 0;
    const fits = left ? x - 4 - size >= END : x + 4 + size <= width - END;
    const toLeft = fits ? left : !left;
    return toLeft
      ? { anchor: "end", x: x - 4, from: x - 4 - size, to: x - 4 }
      : { anchor: "start", x: x + 4, from: x + 4, to: x + 4 + size };
  }

  /** Texts below the line, or u above it where both would meet. Exported for tests. */
  D.boardTexts = (board, width) => {
    const keepSize = D.textWidth(board.keep_text, SIZE);
    const uSize = D.textWidth(board.u_text, SIZE, 600);
    const keepFirst = board.keep <= board.u;
    const keep = beside(board.keep * width, width, keepSize, keepFirst ? -1 : 1);
    const u = beside(board.u * width, width, uSize, keepFirst ? 1 : -1);
    const meet = Math.max(keep.from, u.from) < Math.min(keep.to, u.to) + 6;
    return { keep, u, above: meet };
  };

  function figures(board, width, y) {
    const { keep, u, above } = D.boardTexts(board, width);
    const free = (from, to) =>
      ![keep, ...(above ? [] : [u])].some((box) => box.from < to + 3 && box.to > from - 3);
    const colour = board.passed ? "accepted" : "rejected";
    const uSpot = above
      ? beside(
          board.u * width + (u.anchor === "end" ? -4 : 4),
          width,
          u.to - u.from,
          u.anchor === "end" ? -1 : 1,
        )
      : u;
    return [
      text(keep.x, y + 31, board.keep_text, { fill: "var(--ds-accepted)", "text-anchor": keep.anchor }),
      text(uSpot.x, above ? y - 4 : y + 31, board.u_text, {
        class: "ds-svg-strong ds-halo",
        fill: `var(--ds-${colour})`,
        "text-anchor": uSpot.anchor,
      }),
      free(0, 8) ? text(0, y + 31, "0", { class: "ds-svg-mute" }) : null,
      free(width - 8, width)
        ? text(width, y + 31, "1", { class: "ds-svg-mute", "text-anchor": "end" })
        : null,
    ];
  }

  /** The drawing, `width` design pixels wide. */
  D.board = (board, width, scale) => {
    const bar = draftBar(board, width, 1);
    const y = bar.bottom + 36;
    return D.canvas(
      width,
      y + 36,
      scale,
      bar.parts,
      guides(board, width, bar.bottom + 1, y - 1),
      dartLine(board, width, y),
      wedge(board, width, y),
      figures(board, width, y),
    );
  };
})((window.Draftscope = window.Draftscope ?? {}));

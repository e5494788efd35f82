/* The round of every method at one text position, as small trees on one axis. Pure: a tree in, a drawing out. */
((D) => {
  "use strict";

  const TALL = 128; // design pixels of the tree
  const FOOT = 20; // of the axis below
  const EDGE = 14;
  const PITCH = 26; // of rows, where there is room
  const NEAR = 22; // pixels: a number so near to the pinned one gives way

  /** `{x, y, unit}` of a tree `width` wide: text position across, rows down, centred. */
  function scaleOf(tree, first, last, width) {
    const unit = (width - 2 * EDGE) / Math.max(1, last - first);
    const pitch = Math.min(PITCH, (TALL - 2 * EDGE) / Math.max(1, tree.rows - 1));
    const top = (TALL - pitch * (tree.rows - 1)) / 2;
    return { x: (place) => EDGE + (place - first) * unit, y: (row) => top + row * pitch, pitch, unit };
  }

  const KEPT = new Set(["accepted", "relaxed", "correction", "bonus", "plain"]);

  function edge(from, to, kept) {
    const middle = (from.x + to.x) / 2;
    const d =
      from.y === to.y
        ? `M${from.x},${from.y}L${to.x},${to.y}`
        : `M${from.x},${from.y}C${middle},${from.y} ${middle},${to.y} ${to.x},${to.y}`;
    return D.s("path", { d, class: kept ? "ds-small-path" : "ds-small-edge" });
  }

  const disc = (x, y, r, name) => D.s("circle", { cx: x, cy: y, r, class: name });

  /** The glyph of a state in the hue around it; sizes follow `r`. */
  D.smallGlyph = (state, x, y, r) => {
    const bare = (d, name) => D.s("path", { d, class: name });
    if (state === "accepted") return [disc(x, y, r, "ds-small-solid")];
    if (state === "correction" || state === "bonus") {
      const [part] = D.glyph(state, x, y, r * 1.2, 1);
      return [bare(part.d, "ds-small-own")];
    }
    if (state === "plain") return [disc(x, y, r * 0.55, "ds-small-own")];
    if (state === "rejected") {
      const arm = r * 0.5;
      const cross = `M${x - arm},${y - arm}L${x + arm},${y + arm}M${x - arm},${y + arm}L${x + arm},${y - arm}`;
      return [disc(x, y, r, "ds-small-ring"), bare(cross, "ds-small-cross")];
    }
    if (state === "relaxed") {
      const half = D.glyph("relaxed", x, y, r, 1)[1];
      return [
        disc(x, y, r, "ds-small-ring"),
        bare(half.d, "ds-small-solid"),
        disc(x, y, r, "ds-small-outline"),
      ];
    }
    return [disc(x, y, Math.max(1.6, r * 0.48), "ds-small-faint")];
  };

  function numbers(scale, first, last, place) {
    const x = scale.x(place);
    const inside = place >= first && place <= last;
    const free = (at) => at !== place && (!inside || Math.abs(scale.x(at) - x) >= NEAR);
    const entry = (at, strong) =>
      D.s(
        "text",
        {
          x: scale.x(at),
          y: TALL + 15,
          "text-anchor": "middle",
          class: `ds-svg-text ${strong ? "ds-svg-bold" : "ds-svg-quiet"}`,
        },
        String(at),
      );
    const ends = [...new Set([first, last])].filter(free).map((at) => entry(at, false));
    return inside ? [...ends, entry(place, true)] : ends;
  }

  function pinned(scale, place, first, last) {
    if (place < first || place > last) return null;
    const wide = Math.min(22, Math.max(12, scale.unit * 0.92));
    return D.s("rect", {
      x: scale.x(place) - wide / 2,
      y: 0,
      width: wide,
      height: TALL,
      class: "ds-small-pinned",
    });
  }

  /** A tree `width` wide at the selected `place`; `first` and `last` are the ends of the axis that all share. */
  D.smallTree = (tree, look, { first, last, place, width }) => {
    const scale = scaleOf(tree, first, last, width);
    const r = Math.max(2.6, Math.min(5, scale.unit * 0.4, scale.pitch * 0.46));
    const at = tree.dots.map((dot) => ({ x: scale.x(dot.place), y: scale.y(dot.row) }));
    const edges = tree.dots
      .map((dot, index) =>
        dot.parent < 0 ? null : [KEPT.has(dot.state), edge(at[dot.parent], at[index], KEPT.has(dot.state))],
      )
      .filter(Boolean)
      .sort((a, b) => a[0] - b[0])
      .map(([, element]) => element);
    const glyphs = tree.dots.flatMap((dot, index) => D.smallGlyph(dot.state, at[index].x, at[index].y, r));
    const drawing = D.canvas(
      width,
      TALL + FOOT,
      D.theme.scale,
      D.s(
        "g",
        { class: "ds-small-place" },
        pinned(scale, place, first, last),
        numbers(scale, first, last, place),
      ),
      edges,
      glyphs,
    );
    drawing.setAttribute("class", `ds-small-tree ${D.hueClass(look)}`);
    /** Move the pinned place; no node is drawn again. */
    const mark = (next) =>
      drawing
        .querySelector(".ds-small-place")
        .replaceChildren(
          ...[pinned(scale, next, first, last), ...numbers(scale, first, last, next)].filter(Boolean),
        );
    return { drawing, mark };
  };
})((window.Draftscope = window.Draftscope ?? {}));

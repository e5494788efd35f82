/* Where everything of a draft tree stands, in design pixels: columns, rows, labels cut to fit. Pure; it draws nothing. */
((D) => {
  "use strict";

  const HEAD = 44; // height of the column heads
  const FIRST = 115; // centre of depth 1
  const SIDE = 120; // taken by the root's column
  const LEAST_COLUMN = 92;
  const MOST_COLUMN = 190;
  const DEEP = 6; // more depths than this scroll sideways
  const LABEL = 6.5; // from ring to label

  const STRONG = new Set(["accepted", "relaxed", "correction", "bonus", "plain"]);
  const SILENT = new Set(["pruned", "probe"]);

  /** Distance of rows for `leaves` leaves. */
  D.pitch = (leaves) => Math.max(16.5, Math.min(27, 460 / Math.max(1, leaves)));

  /** Height of the drawing for `rows` rows. */
  D.treeHeight = (rows) => HEAD + Math.max(78, rows * D.pitch(rows) + 12);

  function typeOf(state, dense) {
    if (state === "root") return { size: 13, weight: 600, colour: "@ink" };
    if (STRONG.has(state)) return { size: dense ? 11.5 : 13, weight: 600, colour: "@ink" };
    if (state === "rejected") return { size: dense ? 11.5 : 13, weight: 400, colour: "@ink" };
    return { size: dense ? 10.5 : 12, weight: 400, colour: "@mute" };
  }

  function labelOf(node, box, dense, hidden) {
    if (SILENT.has(node.state)) return { text: "", dot: false, end: box.x + 6, start: box.x + 6, ...typeOf(node.state, dense) };
    const type = typeOf(node.state, dense);
    const dot = node.label.space ? D.textWidth("·", type.size, type.weight) : 0;
    const more = hidden ? `  + ${hidden}` : "";
    const moreWidth = more ? D.textWidth(more, type.size) : 0;
    const text = D.cut(node.label.text, Math.max(14, box.room - dot - moreWidth), type.size, type.weight);
    const width = dot + D.textWidth(text, type.size, type.weight);
    return { text, dot: dot > 0, more, start: box.x, width, end: box.x + width + moreWidth, ...type };
  }

  /**
   * Geometry of a round. `width` is the room in design pixels.
   *
   * Gives `{width, height, R, pitch, dense, heads, nodes: Map(id -> {node, x, y, label, hidden})}`.
   */
  D.treeLayout = (view, width, open = new Set()) => {
    const { nodes, rows, folded } = D.fold(view, open);
    const depth = Math.max(1, ...nodes.map((node) => node.depth), view.depths.length);
    const fitting = (width - SIDE) / depth;
    const column = Math.min(MOST_COLUMN, depth > DEEP ? Math.max(LEAST_COLUMN, fitting) : fitting);
    const pitch = D.pitch(rows);
    const R = Math.min(8.5, 0.36 * pitch);
    const dense = pitch < 20;
    const xOf = (level) => (level === 0 ? 8 : FIRST + (level - 1) * column);
    const placed = new Map();
    for (const node of nodes) {
      const x = xOf(node.depth);
      const y = HEAD + (node.row + 0.5) * pitch;
      const hidden = folded.get(node.id) ?? 0;
      const isRoot = node.state === "root";
      const box = isRoot ? { x: 0, room: FIRST - 30 } : { x: x + R + LABEL, room: column - R - 38 };
      const label = labelOf(isRoot ? { ...node, label: view.root } : node, box, dense, hidden);
      placed.set(node.id, { node, x, y, label: { ...label, y: isRoot ? y + 18 : y }, hidden });
    }
    const heads = view.depths.map((head, place) => ({ ...head, x: xOf(place + 1) - R, room: column - 8 }));
    return {
      width: Math.max(width, SIDE + depth * column), height: D.treeHeight(rows), R, pitch, dense, heads, column,
      nodes: placed,
    };
  };

  /** Node under a point, or null: the nearest row whose mark or label the point touches. */
  D.nodeAt = (layout, x, y) => {
    for (const [id, { label, x: centre, y: middle }] of layout.nodes) {
      const right = Math.max(centre + layout.R, label.end) + 4;
      const isRoot = label.y !== middle;
      if (x >= centre - layout.R - 5 && x <= right && Math.abs(y - middle) <= Math.max(9, layout.pitch / 2)) return id;
      if (isRoot && x >= 0 && x <= right && y > middle && y < label.y + 10) return id;
    }
    return null;
  };
})((window.Draftscope = window.Draftscope ?? {}));

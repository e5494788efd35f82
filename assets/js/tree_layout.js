/* Where everything of a draft tree stands, in design pixels: columns, rows, labels cut to fit. Pure. */
((D) => {
  "use strict";

  const HEAD = 44; // height of the column heads, with one line of counts
  const HEAD_LINE = 13;
  const FIRST = 115; // centre of depth 1
  const SIDE = 120; // taken by the root's column
  const LEAST_COLUMN = 92;
  const MOST_COLUMN = 190;
  const DEEP = 6; // more depths than this scroll sideways
  const LABEL = 6.5; // from ring to label
  const LONGEST = 220; // of the label of a leaf: no edge leaves it, its row is its own

  const STRONG = new Set(["accepted", "relaxed", "correction", "bonus", "plain"]);
  const SILENT = new Set(["pruned", "probe"]);

  /** Distance of rows for `leaves` leaves. */
  D.pitch = (leaves) => Math.max(16.5, Math.min(27, 460 / Math.max(1, leaves)));

  /** Height of the drawing for `rows` rows, heads at their tallest. */
  D.treeHeight = (rows, head = HEAD + HEAD_LINE) => head + Math.max(78, rows * D.pitch(rows) + 12);

  /** Column heads; their counts go on two lines in all columns where they are too wide for one. */
  function headsOf(view, xOf, R, column) {
    const heads = view.depths.map((head, place) => ({
      head: head.head,
      notes: [head.note],
      x: place ? xOf(place) - R : 0,
      room: place ? column - 10 : FIRST - R - 8,
    }));
    if (heads.every((head) => D.textWidth(head.notes[0], 11) <= head.room)) return heads;
    return heads.map((head) => ({ ...head, notes: head.notes[0].split(/(?<=,) /u).slice(0, 2) }));
  }

  function typeOf(state, dense) {
    if (state === "root") return { size: 13, weight: 600, colour: "@ink" };
    if (STRONG.has(state)) return { size: dense ? 11.5 : 13, weight: 600, colour: "@ink" };
    if (state === "rejected") return { size: dense ? 11.5 : 13, weight: 400, colour: "@ink" };
    return { size: dense ? 10.5 : 12, weight: 400, colour: "@mute" };
  }

  function labelOf(node, box, dense, hidden) {
    if (SILENT.has(node.state))
      return { text: "", dot: false, end: box.x + 6, start: box.x + 6, ...typeOf(node.state, dense) };
    const type = typeOf(node.state, dense);
    const dot = node.label.space ? D.textWidth("·", type.size, type.weight) : 0;
    const more = hidden ? `  + ${hidden}` : "";
    const moreWidth = more ? D.textWidth(more, type.size) : 0;
    const text = D.cut(node.label.text, Math.max(14, box.room - dot - moreWidth), type.size, type.weight);
    const width = dot + D.textWidth(text, type.size, type.weight);
    return { text, dot: dot > 0, more, start: box.x, width, end: box.x + width + moreWidth, ...type };
  }

  /** Where the root's label stands: below the mark, but out of the way of the band. */
  function rootLabelY(placed) {
    const root = [...placed.values()].find(({ node }) => node.state === "root");
    const next = [...placed.values()].find(
      ({ node }) => node.path && node.parent === root?.node.id && node.state !== "root",
    );
    if (!root) return;
    const down = next ? next.y - root.y : 0;
    root.label.y = root.y + (down < 8 ? 18 : down < 40 ? down + 19 : -18);
  }

  /**
   * Geometry of a round. `width` is the room in design pixels.
   *
   * Gives `{width, height, R, pitch, dense, heads, nodes: Map(id -> {node, x, y, label, hidden})}`.
   */
  D.treeLayout = (view, width, open = new Set()) => {
    const { nodes, rows, folded } = D.fold(view, open);
    const depth = Math.max(1, ...nodes.map((node) => node.depth), view.depths.length - 1);
    const fitting = (width - SIDE) / depth;
    const column = Math.min(MOST_COLUMN, depth > DEEP ? Math.max(LEAST_COLUMN, fitting) : fitting);
    const pitch = D.pitch(rows);
    const R = Math.min(8.5, 0.36 * pitch);
    const dense = pitch < 20;
    const xOf = (level) => (level === 0 ? 8 : FIRST + (level - 1) * column);
    const heads = headsOf(view, xOf, R, column);
    const head = HEAD + (heads.some((each) => each.notes.length > 1) ? HEAD_LINE : 0);
    const whole = Math.max(width, SIDE + depth * column);
    const parents = new Set(nodes.map((node) => (node.state === "root" ? null : node.parent)));
    const placed = new Map();
    for (const node of nodes) {
      const x = xOf(node.depth);
      const y = head + (node.row + 0.5) * pitch;
      const hidden = folded.get(node.id) ?? 0;
      const isRoot = node.state === "root";
      const free = parents.has(node.id) ? column - R - 38 : Math.min(LONGEST, whole - x - R - LABEL - 4);
      const box = isRoot ? { x: 0, room: FIRST - R - 8 } : { x: x + R + LABEL, room: free };
      const label = labelOf(isRoot ? { ...node, label: view.root } : node, box, dense, hidden);
      placed.set(node.id, { node, x, y, label: { ...label, y }, hidden });
    }
    rootLabelY(placed);
    return {
      width: whole,
      height: D.treeHeight(rows, head),
      R,
      pitch,
      dense,
      heads,
      column,
      nodes: placed,
    };
  };

  /** Node under a point, or null: the nearest row whose mark or label the point touches. */
  D.nodeAt = (layout, x, y) => {
    for (const [id, { label, x: centre, y: middle }] of layout.nodes) {
      const right = Math.max(centre + layout.R, label.end) + 4;
      if (x >= centre - layout.R - 5 && x <= right && Math.abs(y - middle) <= Math.max(9, layout.pitch / 2))
        return id;
      if (label.y !== middle && x >= 0 && x <= right && Math.abs(y - label.y) < 10) return id;
    }
    return null;
  };
})((window.Draftscope = window.Draftscope ?? {}));

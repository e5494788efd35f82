/* One tree of an X-ray as a drawing that turns into another: every node has one place for all trees, and grows out of
   the nearest node that both have. Also the same trees as thumbnails. It asks nobody and says nothing. */
((D) => {
  "use strict";

  const ROOM = { root: 104, last: 88, top: 10, bottom: 10 }; // design pixels around the nodes
  const WIDE = 6; // columns with room for words; deeper ones only where there is room left
  const COLUMN = { least: 76, most: 150, deep: 30 };
  const HEIGHT = 430; // that the rows share
  const TURN = 34; // before a column, where an edge leaves its level
  const LINE = 12; // between two labels of a column

  const n = (value) => Math.round(value * 10) / 10;

  /** Distances of columns: `wide` for the first ones, `deep` for the rest. */
  function columns(depth, width) {
    const wide = Math.min(WIDE, depth) - 1;
    const deep = Math.max(0, depth - WIDE);
    const free = width - ROOM.root - ROOM.last;
    const step = wide ? (free - deep * COLUMN.deep) / wide : COLUMN.most;
    const fitting = Math.max(COLUMN.least, Math.min(COLUMN.most, step));
    const left = deep ? Math.min(fitting, Math.max(COLUMN.deep, (free - wide * fitting) / deep)) : 0;
    const x = (at) => ROOM.root + Math.min(at - 1, wide) * fitting + Math.max(0, at - 1 - wide) * left;
    return { x, room: (at) => (at <= wide ? fitting : at < depth ? left : ROOM.last) };
  }

  /** Where every node stands, the root as -1. Pure. */
  D.xrayLayout = (found, width) => {
    const pitch = Math.max(6.5, Math.min(20, HEIGHT / found.rows));
    const R = Math.max(3.2, Math.min(7.5, pitch * 0.38));
    const { x, room } = columns(found.depth, width);
    const y = (row) => ROOM.top + R + (row + 0.5) * pitch;
    const spots = new Map(found.nodes.map((node, id) => [id, { x: x(node.depth), y: y(node.row), room: room(node.depth) }]));
    spots.set(-1, { x: 8, y: y(found.root_row), room: ROOM.root - 30 });
    const whole = Math.max(width, x(found.depth) + ROOM.last);
    return { width: whole, height: y(found.rows - 0.5) + R + ROOM.bottom, R, pitch, spots };
  };

  /** The way from a node to its child: level, then one bend. */
  function way(from, to, start = from.x) {
    const turn = Math.max(from.x, to.x - TURN);
    const middle = n((turn + to.x) / 2);
    return `M${n(Math.min(start, turn))},${n(from.y)}L${n(turn)},${n(from.y)}C${middle},${n(from.y)} ${middle},${n(to.y)} ${n(to.x)},${n(to.y)}`;
  }

  const chain = (layout, places) =>
    places.map((place, index) => way(layout.spots.get(places[index - 1] ?? -1), layout.spots.get(place))).join("");

  const mark = (state, R, p) =>
    D.glyph(state, 0, 0, R, p).map((part) => D.s("path", {
      d: part.d,
      fill: part.fill ? D.ref(part.fill) : "none",
      stroke: part.line ? D.ref(part.line) : null,
      "stroke-width": part.width,
      "fill-opacity": part.opacity,
    }));

  /** Which nodes get words, and how wide those are: in each column those that matter most, where the words of others leave room. */
  D.xrayLabels = (found, tree, layout) => {
    const state = new Map(tree.nodes.map((id, place) => [id, tree.states[place]]));
    const weight = (id) => {
      if (state.get(id) === "accepted") return 4;
      if (state.get(id) === "rejected") return 3;
      return (found.oracle.includes(id) ? 2 : 0) + (found.nodes[id].path_q ?? 0);
    };
    const wanted = [...new Set([...tree.nodes, ...found.oracle])].sort((a, b) => weight(b) - weight(a));
    const taken = new Map();
    return new Map(wanted.flatMap((id) => {
      const { y, room } = layout.spots.get(id);
      const column = found.nodes[id].depth;
      const free = room - layout.R - 14;
      const near = (taken.get(column) ?? []).some((other) => Math.abs(other - y) < LINE);
      if (near || free < 18) return [];
      taken.set(column, [...(taken.get(column) ?? []), y]);
      const strong = state.get(id) === "accepted";
      const words = D.cut(D.plainText(found.nodes[id].label), free, 12, strong ? 600 : 400);
      return [[id, { words, width: D.textWidth(words, 12, strong ? 600 : 400) }]];
    }));
  };

  /** The nearest node above `id` that the tree has. */
  function above(found, has, id) {
    let at = found.nodes[id].parent;
    while (at >= 0 && !has.has(at)) at = found.nodes[at].parent;
    return at;
  }

  /**
   * Mount the drawing into `root`. `tell(words)` hears of the node under the pointer, or null.
   *
   * Gives `{set(found, width), show(tree)}`: nodes are made once per answer, and move from tree to tree.
   */
  D.xrayDrawing = (root, tell) => {
    let found = null;
    let layout = null;
    let parts = null;

    function node(id) {
      const words = D.s("text", { class: "ds-xray-word", x: layout.R + 5, y: 4 });
      const glyph = D.s("g");
      const group = D.s("g", { class: "ds-xray-node" }, glyph, words);
      group.addEventListener("mouseenter", () => tell(id));
      group.addEventListener("mouseleave", () => tell(null));
      return { group, glyph, words };
    }

    function set(next, width) {
      found = next;
      layout = D.xrayLayout(found, width);
      const ids = found.nodes.map((_, id) => id);
      const edges = new Map(ids.map((id) => [id, D.s("path", {
        class: "ds-xray-edge",
      })]));
      const nodes = new Map(ids.map((id) => [id, node(id)]));
      const band = D.s("path", { class: "ds-xray-band", "stroke-width": Math.min(15, layout.pitch) });
      const ghost = D.s("path", { class: "ds-xray-ghost", d: chain(layout, found.oracle) });
      const { x, y, room } = layout.spots.get(-1);
      const start = D.s("g", { transform: `translate(${x} ${y})` }, mark("root", layout.R, 1),
        D.s("text", { class: "ds-xray-word ds-svg-strong", x: -5, y: layout.R + 14 }, D.cut(D.plainText(found.root), room, 12, 600)));
      const canvas = D.canvas(layout.width, layout.height, D.theme.scale,
        band, ghost, [...edges.values()], start, [...nodes.values()].map((one) => one.group));
      canvas.removeAttribute("aria-hidden");
      canvas.setAttribute("role", "img");
      parts = { canvas, edges, nodes, band };
      root.replaceChildren(canvas);
    }

    function show(tree) {
      const has = new Map(tree.nodes.map((id, place) => [id, tree.states[place]]));
      const labels = D.xrayLabels(found, tree, layout);
      const path = tree.nodes.filter((id) => has.get(id) === "accepted");
      const oracle = new Set(found.oracle);
      parts.canvas.setAttribute("aria-label", tree.alt);
      parts.band.setAttribute("d", chain(layout, path));
      for (const [id, { group, glyph, words }] of parts.nodes) {
        const state = has.get(id) ?? (oracle.has(id) ? "ghost" : null);
        const spot = layout.spots.get(state ? id : above(found, has, id));
        group.style.transform = `translate(${n(spot.x)}px, ${n(spot.y)}px)${state ? "" : " scale(.3)"}`;
        group.classList.toggle("ds-xray-out", !state);
        group.classList.toggle("ds-xray-own", state === "ghost");
        words.textContent = labels.get(id)?.words ?? "";
        words.classList.toggle("ds-svg-strong", state === "accepted");
        words.classList.toggle("ds-xray-quiet", state !== "accepted" && state !== "rejected");
        if (state) glyph.replaceChildren(...(state === "ghost"
          ? [D.s("circle", { class: "ds-xray-hollow", r: Math.max(2.6, layout.R * 0.6) })]
          : mark(state, layout.R, found.nodes[id].p)));
        const edge = parts.edges.get(id);
        edge.setAttribute("class", `ds-xray-edge ds-xray-${has.has(id) ? has.get(id) : "none"}`);
        const parent = layout.spots.get(found.nodes[id].parent);
        const label = labels.get(found.nodes[id].parent);
        edge.setAttribute("d", way(parent, layout.spots.get(id), parent.x + (label ? layout.R + 9 + label.width : 0)));
        edge.style.strokeWidth = String(n(Math.max(0.8, 7 * (found.nodes[id].q ?? 0))));
      }
    }

    return { set, show };
  };

  /** A tree as a small picture: the same places, without words. */
  D.xrayThumb = (found, tree, width, height) => {
    const x = (depth) => 4 + (depth / Math.max(1, found.depth)) * (width - 8);
    const y = (row) => 4 + ((row + 0.5) / found.rows) * (height - 8);
    const at = (id) => (id < 0 ? [x(0), y(found.root_row)] : [x(found.nodes[id].depth), y(found.nodes[id].row)]);
    const line = (id) => {
      const [[a, b], [c, d]] = [at(found.nodes[id].parent), at(id)];
      return `M${n(a)},${n(b)}C${n((a + c) / 2)},${n(b)} ${n((a + c) / 2)},${n(d)} ${n(c)},${n(d)}`;
    };
    const of = (state) => tree.nodes.filter((_, place) => tree.states[place] === state);
    const lines = (ids) => ids.map(line).join("");
    const dots = (ids, r, fill) => ids.map((id) => D.s("circle", { cx: n(at(id)[0]), cy: n(at(id)[1]), r, fill }));
    return D.canvas(width, height, D.theme.scale,
      D.s("path", { d: lines(found.oracle), class: "ds-xray-ghost" }),
      D.s("path", { d: lines(of("unreached")), class: "ds-xray-thin" }),
      D.s("path", { d: lines(of("rejected")), class: "ds-xray-thin ds-xray-rejected" }),
      D.s("path", { d: lines(of("accepted")), class: "ds-xray-kept" }),
      dots(of("unreached"), 1.5, "var(--ds-mute)"),
      dots(of("rejected"), 1.8, "var(--ds-rejected)"),
      dots(of("accepted"), 2.6, "var(--ds-accepted)"),
      D.s("rect", { x: x(0) - 2.5, y: y(found.root_row) - 2.5, width: 5, height: 5, fill: "var(--ds-ink)" }));
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* A draft tree as a Plotly figure whose axes count design pixels. Pure: a round and a width in, a figure out. */
((D) => {
  "use strict";

  const VERDICT = {
    accepted: "@accepted", relaxed: "@relaxed-text", rejected: "@rejected", correction: "@correction",
    bonus: "@bonus-text", unreached: "@mute", pruned: "@mute", probe: "@mute", plain: "@ink", root: "@ink",
  };

  /** Theme key of the colour in which a state is written. */
  D.verdictColour = (state) => VERDICT[state];

  const shape = (part, scale) => ({
    type: "path", path: part.d, layer: "below", editable: false,
    fillcolor: part.fill ?? "rgba(0,0,0,0)", opacity: part.opacity ?? 1,
    line: { color: part.line ?? "rgba(0,0,0,0)", width: (part.line ? part.width : 0) * scale, dash: part.dash ?? "solid" },
  });

  /** Marks of all nodes; strokes and fills of one look share a path. */
  function marks(layout) {
    const bundles = new Map();
    for (const { node, x, y } of layout.nodes.values()) {
      D.glyph(node.state, x, y, layout.R, node.p ?? 0).forEach((part, level) => {
        const key = `${node.state}|${level}`;
        const bundle = bundles.get(key) ?? { ...part, d: "" };
        bundle.d += part.d;
        bundles.set(key, bundle);
      });
    }
    return [...bundles.values()];
  }

  function pinParts(layout, pinned) {
    const placed = layout.nodes.get(pinned);
    if (!placed) return [];
    const { x, y, label, node } = placed;
    const ring = { d: D.circlePath(x, y, layout.R + 3.5), line: "@ink", width: 2 };
    if (!label.text) return [ring];
    const height = Math.min(20, layout.pitch - 0.5);
    const isRoot = node.state === "root";
    const box = D.roundedPath(label.start - 3.5, label.y - height / 2, label.end - label.start + 7.5, height, 3);
    return isRoot ? [{ d: box, fill: "@ink" }] : [ring, { d: box, fill: "@ink" }];
  }

  function pills(layout) {
    const d = [...layout.nodes.values()].filter((placed) => placed.node.label.special && placed.label.text)
      .map(({ label }) => D.roundedPath(label.start - 3, label.y - 7.5, label.width + 6, 15, 7)).join("");
    return d ? [{ d, line: "@mute", width: 1 }] : [];
  }

  function strikes(layout, pinned) {
    const struck = [...layout.nodes.values()].filter((placed) => placed.node.state === "rejected");
    const draw = (list) => list
      .map(({ label }) => `M${label.start - 1},${label.y + 0.5}L${label.start + label.width + 1.5},${label.y + 0.5}`).join("");
    const plain = draw(struck.filter((placed) => placed.node.id !== pinned));
    return plain ? [{ d: plain, line: "@ink", width: 1 }] : [];
  }

  function textTrace(items, scale, more) {
    return {
      type: "scatter", mode: "text", hoverinfo: "skip", cliponaxis: false, showlegend: false,
      x: items.map((item) => item.x), y: items.map((item) => item.y), text: items.map((item) => item.text),
      textposition: more.position ?? "middle right", ids: items.map((item) => item.id), uid: more.uid, name: more.uid,
      textfont: { family: D.SANS, size: more.size * scale, color: more.colour, weight: more.weight },
    };
  }

  const DOT = '<span style="color:DOT">·</span>';

  function labelText(label, isPinned, colours) {
    const dot = label.dot ? DOT.replace("DOT", isPinned ? colours.paper : colours.mute) : "";
    return dot + D.chartText(label.text + (label.more ?? ""));
  }

  /** Labels in one trace per look; the pinned one is set in paper colour on its box. */
  function labels(layout, pinned, scale, colours) {
    const looks = new Map();
    for (const [id, { node, label }] of layout.nodes) {
      if (!label.text && !label.dot) continue;
      const isPinned = id === pinned;
      const look = isPinned ? "pin" : node.state === "root" ? "root" : `${label.weight}-${label.size}-${label.colour.slice(1)}`;
      const { size, weight, colour } = label;
      if (!looks.has(look)) looks.set(look, { items: [], size, weight, colour: isPinned ? "@paper" : colour });
      looks.get(look).items.push({ id: String(id), x: label.start, y: label.y, text: labelText(label, isPinned, colours) });
    }
    return [...looks].map(([look, more]) => textTrace(more.items, scale, { ...more, uid: `label-${look}` }));
  }

  function darts(layout, scale) {
    const byState = new Map();
    for (const { node, x, y } of layout.nodes.values()) {
      if (node.dart === null) continue;
      const list = byState.get(node.state) ?? [];
      const low = layout.dense ? 8 : 11;
      list.push({ id: String(node.id), x: x - layout.R - 8, y: y - low, text: String(node.dart) });
      byState.set(node.state, list);
    }
    return [...byState].map(([state, items]) => textTrace(items, scale, {
      position: "middle center", uid: `dart-${state}`, size: 11, weight: 700, colour: VERDICT[state],
    }));
  }

  function heads(view, layout, scale) {
    const rows = [{ head: "Text so far", note: "", x: 0, room: 100 }, ...layout.heads];
    const line = (part, y, size, weight) => rows.filter((row) => row[part])
      .map((row) => ({ id: row.head, x: row.x, y, text: D.chartText(D.cut(row[part], row.room, size, weight)) }));
    return [
      textTrace(line("head", 8, 12, 600), scale, { uid: "heads", size: 12, weight: 600, colour: "@ink" }),
      textTrace(line("note", 23, 11, 400), scale, { uid: "head-notes", size: 11, weight: 400, colour: "@mute" }),
    ];
  }

  /** An invisible trace that answers pointers: points along each mark and label, `customdata` the node id. */
  function hits(layout) {
    const [x, y, ids] = [[], [], []];
    for (const [id, { x: centre, y: middle, label }] of layout.nodes) {
      for (let at = centre; at <= Math.max(centre, label.end); at += 14) {
        x.push(at);
        y.push(middle);
        ids.push(id);
      }
    }
    return {
      type: "scatter", mode: "markers", uid: "hits", name: "hits", x, y, customdata: ids, hoverinfo: "none",
      marker: { size: 16, color: "rgba(0,0,0,0)" }, showlegend: false, cliponaxis: false,
    };
  }

  const axis = (range) => ({ range, visible: false, fixedrange: true, autorange: false, zeroline: false });

  /** The figure of a laid-out round, colours filled in. `pinned` is the marked node's id or null. */
  D.treeFigure = (view, layout, { pinned, scale, colours }) => {
    const band = D.band(layout);
    const parts = [
      ...(band ? [{ d: band, line: "@kept", width: 15 }] : []), ...D.edges(layout), ...pills(layout), ...strikes(layout, pinned),
      ...marks(layout), ...pinParts(layout, pinned),
    ];
    const figure = {
      data: [...labels(layout, pinned, scale, colours), ...darts(layout, scale), ...heads(view, layout, scale), hits(layout)],
      layout: {
        width: layout.width * scale, height: layout.height * scale, margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false,
        hovermode: "closest", hoverdistance: 14, uirevision: "tree", transition: { duration: 0 },
        xaxis: axis([0, layout.width]), yaxis: axis([layout.height, 0]), shapes: parts.map((part) => shape(part, scale)),
      },
    };
    return D.paint(figure, colours);
  };
})((window.Draftscope = window.Draftscope ?? {}));

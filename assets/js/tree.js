/* A draft tree as a Plotly figure whose axes count design pixels. Pure: a round and a width in, a figure out. */
((D) => {
  "use strict";

  const VERDICT = {
    accepted: "@accepted",
    relaxed: "@relaxed-text",
    rejected: "@rejected",
    correction: "@correction",
    bonus: "@bonus-text",
    unreached: "@mute",
    pruned: "@mute",
    probe: "@mute",
    plain: "@ink",
    root: "@ink",
  };

  /** Theme key of the colour in which a state is written. */
  D.verdictColour = (state) => VERDICT[state];

  const shape = (part, scale) => ({
    type: "path",
    path: part.d,
    layer: "below",
    editable: false,
    fillcolor: part.fill ?? "rgba(0,0,0,0)",
    opacity: part.opacity ?? 1,
    line: {
      color: part.line ?? "rgba(0,0,0,0)",
      width: (part.line ? part.width : 0) * scale,
      dash: part.dash ?? "solid",
    },
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
    const box = D.roundedPath(
      label.start - 3.5,
      label.y - height / 2,
      label.end - label.start + 7.5,
      height,
      3,
    );
    return isRoot ? [{ d: box, fill: "@ink" }] : [ring, { d: box, fill: "@ink" }];
  }

  function pills(layout) {
    const d = [...layout.nodes.values()]
      .filter((placed) => placed.node.label.special && placed.label.text)
      .map(({ label }) => D.roundedPath(label.start - 3, label.y - 7.5, label.width + 6, 15, 7))
      .join("");
    return d ? [{ d, line: "@mute", width: 1 }] : [];
  }

  function strikes(layout, pinned) {
    const struck = [...layout.nodes.values()].filter((placed) => placed.node.state === "rejected");
    const draw = (list) =>
      list
        .map(
          ({ label }) =>
            `M${label.start - 1},${label.y + 0.5}L${label.start + label.width + 1.5},${label.y + 0.5}`,
        )
        .join("");
    const plain = draw(struck.filter((placed) => placed.node.id !== pinned));
    return plain ? [{ d: plain, line: "@ink", width: 1 }] : [];
  }

  /** One trace for many texts: each item brings its own place, size, weight and colour. */
  function textTrace(uid, items, scale) {
    const all = (key) => items.map((item) => item[key]);
    return {
      type: "scatter",
      mode: "text",
      uid,
      name: uid,
      hoverinfo: "skip",
      cliponaxis: false,
      showlegend: false,
      x: all("x"),
      y: all("y"),
      text: all("text"),
      customdata: items.map((item) => item.id ?? null),
      textposition: items.map((item) => item.position ?? "middle right"),
      textfont: {
        family: D.SANS,
        size: items.map((item) => item.size * scale),
        color: all("colour"),
        weight: all("weight"),
      },
    };
  }

  const DOT = '<span style="color:DOT">·</span>';

  function labelText(label, isPinned, colours) {
    const dot = label.dot ? DOT.replace("DOT", isPinned ? colours.paper : colours.mute) : "";
    return dot + D.chartText(label.text + (label.more ?? ""));
  }

  /** Labels of all nodes; the pinned one is set in paper colour on its box. */
  function labels(layout, pinned, colours) {
    return [...layout.nodes]
      .filter(([, { label }]) => label.text || label.dot)
      .map(([id, { node, label }]) => ({
        id,
        x: label.start,
        y: label.y,
        text: labelText(label, id === pinned, colours),
        size: label.size,
        weight: label.weight,
        colour: id === pinned ? "@paper" : label.colour,
        haloed: node.state === "root" && id !== pinned,
      }));
  }

  function darts(layout) {
    const low = layout.dense ? 8 : 11;
    return [...layout.nodes]
      .filter(([, { node }]) => node.dart !== null)
      .map(([id, { node, x, y }]) => ({
        id,
        x: x - layout.R - 8,
        y: y - low,
        text: String(node.dart),
        position: "middle center",
        size: 11,
        weight: 700,
        colour: VERDICT[node.state],
      }));
  }

  function heads(layout) {
    const item = (row, words, y, size, weight, colour) => ({
      x: row.x,
      y,
      text: D.chartText(D.cut(words, row.room, size, weight)),
      size,
      weight,
      colour,
    });
    return layout.heads.flatMap((row) => [
      item(row, row.head, 8, 12, 600, "@ink"),
      ...row.notes.filter(Boolean).map((note, line) => item(row, note, 23 + 13 * line, 11, 400, "@mute")),
    ]);
  }

  const axis = (range) => ({ range, visible: false, fixedrange: true, autorange: false, zeroline: false });

  /** The figure of a laid-out round, colours filled in. `pinned` is the marked node's id or null. */
  D.treeFigure = (layout, { pinned, scale, colours }) => {
    const band = D.band(layout);
    const parts = [
      ...(band ? [{ d: band, line: "@kept", width: 15 }] : []),
      ...D.edges(layout),
      ...pills(layout),
      ...strikes(layout, pinned),
      ...marks(layout),
      ...pinParts(layout, pinned),
    ];
    const named = labels(layout, pinned, colours);
    const figure = {
      data: [
        textTrace("labels", [...heads(layout), ...named.filter((item) => !item.haloed)], scale),
        textTrace("haloed", [...named.filter((item) => item.haloed), ...darts(layout)], scale),
      ],
      layout: {
        width: layout.width * scale,
        height: layout.height * scale,
        margin: { l: 0, r: 0, t: 0, b: 0, pad: 0 },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        showlegend: false,
        dragmode: false,
        hovermode: false,
        uirevision: "tree",
        xaxis: axis([0, layout.width]),
        yaxis: axis([layout.height, 0]),
        shapes: parts.map((part) => shape(part, scale)),
      },
    };
    return D.paint(figure, colours);
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* A draft tree as a Plotly figure whose axes count design pixels, without words. Pure: a layout in, a figure out. */
((D) => {
  "use strict";

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

  function pills(layout) {
    const d = [...layout.nodes.values()]
      .filter((placed) => placed.node.label.special && placed.label.text)
      .map(({ label }) => D.roundedPath(label.start - 3, label.y - 7.5, label.width + 6, 15, 7))
      .join("");
    return d ? [{ d, line: "@mute", width: 1 }] : [];
  }

  function strikes(layout) {
    const d = [...layout.nodes.values()]
      .filter((placed) => placed.node.state === "rejected" && placed.label.text)
      .map(
        ({ label }) =>
          `M${label.start - 1},${label.y + 0.5}L${label.start + label.width + 1.5},${label.y + 0.5}`,
      )
      .join("");
    return d ? [{ d, line: "@ink", width: 1 }] : [];
  }

  const axis = (range) => ({ range, visible: false, fixedrange: true, autorange: false, zeroline: false });

  /** The figure of a laid-out round, colours filled in; `words` of `D.treeWords` where it must hold them too. */
  D.treeFigure = (layout, { scale, colours, words = [] }) => {
    const band = D.band(layout);
    const parts = [
      ...(band ? [{ d: band, line: "@kept", width: 15 }] : []),
      ...D.edges(layout),
      ...pills(layout),
      ...strikes(layout),
      ...marks(layout),
    ];
    const figure = {
      data: words.length ? [D.wordTrace(words, scale)] : [],
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

/* Takes things home: a graph as a picture, tables as CSV. */
((D) => {
  "use strict";

  const EDGE = 16; // pixels of paper around a picture

  /** One CSV cell. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
  D.csvCell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
    return /[",\n\r]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };

  D.csv = (head, rows) => [head, ...rows].map((row) => row.map(D.csvCell).join(",")).join("\r\n");

  const written = (label) => `${label.space ? " " : ""}${label.text}`;

  /** All darts of the rounds that the page holds. */
  D.dartsCsv = (store) =>
    D.csv(
      ["round", "dart", "node", "token", "accept", "u", "verdict"],
      store
        .views()
        .flatMap((view) =>
          view.darts.map((dart) => [
            view.index,
            dart.number,
            dart.node,
            written(dart.label),
            dart.accept,
            dart.greedy ? null : dart.u,
            dart.verdict,
          ]),
        ),
    );

  /** All nodes of the rounds that the page holds. */
  D.nodesCsv = (store) =>
    D.csv(
      ["round", "node", "parent", "depth", "token", "state", "p", "q"],
      store
        .views()
        .flatMap((view) =>
          view.nodes.map((node) => [
            view.index,
            node.id,
            node.parent,
            node.depth,
            written(node.label),
            node.state,
            node.p,
            node.q,
          ]),
        ),
    );

  /** The tokens of the text, with the round that brought each. */
  D.tokensCsv = (store) =>
    D.csv(
      ["position", "token", "kind", "round", "node"],
      store.overview.strip.flatMap((round) =>
        round.tokens.map((token) => [
          token.position,
          written(token.label),
          token.kind,
          round.index,
          token.node,
        ]),
      ),
    );

  /** Save `content` as a file. */
  D.save = (name, content, type = "text/csv") => {
    const url = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
    const link = D.h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };

  /** Save a chart as it is seen, on paper; `format` is png or svg. */
  D.savePicture = async (Plotly, figure, format, name, colours) => {
    const { l, r, t, b } = figure.layout.margin;
    const [width, height] = [figure.layout.width + 2 * EDGE, figure.layout.height + 2 * EDGE];
    const margin = { l: l + EDGE, r: r + EDGE, t: t + EDGE, b: b + EDGE, pad: 0 };
    const layout = { ...figure.layout, width, height, margin, paper_bgcolor: colours.paper };
    const image = await Plotly.toImage(
      { data: figure.data, layout, config: { typesetMath: false } },
      { format, width, height, scale: format === "png" ? 2 : 1 },
    );
    const link = D.h("a", { href: image, download: `${name}.${format}` });
    document.body.append(link);
    link.click();
    link.remove();
    return image;
  };
})((window.Draftscope = window.Draftscope ?? {}));

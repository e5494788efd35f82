/* The words of a draft tree: heads, labels, dart numbers, and the pin. As elements, since a chart sets many texts
   slowly; as one trace for pictures that leave the page. Pure: a layout in, items out. */
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

  function heads(layout) {
    const item = (row, words, y, size, weight, colour) => ({
      x: row.x,
      y,
      text: D.cut(words, row.room, size, weight),
      size,
      weight,
      colour,
    });
    return layout.heads.flatMap((row) => [
      item(row, row.head, 8, 12, 600, "@ink"),
      ...row.notes.filter(Boolean).map((note, line) => item(row, note, 23 + 13 * line, 11, 400, "@mute")),
    ]);
  }

  function labels(layout) {
    return [...layout.nodes]
      .filter(([, { label }]) => label.text || label.dot)
      .map(([id, { node, label }]) => ({
        id,
        x: label.start,
        y: label.y,
        dot: label.dot,
        text: label.text + (label.more ?? ""),
        size: label.size,
        weight: label.weight,
        colour: label.colour,
        haloed: node.state === "root",
      }));
  }

  function darts(layout) {
    const low = layout.dense ? 8 : 11;
    return [...layout.nodes.values()]
      .filter(({ node }) => node.dart !== null)
      .map(({ node, x, y }) => ({
        x: x - layout.R - 8,
        y: y - low,
        text: String(node.dart),
        middle: true,
        size: 11,
        weight: 700,
        colour: VERDICT[node.state],
        haloed: true,
      }));
  }

  /** All texts of a laid-out round: `{x, y, text, dot, size, weight, colour, middle, haloed, id}`. */
  D.treeWords = (layout) => [...heads(layout), ...labels(layout), ...darts(layout)];

  const dot = () => D.s("tspan", { class: "ds-dot" }, "·");

  /** The texts as elements; y is their middle. */
  D.wordElements = (words) =>
    words.map((item) =>
      D.s(
        "text",
        {
          class: item.haloed ? "ds-halo" : null,
          "data-node": item.id,
          x: item.x,
          y: item.y + item.size * 0.35,
          fill: D.ref(item.colour),
          "font-size": item.size,
          "font-weight": item.weight,
          "text-anchor": item.middle ? "middle" : null,
        },
        item.dot ? dot() : null,
        item.text,
      ),
    );

  /** Ring and inverse label of the pinned node, over everything else. */
  D.pinElements = (layout, pinned) => {
    const placed = layout.nodes.get(pinned);
    if (!placed) return [];
    const { x, y, label, node } = placed;
    const ring = D.s("circle", { cx: x, cy: y, r: layout.R + 3.5, class: "ds-pin-ring" });
    if (!label.text && !label.dot) return [ring];
    const height = Math.min(20, layout.pitch - 0.5);
    const box = D.s("rect", {
      x: label.start - 3.5,
      y: label.y - height / 2,
      width: label.end - label.start + 7.5,
      height,
      rx: 3,
      class: "ds-pin-box",
    });
    const words = labels(layout).filter((item) => item.id === pinned);
    const text = D.wordElements(words.map((item) => ({ ...item, colour: "@paper", haloed: false })));
    return [node.state === "root" ? null : ring, box, ...text].filter(Boolean);
  };

  /** The texts as one trace of a chart, which reads pseudo-markup: token text goes in escaped. */
  D.wordTrace = (words, scale) => ({
    type: "scatter",
    mode: "text",
    hoverinfo: "skip",
    cliponaxis: false,
    x: words.map((item) => item.x),
    y: words.map((item) => item.y),
    text: words.map((item) => D.chartText(`${item.dot ? "·" : ""}${item.text}`)),
    textposition: words.map((item) => (item.middle ? "middle center" : "middle right")),
    textfont: {
      family: D.SANS,
      size: words.map((item) => item.size * scale),
      color: words.map((item) => item.colour),
      weight: words.map((item) => item.weight),
    },
  });
})((window.Draftscope = window.Draftscope ?? {}));

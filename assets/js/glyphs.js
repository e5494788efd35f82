/* The marks of the node states, drawn once: legend, strip, ledger, list and tree all use these paths.
   Only M, L, C and Z occur, so that a chart can take them as they are. */
((D) => {
  "use strict";

  const K = 0.5523; // control distance of a quarter circle
  const LEAST = 1.8; // a disc is never smaller: it must be seen

  const n = (value) => Math.round(value * 100) / 100;
  const at = (x, y) => `${n(x)},${n(y)}`;

  D.circlePath = (x, y, r) =>
    `M${at(x + r, y)}C${at(x + r, y + K * r)} ${at(x + K * r, y + r)} ${at(x, y + r)}` +
    `C${at(x - K * r, y + r)} ${at(x - r, y + K * r)} ${at(x - r, y)}` +
    `C${at(x - r, y - K * r)} ${at(x - K * r, y - r)} ${at(x, y - r)}` +
    `C${at(x + K * r, y - r)} ${at(x + r, y - K * r)} ${at(x + r, y)}Z`;

  const leftHalf = (x, y, r) =>
    `M${at(x, y + r)}C${at(x - K * r, y + r)} ${at(x - r, y + K * r)} ${at(x - r, y)}` +
    `C${at(x - r, y - K * r)} ${at(x - K * r, y - r)} ${at(x, y - r)}Z`;

  const box = (x, y, w, h) => `M${at(x, y)}L${at(x + w, y)}L${at(x + w, y + h)}L${at(x, y + h)}Z`;

  D.roundedPath = (x, y, w, h, r) => {
    const c = r * (1 - K);
    return (
      `M${at(x + r, y)}L${at(x + w - r, y)}C${at(x + w - c, y)} ${at(x + w, y + c)} ${at(x + w, y + r)}` +
      `L${at(x + w, y + h - r)}C${at(x + w, y + h - c)} ${at(x + w - c, y + h)} ${at(x + w - r, y + h)}` +
      `L${at(x + r, y + h)}C${at(x + c, y + h)} ${at(x, y + h - c)} ${at(x, y + h - r)}` +
      `L${at(x, y + r)}C${at(x, y + c)} ${at(x + c, y)} ${at(x + r, y)}Z`
    );
  };

  const diamond = (x, y, r) => `M${at(x, y - r)}L${at(x + r, y)}L${at(x, y + r)}L${at(x - r, y)}Z`;

  function plus(x, y, r) {
    const t = r * 0.33;
    const corners = [
      [-t, -r],
      [t, -r],
      [t, -t],
      [r, -t],
      [r, t],
      [t, t],
      [t, r],
      [-t, r],
      [-t, t],
      [-r, t],
      [-r, -t],
      [-t, -t],
    ];
    return `M${corners.map(([dx, dy]) => at(x + dx, y + dy)).join("L")}Z`;
  }

  const cross = (x, y, r) =>
    `M${at(x - r, y - r)}L${at(x + r, y + r)}M${at(x - r, y + r)}L${at(x + r, y - r)}`;

  const stroke = (d, colour, width) => ({ d, line: colour, width });
  const solid = (d, colour, opacity = 1) => ({ d, fill: colour, opacity });
  const disc = (p, R) => Math.max(LEAST, R * Math.sqrt(p ?? 0));

  const DRAW = {
    root: (x, y, R) => [solid(box(x - R * 0.65, y - R * 0.65, R * 1.3, R * 1.3), "@ink")],
    accepted: (x, y, R, p) => [
      solid(D.circlePath(x, y, R), "@paper"),
      stroke(D.circlePath(x, y, R), "@accepted", 1.4),
      solid(D.circlePath(x, y, Math.min(disc(p, R), R - 0.9)), "@accepted"),
    ],
    rejected: (x, y, R, p) => [
      solid(D.circlePath(x, y, R), "@paper"),
      solid(D.circlePath(x, y, disc(p, R)), "@rejected", 0.3),
      stroke(D.circlePath(x, y, R), "@rejected", 1.4),
      stroke(cross(x, y, R * 0.55), "@rejected", 1.6),
    ],
    relaxed: (x, y, R) => [
      solid(D.circlePath(x, y, R), "@paper"),
      solid(leftHalf(x, y, R), "@relaxed"),
      stroke(D.circlePath(x, y, R), "@relaxed-text", 1.4),
    ],
    unreached: (x, y, R, p) => [
      solid(D.circlePath(x, y, disc(p, R)), "@paper"),
      stroke(D.circlePath(x, y, disc(p, R)), "@mute", 1),
    ],
    pruned: (x, y) => [solid(box(x - 1.5, y - 1.5, 3, 3), "@mute")],
    probe: (x, y) => [stroke(box(x - 2.5, y - 2.5, 5, 5), "@mute", 1)],
    correction: (x, y, R) => [solid(diamond(x, y, R * 1.05), "@correction")],
    bonus: (x, y, R) => [solid(plus(x, y, R), "@bonus")],
    plain: (x, y, R) => [solid(D.circlePath(x, y, R * 0.5), "@ink")],
  };

  /** Parts `{d, fill | line, width, opacity}` of a mark at (x, y); `R` is the ring's radius, `p` the disc's area. */
  D.glyph = (state, x, y, R, p) => DRAW[state](x, y, R, p);

  /** A theme key as a colour of the style sheet. */
  D.ref = (key) => (key.startsWith("@") ? `var(--ds-${key.slice(1)})` : key);

  /** The mark as a small picture, `size` pixels square. */
  D.mark = (state, { size = 18, p = 1, scale = D.theme.scale } = {}) => {
    const middle = size / 2;
    const parts = D.glyph(state, middle, middle, Math.min(8.5, middle - 1.2), p).map((part) =>
      D.s("path", {
        d: part.d,
        fill: part.fill ? D.ref(part.fill) : "none",
        stroke: part.line ? D.ref(part.line) : null,
        "stroke-width": part.width,
        "fill-opacity": part.opacity,
      }),
    );
    return D.canvas(size, size, scale, parts);
  };

  function wave(length) {
    let d = "M0,3.5";
    for (let x = 0; x < length; x += 8) {
      d += `C${x + 2},0.6 ${x + 2},0.6 ${x + 4},3.5C${x + 6},6.4 ${x + 6},6.4 ${x + 8},3.5`;
    }
    return D.s("path", { d, fill: "none", stroke: D.ref("@relaxed"), "stroke-width": 1.8 });
  }

  /** The line below a token of the strip, as wide as its box. Straight lines are painted by the style sheet: a drawing
      per token makes every step of a long text slow. */
  D.underline = (kind) =>
    kind === "relaxed"
      ? D.s("svg", { class: "ds-underline", height: 7, "aria-hidden": "true" }, wave(400))
      : D.h("span", { class: `ds-underline ds-line-${kind}`, "aria-hidden": "true" });

  const square = (name) => D.s("rect", { x: 4, y: 3.5, width: 7, height: 7, fill: `var(--ds-${name})` });
  const stretch = (colour, width, dash) =>
    D.s("line", { x1: 0, x2: 16, y1: 7, y2: 7, stroke: colour, "stroke-width": width, "stroke-dasharray": dash });

  const SWATCH = {
    target: () => [D.s("rect", { x: 0, y: 4, width: 16, height: 6, fill: "var(--ds-law)" })],
    draft: () => [
      D.s("rect", {
        x: 0.6,
        y: 4.2,
        width: 14.8,
        height: 5.6,
        fill: "none",
        stroke: "var(--ds-law)",
        "stroke-width": 1.2,
      }),
    ],
    overlap: () => [D.s("rect", { x: 0, y: 1.5, width: 16, height: 11, fill: "var(--ds-kept)" })],
    residual: () => [D.s("rect", { x: 0, y: 1.5, width: 16, height: 11, fill: "var(--ds-correction)" })],
    few: () => [
      D.s("circle", {
        cx: 8,
        cy: 7,
        r: 4.2,
        fill: "none",
        stroke: "var(--ds-accepted)",
        "stroke-width": 1.6,
      }),
    ],
    "square-law": () => [square("law")],
    "square-accepted": () => [square("accepted")],
    "square-faint": () => [square("faint")],
    line: () => [stretch("var(--ds-law)", 2, null)],
    dashes: () => [stretch("var(--ds-law)", 1.4, "4 3")],
    dots: () => [stretch("var(--ds-mute)", 1.4, "1.5 2.5")],
    verify: () => [D.s("rect", { x: 0, y: 2, width: 16, height: 10, fill: "var(--ds-law)" })],
    seam: () => [D.s("line", { x1: 8, x2: 8, y1: 0, y2: 14, stroke: "var(--ds-faint)" })],
  };

  /** A swatch of a legend: a node state, or one of those above. */
  D.swatch = (key) => {
    if (key in DRAW) return D.mark(key, { size: 16 });
    return key in SWATCH ? D.canvas(16, 14, D.theme.scale, SWATCH[key]()) : "";
  };

  /** The legend sample of a strip line: the line with its mark below the middle. */
  D.lineSample = (kind) => D.h("span", { class: "ds-sample" }, D.underline(kind), below(kind));

  function below(kind) {
    return ["correction", "bonus", "relaxed"].includes(kind)
      ? D.h("span", { class: "ds-below" }, D.mark(kind, { size: 11 }))
      : null;
  }

  /** The mark that hangs below a token's line, if its kind has one. */
  D.belowMark = below;

  /** A row of swatches with words. */
  D.legend = (entries) =>
    D.h(
      "ul",
      { class: "ds-legend" },
      entries.map(([swatch, words]) => D.h("li", null, swatch, words)),
    );
})((window.Draftscope = window.Draftscope ?? {}));

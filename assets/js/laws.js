/* The laws at a node as rows of bars: target solid, draft hollow, where they agree pale, what remains after a miss. */
((D) => {
  "use strict";

  const bar = (kind, share) =>
    D.h("span", { class: `ds-bar ds-bar-${kind}`, style: { width: `${(share * 100).toFixed(2)}%` } });

  function cells(row, most, shape) {
    const both = row.q === null ? 0 : Math.min(row.p, row.q);
    const quiet = (words) => (words === "0" ? "ds-number ds-quiet" : "ds-number");
    const bars = (kind, ...inside) => D.h("td", { class: kind }, D.h("div", { class: "ds-bars" }, inside));
    const cell = bars(
      null,
      shape.q && both > 0 ? bar("overlap", both / most) : null,
      bar("p", row.p / most),
      shape.q && row.q > 0 ? bar("q", row.q / most) : null,
    );
    return [
      D.h(
        "th",
        { scope: "row" },
        row.label ? D.token(row.label) : D.h("span", { class: "ds-others" }, "all others"),
      ),
      cell,
      D.h("td", { class: quiet(row.p_text) }, row.p_text),
      shape.q ? D.h("td", { class: "ds-number ds-quiet" }, row.q_text) : null,
      shape.residual ? bars("ds-after", row.remains ? bar("residual", row.remains / most) : null) : null,
      shape.residual ? D.h("td", { class: quiet(row.remains_text) }, row.remains_text) : null,
    ];
  }

  function headRow(shape) {
    return D.h(
      "tr",
      null,
      D.h("td"),
      D.h("th", { scope: "col", class: "ds-left" }, shape.residual ? "Before" : ""),
      D.h("th", { scope: "col", class: "ds-number ds-thin" }, "p"),
      shape.q ? D.h("th", { scope: "col", class: "ds-number ds-thin ds-quiet" }, "q") : null,
      shape.residual
        ? D.h("th", { scope: "col", colspan: 2, class: "ds-left ds-after-head" }, "After the miss")
        : null,
    );
  }

  function columns(shape) {
    const kinds = [
      "token",
      "bars",
      "number",
      ...(shape.q ? ["number"] : []),
      ...(shape.residual ? ["bars", "number"] : []),
    ];
    return D.h(
      "colgroup",
      null,
      kinds.map((kind) => D.h("col", { class: `ds-col-${kind}` })),
    );
  }

  function legendOf(shape) {
    const entries = [[D.swatch("target"), "target p"]];
    if (shape.q) entries.push([D.swatch("draft"), "draft q"], [D.swatch("overlap"), "overlap"]);
    if (shape.residual) entries.push([D.swatch("residual"), "what remains"]);
    return D.legend(entries);
  }

  /** Table and legend; `wide` keeps no room for a residual. */
  D.laws = (inspector, wide) => {
    const shape = { q: inspector.has_q, residual: inspector.has_residual };
    const most = Math.max(1e-9, ...inspector.bars.flatMap((row) => [row.p, row.q ?? 0, row.remains ?? 0]));
    const classes = [
      "ds-laws",
      shape.q && "ds-has-q",
      shape.residual && "ds-has-residual",
      wide && "ds-wide",
    ];
    const body = inspector.bars.map((row) =>
      D.h("tr", { class: row.tested ? "ds-chosen" : null }, cells(row, most, shape)),
    );
    return [
      D.h(
        "table",
        { class: classes.filter(Boolean).join(" ") },
        columns(shape),
        D.h("thead", null, headRow(shape)),
        D.h("tbody", null, body),
      ),
      legendOf(shape),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

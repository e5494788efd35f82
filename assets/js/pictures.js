/* The method's own pictures of a round, one section below the other; films are drawn here, charts in the section. */
((D) => {
  "use strict";

  const bar = (cell) => {
    const kind = cell.left ? "residual" : "p";
    const tried = cell.tried ? ` ds-is-${cell.tried}` : "";
    return D.h("span", {
      class: `ds-bar ds-bar-${kind}${tried}`,
      style: { width: `${(cell.share * 100).toFixed(2)}%` },
    });
  };

  function cells(cell) {
    return [
      D.h("td", null, D.h("div", { class: "ds-bars" }, cell.share > 0 ? bar(cell) : null)),
      D.h(
        "td",
        { class: `ds-number${cell.tried ? " ds-strong" : cell.text === "0" ? " ds-quiet" : ""}` },
        cell.tried ? D.mark(cell.tried, { size: 14, p: cell.share }) : null,
        cell.text,
      ),
    ];
  }

  function film({ after, frames, rows }) {
    const head = frames.map((frame) =>
      D.h(
        "th",
        { scope: "col", colspan: 2 },
        D.h("b", null, frame.head),
        D.h("span", { class: "ds-quiet ds-film-note" }, frame.note),
      ),
    );
    const columns = frames.flatMap(() => ["bars", "number"]);
    return D.h(
      "table",
      { class: "ds-laws ds-film", style: { "--frames": frames.length } },
      D.h(
        "colgroup",
        null,
        ["token", ...columns].map((kind) => D.h("col", { class: `ds-col-${kind}` })),
      ),
      D.h(
        "thead",
        null,
        D.h(
          "tr",
          null,
          D.h(
            "th",
            { scope: "col", class: "ds-film-after" },
            D.h("span", { class: "ds-quiet" }, "after "),
            D.token(after),
          ),
          head,
        ),
      ),
      D.h(
        "tbody",
        null,
        rows.map((row) =>
          D.h("tr", null, D.h("th", { scope: "row" }, D.token(row.label)), row.cells.flatMap(cells)),
        ),
      ),
      D.h(
        "tfoot",
        { class: "ds-quiet" },
        D.h(
          "tr",
          null,
          D.h("th", { scope: "row" }, "nats"),
          frames.map((frame) => D.h("td", { colspan: 2 }, frame.entropy)),
        ),
      ),
    );
  }

  /** Rows of frames as tables; where they are too wide, they scroll and the page does not. */
  D.films = (films) => {
    const box = D.h("div", { class: "ds-films", tabindex: 0, role: "group" }, films.map(film));
    D.cue(box, "x");
    return box;
  };

  /** The pictures of a round for the wide column, or for the narrow one. */
  const picturesOf = (view, aside) =>
    (view?.picture ? [view.picture, ...(view.more_pictures ?? [])] : []).filter(
      (picture) => Boolean(picture.aside) === aside,
    );

  /** Mount as many sections as the rounds shown so far had pictures; those without one are hidden. `aside` picks those
      that a narrow column has room for. */
  D.mountPictures = (root, store, plotly, { aside = false } = {}) => {
    const stops = [];
    let count = 0;

    function makeRoom() {
      for (const wanted = picturesOf(store.view, aside).length; count < wanted; count += 1) {
        const place = count;
        const slot = D.h("div", { class: "ds-picture" });
        root.append(slot);
        stops.push(
          ...D.mountSection(slot, store, plotly, () => picturesOf(store.view, aside)[place] ?? null, {
            events: ["round"],
            name: "method",
          }),
        );
      }
    }

    return [store.on("round", makeRoom), () => stops.forEach((stop) => stop())];
  };
})((window.Draftscope = window.Draftscope ?? {}));

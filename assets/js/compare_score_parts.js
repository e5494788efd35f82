/* The parts of a score as elements of a grid: columns, capsules, words, legend. They know no selection. */
((D) => {
  "use strict";

  const LEAST = 15; // design pixels of a column: a mark needs it
  const FIFTH = 5; // of positions, one has its number

  const SWATCH = {
    accepted: "ds-piece ds-piece-accepted",
    relaxed: "ds-piece ds-piece-relaxed",
    correction: "ds-piece ds-piece-correction",
    bonus: "ds-piece ds-piece-bonus",
    plain: "ds-piece ds-piece-plain",
    covered: "ds-capsule ds-covers",
    cut: "ds-capsule ds-goes-on",
  };

  const swatch = (key) =>
    D.h("span", { class: "ds-score-swatch", "aria-hidden": "true" }, D.h("i", { class: SWATCH[key] ?? "" }));

  const at = (row, from, to = from + 1) => ({ "grid-row": String(row), "grid-column": `${from} / ${to}` });

  D.score = {
    /** Place in a system's grid: row or `from / to` of rows, columns. */
    at,

    legend: (entries) =>
      D.h(
        "ul",
        { class: "ds-score-legend ds-hue-2", "aria-label": "Legend" },
        entries.map(([key, words]) => D.h("li", null, swatch(key), words)),
      ),

    keys: () =>
      D.h(
        "p",
        { class: "ds-key-hints", "aria-hidden": "true" },
        [D.h("kbd", null, "←"), " ", D.h("kbd", null, "→"), " position", D.h("span")],
        [D.h("kbd", null, "↑"), " ", D.h("kbd", null, "↓"), " method"],
      ),

    /** How wide every column is in pixels: by its token in the exact text, and by what is written instead. */
    widths(host, score) {
      const ruler = D.h("div", { class: "ds-score-ruler", "aria-hidden": "true" });
      const probes = [];
      const probe = (column, label, classes) => {
        if (!label) return;
        const element = D.h("span", { class: `ds-score-word ${classes}` }, D.token(label));
        probes.push([column, element]);
        ruler.append(element);
      };
      score.places.forEach((place, column) => probe(column, place.label, ""));
      for (const stave of score.staves)
        for (const written of stave.instead) probe(written.column, written.label, "ds-instead-word");
      host.append(ruler);
      const widths = score.places.map(() => LEAST * D.theme.scale);
      for (const [column, element] of probes)
        widths[column] = Math.max(widths[column], Math.ceil(element.offsetWidth));
      ruler.remove();
      return widths;
    },

    /** Rows of a system: number and text, then per stave its name on a phone, the capsules, what is written instead. */
    rows(score, [from, to], isNarrow) {
      let row = 3;
      return score.staves.map((stave) => {
        const written = stave.instead.filter((one) => one.column >= from && one.column < to);
        const rows = { name: row, stave: isNarrow ? row + 1 : row, instead: 0, written };
        row = rows.stave + 1;
        if (written.length) rows.instead = row++;
        return rows;
      });
    },

    /** The ground of a column, over all rows, with its number. */
    ground(place, last, x) {
      const classes = `ds-score-number${place % FIFTH ? "" : " ds-fifth"}`;
      const number = D.h("span", { class: classes, "aria-hidden": "true" }, String(place));
      return D.h(
        "div",
        { class: "ds-score-column", style: at(`1 / ${last}`, x), "data-place": place },
        place === null ? null : number,
      );
    },

    /** A token of the exact text; it selects its place. */
    word({ place, label, replaced }, x) {
      const said = (label && D.plainText(label)) || "nothing visible";
      return D.h(
        "button",
        {
          type: "button",
          class: `ds-score-word${replaced ? " ds-replaced" : ""}`,
          style: at(2, x),
          tabindex: -1,
          "data-place": place,
          "aria-label": `position ${place}: ${said}`,
        },
        label ? D.token(label) : null,
      );
    },

    /** What a method writes instead, or a dash for nothing. */
    instead(label, row, x) {
      const nothing = () => D.h("span", { class: "ds-quiet", title: "nothing stands here" }, "–");
      const word = label ? D.token(label) : nothing();
      return D.h("span", { class: "ds-score-word ds-instead-word", style: at(row, x) }, word);
    },

    /** The part of a round that stands in one system, `x` columns in, in the hue of its class. */
    capsule(method, capsule, part, hue, row, x) {
      const classes = ["ds-capsule", hue, !part.opens && "ds-comes-in", !part.closes && "ds-goes-on"];
      const pieces = capsule.pieces.filter(({ column }) => column >= part.start && column < part.stop);
      return D.h(
        "div",
        {
          class: classes.filter(Boolean).join(" "),
          style: at(row, x, x + part.stop - part.start),
          title: capsule.title,
          "data-method": method,
          "data-round": capsule.round,
        },
        pieces.map((piece) =>
          D.h("i", {
            class: `ds-piece ds-piece-${piece.kind}`,
            style: { "grid-column": String(piece.column - part.start + 1) },
            "data-column": piece.column,
          }),
        ),
      );
    },

    /** Target passes of the rounds that begin before column `stop`. */
    passesBefore(stave, stop) {
      const begun = stave.capsules.filter((capsule) => capsule.start < stop);
      return begun.length ? begun[begun.length - 1].passes : 0;
    },
  };
})((window.Draftscope = window.Draftscope ?? {}));

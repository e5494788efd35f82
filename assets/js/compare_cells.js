/* The cells of the table and the order of its rows. They know no page. */
((D) => {
  "use strict";

  const FIGURES = ["time", "passes", "accepted"]; // shown of a block
  const BEST = { best: "best ", worst: "worst ", "": "" };

  /** What the marks of the dumbbells are, sorted by as columns are. */
  D.BELLS = [
    {
      key: "delivered",
      label: "delivered: speed-up",
      falls: false,
      definition: "Plain decoding’s time for this text, by the clock, over this method’s.",
    },
    {
      key: "promised",
      label: "promised: tokens per target pass",
      falls: false,
      definition:
        "Tokens written over passes of the target: the speed-up if drafting were free and a wide pass cost as much" +
        " as a single one.",
    },
  ];

  const valueOf = (row, columns, key) => {
    if (D.BELLS.some((bell) => bell.key === key)) return row[key];
    return row.cells[columns.findIndex((column) => column.key === key)]?.value ?? null;
  };

  /** The rows by a column, equal ones as they were; rows without a value come last, whichever way. */
  D.sortedRows = (rows, columns, { key, falls }) => {
    if (key === null) return rows;
    const sign = falls ? 1 : -1;
    const compare = (a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return sign * (a.value - b.value);
    };
    return rows
      .map((row) => ({ row, value: valueOf(row, columns, key) }))
      .sort(compare)
      .map(({ row }) => row);
  };

  /** The order after a click on `column`: its better end first, then the other way round. */
  D.nextOrder = (order, { key, falls }) => ({ key, falls: order.key === key ? !order.falls : falls });

  D.cells = {
    verdict(verdict) {
      const sign = D.h("span", { class: "ds-verdict-sign", "aria-hidden": "true" }, verdict.sign);
      return D.h(
        "td",
        { class: `ds-verdict-cell${verdict.sign === "≠" ? " ds-other" : ""}`, role: "cell" },
        D.h("b", null, verdict.sign ? sign : null, verdict.head),
        D.h("span", { class: "ds-verdict-line" }, D.sentence(verdict.line)),
      );
    },

    figure(cell, column) {
      const kept = FIGURES.includes(column.key) ? "ds-figure-kept" : "";
      const arrow = D.h("span", { class: "ds-best-arrow", "aria-hidden": "true" }, "▸");
      return D.h(
        "td",
        {
          class: ["ds-figure", cell.best && `ds-${cell.best}`, kept].filter(Boolean).join(" "),
          role: "cell",
          "data-label": column.label,
        },
        D.h("span", { class: "ds-heard" }, BEST[cell.best]),
        cell.best === "best" ? arrow : null,
        cell.text,
      );
    },

    bell(row, look, scale, plain) {
      const said = `delivered ${row.delivered_text}, promised ${row.promised_text}`;
      return D.h(
        "td",
        { class: "ds-bell-cell", role: "cell" },
        D.dumbbell(row, look, scale, { plain }),
        D.h("span", { class: "ds-heard" }, said),
      );
    },

    lossy(badge) {
      if (badge.lossless) return null;
      return D.h("span", { class: "ds-lossy-small", title: badge.meaning }, "≈ ", badge.word.toLowerCase());
    },

    said(method, span) {
      const role = method.status === "error" ? "alert" : "status";
      const words = D.h("span", { class: `ds-row-said ds-status-${method.status}`, role }, method.words);
      return D.h("td", { role: "cell", colspan: span }, words);
    },

    /** Sign of `D.BELLS[place]`: solid is delivered, hollow promised. */
    sign: (place) => D.methodMark({ shape: "disc", hue: 0 }, { size: 9, hollow: place === 1 }),

    /** A head that sorts: a button, and the definition that it shows. `now`: ascending, descending or null. */
    sorter(column, now, act) {
      const tip = D.uid("tip");
      const arrow = D.h(
        "span",
        { class: "ds-sort-arrow", "aria-hidden": "true" },
        now === "ascending" ? "▲" : "▼",
      );
      return [
        D.h(
          "button",
          {
            type: "button",
            class: "ds-sort",
            "data-key": column.key,
            "aria-describedby": tip,
            on: { click: act },
          },
          column.mark ?? null,
          column.label,
          now ? arrow : null,
        ),
        D.h("span", { class: "ds-tip", role: "tooltip", id: tip }, column.definition),
      ];
    },
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* The finding, and the table below it: a row per method, sorted by any column, with verdict and dumbbell. */
((D) => {
  "use strict";

  // design pixels of the columns, roomy and tight; where not even the tight ones fit, a method is a block
  const ROOMY = { name: 214, verdict: 238, first: 84, figure: 66, bell: 260 };
  const TIGHT = { name: 160, verdict: 156, first: 72, figure: 60, bell: 184 };
  const LABELLED = 8; // more on the last column, for the edge

  /** Mount finding and table. */
  D.compareTable = (host, comparison, api) => {
    let shown = comparison;
    let order = { key: null, falls: true };
    let rows = new Map(); // by method
    const fit = D.fitted(host, () => draw());
    const finding = D.h("p", { class: "ds-finding" });
    const note = D.h("p", { class: "ds-section-note" });
    const head = D.h("thead", { role: "rowgroup" });
    const body = D.h("tbody", { role: "rowgroup" });
    const table = D.h(
      "table",
      { class: "ds-compare-table", role: "table", "aria-label": "The methods in numbers" },
      head,
      body,
    );
    const foot = D.h("p", { class: "ds-section-note ds-table-note" });
    const chooser = D.h("div", { class: "ds-table-order" });
    const meanings = D.h("details", { class: "ds-meanings" });
    const heard = D.h("p", { class: "ds-heard", "aria-live": "polite" });
    host.append(finding, note, chooser, table, foot, meanings, heard);

    function sort(column) {
      order = D.nextOrder(order, column);
      draw();
      heard.textContent = `Sorted by ${column.label}, ${order.falls ? "smallest" : "largest"} first.`;
    }

    /** How a column is sorted now; Python's order is that of the time. */
    function sortedNow(key) {
      if (order.key === null) return key === "time" ? "ascending" : null;
      if (order.key !== key) return null;
      return order.falls ? "ascending" : "descending";
    }

    const sorter = (column) => D.cells.sorter(column, sortedNow(column.key), () => sort(column));

    const headCell = (classes, now, ...parts) =>
      D.h("th", { scope: "col", role: "columnheader", class: classes, "aria-sort": now }, parts);

    const columnHead = (column) =>
      headCell("ds-figure-head", sortedNow(column.key) ?? "none", sorter(column));

    function bellHead(scale) {
      const words = D.BELLS.map((bell, place) => sorter({ ...bell, mark: D.cells.sign(place) }));
      const now = D.BELLS.map((bell) => sortedNow(bell.key)).find(Boolean) ?? "none";
      const row = D.h(
        "div",
        { class: "ds-bell-words" },
        words.map((one) => D.h("span", { class: "ds-bell-word" }, one)),
      );
      return headCell("ds-bell-head", now, row, D.dumbbellAxis(scale));
    }

    function drawHead(scale) {
      const held = head.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      head.replaceChildren(
        D.h(
          "tr",
          { role: "row" },
          headCell("ds-name-head", null, D.h("span", { class: "ds-heard" }, "method")),
          headCell("ds-verdict-head", null, "same text as plain?"),
          bellHead(scale),
          shown.table.columns.map(columnHead),
        ),
      );
      if (held) head.querySelector(`[data-key="${held}"]`)?.focus();
    }

    /** The way to the same run on Explore. */
    function exploreLink(place) {
      const href = api.explore?.(place);
      if (!href) return null;
      const words = `${shown.methods[place].name} on the Explore page`;
      // settings may be known by now
      const point = (event) => event.currentTarget.setAttribute("href", api.explore(place));
      const on = { pointerover: point, focus: point, click: point };
      return D.h("a", { class: "ds-name-alone", href, title: words, "aria-label": words, on }, "→");
    }

    function nameCell(place, looks) {
      const method = shown.methods[place];
      return D.h(
        "th",
        { scope: "row", role: "rowheader", class: "ds-name-cell" },
        D.h(
          "span",
          { class: "ds-name-both" },
          D.h(
            "button",
            {
              type: "button",
              class: "ds-name-button",
              on: { click: () => api.choose(place, api.selection.place) },
            },
            D.methodName(method, looks[place]),
          ),
          exploreLink(place),
        ),
        D.cells.lossy(method.badge),
      );
    }

    /** What is to be said of a method below its row, or with its name where it has none. */
    function saidRow(place, looks, span, named) {
      const said = D.cells.said(shown.methods[place], named ? span - 1 : span);
      return D.h("tr", { role: "row", class: "ds-said-row" }, named ? nameCell(place, looks) : null, said);
    }

    function methodRows(row, looks, scale, span) {
      const method = shown.methods[row.method];
      const look = looks[row.method];
      const line = D.h(
        "tr",
        { role: "row", class: D.hueClass(look) },
        nameCell(row.method, looks),
        D.cells.verdict(row.verdict),
        D.cells.bell(row, look, scale, method.plain),
        row.cells.map((cell, place) => D.cells.figure(cell, shown.table.columns[place])),
      );
      rows.set(row.method, line);
      return method.words ? [line, saidRow(row.method, looks, span, false)] : [line];
    }

    function drawBody(scale) {
      const looks = D.methodLooks(shown.methods);
      const span = shown.table.columns.length + 3;
      const here = new Set(shown.table.rows.map((row) => row.method));
      rows = new Map();
      const done = D.sortedRows(shown.table.rows, shown.table.columns, order);
      const missing = shown.methods.map((_, place) => place).filter((place) => !here.has(place));
      body.replaceChildren(
        ...done.flatMap((row) => methodRows(row, looks, scale, span)),
        ...missing.map((place) => saidRow(place, looks, span, true)),
      );
    }

    /** On a phone the heads are gone: one field says the order. */
    function drawChooser() {
      const columns = [...shown.table.columns, ...D.BELLS];
      const field = D.h(
        "select",
        { class: "ds-box", on: { change: () => sort(columns[field.selectedIndex]) } },
        columns.map((column) =>
          D.h("option", { selected: column.key === (order.key ?? "time") }, column.label),
        ),
      );
      const signs = D.BELLS.map((bell, place) => [D.cells.sign(place), bell.label]);
      chooser.replaceChildren(D.h("label", { class: "ds-note" }, "sorted by ", field), D.legend(signs));
      meanings.replaceChildren(
        D.h("summary", { class: "ds-link" }, "What the figures mean"),
        D.h(
          "dl",
          null,
          columns.map((column) =>
            D.h("div", null, D.h("dt", null, column.label), D.h("dd", null, column.definition)),
          ),
        ),
      );
    }

    /** Fit the columns to the width; gives that of the dumbbells. */
    function fitColumns() {
      const width = fit.width / D.theme.scale;
      const others = (to) =>
        to.name + to.verdict + to.first + to.figure * (shown.table.columns.length - 1) + LABELLED;
      const to = [ROOMY, TIGHT].find((one) => others(one) + one.bell <= width);
      host.classList.toggle("ds-blocks", !to);
      if (!to) return Math.min(420, width);
      for (const key of ["name", "verdict", "first", "figure"]) table.style.setProperty(`--${key}`, to[key]);
      return width - others(to);
    }

    function draw() {
      finding.replaceChildren(...D.sentence(shown.finding));
      note.textContent = shown.note;
      foot.textContent = shown.table.note;
      const scale = D.dumbbellScale(shown.table.rows, shown.table.axis, fitColumns());
      drawHead(scale);
      drawBody(scale);
      drawChooser();
      select(api.selection);
    }

    function select(selection) {
      rows.forEach((row, method) => row.classList.toggle("ds-chosen", method === selection.method));
    }

    draw();
    return {
      update(next) {
        shown = next;
        draw();
      },
      select,
      stop: fit.stop,
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

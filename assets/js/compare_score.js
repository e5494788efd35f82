/* The text as a score: a column per text position, a stave per method, a capsule per round. A selection step changes
   classes only: of two columns, and of two rounds per stave. */
((D) => {
  "use strict";

  const PASSES = 62; // design pixels of the last column
  const NARROW = 600; // below, a name stands above its stave
  const { at } = D.score;

  const none = () => ({ column: [], covers: [], names: [], button: null });

  /** Mount the score. */
  D.compareScore = (host, comparison, api) => {
    let shown = comparison;
    let grounds = new Map(); // by place
    let buttons = new Map(); // by place
    let columnOf = new Map(); // by place
    let names = new Map(); // by method: an element per system
    let rounds = []; // per stave: by column, the elements of the round that covers it
    let marked = none();
    const fit = D.fitted(host, () => draw());
    const box = D.h("div", { class: "ds-score" });
    host.append(box);

    function drawColumns(grid, score, [from, to], layout, last) {
      for (let column = from; column < to; column += 1) {
        const entry = score.places[column];
        const x = layout.first + column - from;
        const ground = D.score.ground(entry.place, last, x);
        grid.append(ground);
        if (entry.place === null) continue;
        const button = D.score.word(entry, x);
        grounds.set(entry.place, ground);
        buttons.set(entry.place, button);
        columnOf.set(entry.place, column);
        grid.append(button);
      }
    }

    function drawCapsules(grids, stave, place, layout, hue) {
      for (const capsule of stave.capsules) {
        const elements = D.capsuleParts(capsule, layout.systems).map((part) => {
          const x = layout.first + part.start - layout.systems[part.system][0];
          const row = layout.rows[part.system][place].stave;
          return [part.system, D.score.capsule(stave.method, capsule, part, hue, row, x)];
        });
        elements.forEach(([system, element]) => grids[system].append(element));
        for (let column = capsule.start; column < capsule.stop; column += 1)
          rounds[place].set(
            column,
            elements.map(([, element]) => element),
          );
      }
    }

    function nameElement(method, look, layout, rows, isFirst) {
      const lines = layout.narrow ? "" : D.inTwoLines(shown.methods[method].name, layout.named);
      return D.h(
        "button",
        {
          type: "button",
          class: `ds-stave-name ${D.hueClass(look)} ${lines}`,
          title: shown.methods[method].name,
          style: layout.narrow ? at(rows.name, 1, -1) : at(rows.stave, 1),
          tabindex: isFirst ? 0 : -1,
          on: { click: () => api.choose(method, api.selection.place) },
        },
        D.methodName(shown.methods[method], look),
      );
    }

    function passesElement(stave, look, layout, rows, [from, to]) {
      return D.h(
        "span",
        {
          class: `ds-stave-passes ${D.hueClass(look)}`,
          style: layout.narrow ? at(rows.name, 1, -1) : at(rows.stave, layout.first + to - from),
        },
        String(D.score.passesBefore(stave, to)),
        layout.narrow ? D.h("span", { class: "ds-quiet" }, " passes") : null,
      );
    }

    function drawInstead(grid, rows, layout, from, hue) {
      const words = { class: `ds-instead-head ${hue}`, style: at(rows.instead, 1) };
      if (!layout.narrow) grid.append(D.h("span", words, "writes instead"));
      for (const { column, label } of rows.written)
        grid.append(D.score.instead(label, rows.instead, layout.first + column - from));
    }

    function drawStave(grids, stave, place, layout, look) {
      drawCapsules(grids, stave, place, layout, D.hueClass(look));
      layout.systems.forEach((range, system) => {
        const rows = layout.rows[system][place];
        const name = nameElement(stave.method, look, layout, rows, system === 0);
        names.set(stave.method, [...(names.get(stave.method) ?? []), name]);
        grids[system].append(name, passesElement(stave, look, layout, rows, range));
        if (rows.instead) drawInstead(grids[system], rows, layout, range[0], D.hueClass(look));
      });
    }

    /** Where everything stands: the systems, their columns and rows. */
    function layoutOf(score) {
      const scale = D.theme.scale;
      const narrow = fit.width / scale < NARROW;
      const named = D.nameColumn(shown.methods.map((method) => method.name));
      const widths = D.score.widths(box, score);
      const room = fit.width - (narrow ? 2 : (named + PASSES) * scale);
      const systems = D.breakSystems(widths, D.seamsOf(score.staves, score.places.length), room);
      const rows = systems.map((range) => D.score.rows(score, range, narrow));
      return { narrow, named, widths, systems, rows, first: narrow ? 1 : 2 };
    }

    function emptySystem(score, layout, system) {
      const [from, to] = layout.systems[system];
      const scale = D.theme.scale;
      const tracks = layout.widths
        .slice(from, to)
        .map((width) => `${width}px`)
        .join(" ");
      const columns = layout.narrow
        ? `${tracks} minmax(0, 1fr)`
        : `${layout.named * scale}px ${tracks} ${PASSES * scale}px`;
      const classes = `ds-system${layout.narrow ? " ds-system-narrow" : ""}`;
      const grid = D.h("div", { class: classes, style: { "grid-template-columns": columns } });
      const last = Math.max(...layout.rows[system].map((rows) => Math.max(rows.stave, rows.instead))) + 1;
      drawColumns(grid, score, [from, to], layout, last);
      if (layout.narrow) return grid;
      grid.append(D.h("span", { class: "ds-exact-head", style: at(2, 1) }, "exact text"));
      const end = at("1 / 3", layout.first + to - from);
      grid.append(D.h("span", { class: "ds-passes-head", style: end }, "passes so far"));
      return grid;
    }

    function drawSystems(score) {
      const layout = layoutOf(score);
      const looks = D.methodLooks(shown.methods);
      const grids = layout.systems.map((_, system) => emptySystem(score, layout, system));
      rounds = score.staves.map(() => new Map());
      score.staves.forEach((stave, place) => drawStave(grids, stave, place, layout, looks[stave.method]));
      return grids;
    }

    function draw() {
      const { score } = shown;
      host.classList.toggle("ds-none", !score);
      if (!score || !fit.width) return;
      const held = box.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
      [grounds, buttons, columnOf, names] = [new Map(), new Map(), new Map(), new Map()];
      marked = none();
      box.replaceChildren();
      const grids = drawSystems(score);
      const end = D.h("div", { class: "ds-score-end" }, grids.pop(), D.score.legend(score.legend));
      box.append(
        D.compareHead(score.head, score.note, D.score.keys()),
        D.h("div", { class: "ds-systems", role: "group", "aria-label": score.head }, grids, end),
      );
      select(api.selection);
      if (held !== undefined) buttons.get(Number(held))?.focus();
    }

    function swap(key, next, className) {
      const before = marked[key];
      before.forEach((element) => next.includes(element) || element.classList.remove(className));
      next.forEach((element) => before.includes(element) || element.classList.add(className));
      marked[key] = next;
    }

    /** The one token that the Tab key comes to; the focus moves along where it was there. */
    function swapButton(button) {
      const before = marked.button;
      if (button === before) return;
      const moves = before !== null && before === document.activeElement;
      if (before) before.tabIndex = -1;
      before?.removeAttribute("aria-current");
      if (button) button.tabIndex = 0;
      button?.setAttribute("aria-current", "true");
      if (moves) button?.focus();
      marked.button = button;
    }

    /** Mark the column of a place, the round that covers it in every stave, and the name of a method. */
    function select({ method, place }) {
      const column = columnOf.get(place);
      const ground = grounds.get(place);
      swap("column", ground ? [ground] : [], "ds-pinned");
      swap(
        "covers",
        rounds.flatMap((covering) => covering.get(column) ?? []),
        "ds-covers",
      );
      swap("names", names.get(method) ?? [], "ds-chosen");
      swapButton(buttons.get(place) ?? buttons.values().next().value ?? null);
    }

    /** The place of the column that a click fell into, whatever lies above it. */
    function placeUnder(event) {
      const under = document.elementsFromPoint(event.clientX, event.clientY);
      const ground = under.find((element) => element.matches(".ds-score-column[data-place]"));
      return ground ? Number(ground.dataset.place) : null;
    }

    box.addEventListener("click", (event) => {
      const capsule = event.target.closest(".ds-capsule[data-method]");
      const word = event.target.closest("[data-place]");
      if (word) return api.choose(api.selection.method, Number(word.dataset.place));
      const place = capsule ? placeUnder(event) : null;
      return place === null ? undefined : api.choose(Number(capsule.dataset.method), place);
    });

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

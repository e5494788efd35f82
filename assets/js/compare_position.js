/* What every method had on the table at the selected place: small trees side by side, and all of them on one map. */
((D) => {
  "use strict";

  const VIEWS = [
    ["overlay", "Overlay"],
    ["shared", "Only shared"],
    ["differences", "Only differences"],
  ];
  const GAP = 28; // design pixels between trees
  const LEAST = 250; // of a tree's width
  const SAID = ["accepted", "relaxed", "rejected", "unreached", "correction", "bonus", "plain"];

  /** Trees in a line: as many as have room, two on a phone. */
  function treesInLine(count, width) {
    if (width < 700) return Math.min(2, count);
    const fit = Math.max(1, Math.floor((width + GAP) / (LEAST + GAP)));
    return Math.max(1, Math.ceil(count / Math.ceil(count / fit)));
  }

  function legendOf(position) {
    const present = new Set(position.trees.flatMap((tree) => tree.dots.map((dot) => dot.state)));
    const entries = SAID.filter((state) => present.has(state)).map((state) => [
      D.h("span", { class: "ds-hue-0" }, D.canvas(14, 14, D.theme.scale, D.smallGlyph(state, 7, 7, 5))),
      D.stateWords(state),
    ]);
    return D.legend(entries);
  }

  /** Mount both; `position` null: it is on its way. */
  D.comparePosition = (host, position, comparison, api) => {
    let shown = comparison;
    const fit = D.fitted(host, () => draw());
    let here = position;
    let view = "overlay";
    let treeMarks = []; // functions that move the pinned place
    let mapMark = null;
    let boxes = new Map(); // method -> element of its tree
    const top = D.h("div");
    const trees = D.h("div", { class: "ds-small-trees" });
    const legend = D.h("div", { class: "ds-small-legend" });
    const mapTop = D.h("div", { class: "ds-map-top" });
    const stage = D.h("div", { class: "ds-map-stage" });
    const scroller = D.h(
      "div",
      { class: "ds-map-scroll", tabindex: 0, role: "region", "aria-label": "All trees on one map" },
      stage,
    );
    const foot = D.h("div", { class: "ds-map-foot" });
    const heard = D.h("p", { class: "ds-heard" });
    host.append(top, trees, legend, mapTop, scroller, heard, foot);

    function treeBox(tree, looks, width) {
      const method = shown.methods[tree.method];
      const made =
        tree.round === null
          ? null
          : D.smallTree(tree, looks[tree.method], {
              first: here.first,
              last: here.last,
              place: api.selection.place,
              width,
            });
      if (made) treeMarks.push(made.mark);
      const name = D.methodName(method, looks[tree.method], tree.head);
      const box = D.h(
        "div",
        { class: "ds-small-box" },
        D.h(
          "button",
          {
            type: "button",
            class: "ds-small-head",
            on: { click: () => api.choose(tree.method, api.selection.place) },
          },
          name,
        ),
        D.h(
          "div",
          { class: "ds-small-plot", role: "img", "aria-label": tree.alt || tree.caption },
          made?.drawing ?? null,
        ),
        D.h("p", { class: "ds-small-caption" }, tree.caption),
      );
      boxes.set(tree.method, box);
      return box;
    }

    function drawTrees(looks) {
      const width = fit.width / D.theme.scale;
      const count = treesInLine(here.trees.length, width);
      const gap = width < 700 ? 16 : GAP;
      const each = Math.floor((width - gap * (count - 1)) / count);
      trees.style.setProperty("--columns", count);
      trees.style.setProperty("--gap", gap);
      boxes = new Map();
      treeMarks = [];
      trees.replaceChildren(...here.trees.map((tree) => treeBox(tree, looks, each)));
      legend.replaceChildren(legendOf(here));
    }

    const views = D.switchOf(VIEWS, view, "What the map shows", (key) => {
      view = key;
      drawMap(D.methodLooks(shown.methods));
    });
    mapTop.append(
      D.h(
        "p",
        { class: "ds-map-words" },
        D.h("b", null, "All trees on one map."),
        " A token drafted by several methods is one station; thick line: accepted;",
        " the marks above a station say who drafted it.",
      ),
      views.element,
    );

    const noteElement = (note, looks, place) =>
      D.h(
        "p",
        {
          class: `ds-map-note ${note.method === null ? "" : D.hueClass(looks[note.method])}`,
          style: place
            ? {
                left: `calc(${place.left} * var(--u))`,
                top: `calc(${place.top} * var(--u))`,
                width: `calc(${place.width} * var(--u))`,
              }
            : {},
        },
        D.sentence(note.line),
      );

    function drawMap(looks) {
      const { map } = here;
      const width = fit.width / D.theme.scale;
      const layout = D.mapLayout(map, width);
      const made = D.lineMap(map, looks, layout, { place: api.selection.place, view });
      const places = layout.width > width + 1 ? map.notes.map(() => null) : D.mapNotes(map, layout);
      const outside = map.notes.filter((_, index) => !places[index]);
      mapMark = made.mark;
      views.press(view);
      stage.replaceChildren(
        made.drawing,
        ...map.notes
          .map((note, index) => places[index] && noteElement(note, looks, places[index]))
          .filter(Boolean),
      );
      foot.replaceChildren(
        ...outside.map((note) => noteElement(note, looks, null)),
        ...map.folded.map(([method, count]) =>
          D.h(
            "p",
            { class: "ds-map-folded" },
            D.methodMark(looks[method]),
            ` + ${count} that only `,
            D.h("bdi", null, shown.methods[method].name),
            " drafted",
          ),
        ),
      );
      heard.textContent = map.alt;
      reach(layout, width);
    }

    /** Bring the pinned column into sight where the map scrolls, after the step. */
    const reach = D.calmly((layout, width) => {
      if (layout.width <= width + 1 || api.selection.place === null) return;
      const x = layout.x(api.selection.place) * D.theme.scale;
      if (x < scroller.scrollLeft + 40 || x > scroller.scrollLeft + scroller.clientWidth - 60)
        scroller.scrollLeft = Math.max(0, x - scroller.clientWidth / 3);
    }, 0);

    function draw() {
      host.classList.toggle("ds-none", !here && !shown.score);
      host.classList.toggle("ds-waiting", !here);
      if (!here || !fit.width) return;
      const looks = D.methodLooks(shown.methods);
      top.replaceChildren(D.compareHead(here.head, ""));
      drawTrees(looks);
      drawMap(looks);
      select(api.selection);
    }

    function select({ method, place }) {
      [...treeMarks, mapMark].forEach((mark) => mark?.(place));
      boxes.forEach((box, of) => box.classList.toggle("ds-chosen", of === method));
    }

    stage.addEventListener("click", (event) => {
      const station = event.target.closest("[data-place]");
      const place = Number(station?.dataset.place);
      if (station && place < shown.places.length) api.choose(api.selection.method, place);
    });

    const stops = [D.cue(scroller, "x"), fit.stop];
    draw();
    return {
      update(nextPosition, nextComparison = shown) {
        here = nextPosition;
        shown = nextComparison;
        draw();
      },
      select,
      stop: () => stops.forEach((stop) => stop()),
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* The darts of a round, one row each: a row is a node, and follows it. */
((D) => {
  "use strict";

  const HEIGHT = 20;
  const MOST_RESERVED = 8; // rows kept free, so that what is below stands still from round to round

  /** The 0 to 1 line of one dart: the part that keeps, dots after it, the wedge where the dart fell. */
  function line(dart) {
    const colour = dart.u < dart.accept ? "accepted" : "rejected";
    const keep = `${dart.accept * 100}%`;
    const svg = D.s("svg", { class: "ds-dartline", height: HEIGHT, "aria-hidden": "true" });
    if (dart.accept < 1) {
      svg.append(
        D.s("line", {
          x1: keep,
          x2: "100%",
          y1: 11,
          y2: 11,
          stroke: "var(--ds-rejected)",
          "stroke-width": 1.6,
          "stroke-dasharray": "2 2.5",
        }),
      );
    }
    if (dart.accept > 0) {
      svg.append(
        D.s("rect", {
          x: 0.5,
          y: 7.5,
          width: keep,
          height: 7,
          fill: "var(--ds-kept)",
          stroke: "var(--ds-accepted)",
        }),
      );
    }
    if (!dart.greedy) {
      svg.append(
        D.s(
          "svg",
          { x: `${dart.u * 100}%`, y: 0, overflow: "visible" },
          D.s("path", { class: "ds-wedge", d: "M-4.5,2L4.5,2L0,11Z", fill: `var(--ds-${colour})` }),
        ),
      );
    }
    return svg;
  }

  function rowFor(store, dart) {
    const struck = dart.state === "rejected";
    return D.h(
      "button",
      {
        class: `ds-dart ds-verdict-${dart.state}`,
        type: "button",
        "data-node": dart.node,
        "data-number": dart.number,
        "aria-label": `${dart.greedy ? "Check" : "Dart"} ${dart.number}, ${D.plainText(dart.label)}: ${dart.verdict}`,
        on: {
          click: () => store.select({ node: dart.node }),
          pointerenter: (event) => event.pointerType !== "touch" && store.hover(dart.node),
          pointerleave: () => store.hover(null),
        },
      },
      D.h("span", { class: "ds-dart-number" }, String(dart.number)),
      D.mark(dart.state, { size: 18, p: markSize(store, dart) }),
      D.h("span", { class: "ds-dart-token" }, D.token(dart.label, { struck })),
      line(dart),
      D.h("span", { class: "ds-dart-numbers" }, dart.numbers),
      D.h(
        "span",
        { class: "ds-dart-u" },
        dart.u_text && !dart.greedy ? `u ${dart.u_text.replace(/^u\s*/u, "")}` : "",
      ),
      D.h("span", { class: "ds-dart-verdict" }, dart.verdict),
    );
  }

  const markSize = (store, dart) => store.view.nodes.find((node) => node.id === dart.node)?.p ?? 1;

  /** Mount the list of darts. */
  D.mountLedger = (root, store) => {
    const head = D.h("h3");
    const note = D.h("p", { class: "ds-note" });
    const list = D.h("div", { class: "ds-darts" });
    root.append(head, note, list);

    function draw() {
      const { view } = store;
      head.textContent = view?.ledger_head ?? "";
      note.textContent = view?.ledger_note ?? "";
      list.replaceChildren(...(view?.darts.map((dart) => rowFor(store, dart)) ?? []));
      root.classList.toggle("ds-none", !view?.ledger_head);
      list.style.setProperty("--rows", Math.min(MOST_RESERVED, store.most.darts));
      mark();
    }

    function mark() {
      for (const row of list.children) {
        const node = Number(row.dataset.node);
        row.classList.toggle("ds-chosen", node === store.marked);
        row.classList.toggle("ds-hovered", node === store.hovered);
        const number = Number(row.dataset.number);
        row.classList.toggle("ds-unthrown", store.thrown !== null && number > store.thrown);
        row.classList.toggle("ds-falling", store.thrown === number);
      }
    }

    return [
      store.on("round", draw),
      store.on("node", mark),
      store.on("reveal", mark),
      D.onTheme(() => store.view && draw()),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

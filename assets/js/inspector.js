/* All that is known at the node in view: the rule in words, its dart, the laws, what follows. */
((D) => {
  "use strict";

  function headOf(store, inspector) {
    const colon = inspector.label.text || inspector.label.space;
    const pinned = store.pin !== null && store.hovered === null && store.thrown === null;
    return D.h(
      "div",
      { class: "ds-inspector-head" },
      D.h(
        "h3",
        null,
        colon ? `${inspector.title}: ` : inspector.title,
        colon ? D.h("span", { class: "ds-inverse" }, D.token(inspector.label)) : null,
      ),
      pinned
        ? D.h(
            "button",
            { class: "ds-link ds-unpin", type: "button", on: { click: () => store.unpin() } },
            "pinned ",
            D.h("kbd", null, "Esc"),
          )
        : D.h("span", { class: "ds-note" }, store.hovered !== null ? "preview" : ""),
    );
  }

  function scalars(pairs) {
    if (!pairs.length) return null;
    return D.h(
      "dl",
      { class: "ds-scalars" },
      pairs.map(([words, value]) => D.h("div", null, D.h("dt", null, words), D.h("dd", null, value))),
    );
  }

  function content(store, inspector, width, wide) {
    const scale = D.theme.scale;
    return [
      headOf(store, inspector),
      D.h("p", { class: "ds-rule" }, D.sentence(inspector.rule)),
      inspector.board
        ? D.h("div", { class: "ds-board" }, D.board(inspector.board, width / scale, scale))
        : null,
      inspector.bars.length ? D.laws(inspector, wide) : null,
      inspector.after.length
        ? D.h("p", { class: "ds-rule ds-after-words" }, D.sentence(inspector.after))
        : null,
      scalars(inspector.scalars),
    ]
      .flat()
      .filter(Boolean);
  }

  /** Keep as much height free as any node needed so far, so that a preview moves nothing below. */
  function holdHeight(panel, inside) {
    let tallest = 0;
    const watcher = new ResizeObserver(([entry]) => {
      tallest = Math.max(tallest, entry.contentRect.height);
      panel.style.setProperty("min-height", D.isPhone() ? "0" : `${tallest}px`);
    });
    watcher.observe(inside);
    const forget = () => {
      tallest = 0;
    };
    return { forget, stop: () => watcher.disconnect() };
  }

  /** Mount the inspector; it shows the hovered, else the pinned, else the focused node. */
  D.mountInspector = (root, store) => {
    const panel = D.h("div", { class: "ds-inspector" });
    const inside = D.h("div");
    panel.append(inside);
    root.append(panel);
    const height = holdHeight(panel, inside);
    let width = 0; // kept by the observer: to ask for it during a step would lay the page out once more

    function draw() {
      const { view, shown } = store;
      const inspector =
        view?.inspectors.find((each) => each.node === shown) ??
        view?.inspectors.find((each) => each.node === view.focus);
      panel.classList.toggle("ds-waiting", !view);
      if (!inspector || !width) return inside.replaceChildren();
      const wide = !view.inspectors.some((each) => each.has_residual);
      panel.classList.toggle("ds-throwing", store.thrown !== null);
      return inside.replaceChildren(...content(store, inspector, width, wide));
    }

    const watcher = new ResizeObserver(() => {
      if (Math.abs(panel.clientWidth - width) < 1) return;
      width = panel.clientWidth;
      height.forget();
      draw();
    });
    watcher.observe(panel);
    return [
      store.on("trace", height.forget),
      height.stop,
      store.on("round", draw),
      store.on("node", draw),
      D.onTheme(draw),
      () => watcher.disconnect(),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

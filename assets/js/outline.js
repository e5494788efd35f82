/* The draft tree as a nested list: on phones in place of the chart, elsewhere for screen readers. */
((D) => {
  "use strict";

  const IDLE = new Set(["unreached", "pruned", "probe"]);
  const NOTES = { correction: "correction", bonus: "bonus", plain: "written by the target" };

  function countBelow(node, children) {
    return children.get(node.id).reduce((sum, child) => sum + 1 + countBelow(child, children), 0);
  }

  const bar = (kind, share) =>
    D.h("span", { class: `ds-bar ds-bar-${kind}`, style: { width: `${(share ?? 0) * 100}%` } });

  function gauges(node) {
    if (node.p === null) return null;
    return D.h(
      "span",
      { class: "ds-row-gauges", "aria-hidden": "true" },
      D.h("span", { class: "ds-row-bars" }, bar("p", node.p), node.q ? bar("q", node.q) : null),
      D.h(
        "span",
        { class: "ds-row-numbers" },
        D.h("span", null, node.p_text),
        D.h("span", { class: "ds-quiet" }, node.q_text),
      ),
    );
  }

  function row(store, node, label, note) {
    const strong = !IDLE.has(node.state) && node.state !== "rejected";
    return D.h(
      "button",
      {
        class: `ds-row ds-row-${node.state}`,
        type: "button",
        "data-node": node.id,
        style: { "--depth": node.depth },
        "aria-label": node.words,
        on: { click: () => store.select({ node: node.id }) },
      },
      D.mark(node.state, { size: 20, p: node.p ?? 1 }),
      D.h(
        "span",
        { class: `ds-row-token${strong ? " ds-strong" : ""}` },
        D.token(label, { struck: node.state === "rejected" }),
      ),
      note ? D.h("span", { class: "ds-row-note" }, note) : null,
      node.state === "root" ? null : gauges(node),
    );
  }

  function branchRow(nodes, children, render) {
    const count = nodes.reduce((sum, node) => sum + 1 + countBelow(node, children), 0);
    const inside = D.h("ul", { hidden: true });
    const button = D.h(
      "button",
      {
        class: "ds-row ds-row-more",
        type: "button",
        "aria-expanded": "false",
        style: { "--depth": nodes[0].depth },
        on: {
          click: () => {
            inside.hidden = !inside.hidden;
            button.setAttribute("aria-expanded", String(!inside.hidden));
            if (!inside.firstChild) inside.append(...nodes.map((node) => render(node, true)));
          },
        },
      },
      D.h("span", { class: "ds-twist", "aria-hidden": "true" }, "▸"),
      `${count} not reached`,
    );
    return D.h("li", null, button, inside);
  }

  function items(store, view) {
    const children = D.childrenOf(view.nodes);
    const render = (node, whole = false) => {
      const below = children.get(node.id);
      const rejected = node.state === "rejected";
      const count = rejected ? countBelow(node, children) : 0;
      const note = count ? `+ ${count} below` : (NOTES[node.state] ?? "");
      const label = node.state === "root" ? view.root : node.label;
      const live = whole ? below : below.filter((child) => !IDLE.has(child.state));
      const idle = whole || rejected ? [] : below.filter((child) => IDLE.has(child.state));
      const parts = rejected && !whole ? [] : live.map((child) => render(child, whole));
      if (idle.length) parts.push(branchRow(idle, children, render));
      return D.h("li", null, row(store, node, label, note), parts.length ? D.h("ul", null, parts) : null);
    };
    return view.nodes.filter((node) => node.state === "root").map((node) => render(node));
  }

  function spoken(view) {
    const children = D.childrenOf(view.nodes);
    const item = (node) => {
      const below = children.get(node.id);
      return D.h("li", null, node.words, below.length ? D.h("ul", null, below.map(item)) : null);
    };
    return view.nodes.filter((node) => node.state === "root").map(item);
  }

  /** Mount the list. On wide pages it is heard, not seen, and holds nothing to tab to. */
  D.mountOutline = (root, store) => {
    const note = D.h("p", { class: "ds-note ds-list-note" });
    const list = D.h("ul", { class: "ds-outline", "aria-label": "Draft tree as a list" });
    const phone = matchMedia("(max-width: 700px)");
    root.append(note, list);

    function fill() {
      const view = store.view && D.asThrown(store.view, store.thrown);
      note.textContent = view?.list_note ?? "";
      list.replaceChildren(...(!view ? [] : phone.matches ? items(store, view) : spoken(view)));
      mark();
    }

    /** Heard lists wait until the step is painted: nobody sees them, and a step must not. */
    const fillLater = D.calmly(() => fill(), 120);
    function draw() {
      if (phone.matches) fill();
      else fillLater();
    }

    function mark() {
      for (const button of list.querySelectorAll(".ds-row[data-node]")) {
        const chosen = Number(button.dataset.node) === store.marked;
        button.classList.toggle("ds-chosen", chosen);
        if (chosen) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
      }
    }

    phone.addEventListener("change", fill);
    return [
      store.on("round", draw),
      store.on("node", mark),
      store.on("reveal", draw),
      D.onTheme(() => store.view && draw()),
      () => phone.removeEventListener("change", fill),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* The left column of a page without controls: how the shown run was set up. */
((D) => {
  "use strict";

  function lines(width, y, wavy) {
    return wavy
      ? D.s("path", {
          d: `M1,${y}c3,-4 5,-4 ${width / 2},0s4,4 ${width / 2},0`,
          fill: "none",
          stroke: "currentColor",
          "stroke-width": 1.6,
        })
      : D.s("line", { x1: 1, x2: width, y1: y, y2: y, stroke: "currentColor", "stroke-width": 1.8 });
  }

  /** Lossless: two straight lines in a solid box; lossy: two waves in a dashed one. */
  D.badge = (badge) =>
    D.h(
      "span",
      { class: `ds-badge${badge.lossless ? "" : " ds-lossy"}`, title: badge.meaning },
      D.canvas(18, 12, D.theme.scale, lines(16, 3.5, !badge.lossless), lines(16, 8.5, !badge.lossless)),
      badge.word,
    );

  const block = (head, ...content) => D.h("section", null, D.h("h3", null, head), content);

  /** Mount prompt, method and settings as text. */
  D.mountSide = (root, store) => {
    function draw() {
      const { overview } = store;
      if (!overview) return;
      root.replaceChildren(
        block("Example", D.h("p", null, overview.title)),
        block(
          "Prompt",
          D.h(
            "div",
            { class: "ds-prompt", tabindex: 0, role: "region", "aria-label": "Prompt" },
            overview.prompt,
          ),
        ),
        block(
          "Method",
          D.h("p", { class: "ds-method" }, overview.method_name),
          D.badge(overview.badge),
          D.h("p", { class: "ds-note" }, overview.badge.meaning),
        ),
        block(
          "Settings",
          D.h(
            "dl",
            null,
            overview.settings.map((setting) =>
              D.h("div", null, D.h("dt", null, setting.label), D.h("dd", null, setting.value)),
            ),
          ),
        ),
      );
    }
    return [store.on("trace", draw), D.onTheme(draw)];
  };

  /** Mount the one-line form of the column, for phones: name, badge, and a button that opens it. */
  D.mountMethodRow = (root, store, change) => {
    function draw() {
      const { overview } = store;
      if (!overview) return;
      root.replaceChildren(
        D.h(
          "div",
          { class: "ds-method-row" },
          D.h("span", { class: "ds-method-name" }, overview.method_name),
          D.badge(overview.badge),
          change
            ? D.h("button", { class: "ds-action", type: "button", on: { click: change } }, "Change")
            : null,
        ),
      );
    }
    return [store.on("trace", draw), D.onTheme(draw)];
  };
})((window.Draftscope = window.Draftscope ?? {}));

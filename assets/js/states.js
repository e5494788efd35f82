/* What the page says when there is no round to show: nothing yet, loading, decoding, stopped, wrong. */
((D) => {
  "use strict";

  const button = (words, act, primary = false) =>
    act
      ? D.h(
          "button",
          { class: `ds-button${primary ? " ds-primary" : ""}`, type: "button", on: { click: act } },
          words,
        )
      : null;

  const box = (kind, role, ...children) => D.h("div", { class: `ds-state ds-state-${kind}`, role }, children);

  /** Dashes where the next words will stand. */
  D.skeleton = () =>
    D.h(
      "div",
      { class: "ds-skeleton", "aria-hidden": "true" },
      [34, 28, 16, 40, 60].map((width) => D.h("span", { style: { "--wide": width } })),
    );

  D.states = {
    /** Nothing was run yet. */
    empty: (words, { label = "Run with my prompt", act = null } = {}) =>
      box("empty", "status", D.h("p", { class: "ds-rule" }, words), button(label, act)),

    /** A model is on its way: `done` of `total` megabytes, `left` in words. */
    loading: (words, { done = 0, total = 0, left = "", cancel = null } = {}) => {
      const share = total > 0 ? Math.min(1, done / total) : 0;
      const bar = D.h(
        "div",
        {
          class: "ds-progress",
          role: "progressbar",
          "aria-label": words,
          "aria-valuemin": 0,
          "aria-valuemax": 100,
          "aria-valuenow": Math.round(share * 100),
        },
        D.h("span", { style: { width: `${share * 100}%` } }),
      );
      return box(
        "loading",
        "status",
        D.h("p", { class: "ds-rule" }, words),
        bar,
        D.h("p", null, button("Cancel", cancel), " ", D.h("span", { class: "ds-note" }, left)),
      );
    },

    /** Rounds arrive: dashes where the next words will stand. */
    decoding: (words, { cancel = null } = {}) =>
      box(
        "decoding",
        "status",
        D.skeleton(),
        D.h("p", null, D.h("span", { class: "ds-note" }, words), " ", button("Cancel", cancel)),
      ),

    /** The reader stopped it; what came stays. */
    cancelled: (words, { resume = null } = {}) =>
      box("cancelled", "status", D.h("p", { class: "ds-rule" }, words), button("Resume", resume)),

    /** One sentence: what is wrong, what is allowed, what to do. */
    error: (words) => box("error", "alert", D.h("p", { class: "ds-rule" }, words)),
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* The Compare page around its body: header, the row of what to compare, and what happens. It knows no server. */
((D) => {
  "use strict";

  /**
   * Mount the page into `element`. `pages` and `exports` of the header, `copyLink()` as there; `body` is given on to the
   * body, which comes with the first comparison.
   *
   * Gives `{root, ask, body, selection, say(state), tell(message), show(comparison, selection)}`: `ask` is where the row
   * goes, `say` and `tell` show what happens; `cancel` is set by whoever can.
   */
  D.mountComparer = (element, { pages, exports, copyLink, body }) => {
    const header = D.h("div");
    const ask = D.h("section", { class: "ds-part-ask", "aria-label": "What to compare" });
    const state = D.h("div", { class: "ds-part-state" });
    const title = D.h("h1", { class: "ds-heard" }, "Compare");
    const host = D.h("div");
    const main = D.h("main", { class: "ds-main" }, title, ask, state, host);
    const dialog = D.keysDialog(D.COMPARE_KEYS, "");
    const root = D.h("div", { class: "ds ds-compare" }, header, D.h("div", { class: "ds-body" }, main), dialog);
    const help = () => {
      if (!dialog.open) dialog.showModal();
    };
    element.replaceChildren(root);
    D.wear(root);
    D.mountHeader(header, { pages, current: "Compare", exports, copyLink, help });
    const progress = D.mountCompareProgress(state, { cancel: () => page.cancel() });

    const page = {
      root,
      ask,
      body: null,
      cancel: () => undefined,
      say: progress.say,
      tell: progress.tell,
      /** What is selected; nothing before a comparison is here. */
      get selection() {
        return page.body?.selection ?? { method: 0, place: null };
      },
      show(comparison, { method = null, place = null } = {}) {
        title.textContent = `Compare: ${comparison.title}`;
        if (!page.body) page.body = D.mountCompare(host, { ...body, comparison, method, place, help });
        else {
          page.body.update(comparison);
          if (method !== null || place !== null) page.body.choose(method ?? page.selection.method, place ?? page.selection.place);
        }
      },
    };
    return page;
  };
})((window.Draftscope = window.Draftscope ?? {}));

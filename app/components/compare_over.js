/* A panel of fields that opens over a row of text, one at a time. It knows no field. */
((D) => {
  "use strict";

  /**
   * The panel as an element of `root`, closed. `openerOf(key)` finds the button that opened it, `redraw()` draws the row
   * again, which may replace those buttons; `otherwise` takes the focus where that button is gone.
   */
  D.createOver = (root, { openerOf, redraw, otherwise }) => {
    const element = D.h("div", { class: "ds-over", role: "dialog", tabindex: -1, hidden: true });
    let open = null; // { key, read }: what is open, and how its fields are taken over
    root.append(element);

    const over = {
      element,
      isOpen: (key) => open?.key === key,
      /** Take over what the fields say. */
      keep() {
        open?.read?.();
      },
      /** Close it and forget its fields. */
      leave() {
        open = null;
        element.hidden = true;
        element.replaceChildren();
        redraw();
      },
      close({ refocus = true } = {}) {
        if (!open) return;
        over.keep();
        const { key } = open;
        over.leave();
        if (refocus) (openerOf(key) ?? otherwise).focus();
      },
      toggle: (key, opens) => (over.isOpen(key) ? over.close() : opens()),
      /** Show `content`; `read()` takes it over. */
      show(key, title, content, read) {
        over.keep();
        open = { key, read };
        redraw();
        element.setAttribute("aria-label", title);
        const done = D.h("button", { type: "button", class: "ds-button ds-over-done", on: { click: () => over.close() } }, "Done");
        element.replaceChildren(...content, done);
        element.hidden = false;
        element.querySelector("textarea, select, input, button").focus({ preventScroll: true });
      },
    };

    element.addEventListener("keydown", (event) => {
      event.stopPropagation(); // the page's keys rest here
      if (event.key !== "Escape") return;
      event.preventDefault();
      over.close();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!root.contains(event.target)) over.close({ refocus: false });
    });
    return over;
  };
})((window.Draftscope = window.Draftscope ?? {}));

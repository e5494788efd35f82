/* The bar on top: name, pages, and what can be done with the view. */
((D) => {
  "use strict";

  const MODES = ["system", "light", "dark"];
  const MODE_WORDS = { system: "auto", light: "light", dark: "dark" };

  /** Words that open a list of `[words, act]`. */
  function menu(words, entries, classes = "") {
    const list = D.h(
      "ul",
      { class: "ds-menu-list" },
      entries.map(([label, act]) =>
        D.h(
          "li",
          null,
          D.h(
            "button",
            {
              type: "button",
              on: {
                click: () => {
                  box.open = false;
                  act();
                },
              },
            },
            label,
          ),
        ),
      ),
    );
    const box = D.h(
      "details",
      { class: `ds-menu ${classes}` },
      D.h("summary", { class: "ds-action" }, words),
      list,
    );
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !box.open) return;
      event.stopPropagation();
      box.open = false;
      box.firstElementChild.focus();
    });
    box.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !box.contains(event.relatedTarget)) box.open = false;
    });
    return box;
  }

  D.menu = menu;

  /** The dialog that lists the keys: those of Explore, or `list`. */
  D.keysDialog = (list = D.KEYS, hint = "Hover previews, click pins. ") => {
    const dialog = D.h("dialog", { class: "ds-dialog", "aria-label": "Keys" });
    const rows = list.map(([keys, words]) =>
      D.h(
        "div",
        null,
        D.h(
          "dt",
          null,
          keys.map((name) => [D.h("kbd", null, name), " "]),
        ),
        D.h("dd", null, words),
      ),
    );
    dialog.append(
      D.h("h2", null, "Keys"),
      D.h("dl", null, rows),
      D.h("p", { class: "ds-note" }, `${hint}Keys rest while you type in a field.`),
      D.h("button", { class: "ds-button", type: "button", on: { click: () => dialog.close() } }, "Close"),
    );
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    return dialog;
  };

  const action = (words, act, more = {}) =>
    D.h("button", { class: "ds-action", type: "button", on: { click: act }, ...more }, words);

  function brand(pages, current) {
    return [
      D.h("span", { class: "ds-brand" }, "Draftscope"),
      pages.length
        ? D.h(
            "nav",
            { "aria-label": "Pages" },
            pages.map((page) =>
              D.h(
                "a",
                {
                  href: page.href ?? "#",
                  "aria-current": page.name === current ? "page" : null,
                  on: page.open
                    ? {
                        click: (event) => {
                          event.preventDefault();
                          page.open();
                        },
                      }
                    : {},
                },
                page.name,
              ),
            ),
          )
        : null,
    ];
  }

  function themeAction() {
    const button = action("", () => D.theme.set(MODES[(MODES.indexOf(D.theme.mode) + 1) % MODES.length]));
    const draw = () => {
      button.textContent = `Theme: ${MODE_WORDS[D.theme.mode]}`;
      button.setAttribute("aria-label", `Theme: ${MODE_WORDS[D.theme.mode]}. Change`);
    };
    draw();
    return [button, D.onTheme(draw)];
  }

  function projectorAction() {
    const button = action("Projector", () => D.theme.setProjector(!D.theme.projector));
    const draw = () => button.setAttribute("aria-pressed", String(D.theme.projector));
    draw();
    return [button, D.onTheme(draw)];
  }

  /**
   * Mount the bar. `pages`: `{name, href | open}` of pages that exist; `exports`: `[words, act]`; `copyLink` and `help`
   * act; `say` announces.
   */
  D.mountHeader = (root, { pages = [], current = "Explore", exports = [], copyLink = null, help }) => {
    const [theme, stopTheme] = themeAction();
    const [projector, stopProjector] = projectorAction();
    const keys = action(["Keys ", D.h("kbd", null, "?")], help);
    const link =
      copyLink &&
      action("Copy link", async () => {
        link.textContent = await copyLink();
        setTimeout(() => {
          link.textContent = "Copy link";
        }, Math.max(1600, 60 * link.textContent.length));
      });
    const small = [
      ...(copyLink ? [["Copy link", copyLink]] : []),
      ...exports,
      ["Theme: auto", () => D.theme.set("system")],
      ["Theme: light", () => D.theme.set("light")],
      ["Theme: dark", () => D.theme.set("dark")],
      ["Keys", help],
    ];
    root.append(
      D.h(
        "header",
        { class: "ds-header" },
        brand(pages, current),
        D.h(
          "div",
          { class: "ds-actions" },
          link,
          exports.length ? menu("Export", exports) : null,
          projector,
          theme,
          keys,
        ),
        menu("Menu", small, "ds-only-phone"),
      ),
    );
    return [stopTheme, stopProjector];
  };
})((window.Draftscope = window.Draftscope ?? {}));

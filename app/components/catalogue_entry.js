/* One method as an entry of the catalogue. All its words come from the server; the prompt is the reader's. */
((D) => {
  "use strict";

  const TOLD = 1600; // milliseconds that `Copied` stands
  const outside = { target: "_blank", rel: "noreferrer" };

  const piece = ({ text, style, href }) => {
    if (style === "code") return D.h("code", null, text);
    return style === "link" ? D.h("a", { class: "ds-cited-link", href, ...outside }, text) : text;
  };

  /** A line of words, code and links. */
  D.prose = (words) => words.map(piece);

  function fact({ name, label, value, text, idea, more }, show) {
    const known = value
      ? D.h(
          "a",
          {
            class: "ds-part-link", href: show.url(name, value), title: idea, "data-filter": name, "data-value": value,
            on: { click: (event) => show.follow(event, name, value) },
          },
          text,
        )
      : D.h("span", { class: "ds-quiet" }, text);
    return D.h("div", null, D.h("dt", null, label), D.h("dd", null, known, more ? D.h("span", { class: "ds-quiet" }, ` ${more}`) : null));
  }

  /** Copies what `text` gives, and says so for a moment. */
  function copyButton(text, say) {
    const button = D.h("button", { type: "button", class: "ds-link ds-copy" }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = (await D.copy(text())) ? "Copied" : "Not copied";
      say(button.textContent);
      setTimeout(() => {
        button.textContent = "Copy";
      }, TOLD);
    });
    return button;
  }

  function commandLine(card, say) {
    const code = D.h("code", { class: "ds-command-line", tabindex: 0, role: "group", "aria-label": `Command line of ${card.name}` });
    D.cue(code, "x");
    const box = D.h("div", { class: "ds-command" }, code, copyButton(() => code.textContent, say));
    return {
      box,
      setPrompt(prompt) {
        code.textContent = `${card.command} --prompt ${D.quoted(prompt)}`;
      },
    };
  }

  const fold = (words, ...content) =>
    D.h("details", { class: "ds-entry-fold" }, D.h("summary", null, words), content);

  /** The fold of a recorded round, fetched and drawn when it is first opened. */
  function recorded(picture) {
    if (!picture) return D.h("span", { class: "ds-note ds-entry-none" }, "No recorded round yet");
    const place = D.h("div", { class: "ds-entry-picture" });
    const box = fold("A recorded round", place);
    const open = async () => {
      if (!box.open || place.childElementCount) return;
      place.append(D.states.loading("Fetching the round.", {}));
      try {
        await picture(place);
      } catch (error) {
        place.replaceChildren(D.states.error(error.message));
      }
    };
    box.addEventListener("toggle", open);
    return box;
  }

  function about({ about: parts }) {
    if (!parts.length) return null;
    return fold("How it works here", parts.map(({ item, words }) => D.h("p", { class: item ? "ds-item" : null }, D.prose(words))));
  }

  function settings({ settings: lines }) {
    if (!lines.length) return null;
    const rows = lines.map(({ written, words }) => D.h("div", null, D.h("dt", null, D.h("code", null, written)), D.h("dd", null, words)));
    return fold("Settings", D.h("dl", { class: "ds-entry-settings" }, rows));
  }

  function measured(card, most) {
    const told = card.reported.length ? D.reported(card.reported) : card.unreported && D.h("p", { class: "ds-note" }, card.unreported);
    return [
      D.h("h4", null, "Measured here"),
      card.pairs.length ? D.pairs(card.pairs, most) : D.h("p", { class: "ds-note" }, D.prose(card.unmeasured)),
      told ? [D.h("h4", null, "In its paper"), told] : null,
    ];
  }

  /**
   * The entry of a method. `show` makes addresses of parts and follows them; `actions` are `[words, address(card), fits(card)]`;
   * `say` announces; `picture(card)` draws a recorded round into an element, null where there is none. Gives
   * `{root, card, setPrompt, setLinks}`.
   */
  D.methodEntry = (card, { show, actions, say, most, picture }) => {
    const command = commandLine(card, say);
    const links = actions
      .filter(([, , fits]) => fits(card))
      .map(([words, address]) => ({ address, link: D.h("a", { class: "ds-button ds-entry-action", "aria-label": `${words}: ${card.name}` }, words) }));
    const facts = card.facts.map((one) => ({ one, element: fact(one, show) }));
    const name = D.h("a", { href: `#${card.key}`, class: "ds-entry-link" }, card.name);
    const root = D.h(
      "article",
      { class: "ds-entry", id: card.key, tabindex: -1, "aria-labelledby": `${card.key}-name` },
      D.h(
        "div",
        { class: "ds-entry-words" },
        D.h(
          "div",
          { class: "ds-entry-head" },
          D.h("h3", { id: `${card.key}-name` }, name),
          D.h("code", { class: "ds-quiet" }, card.key),
          D.badge(card.badge),
        ),
        D.h("p", { class: "ds-rule" }, D.prose(card.idea)),
        D.h("p", { class: "ds-note" }, D.prose(card.cited)),
        D.h("dl", { class: "ds-facts" }, facts.map(({ element }) => element)),
        D.h("div", { class: "ds-entry-actions" }, command.box, links.map(({ link }) => link)),
        D.h("div", { class: "ds-entry-folds" }, about(card), settings(card), card.comparable ? recorded(picture(card)) : null),
      ),
      D.h("div", { class: "ds-entry-numbers" }, measured(card, most)),
    );
    return {
      root,
      card,
      setPrompt(prompt) {
        command.setPrompt(prompt);
        links.forEach(({ link, address }) => link.setAttribute("href", address(card)));
      },
      /** What is carried has changed, and with it where the parts lead. */
      setLinks() {
        for (const { one, element } of facts) element.querySelector("a")?.setAttribute("href", show.url(one.name, one.value));
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

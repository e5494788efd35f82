/* The small card that previews a round before one goes there. */
((D) => {
  "use strict";

  /** What the card of a round says. */
  D.roundCard = (store, index) => {
    const round = store.overview.strip.find((entry) => entry.index === index);
    const view = store.viewOf(index);
    return [
      D.h("b", null, `Round ${index}`),
      view ? D.h("p", null, view.headline) : null,
      round?.rejected.length
        ? D.h(
            "p",
            { class: "ds-note" },
            "Thrown away: ",
            round.rejected.slice(0, 12).map((label) => [D.token(label, { struck: true }), " "]),
          )
        : null,
    ];
  };

  /** A card that appears below an element after a moment: `show(element, content)`, `hide()`. */
  D.createCard = (root) => {
    const card = D.h("div", { class: "ds-card", role: "tooltip", hidden: true });
    root.append(card);
    let timer = 0;
    return {
      show(target, content) {
        clearTimeout(timer);
        timer = setTimeout(() => {
          const box = target.getBoundingClientRect();
          const frame = root.getBoundingClientRect();
          card.replaceChildren(...content.flat().filter(Boolean));
          card.hidden = false;
          const left = Math.min(box.left - frame.left, frame.width - card.offsetWidth - 8);
          card.style.left = `${Math.max(0, left)}px`;
          card.style.top = `${box.bottom - frame.top + 4}px`;
        }, 350);
      },
      hide() {
        clearTimeout(timer);
        card.hidden = true;
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

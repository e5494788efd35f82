/* The generated text as it flows, with a seam between rounds. It shows the text; the tree shows why. */
((D) => {
  "use strict";

  /** Mount the strip; it follows the store and answers hover and click. */
  D.mountStrip = (root, store) => {
    const text = D.h("div", {
      class: "ds-strip",
      role: "group",
      tabindex: 0,
      "aria-label": "Generated text, by rounds",
    });
    const foot = D.h("div", { class: "ds-strip-foot" });
    let showCuts = false;
    let byRound = new Map();
    root.append(text, foot);
    const card = D.createCard(root);

    function draw() {
      const { overview } = store;
      text.replaceChildren();
      D.fillStrip(text, overview, showCuts);
      if (!overview.finished) text.append(...D.drafting());
      byRound = new Map();
      text.querySelectorAll(".ds-tok[data-round]").forEach((token) => {
        const round = Number(token.dataset.round);
        byRound.set(round, [...(byRound.get(round) ?? []), token]);
      });
      const toggle = D.h(
        "button",
        {
          class: "ds-link",
          type: "button",
          "aria-pressed": String(showCuts),
          on: {
            click: () => {
              showCuts = !showCuts;
              draw();
              select();
            },
          },
        },
        showCuts ? "Hide what was thrown away" : "Show what was thrown away",
      );
      const any = overview.strip.some((round) => round.rejected.length);
      foot.replaceChildren(
        D.stripLegend(overview),
        D.h("p", { class: "ds-note" },
          overview.finished ? D.h("span", { class: "ds-finish" }, `${overview.finish} `) : "", any ? toggle : ""),
      );
    }

    let selected = [];
    function select() {
      selected.forEach((token) => token.classList.remove("ds-selected", "ds-marked"));
      selected = byRound.get(store.round) ?? [];
      selected.forEach((token) => {
        token.classList.add("ds-selected");
        token.classList.toggle(
          "ds-marked",
          Number(token.dataset.node) === store.shown && token.dataset.node !== "",
        );
      });
    }

    /** Bring the selected round into the strip's window, without moving the page. */
    const reach = D.calmly(() => {
      if (!selected.length || text.scrollHeight <= text.clientHeight + 1) return;
      const frame = text.getBoundingClientRect();
      const top = selected[0].getBoundingClientRect().top - frame.top;
      const bottom = selected[selected.length - 1].getBoundingClientRect().bottom - frame.top;
      if (top < 0) text.scrollTop += top;
      else if (bottom > text.clientHeight) text.scrollTop += bottom - text.clientHeight;
    }, 0);

    const choose = () => {
      select();
      reach();
    };

    const hit = (event) => event.target.closest?.(".ds-tok[data-round]");
    text.addEventListener("click", (event) => {
      const token = hit(event);
      if (!token) return;
      const node = token.dataset.node === "" ? null : Number(token.dataset.node);
      card.hide();
      store.select({ round: Number(token.dataset.round), node });
    });
    text.addEventListener("pointerover", (event) => {
      const token = hit(event);
      if (!token || event.pointerType === "touch") return;
      const round = Number(token.dataset.round);
      if (round === store.round) {
        card.hide();
        if (token.dataset.node !== "") store.hover(Number(token.dataset.node));
        return;
      }
      store.hover(null);
      card.show(byRound.get(round)[0], D.roundCard(store, round));
    });
    text.addEventListener("copy", (event) => {
      const copied = D.selectedText(text, getSelection());
      if (copied === null) return;
      event.clipboardData.setData("text/plain", copied);
      event.preventDefault();
    });
    text.addEventListener("pointerleave", () => {
      card.hide();
      store.hover(null);
    });

    return [
      D.cue(text, "y"),
      store.on("trace", draw),
      store.on("strip", () => {
        draw();
        choose();
      }),
      store.on("round", choose),
      store.on("node", select),
      D.onTheme(() => store.overview && (draw(), select())),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

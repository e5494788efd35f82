/* The generated text as it flows, with a seam between rounds. It shows the text; the tree shows why. */
((D) => {
  "use strict";

  const LONGEST = 24; // characters kept on one line when tokens abut: scripts without spaces must wrap

  const KINDS = {
    accepted: "drafted and accepted", relaxed: "accepted by the relaxed rule", correction: "correction, after a rejection",
    bonus: "bonus, the whole draft stood", plain: "written by the target alone",
  };

  function tokenElement(token, round, first, last) {
    const { label } = token;
    const gap = label.space && !first;
    const text = label.text || (token.joined ? "" : "·");
    const bare = label.text === "" || /^[↵→␣␀-␡]+$/u.test(label.text);
    const classes = ["ds-tok", `ds-is-${token.kind}`, first && "ds-first", last && "ds-last", token.joined && "ds-joined"];
    return D.h("span", {
      class: classes.filter(Boolean).join(" "), "data-round": round.index, "data-node": token.node ?? -1,
    },
      first ? D.h("span", { class: "ds-num", "aria-hidden": "true" }, String(round.index)) : null,
      gap || (first && label.space) ? D.h("span", { class: "ds-gap" }, " ") : null,
      D.h("bdi", { class: `ds-word${bare ? " ds-mark" : ""}${label.special ? " ds-pill" : ""}` },
        text, D.underline(token.kind), D.belowMark(token.kind)));
  }

  function cutElement(round) {
    if (!round.rejected.length) return null;
    return D.h("span", { class: "ds-tok ds-cuts", "data-round": round.index, "data-node": "" },
      round.rejected.map((label) => [" ", D.token(label, { struck: true })]));
  }

  /** Group abutting tokens, so that no line breaks inside a word. */
  function createFlow(parent) {
    let group = null;
    let length = 0;
    return {
      put(element, label, joins) {
        const size = label ? D.characters(label.text).length : 0;
        if (!group || !joins || length + size > LONGEST) {
          group = D.h("span", { class: "ds-group" });
          parent.append(group);
          length = 0;
        }
        group.append(element);
        length += size;
      },
      breakLine() {
        parent.append(D.h("br"));
        group = null;
      },
    };
  }

  function fillStrip(parent, overview, showCuts) {
    const flow = createFlow(parent);
    for (const round of overview.strip) {
      round.tokens.forEach((token, place) => {
        const last = place === round.tokens.length - 1;
        if (showCuts && last && round.rejected.length) flow.put(cutElement(round), null, false);
        flow.put(tokenElement(token, round, place === 0, last), token.label, !token.label.space);
        if (token.label.breaks) flow.breakLine();
      });
    }
  }

  function drafting() {
    return D.h("span", { class: "ds-tok ds-first ds-drafting" }, D.h("span", { class: "ds-word" }, "drafting…"));
  }

  function legendOf(overview) {
    const seen = new Set(overview.strip.flatMap((round) => round.tokens.map((token) => token.kind)));
    const entries = Object.entries(KINDS).filter(([kind]) => seen.has(kind))
      .map(([kind, words]) => [D.lineSample(kind), words]);
    return D.legend([...entries, [D.swatch("seam"), "seam between rounds"]]);
  }

  function cardFor(store, index) {
    const round = store.overview.strip.find((entry) => entry.index === index);
    const view = store.viewOf(index);
    return [
      D.h("b", null, `Round ${index}`), view ? D.h("p", null, view.headline) : null,
      round?.rejected.length
        ? D.h("p", { class: "ds-note" }, "Thrown away: ", round.rejected.slice(0, 12).map((label) => [D.token(label, { struck: true }), " "]))
        : null,
    ];
  }

  function createCard(root) {
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
  }

  /** Mount the strip; it follows the store and answers hover and click. */
  D.mountStrip = (root, store) => {
    const text = D.h("div", { class: "ds-strip", role: "group", "aria-label": "Generated text, by rounds" });
    const foot = D.h("div", { class: "ds-strip-foot" });
    let showCuts = false;
    let byRound = new Map();
    root.append(text, foot);
    const card = createCard(root);

    function draw() {
      const { overview } = store;
      text.replaceChildren();
      fillStrip(text, overview, showCuts);
      if (!overview.finished) text.append(D.h("span", { class: "ds-group" }, drafting()));
      byRound = new Map();
      text.querySelectorAll(".ds-tok[data-round]").forEach((token) => {
        const round = Number(token.dataset.round);
        byRound.set(round, [...(byRound.get(round) ?? []), token]);
      });
      const toggle = D.h("button", {
        class: "ds-link", type: "button", "aria-pressed": String(showCuts),
        on: { click: () => { showCuts = !showCuts; draw(); select(); } },
      }, showCuts ? "Hide what was thrown away" : "Show what was thrown away");
      const any = overview.strip.some((round) => round.rejected.length);
      foot.replaceChildren(legendOf(overview), any ? toggle : "");
    }

    let selected = [];
    function select() {
      selected.forEach((token) => token.classList.remove("ds-selected", "ds-marked"));
      selected = byRound.get(store.round) ?? [];
      selected.forEach((token) => {
        token.classList.add("ds-selected");
        token.classList.toggle("ds-marked", Number(token.dataset.node) === store.shown && token.dataset.node !== "");
      });
    }

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
      card.show(byRound.get(round)[0], cardFor(store, round));
    });
    text.addEventListener("pointerleave", () => {
      card.hide();
      store.hover(null);
    });

    return [
      store.on("trace", draw), store.on("strip", () => { draw(); select(); }),
      store.on("round", select), store.on("node", select), D.onTheme(() => store.overview && (draw(), select())),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

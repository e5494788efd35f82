/* Tree X-ray: the trees that six methods would draft where the round in view began, from the same draft scores, as one
   drawing that turns from one into the other. Asked for by hand: it takes the models some seconds. */
((D) => {
  "use strict";

  const SORTS = [["", "in order of the keys"], ["believed", "by the draft's expectation"], ["expected", "by the target's"]];
  const NODES = [["accepted", "accepted"], ["rejected", "rejected"], ["unreached", "not reached"]];
  const BARS = [["draft", "expected by the draft"], ["target", "expected by the target"]];
  const FIELDS = "input, textarea, select, [contenteditable]";
  D.KEYS.push([["1", "…", "6"], "tree of the open X-ray"]);

  const THUMB = { width: 150, height: 74 };

  const button = (words, act, kind = "") =>
    D.h("button", { class: `ds-button ${kind}`, type: "button", on: { click: act } }, words);

  /** Two bars on one scale: hollow for the draft, solid for the target. */
  function bars(tree, most) {
    const bar = (kind, value, text, words) => D.h("span", { class: "ds-xray-bar", title: words },
      D.h("span", { class: "ds-xray-track" },
        D.h("span", { class: `ds-xray-${kind}`, style: { width: `${((100 * value) / most).toFixed(1)}%` } })),
      D.h("span", { class: "ds-number" }, text));
    return D.h("span", { class: "ds-xray-bars" },
      bar("draft", tree.believed, tree.believed_text, "expected by the draft"),
      bar("target", tree.expected, tree.expected_text, "expected by the target"));
  }

  /** Words on a node of the tree in view. */
  function nodeWords(found, tree, id) {
    const { label, p_text: p, q_text: q } = found.nodes[id];
    const place = tree.nodes.indexOf(id);
    const drafted = q ? `draft ${q}, target ${p}` : `target ${p}; the drafter was not asked`;
    const kept = place < 0 ? "what the target would write, and this tree does not have" : `kept with chance ${tree.reach_text[place]}`;
    return [D.token(label), `: ${drafted}; ${kept}.`];
  }

  /**
   * Mount the X-ray behind the element `spot`, closed. `address` is where it asks; `models()` are the models that the
   * page would run with.
   */
  D.mountXray = (spot, store, { address, models }) => {
    let found = null;
    let shown = null; // key of the tree in view
    let under = null; // what stops the question under way
    let width = 0;

    const state = D.h("div", { class: "ds-lab-state" });
    const slider = D.h("input", { type: "range", min: 4, max: 64, step: 1, value: 16, id: D.uid("budget") });
    const count = D.h("output", { for: slider.id }, slider.value);
    const draft = button("", () => ask(false), "ds-primary");
    const control = D.h("p", { class: "ds-lab-slider" }, D.h("label", { for: slider.id }, "Node budget"), slider, count, draft);
    const head = D.h("p", { class: "ds-rule" });
    const note = D.h("p", { class: "ds-note" });
    const tabs = D.h("div", { class: "ds-xray-tabs", role: "group", "aria-label": "Tree in view" });
    const words = D.h("p", { class: "ds-rule", "aria-live": "polite" });
    const cost = D.h("p", { class: "ds-note" });
    const plot = D.h("div", { class: "ds-xray-plot", tabindex: 0 });
    const told = D.h("p", { class: "ds-note ds-xray-told" });
    const legend = D.h("div");
    const key = D.h("div", { class: "ds-xray-key" });
    const sort = D.h("select", { class: "ds-box", id: D.uid("sort") }, SORTS.map(([key, name]) => D.h("option", { value: key }, name)));
    const thumbs = D.h("ul", { class: "ds-xray-thumbs" });
    const foot = D.h("p", { class: "ds-note" });
    const result = D.h("div", { class: "ds-xray-result ds-none" }, head, note, tabs, words, cost, plot, told, legend,
      D.h("div", { class: "ds-xray-sort" }, D.h("label", { for: sort.id }, "All six, "), sort, key), thumbs, foot);
    const fold = D.h("details", { class: "ds-lab ds-xray" },
      D.h("summary", null, D.h("h3", null, "Tree X-ray"),
        D.h("span", { class: "ds-note" }, "the trees that six methods would draft here, from the same draft scores")),
      control, state, result);
    spot.after(D.h("div", { class: "ds-part ds-part-lab ds-part-xray" }, fold));
    const drawing = D.xrayDrawing(plot, (id) => tell(id));
    [plot, tabs].forEach((box) => D.cue(box, "x"));

    const say = (element) => state.replaceChildren(...(element ? [element] : []));
    const treeOf = (key) => found.trees.find((tree) => tree.key === key);

    function tell(id) {
      if (id === null) told.replaceChildren(...D.sentence(found.oracle_words), " That is the dotted line.");
      else told.replaceChildren(...nodeWords(found, treeOf(shown), id));
    }

    /** Keep the button and the look of the answer in step with the round and the budget in view. */
    function freshen() {
      const round = store.view?.index ?? null;
      const over = store.overview?.finished && round !== null;
      const fresh = found && found.round === round && found.budget === Number(slider.value);
      draft.textContent = `Draft six trees in round ${round ?? ""}`;
      draft.disabled = !over || under !== null;
      draft.classList.toggle("ds-none", Boolean(fresh));
      result.classList.toggle("ds-waiting", Boolean(found) && !fresh);
    }

    function stop() {
      under?.abort();
      under = null;
    }

    async function ask(load) {
      if (!store.overview?.finished || !store.view) return;
      stop();
      const mine = (under = new AbortController());
      const place = { trace: store.overview.id, round: store.view.index, budget: Number(slider.value) };
      freshen();
      const cancel = () => {
        stop();
        say(null);
        freshen();
      };
      try {
        const question = { ...place, load, models: models() };
        const last = await D.labSend(address, question, mine.signal, (line) => say(D.labProgress(line, cancel)));
        if (mine.signal.aborted) return;
        if (last.phase === "unloaded") say(D.labOffer(last.words, "Load the model and draft", () => ask(true)));
        else if (last.phase !== "done") say(D.states.error(last.words));
        else {
          say(null);
          take(last.answer.xray);
        }
      } catch (error) {
        if (mine.signal.aborted) return;
        const lost = error instanceof TypeError; // what fetch throws where nobody answers
        say(D.states.error(lost ? "The server does not answer. Start it again, then ask once more." : error.message));
      } finally {
        if (under === mine) under = null;
        freshen();
      }
    }

    function take(answer) {
      found = answer;
      slider.value = String(found.budget);
      count.textContent = slider.value;
      head.replaceChildren(...D.sentence(found.head));
      note.textContent = found.note;
      foot.textContent = found.foot;
      tabs.replaceChildren(...found.trees.map((tree, place) => D.h("button", {
        type: "button", "data-key": tree.key, title: tree.idea, on: { click: () => choose(tree.key) },
      }, D.h("span", { class: "ds-quiet" }, `${place + 1} `), tree.name)));
      result.classList.remove("ds-none");
      draw();
      const best = [...found.trees].sort((a, b) => b.expected - a.expected)[0];
      choose(treeOf(shown) ? shown : best.key);
    }

    function draw() {
      width = plot.clientWidth / D.theme.scale;
      drawing.set(found, width);
      const swatches = (entries) => D.legend(entries.map(([glyph, name]) => [D.swatch(glyph), name]));
      legend.replaceChildren(swatches(NODES));
      key.replaceChildren(swatches(BARS));
      drawThumbs();
    }

    function drawThumbs() {
      const most = Math.max(0.01, ...found.trees.flatMap((tree) => [tree.believed, tree.expected]));
      const order = sort.value ? [...found.trees].sort((a, b) => b[sort.value] - a[sort.value]) : found.trees;
      thumbs.replaceChildren(...order.map((tree) => D.h("li", null, D.h("button", {
        type: "button", "data-key": tree.key, "aria-pressed": String(tree.key === shown),
        "aria-label": `${tree.name}: expected by the draft ${tree.believed_text}, by the target ${tree.expected_text}, accepted ${tree.accepted}. ${tree.cost}`,
        on: { click: () => choose(tree.key) },
      },
      D.h("span", { class: "ds-xray-name" }, D.h("b", null, tree.name),
        D.h("span", { class: "ds-quiet" }, `${tree.accepted} kept, ${tree.wasted} wasted`)),
      D.xrayThumb(found, tree, THUMB.width, THUMB.height), bars(tree, most)))));
    }

    function choose(key) {
      shown = key;
      const tree = treeOf(key);
      words.replaceChildren(...D.sentence(tree.words));
      cost.textContent = `${tree.idea} ${tree.cost}`;
      for (const one of fold.querySelectorAll("[data-key]")) one.setAttribute("aria-pressed", String(one.dataset.key === key));
      drawing.show(tree);
      tell(null);
    }

    function press(event) {
      const typing = event.target instanceof Element && event.target.closest(FIELDS);
      const tree = found?.trees[Number(event.key) - 1];
      if (!fold.open || !tree || typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      choose(tree.key);
      event.preventDefault();
    }

    function redraw() {
      if (!found || !plot.clientWidth) return;
      draw();
      choose(shown);
    }

    function clear() {
      stop();
      found = null;
      say(null);
      result.classList.add("ds-none");
      freshen();
    }

    slider.addEventListener("input", () => {
      count.textContent = slider.value;
      freshen();
    });
    slider.addEventListener("change", () => found && ask(false));
    sort.addEventListener("change", drawThumbs);
    fold.addEventListener("toggle", () => {
      if (!fold.open) {
        stop();
        say(null);
      }
      freshen();
    });
    document.addEventListener("keydown", press);
    new ResizeObserver(() => Math.abs(plot.clientWidth / D.theme.scale - width) >= 1 && redraw()).observe(plot);
    D.onTheme(redraw);
    store.on("trace", clear);
    ["strip", "round"].forEach((event) => store.on(event, freshen));
    freshen();
  };
})((window.Draftscope = window.Draftscope ?? {}));

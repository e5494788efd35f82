/* The Lab: what the model is asked once more about the node in view. It knows which tools there are, when to ask, and how
   an answer comes in lines; what a tool shows is its own. */
((D) => {
  "use strict";

  const CALM = 350; // milliseconds that the reader stays at a node before the model is asked about it

  /** The tools, one below the other. Each is made with `again`, which asks for it anew, and gives
      `{name, root, byRound, wish(), draw(answer)}`: its route, whether it asks about the round and not a node, what it
      sends beside the place, and how it shows an answer, or null. */
  const makers = () => [D.labLadder, D.labRounds];

  /** Yield the values of an answer that comes as lines of JSON. */
  async function* lines(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value = "", done } = await reader.read();
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
      if (done) return;
    }
  }

  const UNDER_WAY = new Set(["waiting", "loading", "decoding"]);

  /** Send a question; `tell` hears the lines before the last, which is given back. */
  async function send(url, question, signal, tell) {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(question), signal });
    if (!answer.ok) throw new Error((await answer.json()).error);
    for await (const line of lines(answer)) {
      if (!UNDER_WAY.has(line.phase)) return line;
      tell(line);
    }
    throw new Error("The server sent no answer. Ask once more.");
  }

  /** The node whose laws the inspector shows: the one that the marked token follows. */
  function placeOf(store) {
    const { view, marked, overview } = store;
    if (!view || !overview?.finished) return null;
    const node = view.nodes.find((one) => one.id === marked);
    return { trace: overview.id, round: view.index, node: Math.max(0, node?.parent ?? 0) };
  }

  const offer = (words, label, act) =>
    D.h("div", { class: "ds-lab-offer" }, D.h("p", { class: "ds-rule" }, words),
      D.h("button", { class: "ds-button ds-primary", type: "button", on: { click: act } }, label));

  /** What is said while a question is under way: a block while the model loads, else one short line. */
  function progress(line, cancel) {
    if (line.phase === "loading") return D.states.loading(`${line.words}.`, { ...line, cancel });
    const words = line.phase === "waiting" ? line.words || "Starting." : "Asking the model.";
    return D.h("p", { class: "ds-note ds-lab-busy", role: "status" }, words,
      D.h("button", { class: "ds-link", type: "button", on: { click: cancel } }, "Cancel"));
  }

  Object.assign(D, { labSend: send, labOffer: offer, labProgress: progress }); // the X-ray asks in the same way

  /**
   * Mount the Lab behind the element `spot`, closed. `address(tool)` is where a tool asks; `models()` are the models that
   * the page would run with.
   */
  D.mountLab = (spot, store, { address, models }) => {
    const head = D.h("p", { class: "ds-rule" });
    const doing = D.h("div");
    const note = D.h("p", { class: "ds-note" });
    const state = D.h("div", { class: "ds-lab-state" });
    const tools = makers().map((make) => make(() => follow(false)));
    const body = D.h("div", { class: "ds-lab-tools" }, tools.map((tool) => tool.root));
    const fold = D.h("details", { class: "ds-lab" },
      D.h("summary", null, D.h("h3", null, "Ask the model again"),
        D.h("span", { class: "ds-note" }, "at this node: what each rule would accept, and whether a rule keeps the law")),
      D.h("div", { class: "ds-lab-where" }, D.h("div", null, head, doing), note), state, body);
    spot.after(D.h("div", { class: "ds-part ds-part-lab ds-part-ask" }, fold));

    const shown = new Map(); // tool -> the question whose answer it shows
    let under = null; // what stops the question under way

    function say(element) {
      doing.replaceChildren();
      state.replaceChildren(...(element ? [element] : []));
    }

    /** Tell how far a question is; a short line stands beside the head, so that nothing below moves. */
    function tell(line) {
      const told = progress(line, cancel);
      say(line.phase === "loading" ? told : null);
      if (line.phase !== "loading") doing.append(told);
    }

    function stop() {
      under?.abort();
      under = null;
    }

    function cancel() {
      stop();
      say(offer("Stopped.", "Compute", () => follow(true)));
    }

    function show(tool, answer) {
      const { where } = answer;
      if (where) {
        head.replaceChildren(...D.sentence(where.head));
        note.textContent = where.note;
        note.classList.toggle("ds-warns", where.warns);
      }
      tool.draw(answer[tool.name]);
    }

    /** Ask for one tool; true where its answer is shown. */
    async function ask(tool, place, load, signal) {
      const spot = tool.byRound ? { ...place, node: 0 } : place;
      const key = JSON.stringify([spot, tool.wish()]);
      if (shown.get(tool) === key) return true;
      tool.root.classList.add("ds-waiting");
      const question = { ...spot, ...tool.wish(), load, models: models() };
      const last = await send(address(tool.name), question, signal, tell);
      if (signal.aborted) return false;
      if (last.phase === "unloaded") {
        say(offer(last.words, "Load the model and compute", () => follow(true)));
        return false;
      }
      if (last.phase !== "done") throw new Error(last.words);
      show(tool, last.answer);
      shown.set(tool, key);
      tool.root.classList.remove("ds-waiting");
      say(null);
      return true;
    }

    /** Bring every tool to the node in view; `load` lets the server load the models for it. */
    async function follow(load) {
      const place = placeOf(store);
      if (!fold.open) return;
      stop();
      if (!place) {
        say(D.h("p", { class: "ds-note" }, "The model can be asked once the run is over."));
        return;
      }
      const mine = (under = new AbortController());
      try {
        for (const tool of tools) if (!(await ask(tool, place, load, mine.signal))) break;
      } catch (error) {
        if (mine.signal.aborted) return;
        const lost = error instanceof TypeError; // what fetch throws where nobody answers
        say(D.states.error(lost ? "The server does not answer. Start it again, then ask once more." : error.message));
      }
    }

    const calmly = D.calmly(() => follow(false), CALM);

    /** Follow the reader, unless the question is the one that is shown or under way. */
    let asked = "";
    function moved() {
      const key = JSON.stringify(placeOf(store));
      if (!fold.open || key === asked) return;
      asked = key;
      stop();
      calmly();
    }

    function clear() {
      stop();
      shown.clear();
      asked = "";
      say(null);
      head.replaceChildren();
      note.textContent = "";
      tools.forEach((tool) => tool.draw(null));
      moved();
    }

    fold.addEventListener("toggle", () => {
      if (!fold.open) {
        stop();
        say(null);
        return;
      }
      asked = JSON.stringify(placeOf(store));
      follow(false);
    });
    store.on("trace", clear);
    ["strip", "round", "node"].forEach((event) => store.on(event, moved));
  };
})((window.Draftscope = window.Draftscope ?? {}));

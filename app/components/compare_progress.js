/* How far a comparison is: a line for the whole, a row per method. It knows no server. */
((D) => {
  "use strict";

  const MEGA = 1e6;

  function row(name, look) {
    const bar = D.h("span");
    const words = D.h("span", { class: "ds-progress-words" });
    const rail = D.h("div", { class: "ds-progress", role: "progressbar", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100 }, bar);
    return {
      element: D.h("li", { class: D.hueClass(look) }, D.methodName({ name }, look), rail, words),
      tell({ status, words: told, share }) {
        const percent = Math.round(share * 100);
        bar.style.width = `${percent}%`;
        rail.setAttribute("aria-valuenow", percent);
        words.textContent = told || { waiting: "waits", running: "begins", done: "done" }[status] || "";
        words.classList.toggle("ds-warns", status === "error");
      },
    };
  }

  const loadingWords = ({ words, done = 0, total = 0 }) =>
    total > 0 ? `${words}, ${Math.round(done / MEGA)} of ${Math.round(total / MEGA)} MB.` : `${words}.`;

  /** Mount it: `tell(message)` shows how far things are, `say(state)` one of the page's states, or nothing. */
  D.mountCompareProgress = (root, { cancel }) => {
    const line = D.h("span", { class: "ds-note" });
    const heard = D.h("span", { class: "ds-heard", role: "status" });
    const list = D.h("ul", { class: "ds-progress-rows" });
    const box = D.h("div", { class: "ds-compare-progress" }, D.h("p", { class: "ds-running" }, line), list);
    let rows = [];
    let over = 0; // methods whose end was told
    root.append(heard);

    function say(state) {
      box.remove();
      root.replaceChildren(heard, ...(state ? [state] : []));
    }

    function draw(methods) {
      const looks = D.methodLooks(methods.map((_, place) => ({ plain: place === 0 })));
      rows = methods.map(({ name }, place) => row(name, looks[place]));
      list.replaceChildren(...rows.map(({ element }) => element));
      over = 0;
    }

    /** Tell people who do not see the rows which method has ended. */
    function announce(methods) {
      const ended = methods.filter(({ status }) => status === "done" || status === "error");
      if (ended.length > over) heard.textContent = ended.slice(over).map(({ name, status }) => `${name}: ${status}.`).join(" ");
      over = ended.length;
    }

    return {
      say,
      tell(message) {
        const { phase, words, methods } = message;
        if (phase === "waiting") return say(D.states.loading(words || "Starting.", { cancel }));
        if (phase === "loading") return say(D.states.loading(loadingWords(message), { ...message, cancel }));
        if (!box.isConnected) {
          draw(methods);
          say(box);
        }
        line.textContent = words;
        rows.forEach((one, place) => one.tell(methods[place]));
        return announce(methods);
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

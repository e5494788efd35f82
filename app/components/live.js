/* A run under way: messages come in, the store grows, and what happens is said. It knows no field and no address. */
((D) => {
  "use strict";

  const MEGA = 1e6;
  const OVER = new Set(["done", "cancelled", "error"]);

  /** The overview as it is after a growth. */
  const grown = (before, growth) => ({
    ...before,
    ...growth.changed,
    strip: [...(before?.strip ?? []).slice(0, growth.at), ...growth.strip],
    scrub: [...(before?.scrub ?? []).slice(0, growth.at), ...growth.scrub],
  });

  const button = (words, act) => D.h("button", { class: "ds-button", type: "button", on: { click: act } }, words);

  /** How far a text is, with the way out; the strip itself shows that more is coming. Gives how to say it: the buttons
      stay from round to round, for a button that is replaced under a finger misses the click. */
  function createProgress(say) {
    let last = { place: "", line: null, words: null };
    return (words, place, stop, show = null) => {
      if (last.place !== place || !last.line.isConnected) {
        const told = D.h("span", { class: "ds-note" });
        const line = D.h("p", { class: "ds-running", role: "status" }, told,
          show && button("Show it", show), button("Cancel", stop));
        last = { place, line, words: told };
        say(line, place);
      }
      last.words.textContent = words;
    };
  }

  function loadingWords({ words, done, total }) {
    return total > 0 ? `${words}, ${Math.round(done / MEGA)} of ${Math.round(total / MEGA)} MB.` : `${words}.`;
  }

  /**
   * Follow runs into `store`, as long as the run is what the page shows.
   *
   * `alive()` fails where the server is gone; `open(name)` shows a run again. `fetchTrace(name)` and `fetchRounds(name, from, to)` bring what a lost message held; `say(state, place)` shows what
   * happens; `cancel(name)` and `resume(name)` ask the server; `begin(name)` comes before a run's first round is shown,
   * `grow()` after each of its rounds, `end(message)` once.
   */
  D.followRuns = (store, { fetchTrace, fetchRounds, say, cancel, alive, open, resume, begin, grow, end }) => {
    let run = null; // { name, next, overview }
    let wantsCancel = false;
    let chain = Promise.resolve();
    const watch = D.createWatch(alive, lose);
    const progress = createProgress(say);

    const onPage = () => store.overview?.id === run?.name;

    /** The server is gone: what came so far stays, and nothing waits any longer. */
    function lose() {
      if (!watch.on) return;
      watch.end();
      say(null);
      if (run?.overview && onPage()) store.update({ ...run.overview, finished: true, finish: "The connection was lost." });
      end({ phase: "error", field: "", words: "The connection to the server was lost. The tokens so far stay." });
    }

    function stop() {
      wantsCancel = true;
      say(D.states.cancelled("Cancelling after this round."), "top");
      if (run?.name) Promise.resolve(cancel(run.name)).catch(lose);
    }

    function tell(message) {
      const { phase, words } = message;
      if (wantsCancel && !OVER.has(phase)) return;
      if (phase === "waiting") say(D.states.loading(words || "Starting.", { cancel: stop }), "top");
      else if (phase === "loading") say(D.states.loading(loadingWords(message), { ...message, cancel: stop }), "top");
      else if (phase === "decoding" && onPage()) progress(words, "strip", stop);
      else if (phase === "decoding") progress(`A run goes on: ${words}`, "top", stop, () => open(run.name));
      else if (OVER.has(phase) && !onPage() && run.overview)
        say(D.h("p", { class: "ds-running", role: "status" }, D.h("span", { class: "ds-note" }, "The run is over."),
          button("Show it", () => open(run.name))), "top");
      else if (phase === "cancelled") {
        const { name } = run;
        say(D.states.cancelled(words, { resume: message.resumable ? () => resume(name) : null }), "top");
      } else say(null);
    }

    /** Take the place of lost messages: all that the server holds by now. */
    async function catchUp() {
      const { overview } = await fetchTrace(run.name);
      let from = store.overview?.id === run.name ? store.order.length : 0;
      const views = [];
      while (from < overview.rounds) {
        const page = await fetchRounds(run.name, from, overview.rounds);
        if (!page.length) break;
        views.push(...page);
        from += page.length;
      }
      run.overview = { ...overview, finished: false };
      if (onPage()) store.update(run.overview, views);
    }

    async function handle(message) {
      if (message.number === 0) run = { name: message.run, next: 0, overview: null };
      else if (run?.name !== message.run) run = { name: message.run, next: 0, overview: null };
      if (message.number < run.next) return;
      const lost = message.number > run.next;
      run.next = message.number + 1;
      if (message.number === 0 && wantsCancel) cancel(run.name);
      if (message.growth) {
        const first = run.overview === null;
        if (first) begin(run.name);
        if (lost) await catchUp();
        run.overview = grown(run.overview, message.growth);
        if (first || onPage()) {
          store.update(run.overview, message.rounds);
          grow();
        }
      }
      tell(message);
      if (OVER.has(message.phase)) {
        watch.end();
        end(message);
      }
    }

    return {
      stop,
      /** A run was asked for. */
      expect() {
        wantsCancel = false;
        watch.begin();
        say(D.states.loading("Starting.", { cancel: stop }), "top");
      },
      /** A message came; they are handled one after the other. */
      take(message) {
        watch.hear();
        chain = chain.then(() => handle(message)).catch((error) => store.emit("trouble", error));
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* A comparison under way: messages come in, the page asks for what is new. It knows no field and no address. */
((D) => {
  "use strict";

  const OVER = new Set(["done", "cancelled", "error"]);

  /**
   * Follow comparisons on `page`, which has `tell(message)` and `say(state)`.
   *
   * `fetchComparison(name)` brings it as it stands, `cancel(name)` and `alive()` ask the server, `isShown(name)` and
   * `open(name)` speak of the page; `begin(name)` comes before its first state is shown, `grow(name, comparison)` with
   * each, `end(message)` once.
   */
  D.followComparison = (page, { fetchComparison, cancel, alive, open, isShown, begin, grow, end }) => {
    let run = null; // { name, next, revision, begun }
    let wantsCancel = false;
    let chain = Promise.resolve();
    const watch = D.createWatch(alive, lose);

    function over(message) {
      watch.end();
      end(message);
    }

    /** The server is gone: what came so far stays, and nothing waits any longer. */
    function lose() {
      if (!watch.on) return;
      page.say(null);
      over({ phase: "error", field: "", words: "The connection to the server was lost. The methods so far stay." });
    }

    function stop() {
      wantsCancel = true;
      page.say(D.states.cancelled("Cancelling after this round."));
      if (run) Promise.resolve(cancel(run.name)).catch(lose);
    }

    async function grown(message) {
      if (message.revision === run.revision) return;
      run.revision = message.revision;
      const { name } = run;
      const comparison = await fetchComparison(name);
      if (!run.begun) begin(name);
      run.begun = true;
      grow(name, comparison);
    }

    function tell(message) {
      const { phase, words } = message;
      if (!OVER.has(phase)) {
        if (!wantsCancel) page.tell(message);
      } else if (run.begun && !isShown(run.name)) {
        const { name } = run;
        page.say(D.states.empty("The comparison is over.", { label: "Show it", act: () => open(name) }));
      } else if (phase === "cancelled") page.say(D.states.cancelled(words));
      else page.say(null);
    }

    async function handle(message) {
      if (run?.name !== message.comparison) run = { name: message.comparison, next: 0, revision: 0, begun: false };
      if (message.number < run.next) return;
      if (run.next === 0 && wantsCancel) cancel(run.name);
      run.next = message.number + 1;
      const isLast = OVER.has(message.phase);
      tell(message);
      try {
        await grown(message);
      } catch (error) {
        page.say(D.states.error(error.message));
      }
      if (isLast) over(message);
    }

    return {
      stop,
      /** A comparison was asked for. */
      expect() {
        wantsCancel = false;
        watch.begin();
        page.say(D.states.loading("Starting.", { cancel: stop }));
      },
      /** A message came; they are handled one after the other. */
      take(message) {
        watch.hear();
        chain = chain.then(() => handle(message));
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

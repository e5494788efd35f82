/* Plays a text: dart by dart, then the next round. It moves the store; it draws nothing. */
((D) => {
  "use strict";

  const DART = 350; // milliseconds per dart
  const HOLD = 500; // on the finished round

  /** A player over `store`; `toggle`, `stop`, `onChange`. */
  D.createPlayer = (store) => {
    const listeners = new Set();
    let timer = 0;
    let playing = false;

    function set(next) {
      if (playing === next) return;
      playing = next;
      listeners.forEach((fn) => fn(playing));
    }

    function stop() {
      clearTimeout(timer);
      set(false);
      if (store.thrown !== null) store.reveal(null);
    }

    const later = (work, wait) => {
      timer = setTimeout(work, wait);
    };

    function next() {
      const { order, round } = store;
      if (order.indexOf(round) >= order.length - 1) return stop();
      const before = round;
      store.step(1);
      if (store.round === before) return stop();
      return begin();
    }

    function throwDart() {
      const { view, thrown } = store;
      if (!view || thrown === null) return stop(); // the reader stepped away: leave the page as it is
      if (thrown >= view.darts.length) return settle();
      store.reveal(thrown + 1);
      return later(throwDart, DART);
    }

    function settle() {
      const { round } = store;
      store.reveal(null);
      later(() => (store.round === round ? next() : stop()), HOLD);
    }

    function begin() {
      if (!store.view) return later(begin, 100); // its page is on the way
      if (!store.view.darts.length) return later(next, HOLD + DART);
      store.reveal(0);
      return later(throwDart, DART);
    }

    return {
      get playing() {
        return playing;
      },
      stop,
      toggle() {
        if (playing) return stop();
        if (!store.order.length) return undefined;
        set(true);
        if (
          store.order.indexOf(store.round) === store.order.length - 1 &&
          store.order.length > 1 &&
          store.overview.finished
        ) {
          store.select({ round: store.order[0] });
        }
        return begin();
      },
      onChange(fn) {
        listeners.add(fn);
        return () => listeners.delete(fn);
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

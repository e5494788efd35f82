/* Plays the race: moves a playhead from where it is to the end. It knows no lanes. */
((D) => {
  "use strict";

  const LASTS = 6000; // milliseconds of a whole race
  const STEPS = 12; // of a race for those who want less motion

  /** `{playing, toggle(from), stop}`; `most()` is where the race ends, `move(value)` puts the playhead, `onChange`
      hears of play and pause. */
  D.racePlayer = ({ most, move, onChange }) => {
    let timer = 0;
    let at = 0;

    function stop() {
      if (!timer) return;
      cancelAnimationFrame(timer);
      clearTimeout(timer);
      timer = 0;
      onChange();
    }

    function go(value) {
      at = Math.min(most(), value);
      move(at);
      if (at >= most()) stop();
      return at < most();
    }

    function smooth(from) {
      const start = performance.now();
      const frame = (now) => {
        if (go(from + (Math.max(0, now - start) / LASTS) * most())) timer = requestAnimationFrame(frame);
      };
      timer = requestAnimationFrame(frame);
    }

    function jump() {
      if (go(at + most() / STEPS)) timer = setTimeout(jump, LASTS / STEPS);
    }

    return {
      get playing() {
        return timer !== 0;
      },
      toggle(from) {
        if (timer) return stop();
        at = from;
        move(from);
        if (D.still()) timer = setTimeout(jump, LASTS / STEPS);
        else smooth(from);
        return onChange();
      },
      stop,
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* Fetches positions of a comparison in pages, each once, the neighbours ahead of time. It knows no view. */
((D) => {
  "use strict";

  const PAGE = 8; // positions fetched at a time
  const AHEAD = 4; // positions before a page's end at which the next one is asked for

  /** `fetchPage(from, to)` gives positions by their numbers. `get(number)` gives a promise of one. */
  D.createPositions = (fetchPage) => {
    let pages = new Map();
    let last = -1;
    let ahead = false;

    function page(index) {
      const known = pages;
      if (!known.has(index)) {
        const asked = fetchPage(index * PAGE, (index + 1) * PAGE);
        known.set(index, asked);
        asked.catch(() => known.delete(index));
      }
      return known.get(index);
    }

    return {
      /** Another comparison, or it grew. While it runs nothing is fetched ahead: the server has better to do. */
      reset(comparison) {
        pages = new Map();
        last = Math.max(-1, ...comparison.places);
        ahead = comparison.finished;
      },
      async get(number) {
        const views = await page(Math.floor(number / PAGE));
        const near = [number + AHEAD, number - AHEAD].filter((one) => ahead && one >= 0 && one <= last);
        near.forEach((one) => page(Math.floor(one / PAGE)).catch(() => undefined)); // told when it is wanted
        return views[number % PAGE];
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

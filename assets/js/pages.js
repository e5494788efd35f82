/* Fetches the views of rounds in pages, each once, the neighbours ahead of time. It keeps no views. */
((D) => {
  "use strict";

  const PAGE = 32; // rounds fetched at a time
  const AHEAD = 8; // rounds before a page's end at which the next page is asked for

  /** Fetch pages of round views once each, neighbours ahead of time. `fetch` gives [from, to) by round index. */
  D.createPages = (fetchRounds, arrived, failed) => {
    const asked = new Set();
    let traceId = null;

    async function ask(page, first) {
      if (asked.has(page) || !fetchRounds) return;
      asked.add(page);
      const id = traceId;
      try {
        const views = await fetchRounds(id, first + page * PAGE, first + (page + 1) * PAGE);
        if (id === traceId) arrived(views);
      } catch (error) {
        asked.delete(page);
        if (id === traceId) failed(error);
      }
    }

    return {
      reset(id) {
        traceId = id;
        asked.clear();
      },
      want(index, order, has) {
        if (!order.length) return;
        for (const near of [index, index + AHEAD, index - AHEAD]) {
          if (near < order[0] || near > order[order.length - 1] || has(near)) continue;
          ask(Math.floor((near - order[0]) / PAGE), order[0]);
        }
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

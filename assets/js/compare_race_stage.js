/* The lanes on the page: the chart, the words above it, and a playhead. Moving the playhead changes the chart's own
   elements; to call the library for each frame would be too slow for thirty of them in a second. */
((D) => {
  "use strict";

  const CONFIG = { displayModeBar: false, staticPlot: true, typesetMath: false, responsive: false };
  const PHONE = 700; // design pixels; below, names stand above their lanes
  const RESTS = 400; // milliseconds without a move before the chart is told

  const SAID = {
    position: (number) => `at position ${number}`,
    rounds: (number) => `after ${number} rounds`,
    passes: (number) => `after ${number} passes`,
    measured: (number) => `at ${number} ms`,
    modelled: (number) => `at ${number} ms`,
  };

  const at = (pixels) => ({ top: `calc(${pixels} * var(--u))` });

  /** Names left of the lanes, or above, and at the right edge what each has; `{when, counts}` are filled by moves. */
  function drawNames(host, { race, methods, looks, layout, phone }) {
    const counts = [];
    const words = race.lanes.map((lane, place) => {
      const { name, middle } = layout.lanes[place];
      const isOther = lane.method === null;
      const lines = phone ? "" : D.inTwoLines(lane.name, layout.left);
      const word = isOther
        ? D.h("bdi", { class: `ds-lane-grey ${lines}` }, lane.name)
        : D.methodName(methods[lane.method], looks[lane.method]);
      const classes = `ds-lane-count${isOther ? "" : " ds-compared"}`;
      counts.push(D.h("span", { class: classes, style: at(phone ? name : middle) }));
      return D.h("span", { class: `ds-lane-name ${lines}`, title: lane.name, style: at(name) }, word);
    });
    const when = D.h("span", { class: "ds-race-when" });
    host.replaceChildren(when, ...words, ...counts);
    return { when, counts };
  }

  /** The chart's elements: the playhead, and per trace its bars in order. */
  function readChart(plot) {
    const shape = plot.querySelector(".shapelayer path");
    shape?.removeAttribute("transform");
    const traces = [...plot.querySelectorAll(".barlayer .trace")];
    return { shape, bars: traces.map((trace) => [...trace.querySelectorAll(".point path")]) };
  }

  /** The stage, empty: `draw` shows lanes, `move` puts the playhead, `mark` underlines a round per lane. */
  D.raceStage = (Plotly) => {
    const plot = D.h("div", { class: "ds-race-plot" });
    const over = D.s("svg", { class: "ds-race-over", "aria-hidden": "true" });
    const names = D.h("div", { class: "ds-race-names" });
    const element = D.h(
      "div",
      {
        class: "ds-race-stage",
        role: "slider",
        tabindex: 0,
        "aria-label": "Playhead of the race",
        "aria-valuemin": 0,
        "aria-valuemax": 100,
      },
      plot,
      over,
      names,
    );
    let made = null;

    /** Lanes of `race` on an axis with the playhead at `value`, `width` pixels wide. */
    function draw({ race, methods, lanes, axis, value, width, colours }) {
      const scale = D.theme.scale;
      const phone = width / scale < PHONE;
      const looks = D.methodLooks(methods);
      const layout = D.raceLayout(race, { phone });
      const figure = D.raceFigure(race, lanes, layout, looks, { at: value, width, scale });
      const painted = D.paint({ data: figure.data, layout: figure.layout }, colours);
      Plotly.react(plot, painted.data, painted.layout, CONFIG);
      const unit = axis === "measured" || axis === "modelled" ? "ms" : "";
      const words = D.raceWords(race, lanes, layout, looks, { x: figure.x, scale });
      const chosen = D.s("g", { class: "ds-race-chosen" });
      over.setAttribute("width", width);
      over.setAttribute("height", layout.height * scale);
      over.replaceChildren(
        ...D.raceTicks(figure.ticks, { x: figure.x, scale, unit, width }),
        ...words.map((word) => word.element),
        chosen,
      );
      element.classList.toggle("ds-race-phone", phone);
      element.style.setProperty("--left", layout.left);
      made = { race, lanes, axis, figure, layout, words, scale, chosen, value, drawnAt: value };
      Object.assign(made, readChart(plot), drawNames(names, { race, methods, looks, layout, phone }));
      made.done = figure.ends.map((ends) => D.countUpTo(ends, value));
      made.rounds = lanes.map(() => -1);
      move(value);
    }

    function shade(trace, value) {
      const [before, done] = [made.done[trace], D.countUpTo(made.figure.ends[trace], value)];
      const opacity = D.raceShade(done > before);
      for (let bar = Math.min(done, before); bar < Math.max(done, before); bar += 1) {
        const found = made.bars[trace]?.[bar];
        if (found) found.style.opacity = opacity;
      }
      made.done[trace] = done;
    }

    function count(place, value) {
      const { stops, before } = made.lanes[place];
      const [had, done] = [made.rounds[place], D.countUpTo(stops, value)];
      if (done === had) return;
      made.rounds[place] = done;
      const { blocks } = made.words[place];
      for (let block = Math.max(0, Math.min(done, had)); block < Math.max(done, had); block += 1)
        blocks[block]?.classList.toggle("ds-done", block < done);
      const have = D.h("b", null, String(D.tokensAt(made.lanes[place], value)));
      made.counts[place].replaceChildren(have, ` of ${before + made.race.lanes[place].tokens}`);
    }

    function move(value) {
      const { figure, shape, drawnAt, axis, when } = made;
      made.value = value;
      shape?.setAttribute("transform", `translate(${figure.x(value) - figure.x(drawnAt)},0)`);
      figure.ends.forEach((_, trace) => shade(trace, value));
      made.lanes.forEach((_, place) => count(place, value));
      when.textContent = SAID[axis](D.wholeNumber(value));
      element.setAttribute("aria-valuenow", String(Math.round((100 * value) / figure.most)));
      element.setAttribute("aria-valuetext", when.textContent);
      settle();
    }

    /** Tell the chart, once it rests, what its elements show. */
    const settle = D.calmly(() => {
      if (!element.isConnected || made.drawnAt === made.value) return;
      const opacity = made.figure.ends.map((ends) => D.raceShades(ends, made.value));
      Plotly.update(plot, { "marker.opacity": opacity }, { "shapes[0].xanchor": made.value });
      Object.assign(made, readChart(plot), { drawnAt: made.value });
    }, RESTS);

    /** Underline round `rounds[lane]` of every lane that has one. */
    function mark(rounds) {
      const { figure, lanes, layout, scale } = made;
      const lines = rounds.map((round, place) => {
        const times = lanes[place].rounds[round];
        if (!times) return null;
        const { middle, block } = layout.lanes[place];
        const [from, to] = [figure.x(times.middle), figure.x(times.stop)];
        const y = (middle + block / 2 + 3) * scale;
        return D.s("line", { x1: from, x2: Math.max(to, from + 2), y1: y, y2: y, "stroke-width": 2 * scale });
      });
      made.chosen.replaceChildren(...lines.filter(Boolean));
    }

    return {
      element,
      draw,
      move,
      mark,
      get most() {
        return made?.figure.most ?? 0;
      },
      /** The value of the axis under a pointer; null where it is left of the lanes. */
      valueAt(event) {
        const left = event.clientX - element.getBoundingClientRect().left;
        return made && left >= made.layout.left * made.scale - 6 ? made.figure.valueAt(left) : null;
      },
      purge: () => Plotly.purge(plot),
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

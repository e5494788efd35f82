/* The race as one Plotly figure whose vertical axis counts design pixels: two bar traces per lane, the playhead one
   shape. Words stand in a drawing above it. Pure: lanes in, a figure out. */
((D) => {
  "use strict";

  const TOP = 26; // design pixels of the axis above
  const LANE = { compared: 36, other: 25, phone: 34 };
  const BLOCK = { compared: 19, other: 3, phone: 13 };
  const DRAFT = 5;
  const FAINT = 0.28; // of what lies right of the playhead
  const LEAST = 15; // pixels of a block that shows its number

  /** `{lanes, height, left, right}`: where every lane is; `phone`: names stand above their lanes. */
  D.raceLayout = (race, { phone }) => {
    let y = TOP + 2;
    const lanes = race.lanes.map((lane, index) => {
      const compared = lane.method !== null;
      const gap = !compared && index > 0 && race.lanes[index - 1].method !== null ? 8 : 0;
      const tall = phone ? LANE.phone : compared ? LANE.compared : LANE.other;
      const block = compared ? (phone ? BLOCK.phone : BLOCK.compared) : BLOCK.other;
      const name = y + gap + (phone ? 9 : tall / 2);
      const middle = y + gap + (phone ? 16 + (tall - 16) / 2 : tall / 2);
      y += tall + gap;
      return { name, middle, block, draft: compared ? DRAFT : BLOCK.other, compared };
    });
    return {
      lanes,
      height: y + 6,
      top: TOP,
      left: phone ? 1 : D.nameColumn(race.lanes.map((lane) => lane.name)),
      right: phone ? 8 : 84,
    };
  };

  /** Opacity of a bar that the playhead has passed, or has not. */
  D.raceShade = (passed) => (passed ? 1 : FAINT);

  D.raceShades = (ends, at) => {
    const done = D.countUpTo(ends, at);
    return ends.map((_, place) => D.raceShade(place < done));
  };

  function bars(rounds, from, to, middle, thick, colour, opacity) {
    return {
      type: "bar",
      orientation: "h",
      base: rounds.map((round) => round[from]),
      x: rounds.map((round) => round[to] - round[from]),
      y: rounds.map(() => middle),
      width: thick,
      marker: {
        color: colour,
        opacity,
        line: { color: "@paper", width: to === "stop" && thick > DRAFT ? 1 : 0 },
      },
      hoverinfo: "skip",
    };
  }

  /** The traces of a lane with the playhead at `at`, drafting before blocks, and the ends by which they are shaded; one
      without bars is left out. */
  function laneTraces(lane, place, times, looks, at) {
    const colour = lane.method === null ? "@mute" : `@hue-${looks[lane.method].hue}`;
    const { rounds } = times;
    const trace = (from, to, thick) => {
      const long = rounds.filter((round) => round[to] > round[from]); // a chart draws no bar of length 0
      const ends = long.map((round) => round[to]);
      return { ends, ...bars(long, from, to, place.middle, thick, colour, D.raceShades(ends, at)) };
    };
    return [trace("from", "middle", place.draft), trace("middle", "stop", place.block)].filter(
      ({ ends }) => ends.length,
    );
  }

  /** The playhead: a wedge and a line, moved along by `xanchor` alone. */
  function playhead(layout, at, scale) {
    const foot = layout.height - TOP - 8;
    return {
      type: "path",
      path: `M-${5 * scale},-3 L${5 * scale},-3 L0.75,4 L0.75,${foot} L-0.75,${foot} L-0.75,4 Z`,
      xref: "x",
      yref: "y",
      xsizemode: "pixel",
      xanchor: at,
      fillcolor: "@ink",
      line: { width: 0 },
      layer: "above",
    };
  }

  const plot = (figure, layout, range, ticks, width, scale) => ({
    ...figure,
    layout: {
      width,
      height: layout.height * scale,
      margin: { l: layout.left * scale, r: layout.right * scale, t: TOP * scale, b: 0, pad: 0 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      barmode: "overlay",
      showlegend: false,
      dragmode: false,
      hovermode: false,
      uirevision: "race",
      xaxis: {
        range,
        side: "top",
        fixedrange: true,
        autorange: false,
        zeroline: false,
        tickvals: ticks,
        showticklabels: false,
        gridcolor: "@hair",
        griddash: "solid",
        ticklen: 0,
      },
      yaxis: {
        range: [layout.height - TOP, 0],
        visible: false,
        fixedrange: true,
        autorange: false,
        zeroline: false,
      },
      shapes: figure.shapes,
    },
  });

  /** Figure, the ends by which each trace is shaded, and the axis: `x(value)` in pixels of the page. */
  D.raceFigure = (race, lanes, layout, looks, { at, width, scale }) => {
    const most = Math.max(1e-6, ...lanes.map((lane) => lane.end));
    const inner = width - (layout.left + layout.right) * scale;
    const words = (layout.left > 50 ? 44 : 40) * scale; // beside the longest lane its total must fit
    const range = [0, (most * inner) / Math.max(1, inner - words)];
    const ticks = D.niceTicks(range[1], Math.max(2, inner / scale / (layout.left > 50 ? 130 : 84)));
    const shifted = layout.lanes.map((lane) => ({ ...lane, middle: lane.middle - TOP }));
    const traces = race.lanes.flatMap((lane, place) =>
      laneTraces(lane, shifted[place], lanes[place], looks, at),
    );
    const data = traces.map(({ ends, ...trace }) => trace);
    const figure = plot({ data, shapes: [playhead(layout, at, scale)] }, layout, range, ticks, width, scale);
    const x = (value) => layout.left * scale + (value / range[1]) * inner;
    const valueAt = (pixel) =>
      Math.min(most, Math.max(0, ((pixel - layout.left * scale) / inner) * range[1]));
    return {
      data: figure.data,
      layout: figure.layout,
      ends: traces.map((trace) => trace.ends),
      ticks,
      x,
      valueAt,
      most,
    };
  };

  /** Numbers of the axis, within a drawing `width` pixels wide; `unit` follows the first. */
  D.raceTicks = (ticks, { x, scale, unit, width }) =>
    ticks.map((tick, place) => {
      const words = place === 0 && unit ? `0 ${unit}` : D.wholeNumber(tick);
      const half = (D.textWidth(words, 12) * scale) / 2;
      const middle = Math.min(Math.max(x(tick), half), width - half);
      return D.s(
        "text",
        { x: middle, y: 15 * scale, "text-anchor": "middle", "font-size": 12 * scale, class: "ds-race-tick" },
        words,
      );
    });

  /** Numbers in the blocks and totals behind the lanes, for a drawing above the figure. */
  D.raceWords = (race, lanes, layout, looks, { x, scale }) =>
    race.lanes.map((lane, place) => {
      const at = layout.lanes[place];
      const y = at.middle * scale;
      const hue = lane.method === null ? "ds-lane-other" : D.hueClass(looks[lane.method]);
      const blocks = !at.compared
        ? []
        : lanes[place].rounds.map((round) => {
            const [from, to] = [x(round.middle), x(round.stop)];
            const size = at.block > 15 ? 12 : 11;
            if (to - from < LEAST * scale) return null;
            return D.s(
              "text",
              {
                x: (from + to) / 2,
                y: y + size * 0.36 * scale,
                "text-anchor": "middle",
                "font-size": size * scale,
                class: "ds-block-number",
              },
              String(round.tokens),
            );
          });
      const total = D.s(
        "text",
        {
          x: x(lanes[place].end) + 7 * scale,
          y: y + 4.3 * scale,
          "font-size": 12 * scale,
          class: "ds-lane-total",
        },
        D.wholeNumber(lanes[place].end),
      );
      return { element: D.s("g", { class: hue }, blocks, total), blocks };
    });
})((window.Draftscope = window.Draftscope ?? {}));

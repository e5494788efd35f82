/* When every lane of a race does what, on any axis. Pure; time is modelled as `core/compare/lanes.py` does it. */
((D) => {
  "use strict";

  D.RACE_AXES = [
    ["position", "position"],
    ["rounds", "rounds"],
    ["passes", "target passes"],
    ["measured", "measured time"],
    ["modelled", "modelled time"],
  ];

  /** What a pass over `width` tokens of each text of the batch costs, in plain passes of one text. */
  D.passCost = (width, { wide, wide_at, batch }) => Math.max(1, (width * batch * wide) / wide_at);

  /** What a round costs in plain passes: `[drafting, target passes]`. */
  D.roundCost = (leg, draftCost, dials) => [
    leg.forwards * (draftCost ?? 0) * dials.draft * D.passCost(1, dials),
    leg.passes * D.passCost(leg.width, dials),
  ];

  /** Lengths of a round on an axis: drafting, target pass, and what follows before the next. */
  function lengths(leg, lane, dials, axis, plainMs) {
    if (axis === "position") return [0, leg.tokens, 0];
    if (axis === "rounds") return [0, 1, 0];
    if (axis === "passes") return [0, leg.passes, 0];
    if (axis === "measured") return [leg.draft, leg.verify, leg.rest];
    const [draft, verify] = D.roundCost(leg, lane.draft_cost, dials);
    return [draft * plainMs, verify * plainMs, 0];
  }

  /** A lane on an axis: per round where drafting begins and ends and the block ends; `end` of all, `before`: tokens
      that were there at the start. */
  D.laneTimes = (lane, race, dials, axis) => {
    const before = lane.begin;
    let at = axis === "position" ? before : 0;
    const rounds = lane.legs.map((leg) => {
      const [draft, verify, rest] = lengths(leg, lane, dials, axis, race.plain_ms);
      const round = { from: at, middle: at + draft, stop: at + draft + verify, tokens: leg.tokens };
      at = round.stop + rest;
      return round;
    });
    return { rounds, stops: rounds.map((round) => round.stop), end: at, before };
  };

  /** How many of ascending `ends` are at most `at`. */
  D.countUpTo = (ends, at) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle] <= at + 1e-9) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  /** Tokens that a lane has when the playhead stands at `at`. */
  D.tokensAt = (times, at) =>
    times.rounds
      .slice(0, D.countUpTo(times.stops, at))
      .reduce((sum, round) => sum + round.tokens, times.before);

  /** Round numbers from 0 to `most`, about `count` of them. */
  D.niceTicks = (most, count) => {
    const raw = most / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
    const whole = Math.max(1, step);
    return Array.from({ length: Math.floor(most / whole + 1e-9) + 1 }, (_, place) => place * whole);
  };

  D.wholeNumber = (value) => Math.round(value).toLocaleString("en-US");
})((window.Draftscope = window.Draftscope ?? {}));

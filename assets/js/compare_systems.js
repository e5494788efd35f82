/* Where a long score is cut into systems. Pure: widths and seams in, ranges of columns out. */
((D) => {
  "use strict";

  /** Number of staves in which a round begins, by column. */
  D.seamsOf = (staves, columns) => {
    const seams = new Array(columns).fill(0);
    for (const stave of staves)
      for (const capsule of stave.capsules) if (capsule.start < columns) seams[capsule.start] += 1;
    return seams;
  };

  /** The column after the last that fits into `room`, at least one. */
  function lastFitting(widths, start, room) {
    let [stop, used] = [start, 0];
    while (stop < widths.length && (stop === start || used + widths[stop] <= room)) {
      used += widths[stop];
      stop += 1;
    }
    return stop;
  }

  /** The seam shared by most methods within the last quarter of the line, the later one of equals. */
  function bestSeam(widths, seams, start, stop) {
    const whole = widths.slice(start, stop).reduce((sum, width) => sum + width, 0);
    let [used, best] = [whole, stop];
    for (let at = stop; at > start + 1 && used >= whole * 0.75; at -= 1) {
      if ((seams[at] ?? 0) > (seams[best] ?? 0)) best = at;
      used -= widths[at - 1];
    }
    return best;
  }

  /** Ranges `[start, stop]` of columns, each at most `room` wide. */
  D.breakSystems = (widths, seams, room) => {
    const systems = [];
    for (let start = 0; start < widths.length;) {
      const full = lastFitting(widths, start, room);
      const stop = full >= widths.length ? widths.length : bestSeam(widths, seams, start, full);
      systems.push([start, stop]);
      start = stop;
    }
    return systems;
  };

  /** The parts of a round in the systems: `{system, start, stop, opens, closes}`; open ends go on in a neighbour. */
  D.capsuleParts = (capsule, systems) =>
    systems
      .map(([from, to], system) => ({
        system,
        start: Math.max(from, capsule.start),
        stop: Math.min(to, capsule.stop),
        opens: capsule.start >= from,
        closes: capsule.stop <= to,
      }))
      .filter((part) => part.start < part.stop);
})((window.Draftscope = window.Draftscope ?? {}));

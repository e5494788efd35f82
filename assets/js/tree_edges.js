/* The lines of a draft tree as paths: level from the parent's label, then one cubic into the child. Pure. */
((D) => {
  "use strict";

  const TURN = 46; // the turn begins this far before the next column
  const n = (value) => Math.round(value * 100) / 100;

  function leave(parent, layout) {
    if (parent.node.state === "root") return parent.x + 15;
    return (parent.label.text ? parent.label.end : parent.x + layout.R) + 6;
  }

  /** Start, turn and end of an edge: `{x0, y0, turn, x1, y1}`. */
  function course(parent, child, layout) {
    const x0 = leave(parent, layout);
    const x1 = child.x - layout.R - 1.5;
    return { x0, y0: parent.y, turn: Math.min(x1 - 12, Math.max(x0, child.x - TURN)), x1, y1: child.y };
  }

  function line({ x0, y0, turn, x1, y1 }, shift = 0) {
    const middle = (turn + x1) / 2;
    const [a, b] = [y0 + shift, y1 + shift];
    const start = Math.min(x0, turn);
    return `M${n(start)},${n(a)}L${n(turn)},${n(a)}C${n(middle)},${n(a)} ${n(middle)},${n(b)} ${n(x1)},${n(b)}`;
  }

  function pointsOf({ x0, y0, turn, x1, y1 }, count) {
    const middle = (turn + x1) / 2;
    const points = [[Math.min(x0, turn), y0]];
    for (let step = 0; step <= count; step += 1) {
      const t = step / count;
      const u = 1 - t;
      points.push([
        u ** 3 * turn + 3 * u * u * t * middle + 3 * u * t * t * middle + t ** 3 * x1,
        u ** 3 * y0 + 3 * u * u * t * y0 + 3 * u * t * t * y1 + t ** 3 * y1,
      ]);
    }
    return points;
  }

  function wavy(way) {
    const points = pointsOf(way, 24);
    const out = [];
    let travelled = 0;
    for (let place = 1; place < points.length; place += 1) {
      const [[xa, ya], [xb, yb]] = [points[place - 1], points[place]];
      const length = Math.hypot(xb - xa, yb - ya) || 1;
      for (let along = 0; along < length; along += 1.5) {
        const sway = 2.4 * Math.sin((travelled + along) * 0.8);
        out.push([
          xa + ((xb - xa) * along) / length - ((yb - ya) / length) * sway,
          ya + ((yb - ya) * along) / length + ((xb - xa) / length) * sway,
        ]);
      }
      travelled += length;
    }
    return `M${out.map(([x, y]) => `${n(x)},${n(y)}`).join("L")}`;
  }

  const STYLE = {
    accepted: { colour: "@accepted", order: 3 },
    relaxed: { colour: "@relaxed", order: 3, fixed: 1.8 },
    rejected: { colour: "@rejected", dash: "5px,3px", order: 2 },
    correction: { colour: "@correction", dash: "2px,2.5px", order: 3, fixed: 2.2 },
    bonus: { colour: "@bonus", order: 3, fixed: 1.4 },
    plain: { colour: "@mute", order: 3, fixed: 1.2 },
    unreached: { colour: "@hair", order: 1 },
    pruned: { colour: "@hair", order: 0, fixed: 0.8 },
    probe: { colour: "@hair", dash: "1px,3px", order: 0, fixed: 0.8 },
  };

  /** Width of an edge by the draft's probability, in eight steps so that one path holds all edges of a kind. */
  function stepWidth(q, dense) {
    const widest = dense ? 7 : 9;
    return Math.max(0.8, (Math.ceil((q ?? 0) * 8) / 8) * widest - widest / 16);
  }

  const exact = (q, dense) => Math.max(0.8, (dense ? 7 : 9) * (q ?? 0));

  /** The child whose edge is drawn from the parent's label on; its siblings' edges begin at the turn. */
  function trunks(layout) {
    const owner = new Map();
    for (const child of layout.nodes.values()) {
      const rival = owner.get(child.node.parent);
      const rank = ({ node }) => [node.path ? 1 : 0, STYLE[node.state]?.order ?? 0, node.q ?? 0];
      const [a, b] = [rank(child), rival ? rank(rival) : [-1, 0, 0]];
      const place = a.findIndex((value, index) => value !== b[index]);
      if (child.node.state !== "root" && place >= 0 && a[place] > b[place])
        owner.set(child.node.parent, child);
    }
    return owner;
  }

  /** All edges as `{d, line, width, dash}` in drawing order; edges of one state and width share a path. */
  D.edges = (layout) => {
    const bundles = new Map();
    const owner = trunks(layout);
    for (const child of layout.nodes.values()) {
      const { state, q, parent: parentId } = child.node;
      const parent = layout.nodes.get(parentId);
      if (state === "root" || !parent) continue;
      const style = STYLE[state];
      const width = style.fixed ?? (style.order === 1 ? stepWidth(q, layout.dense) : exact(q, layout.dense));
      const whole = course(parent, child, layout);
      const way = owner.get(parentId) === child ? whole : { ...whole, x0: whole.turn };
      const d =
        state === "bonus" ? line(way, -1.9) + line(way, 1.9) : state === "relaxed" ? wavy(way) : line(way);
      const key = `${state}|${width}`;
      const bundle = bundles.get(key) ?? {
        d: "",
        line: style.colour,
        width,
        dash: style.dash,
        order: style.order,
      };
      bundle.d += d;
      bundles.set(key, bundle);
    }
    return [...bundles.values()].sort((a, b) => a.order - b.order || b.width - a.width);
  };

  /** The band under the accepted path, from the text so far to the end of the last label; empty without a path. */
  D.band = (layout) => {
    const path = [...layout.nodes.values()]
      .filter((placed) => placed.node.path && placed.node.state !== "root")
      .sort((a, b) => a.node.depth - b.node.depth);
    if (!path.length) return "";
    let d = "";
    for (const child of path) {
      const parent = layout.nodes.get(child.node.parent);
      if (!parent) return "";
      const way = course(parent, child, layout);
      const middle = (way.turn + way.x1) / 2;
      if (!d) d = `M${n(way.x0)},${n(way.y0)}`;
      d += `L${n(way.turn)},${n(way.y0)}C${n(middle)},${n(way.y0)} ${n(middle)},${n(way.y1)} ${n(way.x1)},${n(way.y1)}`;
      d += `L${n(Math.max(child.x + layout.R, child.label.end))},${n(way.y1)}`;
    }
    return d;
  };
})((window.Draftscope = window.Draftscope ?? {}));

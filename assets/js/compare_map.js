/* All drafts that cover a text position on one line map: a token is a station, a method a line through its stations.
   Pure: a map in, a drawing out. */
((D) => {
  "use strict";

  const WIDE = { least: 84, most: 98 }; // design pixels of a column
  const EDGE = 20;
  const PITCH = 31; // of a row
  const APART = 14; // more before a root that several methods share
  const HEAD = 44; // the exact text above
  const FIRST = 34; // from the line under the head to the middle of the first row
  const FOOT = 26;
  const PILL = { tall: 20, pad: 10, beside: 16, least: 20 }; // `beside`: left free of a column
  const BESIDE = 5; // between parallel lines, less where they would not fit beside a pill
  const BESIDE_ALL = 17;
  const NOTE = { least: 210, most: 330, line: 17, filled: 0.88 }; // `filled`: how much of a line words fill

  const ACCEPTED = new Set(["accepted", "relaxed"]);
  const OWN = new Set(["correction", "bonus", "plain"]);
  const drafted = (line) => line.node !== null;

  /** Which stations a view shows: those that several methods drafted, or those on which the methods differ. */
  D.mapShows = (station, view) => {
    const drafters = new Set(station.lines.filter(drafted).map((line) => line.method));
    if (view === "shared") return drafters.size > 1;
    if (view !== "differences") return true;
    const verdicts = new Set(station.lines.filter(drafted).map((line) => ACCEPTED.has(line.state)));
    return drafters.size < 2 || verdicts.size > 1;
  };

  /** Where everything is, in design pixels; `width` is that of the host. */
  D.mapLayout = (map, width) => {
    const columns = map.last - map.first + 1;
    const fair = Math.floor((width - 2 * EDGE) / columns);
    const column = fair < WIDE.least ? WIDE.most : Math.min(WIDE.most, fair); // what scrolls need not be narrow
    const edge = Math.max(EDGE, Math.min(48, (width - columns * column) / 2));
    const wide = Math.max(width, columns * column + 2 * edge);
    const roots = new Set(
      map.stations
        .filter(
          (station) => station.parent < 0 && station.row > 0 && station.lines.filter(drafted).length > 1,
        )
        .map((station) => station.row),
    );
    map.stations.forEach((station) => {
      const before = map.stations[station.parent];
      if (before && station.row > before.row && station.lines.filter(drafted).length > 2)
        roots.add(station.row);
    });
    const extra = (row) => [...roots].filter((root) => root <= row).length * APART;
    const y = (row) => HEAD + FIRST - 12 + row * PITCH + extra(row);
    const x = (place) => edge + (place - map.first + 0.5) * column;
    const stations = map.stations.map((station) => {
      const strong = station.lines.some((line) => ACCEPTED.has(line.state));
      const room = column - PILL.beside - 2 * PILL.pad;
      const shown = D.cut(D.plainTextOf(station.label), room, 13, strong ? 600 : 400);
      const measured = Math.ceil(D.textWidth(shown, 13, strong ? 600 : 400)) + 2 * PILL.pad;
      return { x: x(station.place), y: y(station.row), wide: Math.max(PILL.least, measured), shown, strong };
    });
    return { width: wide, height: y(Math.max(0, map.rows - 1)) + FOOT, column, x, y, stations };
  };

  /** A token as the map has it: its leading space is not shown, blanks are. */
  D.plainTextOf = (label) => label.text || (label.space ? "·" : "∅");

  const text = (x, y, words, classes, anchor = "middle") =>
    D.s("text", { x, y, "text-anchor": anchor, class: `ds-svg-text ${classes}` }, words);

  function heads(map, layout, place) {
    return map.labels.flatMap((label, index) => {
      const at = map.first + index;
      const x = layout.x(at);
      const strong = at === place ? "ds-svg-bold" : "ds-svg-quiet";
      const word = label ? D.cut(D.plainTextOf(label), layout.column - 8, 16) : "";
      return [text(x, 12, String(at), strong), text(x, 32, word, "ds-map-exact")];
    });
  }

  function pinned(layout, place, map) {
    if (place < map.first || place > map.last) return [];
    const wide = layout.column - 8;
    const box = { x: layout.x(place) - wide / 2, y: 0, width: wide, height: layout.height };
    return [D.s("rect", { ...box, class: "ds-map-pinned" })];
  }

  const styleOf = (state) =>
    ACCEPTED.has(state) ? "ds-line-kept" : OWN.has(state) ? "ds-line-own" : "ds-line-thin";

  /** From the right end of a station to the left end of the next, level at both. */
  function join(from, to, offset) {
    const [x0, y0] = [from.x + from.wide / 2 - 4, from.y + offset];
    const [x1, y1] = [to.x - to.wide / 2 + 2, to.y + offset];
    if (from.y === to.y) return `M${x0},${y0}L${x1},${y1}`;
    const middle = (x0 + x1) / 2;
    const bend = Math.max(16, (x1 - x0) / 2);
    return `M${x0},${y0}C${Math.max(middle, x0 + bend)},${y0} ${Math.min(middle, x1 - bend)},${y1} ${x1},${y1}`;
  }

  /** The lines into a station, side by side; one that begins here has a dot at the left of the column. */
  function linesInto(map, layout, index, looks) {
    const station = map.stations[index];
    const to = layout.stations[index];
    const from = layout.stations[station.parent];
    const before = map.stations[station.parent];
    const count = station.lines.length;
    return station.lines.flatMap((line, place) => {
      const offset = (place - (count - 1) / 2) * Math.min(BESIDE, BESIDE_ALL / Math.max(1, count - 1));
      const hue = D.hueClass(looks[line.method]);
      const goesOn = before?.lines.some((other) => other.method === line.method);
      const start = to.x - layout.column / 2 + 4;
      const d = goesOn
        ? join(from, to, offset)
        : `M${start},${to.y + offset}L${to.x - to.wide / 2 + 2},${to.y + offset}`;
      const path = D.s("path", { d, class: `ds-map-line ${styleOf(line.state)} ${hue}` });
      const dot = goesOn
        ? null
        : D.s("circle", { cx: start, cy: to.y + offset, r: 2.4, class: `ds-map-start ${hue}` });
      return [[ACCEPTED.has(line.state) ? 1 : 0, path], ...(dot ? [[2, dot]] : [])];
    });
  }

  /** Edge of a station: the hues of those who accepted it in turn, else of who rejected it, else grey. */
  function pillEdges(station, box, looks) {
    const shape = {
      x: box.x - box.wide / 2,
      y: box.y - PILL.tall / 2,
      width: box.wide,
      height: PILL.tall,
      rx: PILL.tall / 2,
    };
    const of = (test) => station.lines.filter(test).map((line) => D.hueClass(looks[line.method]));
    const accepted = of((line) => ACCEPTED.has(line.state));
    const own = of((line) => OWN.has(line.state));
    const rejected = of((line) => line.state === "rejected");
    const hues = [accepted, own, rejected].find((some) => some.length) ?? [];
    const weight =
      accepted.length || own.length ? "ds-pill-kept" : rejected.length ? "ds-pill-tried" : "ds-pill-drafted";
    const ground = D.s("rect", { ...shape, class: `ds-map-pill ${hues.length ? "" : weight}` });
    if (!hues.length) return [ground];
    const dash = 9;
    return [
      ground,
      ...hues.map((hue, place) =>
        D.s("rect", {
          ...shape,
          class: `ds-map-edge ${weight} ${hue}${!accepted.length && own.length ? " ds-pill-own" : ""}`,
          "stroke-dasharray": hues.length > 1 ? `${dash} ${dash * (hues.length - 1)}` : null,
          "stroke-dashoffset": hues.length > 1 ? -dash * place : null,
        }),
      ),
    ];
  }

  /** Who drafted a station that several did, solid where it was accepted; and whose own token it is. */
  function marksAbove(station, box, looks) {
    const drafters = station.lines.filter(drafted);
    const shown = [
      ...(drafters.length > 1 ? drafters : []),
      ...station.lines.filter((line) => OWN.has(line.state)),
    ];
    const y = box.y - 16;
    return shown.map((line, place) => {
      const x = box.x + (place - (shown.length - 1) / 2) * 11;
      const look = looks[line.method];
      if (drafted(line)) return D.markShape(look, x, y, 3.1, { hollow: !ACCEPTED.has(line.state) });
      return D.s(
        "g",
        { class: D.hueClass(look) },
        D.smallGlyph(line.state, x, y, line.state === "plain" ? 4 : 3.2),
      );
    });
  }

  function stationElement(map, layout, index, looks, view) {
    const station = map.stations[index];
    const box = layout.stations[index];
    const tried = station.lines.some((line) => line.state === "rejected");
    const kept = station.lines.some((line) => ACCEPTED.has(line.state));
    const own = station.lines.some((line) => OWN.has(line.state));
    const struck = tried && !kept && !own;
    const word = kept || own ? "ds-map-strong" : tried ? "ds-map-word" : "ds-map-quiet";
    const half = D.textWidth(box.shown, 13, box.strong ? 600 : 400) / 2;
    const marks = marksAbove(station, box, looks);
    return D.s(
      "g",
      {
        class: `ds-station${D.mapShows(station, view) ? "" : " ds-map-away"}`,
        "data-place": station.place,
        "data-station": index,
      },
      box.shown === D.plainTextOf(station.label) ? null : D.s("title", null, D.plainTextOf(station.label)),
      pillEdges(station, box, looks),
      text(box.x, box.y + 4.5, box.shown, word),
      struck
        ? D.s("line", {
            x1: box.x - half - 1,
            x2: box.x + half + 1,
            y1: box.y,
            y2: box.y,
            class: "ds-map-strike",
          })
        : null,
      marks,
    );
  }

  /** The map at the selected `place`; `mark` moves the pinned column. */
  D.lineMap = (map, looks, layout, { place, view }) => {
    const lines = map.stations.flatMap((station, index) => {
      const away = !D.mapShows(station, view);
      return away ? [] : linesInto(map, layout, index, looks);
    });
    lines.sort((a, b) => a[0] - b[0]);
    const ground = D.s("g", null, pinned(layout, place, map));
    const head = D.s("g", null, heads(map, layout, place));
    const drawing = D.canvas(
      layout.width,
      layout.height,
      D.theme.scale,
      ground,
      D.s("line", { x1: 0, x2: layout.width, y1: HEAD - 2, y2: HEAD - 2, class: "ds-svg-guide" }),
      head,
      lines.map(([, element]) => element),
      map.stations.map((_, index) => stationElement(map, layout, index, looks, view)),
    );
    drawing.setAttribute("class", "ds-map-drawing");
    const mark = (next) => {
      ground.replaceChildren(...pinned(layout, next, map));
      head.replaceChildren(...heads(map, layout, next));
    };
    return { drawing, mark };
  };

  /** Where the notes fit beside their rows: `{left, top, width}` per note, null where there is no room. */
  D.mapNotes = (map, layout) => {
    const taken = [];
    return map.notes.map((note) => {
      const top = layout.y(note.row) - PILL.tall / 2;
      const words = D.textWidth(note.line.map((run) => run.text).join(""), 12.5);
      const bottom = top + Math.ceil(words / (NOTE.most * NOTE.filled)) * NOTE.line;
      const left =
        Math.max(
          0,
          ...layout.stations
            .filter((box) => box.y + 14 > top && box.y - 22 < bottom)
            .map((box) => box.x + box.wide / 2),
        ) + 34;
      const width = Math.min(NOTE.most, layout.width - left - 8);
      const hits = taken.some((other) => other.top < bottom + 4 && other.bottom > top - 4);
      if (width < NOTE.least || hits) return null;
      taken.push({ top, bottom });
      return { left, top, width };
    });
  };
})((window.Draftscope = window.Draftscope ?? {}));

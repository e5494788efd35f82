/* Cuts the words of a chart to the room that its author gave them, measured in the page's type. It knows no chart.

   A trace says its room in `meta.room`, annotations in `layout.meta.room` (one entry each, or null): `[units, pixels]`
   is so many units of the x axis, less so many design pixels. */
((D) => {
  "use strict";

  const SIGNS = { lt: "<", gt: ">", amp: "&" };
  const LEAST = 8; // pixels: narrower than this and nothing is cut any further

  /** The text that a chart would show of `text`. */
  const shown = (text) =>
    text.replace(/&(?:#(\d+)|(lt|gt|amp));/gu, (_, code, name) =>
      code ? String.fromCodePoint(Number(code)) : SIGNS[name],
    );

  const written = (text) => D.chartText(text).replace(/@/gu, "&#64;");

  /** Pixels of one unit of the axis `name` (`x`, `x2`) in a chart `width` pixels wide. */
  function pixelsPerUnit(layout, name, width) {
    const axis = layout[`xaxis${(name ?? "x").slice(1)}`] ?? {};
    const { l = 0, r = 0 } = layout.margin ?? {};
    const [from, to] = axis.range ?? [0, 1];
    const [begin, end] = axis.domain ?? [0, 1];
    return ((width - l - r) * (end - begin)) / Math.abs(to - from);
  }

  function fitted(text, [units, less], unit, font, scale) {
    const words = shown(text);
    const room = Math.max(LEAST, units * unit - less * scale);
    const cut = D.cut(words, room, font.size, font.weight ?? 400);
    return cut === words ? text : written(cut);
  }

  /** The figure with its words cut for a chart `width` pixels wide; sizes are scaled already. */
  D.fitWords = ({ data, layout }, width, scale) => {
    const rooms = layout.meta?.room ?? [];
    const traces = data.map((trace) => {
      const room = trace.meta?.room;
      if (!room) return trace;
      const unit = pixelsPerUnit(layout, trace.xaxis, width);
      return { ...trace, text: trace.text.map((text) => fitted(text, room, unit, trace.textfont, scale)) };
    });
    const annotations = (layout.annotations ?? []).map((note, place) => {
      if (!rooms[place]) return note;
      const unit = pixelsPerUnit(layout, note.xref, width);
      return { ...note, text: fitted(note.text, rooms[place], unit, note.font, scale) };
    });
    return { data: traces, layout: { ...layout, annotations } };
  };
})((window.Draftscope = window.Draftscope ?? {}));

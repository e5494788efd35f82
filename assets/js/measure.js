/* How wide text is, and where to cut it. It knows fonts, not what the text says. */
((D) => {
  "use strict";

  D.SANS = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

  const context = document.createElement("canvas").getContext("2d");
  const widths = new Map();

  /** Width in pixels of `text` at `size` and `weight` in the interface font. */
  D.textWidth = (text, size, weight = 400) => {
    const key = `${size}|${weight}|${text}`;
    let width = widths.get(key);
    if (width === undefined) {
      context.font = `${weight} ${size}px ${D.SANS}`;
      width = context.measureText(text).width;
      if (widths.size > 20000) widths.clear();
      widths.set(key, width);
    }
    return width;
  };

  const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter() : null;

  /** Characters as readers count them: an emoji with its modifiers is one. */
  D.characters = (text) =>
    segmenter ? Array.from(segmenter.segment(text), (part) => part.segment) : Array.from(text);

  /** `text`, or its beginning and an ellipsis, at most `room` pixels wide. */
  D.cut = (text, room, size, weight = 400) => {
    if (D.textWidth(text, size, weight) <= room) return text;
    const parts = D.characters(text);
    let low = 0;
    let high = parts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (D.textWidth(`${parts.slice(0, middle).join("")}…`, size, weight) <= room) low = middle;
      else high = middle - 1;
    }
    return `${parts.slice(0, low).join("")}…`;
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* Makes elements. Text goes in as text nodes only, so token text can never become markup. */
((D) => {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  let ids = 0;

  function fill(element, props, children) {
    for (const [key, value] of Object.entries(props ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "on") Object.entries(value).forEach(([name, fn]) => element.addEventListener(name, fn));
      else if (key === "style")
        Object.entries(value).forEach(([name, v]) => element.style.setProperty(name, v));
      else element.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children.flat(2)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child);
    }
    return element;
  }

  /** An HTML element: `h("p", {class: "note", on: {click}}, "text", child)`. */
  D.h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

  /** An SVG element. */
  D.s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

  /** A drawing `width` x `height` in design pixels, shown `scale` times as large. */
  D.canvas = (width, height, scale, ...children) =>
    D.s(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        width: width * scale,
        height: height * scale,
        "aria-hidden": "true",
      },
      ...children,
    );

  /** A page-wide unique id, for patterns and labelled-by. */
  D.uid = (word) => `ds-${word}-${(ids += 1)}`;

  /** `work`, run once when calls have ceased for `wait` milliseconds; for what may follow a step. */
  D.calmly = (work, wait) => {
    let timer = 0;
    return (...values) => {
      clearTimeout(timer);
      timer = setTimeout(() => work(...values), wait);
    };
  };

  /** True where the system asks for less motion. */
  D.still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** True where the page is one column with a dock. */
  D.isPhone = () => matchMedia("(max-width: 700px)").matches;
})((window.Draftscope = window.Draftscope ?? {}));

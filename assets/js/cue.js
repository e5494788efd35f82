/* A cue that a box scrolls: its content fades at the edges that hide more of it. It knows no content. */
((D) => {
  "use strict";

  const SIDES = ["left", "right", "top", "bottom"];

  /** Pixels hidden beyond each side of `box`. */
  function hidden(box) {
    const { scrollLeft, scrollTop } = box;
    return {
      left: scrollLeft,
      right: box.scrollWidth - box.clientWidth - scrollLeft,
      top: scrollTop,
      bottom: box.scrollHeight - box.clientHeight - scrollTop,
    };
  }

  /** Keep the fades of `box` in step with what it hides; `axis` is the way it scrolls. Gives how to stop. */
  D.cue = (box, axis) => {
    const sides = axis === "x" ? SIDES.slice(0, 2) : SIDES.slice(2);
    const set = () => {
      const beyond = hidden(box);
      const more = sides.filter((side) => beyond[side] > 1);
      box.classList.toggle("ds-cue", more.length > 0);
      for (const side of sides) box.classList.toggle(`ds-more-${side}`, more.includes(side));
    };
    const sizes = new ResizeObserver(set);
    const watch = () => {
      sizes.disconnect();
      sizes.observe(box); // called at once, after the next layout: to measure now would force one
      if (box.childElementCount === 1) sizes.observe(box.firstElementChild);
    };
    const content = new MutationObserver(watch);
    content.observe(box, { childList: true });
    box.addEventListener("scroll", set, { passive: true });
    watch();
    return () => {
      sizes.disconnect();
      content.disconnect();
      box.removeEventListener("scroll", set);
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* One token as people see it, in the page and in a chart. Token text is data on both paths. */
((D) => {
  "use strict";

  const MARKS = /^[↵⏎→␍␣·\s]+$/u; // a token of nothing but visible marks is set in mute

  /** A token standing alone: its space is a mute dot, a control token a pill. */
  D.token = (label, { dot = true, struck = false } = {}) =>
    D.h(
      "bdi",
      { class: `ds-token${label.special ? " ds-pill" : ""}${struck && label.text ? " ds-struck" : ""}` },
      dot && label.space ? D.h("span", { class: "ds-dot", "aria-hidden": "true" }, "·") : null,
      D.h("span", { class: MARKS.test(label.text) ? "ds-mark" : null }, label.text),
    );

  /** Runs of a sentence; in tokens a leading dot stands for the space. */
  D.sentence = (runs) =>
    runs.map((run) => {
      if (run.style === "strong") return D.h("b", null, run.text);
      if (run.style !== "token") return run.text;
      const dotted = run.text.startsWith("·") && run.text.length > 1;
      return D.h(
        "bdi",
        { class: "ds-token ds-said" },
        dotted ? D.h("span", { class: "ds-dot", "aria-hidden": "true" }, "·") : null,
        dotted ? run.text.slice(1) : run.text,
      );
    });

  D.plainText = (label) => `${label.space ? "·" : ""}${label.text}`;

  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", $: "&#36;", "\\": "&#92;" };

  /** Text for a chart, which reads pseudo-markup and, where loaded, TeX between dollar signs. */
  D.chartText = (text) => text.replace(/[&<>$\\]/gu, (sign) => ENTITIES[sign]);
})((window.Draftscope = window.Draftscope ?? {}));

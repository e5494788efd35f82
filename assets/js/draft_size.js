/* Sliders for what a draft model's size is worth. The formulas are those of `viz/draft_size.py`. */
((D) => {
  "use strict";

  /** The model through one point: acceptance, cost and speed-up of drafts of any size, in targets. */
  D.draftModel = ({ size, beta, c, v, length }) => {
    const acceptance = (at) => (beta > 0 ? at ** (Math.log(beta) / Math.log(size)) : Number(at === 1));
    const cost = (at) => Math.max(0, c + ((1 - c) * (at - size)) / (1 - size));
    const tokens = (share) => Array.from({ length: length + 1 }, (_, step) => share ** step).reduce((a, b) => a + b);
    return { acceptance, cost, "speed-up": (at) => tokens(acceptance(at)) / (length * cost(at) + v) };
  };

  const share = (value) => (value >= 0.995 ? "1" : value.toFixed(2).replace(/^0/u, ""));

  /** The figure for other values: its curves, the chosen points, and the numbers beside them. */
  function moved(figure, values) {
    const model = D.draftModel(values);
    const heights = { acceptance: values.beta, cost: values.c, "speed-up": model["speed-up"](values.size) };
    const data = figure.data.map((trace) => {
      if (model[trace.name]) return { ...trace, y: trace.x.map((x) => model[trace.name](10 ** x)) };
      return trace.name === "chosen" ? { ...trace, y: Object.values(heights) } : trace;
    });
    const told = {
      acceptance: `acceptance β ${share(values.beta)}`,
      cost: `cost c ${share(values.c)}`,
      "speed-up": `${heights["speed-up"].toFixed(2)} times plain`,
    };
    const annotations = figure.layout.annotations.map((one) =>
      one.name in told ? { ...one, y: heights[one.name], text: told[one.name] } : one);
    const highest = Math.max(...data.flatMap((trace) => (trace.name === "speed-up" ? trace.y : [])));
    const [low, high] = figure.layout.yaxis.range;
    const yaxis = { ...figure.layout.yaxis, range: [low, Math.max(high, 1.12 * highest)] };
    return { data, layout: { ...figure.layout, annotations, yaxis } };
  }

  /** Two sliders that draw `figure` anew while they move, and a way back to what was measured. */
  D.draftDials = (dials, figure, draw) => {
    const values = { ...dials };
    const back = D.h("button", { type: "button", class: "ds-link ds-none" }, "as measured");
    const rows = [["beta", "β"], ["c", "c"]].map(([name, title]) => {
      const input = D.h("input", { type: "range", min: 0, max: 1, step: 0.01, id: D.uid(name) });
      const output = D.h("output", { for: input.id });
      const show = () => {
        input.value = String(values[name]);
        output.textContent = share(values[name]);
      };
      input.addEventListener("input", () => {
        values[name] = Number(input.value);
        output.textContent = share(values[name]);
        back.classList.remove("ds-none");
        draw(moved(figure, values));
      });
      show();
      return { show, root: D.h("p", { class: "ds-dial" }, D.h("label", { for: input.id }, title), input, output) };
    });
    back.addEventListener("click", () => {
      Object.assign(values, dials);
      rows.forEach((row) => row.show());
      back.classList.add("ds-none");
      draw(figure);
    });
    return D.h("div", { class: "ds-dials" }, rows.map((row) => row.root), back);
  };
})((window.Draftscope = window.Draftscope ?? {}));

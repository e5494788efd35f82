/* Draws the figure, follows theme and width, and says which point was clicked. Runs with element, trigger, props, watch. */
const D = window.Draftscope;
const plot = element.querySelector(".ds-graph");
const CONFIG = { displayModeBar: false, doubleClick: false, typesetMath: false, responsive: false };

const CLEAR = "rgba(0,0,0,0)";
const LOOK = { paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, font: { color: "@ink", family: D.SANS, size: 12 } };

function draw() {
  if (!props.value) {
    window.Plotly.purge(plot);
    return;
  }
  const { data, layout } = D.paint({ data: props.value.data ?? [], layout: { ...LOOK, ...props.value.layout } }, D.colours(plot));
  window.Plotly.react(plot, data, { ...layout, width: plot.clientWidth }, CONFIG);
}

function picked(event) {
  const [point] = event.points;
  trigger("select", {
    index: [point.curveNumber, point.pointIndex ?? point.pointNumber],
    value: point.customdata ?? point.text ?? point.y,
  });
}

plot.setAttribute("aria-label", props.label ?? "");
D.wear(element.querySelector(".ds"));
draw();
plot.on?.("plotly_click", picked);
watch("value", () => {
  const isNew = !plot.on;
  draw();
  if (isNew) plot.on?.("plotly_click", picked);
});
D.onTheme(draw);
let width = plot.clientWidth;
new ResizeObserver(() => {
  if (Math.abs(plot.clientWidth - width) < 1) return;
  width = plot.clientWidth;
  draw();
}).observe(element);

/* Shows the strip of an overview, and says which token was chosen. Runs with element, trigger, props, watch. */
const D = window.Draftscope;
const store = D.createStore();
const root = element.querySelector(".ds");
D.wear(root);
D.mountStrip(element.querySelector(".ds-part-strip"), store);

function show() {
  if (props.value?.strip) store.setTrace(props.value);
}

show();
watch("value", show);

element.addEventListener("click", (event) => {
  const token = event.target.closest?.(".ds-tok[data-round]");
  if (!token) return;
  const round = Number(token.dataset.round);
  const place = [...element.querySelectorAll(`.ds-tok[data-round="${round}"]`)].indexOf(token);
  const chosen = props.value.strip.find((entry) => entry.index === round).tokens[place];
  trigger("select", { index: [round, chosen.node], value: chosen.label.text });
});

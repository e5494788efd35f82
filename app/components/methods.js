/* Mounts the Methods page. Runs with Gradio's element and props; what it shows comes over plain HTTP. */
const D = window.Draftscope;
const { prefix, catalogue, recorded, plotly, pages, examples, linkCharacters } = props.settings;
const mount = element.querySelector(".ds-mount");
const { address, ask } = D.createServer(prefix);
document.title = "Methods · Draftscope";

let library = null; // asked for with the first picture
const still = { on: () => () => undefined, round: null }; // a round that does not change

/** Draws the recorded round of a method into `place`; null where there is none. */
function picture({ key }) {
  if (!recorded.includes(key)) return null;
  return async (place) => {
    const { words, pictures } = await ask(address(`catalogue/rounds/${encodeURIComponent(key)}`));
    library ??= D.chartLibrary(plotly);
    const slots = pictures.map(() => D.h("div", { class: "ds-picture" }));
    place.replaceChildren(D.h("p", { class: "ds-note" }, words), ...slots);
    slots.forEach((slot, number) =>
      D.mountSection(slot, still, library, () => pictures[number], { events: [], name: "method" }));
  };
}

async function start() {
  const found = await ask(new URL(catalogue, document.baseURI));
  D.mountCatalogue(mount, found, { pages, examples, most: linkCharacters, picture });
  mount.removeAttribute("aria-busy");
}

start().catch((error) => {
  const root = D.h("div", { class: "ds" }, D.h("div", { class: "ds-body" }, D.states.error(error.message)));
  mount.replaceChildren(root);
  D.wear(root);
});

/* Mounts the Explore page and joins it to the server. Runs with Gradio's element, trigger, props, server and watch. */
const D = window.Draftscope;
const { prefix, plotly, pages, examples, linkCharacters } = props.settings;
const mount = element.querySelector(".ds-mount");

/* -- the server over plain HTTP -- */
const { address, ask, download } = D.createServer(prefix);
const traceAddress = (name, rest = "") => address(`traces/${encodeURIComponent(name)}${rest}`);
const fetchRounds = (name, from, to) => ask(traceAddress(name, `/rounds?from=${from}&to=${to}`));

const library = D.chartLibrary(plotly);
const save = (file) => download(traceAddress(store.overview.id, `/${file}`));

/* -- what is on the page: one of the examples, a run of this visit, or a file -- */
const own = new Map(); // runs and files of this visit by name: { title, order }, where a file has no order
let shown = null; // name
let wanted = null; // order of the newest run

const orderOf = (name) => examples.find((one) => one.key === name)?.order ?? own.get(name)?.order ?? null;

function params() {
  if (examples.some((one) => one.key === shown)) return D.exampleParams(shown);
  const order = orderOf(shown);
  if (own.get(shown)?.file) return D.exampleParams(null);
  return order ? D.orderParams(controls.compact(order), linkCharacters) : D.exampleParams(null);
}

const store = D.createStore({ fetchRounds });
/** What a copied link leaves out, in words; empty where it carries everything. */
function linkNote() {
  if (own.get(shown)?.file) return "A link cannot carry a file: export the trace and send it.";
  const cut = orderOf(shown)?.prompt.length > linkCharacters && !examples.some((one) => one.key === shown);
  return cut ? "Link copied, without the prompt: it is too long for a link." : "";
}

const view = D.mountExplore(mount, {
  store,
  params,
  linkNote,
  pages,
  plotly: library,
  side: false,
  onChange: () => view.root.classList.toggle("ds-side-open"),
  exports: [
    ["Trace, .json.gz", () => save("trace.json.gz")],
    ["Replay, .html", () => save("replay.html")],
  ],
});
window.draftscope = view;

const side = D.h("aside", { class: "ds-side", "aria-label": "What to run" });
view.root.classList.add("ds-with-side");
D.mountXray(view.root.querySelector(".ds-grid"), store, {
  address: address("lab/xray"),
  models: () => orderOf(shown)?.models ?? controls.read().models,
});
D.mountLab(view.root.querySelector(".ds-grid"), store, {
  address: (tool) => address(`lab/${tool}`),
  models: () => orderOf(shown)?.models ?? controls.read().models,
});
const narrow = matchMedia("(max-width: 860px)");

/** The column stands beside the panels; on a narrow page it folds out below the method row. */
function placeSide() {
  if (narrow.matches) view.root.querySelector(".ds-part-method").after(side);
  else view.root.querySelector(".ds-main").before(side);
}
placeSide();
narrow.addEventListener("change", placeSide);

const places = { top: D.h("div"), strip: D.h("div") };
view.root.querySelector(".ds-part-state").after(places.top);
view.root.querySelector(".ds-part-strip").after(places.strip);

function say(state, place) {
  for (const [name, spot] of Object.entries(places)) spot.replaceChildren(...(state && name === place ? [state] : []));
}

function drawShown() {
  const { overview } = store;
  if (own.has(shown)) own.get(shown).title = overview.title;
  controls.setShown(shown, [...own].map(([key, one]) => ({ key, title: one.title })));
  controls.setTokens(overview.strip[0]?.tokens[0]?.position ?? null);
}

function show(name, { overview, rounds }, place) {
  shown = name;
  say(null);
  store.setTrace(overview, rounds, place);
  controls.setSettings(overview);
  drawShown();
  if (orderOf(name)) controls.setOrder(orderOf(name));
  if (mount.hasAttribute("aria-busy")) performance.mark("draftscope-shown");
  mount.removeAttribute("aria-busy");
}

let asked = 0; // what was asked for last is what is shown, whichever answer comes last

/** Show what `fetched` brings, unless something else was asked for meanwhile. */
async function bring(fetched, shows) {
  const mine = ++asked;
  try {
    const opened = await fetched();
    if (mine === asked) shows(opened);
  } catch (error) {
    if (mine === asked) say(D.states.error(error.message), "top");
  }
}

const openTrace = (name, place = {}) =>
  bring(
    () => ask(traceAddress(name, place.round ? `?round=${place.round}` : "")),
    (opened) => show(name, opened, place),
  );

function openFile(file) {
  const user = encodeURIComponent(window.__gradio_session_hash__ ?? "");
  say(D.states.loading("Opening the file.", {}), "top");
  return bring(
    () => ask(address(`traces?user=${user}`), { method: "POST", body: file }),
    (opened) => {
      own.set(opened.overview.id, { title: opened.overview.title, order: opened.order, file: true });
      show(opened.overview.id, opened);
    },
  );
}

element.addEventListener("dragover", (event) => event.preventDefault());
element.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
});

/* -- runs -- */
const live = D.followRuns(store, {
  fetchTrace: (name) => ask(traceAddress(name)),
  fetchRounds,
  say,
  cancel: (name) => server.cancel(name),
  alive: () => ask(address("alive"), { cache: "no-store" }),
  open: (name) => openTrace(name),
  resume(name) {
    controls.setBusy(true);
    live.expect();
    trigger("resume", { name });
  },
  begin(name) {
    asked += 1;
    if (!own.has(name)) own.set(name, { title: "", order: wanted });
    shown = name;
  },
  grow: drawShown,
  end(message) {
    controls.setBusy(false);
    if (message.phase === "error" && !(message.field && controls.setError(message.field, message.words))) {
      say(D.states.error(message.words), "top");
    }
  },
});
watch("value", () => live.take(JSON.parse(props.value)));

const controls = D.mountControls(side, {
  examples,
  run(order) {
    wanted = order;
    controls.setBusy(true);
    view.root.classList.remove("ds-side-open");
    view.root.scrollIntoView();
    live.expect();
    trigger("run", { order });
  },
  cancel: live.stop,
  open: openTrace,
  file: openFile,
});

/** What the other pages are told: the order in the fields, beside what they say to each other. */
D.handOn(view.root, () => {
  const query = new URLSearchParams(location.search);
  const known = D.orderParams(controls.compact(controls.read()), linkCharacters);
  for (const [name, value] of Object.entries({ ...known, round: null, node: null })) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  return query;
});

/* -- first view: what the address says; a run that no example is gets its fields filled, and waits to be run -- */
async function start() {
  const link = D.readLink();
  const place = D.readPlace();
  const named = examples.some((one) => one.key === link.example);
  const first = named ? link.example : examples[0]?.key;
  if (first) await openTrace(first, named || !link.order ? place : {});
  else say(D.states.empty("There is no recorded example here; run a prompt of your own.", { act: null }), "top");
  if (link.example && !named) {
    const known = examples.map((one) => one.key).join(", ");
    say(D.states.error(`There is no example called ${link.example.slice(0, 60)}; there are: ${known}.`), "top");
  }
  controls.setCatalogue(await server.controls());
  if (!link.order) return;
  const words = (order) => JSON.stringify(controls.compact(order));
  const found = examples.find((one) => words(one.order) === words(link.order));
  if (found) {
    await openTrace(found.key, place);
    return;
  }
  controls.setOrder(link.order);
  if (link.cut) {
    say(D.states.empty("The prompt was too long for this link: paste it on the left, then run.", { act: null }), "top");
    return;
  }
  say(D.states.empty("This link sets up a run. The recorded example stays until its first round arrives.", {
    label: "Run it",
    act: controls.start,
  }), "top");
}

start();

/* Mounts the Compare page and joins it to the server. Runs with Gradio's element, trigger, props, server and watch. */
const D = window.Draftscope;
const { prefix, plotly, pages, examples, linkCharacters, most } = props.settings;
const mount = element.querySelector(".ds-mount");
document.title = "Compare · Draftscope";

/* -- the server over plain HTTP -- */
const { address, ask, download } = D.createServer(prefix);
const comparisonAddress = (name, rest = "") => address(`comparisons/${encodeURIComponent(name)}${rest}`);

/* -- what is on the page: a recorded comparison, one of this visit, or a file -- */
const own = new Map(); // of this visit by name: { title, order, file }
let shown = null; // name
let setUp = null; // an order of a link that waits to be run
let wanted = null; // order of the newest comparison

const isRecorded = (name) => examples.some((one) => one.key === name);
const orderOf = (name) => examples.find((one) => one.key === name)?.order ?? own.get(name)?.order ?? null;

const positions = D.createPositions((from, to) => ask(comparisonAddress(shown, `/positions?from=${from}&to=${to}`)));
const page = D.mountComparer(mount, {
  pages,
  exports: exportEntries(),
  copyLink,
  body: {
    fetchPosition: positions.get,
    plotly: D.chartLibrary(plotly),
    onSelect: D.calmly(keepAddress, 150), // browsers make each change costly
    explore,
  },
});
window.draftscope = page;

/** The query of what is on the page. */
function query() {
  if (setUp) return D.comparisonQuery(form.compact(setUp), linkCharacters);
  if (isRecorded(shown)) return D.recordedQuery(shown);
  const order = own.get(shown)?.file ? null : orderOf(shown);
  return order ? D.comparisonQuery(form.compact(order), linkCharacters) : D.recordedQuery(null);
}

const url = () => D.comparisonUrl(query(), page.selection);

function keepAddress() {
  history.replaceState(history.state, "", url());
}

async function copyLink() {
  if (!(await D.copy(url()))) return "Not copied";
  if (!setUp && own.get(shown)?.file) return "A link cannot carry a file: export the comparison and send it.";
  const cut = !isRecorded(shown) && orderOf(shown)?.prompt.length > linkCharacters;
  return cut ? "Link copied, without the prompt: it is too long for a link." : "Link copied";
}

function exportEntries() {
  const save = (file) => () => download(comparisonAddress(shown, `/${file}`));
  return [
    ["Comparison, .json.gz", save("comparison.json.gz")],
    ["Page, .html", save("comparison.html")],
    ["Table, .csv", save("table.csv")],
  ];
}

/** The address on Explore of the run of a method. */
function exploreUrl(order, chosen) {
  const { href } = pages.find((one) => one.name === "Explore");
  return `${href}?${D.methodQuery(form.compact(order), chosen, linkCharacters)}`;
}

/** The same for a method of the comparison on the page; null where its order is not known. */
function explore(method) {
  const order = orderOf(shown);
  const chosen = method === 0 ? { method: "plain", config: {} } : order?.methods[method - 1];
  return order && chosen ? exploreUrl(order, chosen) : null;
}

function drawOwn() {
  form.setOwn([...own].map(([key, one]) => ({ key, title: one.title })));
}

const notesOf = (comparison) => comparison.methods.slice(1).map(({ note }) => note);

function show(name, comparison, selection) {
  const first = shown === null;
  shown = name;
  positions.reset(comparison);
  page.show(comparison, selection);
  if (first) {
    performance.mark("draftscope-shown");
    mount.removeAttribute("aria-busy");
  }
}

/** Show it, and fill the row with what would make it again. */
function showOpened(name, comparison, selection) {
  form.setNames(comparison.methods.map(({ key, name: words }) => [key, words]));
  if (orderOf(name)) form.setOrder(orderOf(name), notesOf(comparison));
  show(name, comparison, selection);
}

let asked = 0; // what was asked for last is what is shown, whichever answer comes last

/** Show what `fetched` brings, unless something else was asked for meanwhile. */
async function bring(fetched, shows) {
  const mine = ++asked;
  try {
    const opened = await fetched();
    if (mine !== asked) return;
    setUp = null;
    page.say(null);
    shows(opened);
  } catch (error) {
    if (mine === asked) page.say(D.states.error(error.message));
  }
}

const openComparison = (name, selection = {}) =>
  bring(() => ask(comparisonAddress(name)), (opened) => showOpened(name, opened, selection));

function openFile(file) {
  const user = encodeURIComponent(window.__gradio_session_hash__ ?? "");
  page.say(D.states.loading("Opening the file.", {}));
  return bring(
    () => ask(address(`comparisons?user=${user}`), { method: "POST", body: file }),
    ({ comparison, order }) => {
      own.set(comparison.id, { title: comparison.title, order, file: true });
      drawOwn();
      showOpened(comparison.id, comparison, {});
    },
  );
}

element.addEventListener("dragover", (event) => event.preventDefault());
element.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
});

/* -- runs -- */
const live = D.followComparison(page, {
  fetchComparison: (name) => ask(comparisonAddress(name)),
  cancel: (name) => server.cancel(name),
  alive: () => ask(address("alive"), { cache: "no-store" }),
  open: (name) => openComparison(name),
  isShown: (name) => shown === name,
  begin(name) {
    asked += 1;
    setUp = null;
    own.set(name, { title: "", order: wanted });
    shown = name;
  },
  grow(name, comparison) {
    own.get(name).title = comparison.title;
    drawOwn();
    if (shown !== name) return;
    show(name, comparison, {});
    if (comparison.finished) form.setNotes(own.get(name).order, notesOf(comparison));
  },
  end(message) {
    form.setBusy(false);
    if (message.phase === "error") form.setError(message.field ?? "", message.words);
  },
});
page.cancel = live.stop;
watch("value", () => live.take(JSON.parse(props.value)));

const form = D.mountCompareForm(page.ask, {
  most,
  examples,
  run(order) {
    wanted = order;
    form.setBusy(true);
    live.expect();
    trigger("run", { order });
  },
  cancel: live.stop,
  open: openComparison,
  file: openFile,
  explore: (place) => exploreUrl(form.read(), form.read().methods[place]),
});

D.handOn(page.root, () => {
  const order = form.read();
  const chosen = order.methods[page.selection.method - 1] ?? order.methods[0];
  const compact = form.compact(order);
  return chosen ? D.methodQuery(compact, chosen, linkCharacters) : D.comparisonQuery(compact, linkCharacters);
});

/* -- first view: what the address says; a comparison that is not recorded gets its fields filled, and waits to be run -- */
async function start() {
  const link = D.readComparison();
  const selection = D.readSelection();
  const named = isRecorded(link.comparison);
  const first = named ? link.comparison : examples[0]?.key;
  if (first) await openComparison(first, named || !link.order ? selection : {});
  else {
    page.say(D.states.empty("There is no recorded comparison here; choose methods and run them.", { act: null }));
    mount.removeAttribute("aria-busy");
  }
  if (link.comparison && !named) {
    const known = examples.map((one) => one.key).join(", ");
    page.say(D.states.error(`There is no comparison called ${link.comparison.slice(0, 60)}; there are: ${known}.`));
  }
  if (link.order) setUp = completed(link.order);
  form.setCatalogue(await server.controls());
  if (setUp) offer(link.cut, selection);
}

/** The order of a link that names no method: with those of the first recorded comparison. */
const completed = (order) => (order.methods.length ? order : { ...order, methods: examples[0]?.order.methods ?? [] });

async function offer(cut, selection) {
  const found = examples.find((one) => form.isSame(one.order, setUp));
  if (found) return openComparison(found.key, selection);
  form.setOrder(setUp);
  const told = cut
    ? D.states.empty("The prompt was too long for this link: write it, then run.", { act: null })
    : D.states.empty("This link sets up a comparison. The recorded one stays until its first method is done.", {
        label: "Run it",
        act: form.start,
      });
  return page.say(told);
}

start();

/* A tool of the Lab: rounds of recursive rejection thrown at one node, and how far what they write lies from the
   target's law; with switches that put a real mistake in. */
((D) => {
  "use strict";

  const HEIGHT = 122;
  const EDGE = { left: 2, right: 2, top: 6, bottom: 20 };
  const END = 100; // design pixels that the word at the end of the axis takes
  const FRAME = 70; // milliseconds per stop while the rounds fall
  const LEAST = 1e-5; // of a distance on the axis, which is logarithmic

  const share = (value) => `${(value * 100).toFixed(2)}%`;
  const colour = (found) => ({ kept: "accepted", unsure: "relaxed-text", broken: "rejected" })[found.verdict];
  const glyph = (found) => ({ kept: "accepted", unsure: "relaxed", broken: "rejected" })[found.verdict];

  /** Distances over rounds, both axes logarithmic: the band of honest draws, and these rounds up to `stop`. */
  function curve(found, stop, width) {
    const { rounds, apart, mean, most } = found;
    const [low, high] = [Math.max(LEAST, Math.min(...mean, ...apart) / 1.6), Math.max(...apart, ...most, 2 * LEAST) * 1.3];
    const span = Math.log(rounds.at(-1) / rounds[0]) || 1;
    const x = (place) => EDGE.left + (Math.log(rounds[place] / rounds[0]) / span) * (width - EDGE.left - EDGE.right);
    const floor = HEIGHT - EDGE.bottom;
    const y = (value) => {
      const up = Math.log(Math.max(value, low) / low) / Math.log(high / low);
      return floor - up * (floor - EDGE.top);
    };
    const line = (values, from = 0, to = values.length) =>
      values.slice(from, to).map((value, place) => `${place ? "L" : "M"}${x(place + from)},${y(value)}`).join("");
    const band = `${line(most)}L${x(most.length - 1)},${floor}L${x(0)},${floor}Z`;
    const at = (tick) => EDGE.left + (Math.log(tick / rounds[0]) / span) * (width - EDGE.left - EDGE.right);
    const ticks = [100, 1000, 10000].filter((tick) => tick >= rounds[0] && at(tick) < width - END);
    const text = (tx, ty, words, more = {}) => D.s("text", { x: tx, y: ty, ...more }, words);
    const end = Math.min(width - 6, Math.max(6, x(stop)));
    return D.canvas(width, HEIGHT, D.theme.scale,
      D.s("path", { d: band, fill: "var(--ds-kept)" }),
      D.s("path", { d: line(mean), fill: "none", stroke: "var(--ds-mute)", "stroke-dasharray": "3 3" }),
      D.s("line", { x1: 0, x2: width, y1: floor, y2: floor, stroke: "var(--ds-hair)" }),
      D.s("path", { d: line(apart, 0, stop + 1), fill: "none", stroke: `var(--ds-${colour(found)})`, "stroke-width": 2 }),
      D.s("circle", { cx: end, cy: y(apart[stop]), r: 3.5, fill: `var(--ds-${colour(found)})` }),
      text(6, floor - 7, "99 of 100 honest runs lie in here", { class: "ds-svg-mute" }),
      text(width, EDGE.top + 8, "distance from p", { class: "ds-svg-mute", "text-anchor": "end" }),
      ticks.map((tick) => text(Math.max(at(tick), 0), HEIGHT - 5, tick.toLocaleString("en"),
        { class: "ds-svg-mute", "text-anchor": at(tick) < 20 ? "start" : "middle" })),
      text(width, HEIGHT - 5, `${rounds.at(-1).toLocaleString("en")} rounds`, { class: "ds-svg-mute", "text-anchor": "end" }));
  }

  const COLUMNS = [["token"], ["bars"], ["number"], ["number", { width: "calc(48 * var(--u))" }]]; // "wrote" stands clear of "p"

  /** Tokens with p solid and what was written below it. */
  function histogram(found, stop) {
    const most = Math.max(1e-9, ...found.rows.flatMap((row) => [row.p, ...row.shares.slice(-1)]));
    const bar = (kind, value) => D.h("span", { class: `ds-bar ds-bar-${kind}`, style: { width: share(Math.min(1, value / most)) } });
    const last = stop === found.rounds.length - 1;
    const rows = found.rows.map((row) => D.h("tr", null,
      D.h("th", { scope: "row" }, row.label ? D.token(row.label) : D.h("span", { class: "ds-others" }, "all others")),
      D.h("td", null, D.h("div", { class: "ds-bars" }, bar("p", row.p), bar("written", row.shares[stop]))),
      D.h("td", { class: "ds-number" }, row.p_text),
      D.h("td", { class: "ds-number ds-quiet" }, last ? row.text : "")));
    return D.h("table", { class: `ds-laws ds-written-${found.verdict}` },
      D.h("colgroup", null, COLUMNS.map(([kind, style = {}]) => D.h("col", { class: `ds-col-${kind}`, style }))),
      D.h("thead", null, D.h("tr", null, D.h("td"), D.h("td"),
        D.h("th", { scope: "col", class: "ds-number ds-thin" }, "p"),
        D.h("th", { scope: "col", class: "ds-number ds-thin ds-quiet" }, "wrote"))),
      D.h("tbody", null, rows));
  }

  /** The switches: one mistake at a time, each with what it does. */
  function switches(name, mistakes, chosen, pick) {
    return mistakes.map((one) => {
      const input = D.h("input", { type: "radio", name, value: one.key, checked: one.key === chosen });
      input.addEventListener("change", () => pick(one));
      return D.h("label", { title: one.definition }, input, D.h("span", null, one.name));
    });
  }

  D.labRounds = (again) => {
    const wish = { drafts: 2, mistake: "none", seed: 0 };
    const name = D.uid("mistake");
    const slider = D.h("input", { type: "range", min: 1, max: 8, step: 1, value: wish.drafts, id: D.uid("thrown") });
    const count = D.h("output", { for: slider.id }, String(wish.drafts));
    const control = D.h("p", { class: "ds-lab-slider" }, D.h("label", { for: slider.id }, "Drafts"), slider, count);
    const fixed = D.h("p", { class: "ds-note ds-lab-fixed", id: D.uid("fixed") });
    const list = D.h("fieldset", { class: "ds-mistakes" });
    const about = D.h("p", { class: "ds-note" });
    const throwing = D.h("button", { class: "ds-button", type: "button" }, "Throw again");
    const verdict = D.h("p", { class: "ds-rule ds-verdict", role: "status" });
    const plot = D.h("div", { class: "ds-lab-plot ds-board", role: "img" });
    const table = D.h("div");
    const kept = D.h("p", { class: "ds-note" });
    const legend = D.h("div");
    const result = D.h("div", { class: "ds-lab-result" }, verdict, plot, table, legend, kept);
    const choices = D.h("div", { class: "ds-lab-choices" }, control, fixed, list, about, throwing);
    const own = D.h("p", { class: "ds-note ds-lab-own ds-none" });
    const root = D.h("section", { class: "ds-lab-tool ds-none" }, D.h("h3", null, "Is it lossless?"),
      D.h("p", { class: "ds-note" },
        "20,000 rounds of recursive rejection at this node: what they write, against the law p that the text should follow. Put in a mistake that real code has made, and see whether it shows."),
      own,
      D.h("div", { class: "ds-lab-split" }, choices, result));
    let found = null;
    let stop = 0;
    let timer = 0;
    let listed = "";

    function drawStop() {
      const width = Math.max(220, Math.floor(plot.clientWidth / D.theme.scale));
      plot.replaceChildren(curve(found, stop, width));
      table.replaceChildren(histogram(found, stop));
    }

    /** Let the rounds fall, stop by stop; at once where less motion is wanted. */
    function fall() {
      clearTimeout(timer);
      const last = found.rounds.length - 1;
      const steps = () => {
        drawStop();
        if (stop >= last) return;
        stop += 1;
        timer = setTimeout(steps, FRAME);
      };
      stop = D.still() ? last : 0;
      steps();
    }

    const mistake = () => found?.mistakes.find((one) => one.key === wish.mistake);
    const drafts = () => mistake()?.always ?? wish.drafts;

    /** Bring the slider to what the mistake allows: enough drafts, or as many as it always has. */
    function limit() {
      if (mistake().least > wish.drafts) wish.drafts = mistake().least;
      const always = mistake().always;
      slider.disabled = always !== null;
      slider.value = drafts();
      count.textContent = slider.value;
      fixed.textContent = always === null ? "" : `This mistake always draws ${always}.`;
      fixed.style.margin = fixed.textContent ? "" : "0";
      fixed.style.minHeight = "0";
      if (always === null) slider.removeAttribute("aria-describedby");
      else slider.setAttribute("aria-describedby", fixed.id);
    }

    /** Say whose rounds these are where the run itself is lossy. */
    function drawOwn() {
      own.classList.toggle("ds-none", !found.own);
      own.replaceChildren(...(found.own ? [D.badge(found.own.badge), " ", found.own.words] : []));
    }

    function draw() {
      const words = JSON.stringify(found.mistakes);
      if (words !== listed) {
        listed = words;
        list.replaceChildren(D.h("legend", { class: "ds-label" }, "Mistake"), ...switches(name, found.mistakes, wish.mistake, (one) => {
          wish.mistake = one.key;
          about.textContent = one.definition;
          limit();
          again();
        }));
      }
      about.textContent = mistake().definition;
      limit();
      drawOwn();
      const { words: said } = found;
      verdict.replaceChildren(D.mark(glyph(found), { size: 18, p: 1 }), D.h("span", null, said));
      verdict.dataset.verdict = found.verdict;
      legend.className = `ds-written-${found.verdict}`;
      legend.replaceChildren(D.legend([
        [D.swatch("target"), "p"], [D.h("span", { class: "ds-written" }), "what these rounds wrote"]]));
      plot.setAttribute("aria-label", found.alt);
      kept.textContent = found.kept;
      fall();
    }

    slider.addEventListener("input", () => {
      wish.drafts = Number(slider.value);
      if (mistake()?.least > wish.drafts) wish.mistake = "none";
      list.querySelectorAll("input").forEach((input) => (input.checked = input.value === wish.mistake));
      count.textContent = slider.value;
    });
    slider.addEventListener("change", () => again());
    throwing.addEventListener("click", () => {
      wish.seed += 1;
      again();
    });
    let width = 0;
    new ResizeObserver(() => {
      if (Math.abs(plot.clientWidth - width) < 1) return;
      width = plot.clientWidth;
      if (found && !found.missing) drawStop();
    }).observe(plot);
    D.onTheme(() => found && !found.missing && drawStop());

    return {
      name: "rounds",
      root,
      wish: () => ({ ...wish, drafts: drafts() }),
      draw(next) {
        clearTimeout(timer);
        found = next;
        root.classList.toggle("ds-none", !next || !!next.missing); // the ladder says what is missing
        if (next && !next.missing) draw();
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

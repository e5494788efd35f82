/* A tool of the Lab: the ladder of rules. Bars of what each accepts, for as many drafts as the slider says. */
((D) => {
  "use strict";

  const FLOORS = [0.99, 0.9, 0.5]; // where the axis begins when all bars are long: only so they can be told apart
  const CLEAR = 0.15; // of the axis that the shortest bar takes at least

  /** Where the axis of a ladder begins, for whatever number of drafts: bars must not jump with the slider. */
  function floorOf(ladder) {
    const bars = ladder.groups.flatMap((group) => group.rows.flatMap((row) => row.bars));
    const least = Math.min(...bars.map((bar) => bar.value - (bar.margin ?? 0)));
    return FLOORS.find((floor) => least > floor + CLEAR * (1 - floor)) ?? 0;
  }

  /** Places on the axis that begins at `floor`, as lengths of the style sheet. */
  const scaleFrom = (floor) => (value) => `${(100 * Math.max(0, (value - floor) / (1 - floor))).toFixed(2)}%`;

  // names wrap, and what cuts a rule short stands on its bar, behind the mark of a cut axis
  const NAME = { "white-space": "normal", "line-height": "calc(16 * var(--u))" };
  const TAG = {
    position: "absolute", left: "calc(16 * var(--u))", top: "0", bottom: "0", display: "flex", "align-items": "center",
    "white-space": "nowrap", "font-size": "calc(11 * var(--u))", color: "var(--ds-mute)",
  };

  /** The line of a rule: how much it accepts, where its kind of draft ends, how sure that is, and what cuts it short. */
  function track(bar, best, place, tag) {
    const [low, high] = [bar.value - bar.margin, Math.min(1, bar.value + bar.margin)];
    const whisker = bar.margin === null ? null : D.h("span", {
      class: "ds-rung-margin",
      style: { left: place(low), width: `calc(${place(high)} - ${place(low)})` },
    });
    return D.h("span", { class: "ds-rung-track" },
      D.h("span", { class: "ds-rung-bar", style: { width: place(bar.value) } }), whisker,
      best === null ? null : D.h("span", { class: "ds-rung-best", style: { left: place(best) } }),
      tag ? D.h("span", { class: "ds-rung-tag", style: TAG }, tag) : null);
  }

  /** The axis above the bars: both ends and the middle. */
  function axis(floor, place) {
    const ticks = [floor, (1 + floor) / 2, 1];
    const text = (value) => String(Number(value.toFixed(3))).replace(/^0\./u, ".");
    return D.h("div", { class: "ds-rung-axis", "aria-hidden": "true" }, D.h("span"),
      D.h("span", { class: "ds-rung-track" }, ticks.map((value) => D.h("b", { style: { left: place(value) } }, text(value)))), D.h("span"));
  }

  function rung(row, bar, best, place, group, tell) {
    const on = { mouseenter: tell, focus: tell, click: tell };
    return D.h("li", null,
      D.h("button", {
        class: `ds-rung${row.bound ? " ds-bound" : ""}`,
        type: "button",
        title: row.definition,
        "aria-label": `${group.head}, ${row.name}: ${bar.text}, ${bar.note}. ${row.definition}`,
        on,
      },
      D.h("span", { class: "ds-rung-name", style: NAME }, row.name), track(bar, best, place, row.tag),
      D.h("span", { class: "ds-number", title: bar.note }, bar.text)));
  }

  D.labLadder = () => {
    const slider = D.h("input", { type: "range", min: 1, max: 8, step: 1, value: 2, id: D.uid("drafts") });
    const count = D.h("output", { for: slider.id });
    const control = D.h("p", { class: "ds-lab-slider" }, D.h("label", { for: slider.id }, "Drafts"), slider, count);
    const bridge = D.h("p", { class: "ds-rule ds-rung-bridge ds-none", style: { "margin-top": "calc(8 * var(--u))" } });
    const bars = D.h("div", { class: "ds-rungs" });
    const words = D.h("p", { class: "ds-note ds-rung-words" });
    const root = D.h("section", { class: "ds-lab-tool ds-none" }, D.h("h3", null, "The ladder of rules"),
      D.h("p", { class: "ds-note" },
        "The chance that the next token is one of the drafts, from the whole laws p and q. The upright line ends each kind of draft: no rule goes beyond it."),
      bridge, control, bars, words);
    let ladder = null;
    let chosen = null; // the reader's number of drafts, once there is one

    function draw() {
      const drafts = Number(slider.value);
      const floor = floorOf(ladder);
      const place = scaleFrom(floor);
      count.textContent = String(drafts);
      words.textContent = "Point at a rule to read what it does. ≈ is an estimate, all else is exact.";
      bars.classList.toggle("ds-rungs-cut", floor > 0);
      bars.replaceChildren(axis(floor, place), ...ladder.groups.map((group) => {
        const best = group.rows.find((row) => row.bound)?.bars[drafts - 1].value ?? null;
        return D.h("section", null, D.h("h4", null, group.head),
          D.h("ul", null, group.rows.map((row) => {
            const bar = row.bars[drafts - 1];
            return rung(row, bar, row.bound ? null : best, place, group, () => {
              words.textContent = `${row.name}: ${row.definition} ${bar.text}, ${bar.note}.`;
            });
          })));
      }));
    }

    slider.addEventListener("input", () => {
      chosen = Number(slider.value);
      draw();
    });

    return {
      name: "ladder",
      root,
      wish: () => ({}),
      draw(found) {
        ladder = found;
        root.classList.toggle("ds-none", !found);
        control.classList.toggle("ds-none", !found?.groups.length);
        bridge.textContent = found?.bridge ?? "";
        bridge.classList.toggle("ds-none", !found?.bridge);
        if (!found) return;
        if (found.missing) {
          bars.replaceChildren();
          words.textContent = found.missing;
          return;
        }
        slider.max = found.groups[0].rows[0].bars.length;
        slider.value = chosen ?? found.drafts;
        draw();
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

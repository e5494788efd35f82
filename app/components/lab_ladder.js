/* A tool of the Lab: the ladder of rules. Bars of what each accepts, for as many drafts as the slider says. */
((D) => {
  "use strict";

  const share = (value) => `${(value * 100).toFixed(2)}%`;

  /** The line of a rule: how much it accepts, where its kind of draft ends, and how sure that is. */
  function track(bar, best) {
    const whisker = bar.margin === null ? null : D.h("span", {
      class: "ds-rung-margin",
      style: { left: share(Math.max(0, bar.value - bar.margin)), width: share(Math.min(1, 2 * bar.margin)) },
    });
    return D.h("span", { class: "ds-rung-track" },
      D.h("span", { class: "ds-rung-bar", style: { width: share(bar.value) } }), whisker,
      best === null ? null : D.h("span", { class: "ds-rung-best", style: { left: share(best) } }));
  }

  function rung(row, bar, best, group, tell) {
    const on = { mouseenter: tell, focus: tell, click: tell };
    return D.h("li", null,
      D.h("button", {
        class: `ds-rung${row.bound ? " ds-bound" : ""}`,
        type: "button",
        title: row.definition,
        "aria-label": `${group.head}, ${row.name}: ${bar.text}, ${bar.note}. ${row.definition}`,
        on,
      },
      D.h("span", { class: "ds-rung-name" }, row.name), track(bar, best),
      D.h("span", { class: "ds-number", title: bar.note }, bar.text)));
  }

  D.labLadder = () => {
    const slider = D.h("input", { type: "range", min: 1, max: 8, step: 1, value: 2, id: D.uid("drafts") });
    const count = D.h("output", { for: slider.id });
    const control = D.h("p", { class: "ds-lab-slider" }, D.h("label", { for: slider.id }, "Drafts"), slider, count);
    const bars = D.h("div", { class: "ds-rungs" });
    const words = D.h("p", { class: "ds-note ds-rung-words" });
    const root = D.h("section", { class: "ds-lab-tool ds-none" }, D.h("h3", null, "The ladder of rules"),
      D.h("p", { class: "ds-note" },
        "The chance that the next token is one of the drafts, from the whole laws p and q. The upright line ends each kind of draft: no rule goes beyond it."),
      control, bars, words);
    let ladder = null;
    let chosen = null; // the reader's number of drafts, once there is one

    function draw() {
      const drafts = Number(slider.value);
      count.textContent = String(drafts);
      words.textContent = "Point at a rule to read what it does. ≈ is an estimate, all else is exact.";
      bars.replaceChildren(...ladder.groups.map((group) => {
        const best = group.rows.find((row) => row.bound)?.bars[drafts - 1].value ?? null;
        return D.h("section", null, D.h("h4", null, group.head),
          D.h("ul", null, group.rows.map((row) => {
            const bar = row.bars[drafts - 1];
            return rung(row, bar, row.bound ? null : best, group, () => {
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

/* What if: three sliders over the machine of the race, each with its meaning in words. It knows no lanes. */
((D) => {
  "use strict";

  const BATCHES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

  const times = (value) => `${value >= 9.95 ? Math.round(value) : value.toFixed(1)}×`;

  /** The sliders: `place` of a value on the track from 0 to `steps` and back; `say`: words around the bold value. */
  const dialsOf = (wideAt) => [
    {
      key: "draft",
      steps: 80,
      value: (place) => place / 20,
      place: (value) => value * 20,
      say: (value) => ["drafting costs ", times(value), " what it did"],
    },
    {
      key: "wide",
      steps: 100,
      value: (place) => wideAt ** (place / 100),
      place: (value) => (100 * Math.log(Math.max(1, value))) / Math.log(wideAt),
      say: (value) => [`a ${wideAt}-wide pass costs `, times(value), " a single one"],
    },
    {
      key: "batch",
      steps: BATCHES.length - 1,
      value: (place) => BATCHES[place],
      place: (value) => Math.max(0, D.countUpTo(BATCHES, value) - 1),
      say: (value) => ["batch size ", String(value), value === 1 ? "" : " texts at once"],
    },
  ];

  function slider(dial, onInput) {
    const input = D.h("input", { type: "range", min: 0, max: dial.steps, step: 1, id: D.uid(dial.key) });
    const label = D.h("label", { for: input.id });
    const say = (value) => {
      const [before, bold, after] = dial.say(value);
      label.replaceChildren(before, D.h("b", null, bold), after);
      input.setAttribute("aria-valuetext", `${before}${bold}${after}`);
    };
    const show = (value) => {
      input.value = String(dial.place(value));
      say(value);
    };
    input.addEventListener("input", () => {
      const value = dial.value(Number(input.value));
      say(value);
      onInput(dial.key, value);
    });
    return { element: D.h("p", { class: "ds-what" }, label, input), show };
  }

  /**
   * The row of sliders. `onInput` hears that one was moved, `onReset` that the measured times are wanted back.
   *
   * `begin(race)` puts untouched sliders where the measurement has them; `values` is what the model of time takes;
   * `tell(isModelled)` says which time is shown.
   */
  D.raceDials = ({ onInput, onReset }) => {
    const element = D.h("div", { class: "ds-what-if" });
    const said = D.h("p", { class: "ds-what-said", role: "status" });
    let values = null;
    let sliders = null;
    let touched = false;

    function moved(key, value) {
      touched = true;
      values = { ...values, [key]: value };
      onInput();
    }

    function build(wideAt) {
      sliders = dialsOf(wideAt).map((dial) => [dial.key, slider(dial, moved)]);
      const rows = sliders.map(([, made]) => made.element);
      element.replaceChildren(D.h("span", { class: "ds-what-head" }, "What if"), ...rows, said);
    }

    function begin(race) {
      if (touched && values.wide_at === race.wide_at) return;
      if (values?.wide_at !== race.wide_at) build(race.wide_at);
      values = { draft: race.draft, wide: race.wide, batch: race.batch, wide_at: race.wide_at };
      sliders.forEach(([key, made]) => made.show(values[key]));
    }

    function reset() {
      touched = false;
      onReset();
    }

    return {
      element,
      begin,
      get values() {
        return values;
      },
      tell(isModelled) {
        const back = D.h("button", { type: "button", class: "ds-link", on: { click: reset } }, "as measured");
        if (isModelled && touched) said.replaceChildren("Modelled time is shown. ", back);
        else said.replaceChildren("The sliders re-time all lanes and switch to modelled time.");
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

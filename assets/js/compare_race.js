/* The race of all methods: five axes, a playhead that Space moves, sliders that re-time all lanes. */
((D) => {
  "use strict";

  const FIELDS =
    "input, textarea, select, button, a, summary, [contenteditable], [role=textbox], [role=button], [role=tab]";
  const STEP = 50; // of these, a key moves the playhead by one

  /** Where the first compared method beside plain decoding is done. */
  function firstDone(race, methods, lanes) {
    const compared = lanes.filter((_, place) => methods[race.lanes[place].method]?.plain === false);
    const ends = (list) => list.map((lane) => lane.end);
    return compared.length ? Math.min(...ends(compared)) : Math.max(...ends(lanes));
  }

  /** The round of a lane that wrote a place, by the score; null where the lane has none. */
  function roundAt({ score, methods }, lane, place) {
    const column = score?.places.findIndex((one) => one.place === place) ?? -1;
    const stave = score?.staves.find((one) => one.method === lane.method);
    const capsule =
      column < 0 ? null : stave?.capsules.find((one) => one.start <= column && column < one.stop);
    return capsule ? capsule.round - (methods[lane.method].rounds - lane.legs.length) : null;
  }

  /** Mount the race. */
  D.compareRace = (host, comparison, api) => {
    let shown = comparison;
    let axis = "measured";
    let at = null; // the playhead; null: where the first compared method is done
    let rest = null; // where it was put without anyone's doing
    let stage = null; // there with the chart library
    const fit = D.fitted(host, () => draw());
    const top = D.h("div");
    const stand = D.h("div");
    const button = D.h("button", {
      type: "button",
      class: "ds-button ds-race-play",
      on: { click: () => toggle() },
    });
    const axes = D.switchOf(D.RACE_AXES, axis, "Axis of the race", (next) => setAxis(next));
    const dials = D.raceDials({ onInput: () => retime(), onReset: () => measured() });
    const player = D.racePlayer({
      most: () => stage.most,
      move: (value) => move(value),
      onChange: () => showPlay(),
    });
    host.append(top, stand, dials.element);

    function showPlay() {
      button.textContent = player.playing ? "❚❚ Pause" : "▶ Play";
    }

    function drawTop() {
      const controls = D.h("div", { class: "ds-race-controls" }, button, axes.element);
      top.replaceChildren(D.compareHead(shown.race.head, shown.race.note, controls));
    }

    function draw() {
      const { race, methods } = shown;
      host.classList.toggle("ds-none", !race);
      if (!race || !stage || !fit.width) return;
      const lanes = race.lanes.map((lane) => D.laneTimes(lane, race, dials.values, axis));
      at ??= rest = firstDone(race, methods, lanes);
      const value = Math.min(at, Math.max(...lanes.map((lane) => lane.end)));
      stage.draw({ race, methods, lanes, axis, value, width: fit.width, colours: D.colours(host) });
      select(api.selection);
    }

    function move(value) {
      at = value;
      stage.move(value);
    }

    function setAxis(next) {
      player.stop();
      axis = next;
      at = null;
      axes.press(next);
      dials.tell(axis === "modelled");
      draw();
    }

    const retime = D.framed(() => setAxis("modelled"));

    function measured() {
      dials.begin(shown.race);
      setAxis("measured");
      axes.element.querySelector('[data-key="measured"]').focus();
    }

    function toggle() {
      if (!stage || !shown.race) return;
      player.toggle(at === rest || at >= stage.most ? 0 : at);
    }

    function listen(element) {
      const follow = (event) => {
        const value = stage.valueAt(event);
        if (value === null) return false;
        player.stop();
        move(value);
        return true;
      };
      element.addEventListener("pointerdown", (event) => {
        if (!event.button && follow(event)) element.setPointerCapture(event.pointerId);
      });
      element.addEventListener(
        "pointermove",
        (event) => element.hasPointerCapture(event.pointerId) && follow(event),
      );
      element.addEventListener("keydown", (event) => {
        const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -STEP, End: STEP };
        if (!Object.hasOwn(steps, event.key) || !shown.race) return;
        event.preventDefault();
        event.stopPropagation();
        player.stop();
        move(Math.min(stage.most, Math.max(0, at + (steps[event.key] * stage.most) / STEP)));
      });
    }

    function press(event) {
      const { target } = event;
      if (event.key !== " " || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey)
        return;
      if (target.closest?.(FIELDS) || document.querySelector("dialog[open]")) return;
      if (!host.getClientRects().length) return;
      event.preventDefault();
      toggle();
    }

    /** Mark the round that covers the selected place in every compared lane. */
    function select({ place }) {
      if (!stage?.most || !shown.race) return;
      stage.mark(shown.race.lanes.map((lane) => (lane.method === null ? null : roundAt(shown, lane, place))));
    }

    function take() {
      if (!shown.race) return;
      dials.begin(shown.race);
      dials.tell(axis === "modelled");
      if (!top.firstChild || top.querySelector("h2").textContent !== shown.race.head) drawTop();
    }

    document.addEventListener("keydown", press);
    Promise.resolve(api.plotly).then(
      (library) => {
        stage = D.raceStage(library);
        listen(stage.element);
        stand.replaceChildren(stage.element);
        draw();
      },
      () =>
        stand.replaceChildren(D.states.error("The race cannot be drawn: the chart library did not load.")),
    );
    showPlay();
    take();
    draw();

    return {
      update(next) {
        player.stop();
        if (at === rest) at = null;
        shown = next;
        take();
        draw();
      },
      select,
      stop() {
        player.stop();
        document.removeEventListener("keydown", press);
        fit.stop();
        stage?.purge();
      },
    };
  };
})((window.Draftscope = window.Draftscope ?? {}));

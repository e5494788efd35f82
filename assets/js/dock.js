/* The bar at the foot of a phone's page: back, place, play, forward, each large enough for a thumb. */
((D) => {
  "use strict";

  /** Mount the dock. */
  D.mountDock = (root, store, player) => {
    const words = D.h("span", { class: "ds-place" });
    root.append(
      D.h(
        "div",
        { class: "ds-dock", role: "group", "aria-label": "Rounds" },
        D.stepButton(store, -1),
        words,
        D.playButton(player),
        D.stepButton(store, 1),
      ),
    );
    const draw = () => store.overview && words.replaceChildren(...D.roundWords(store));
    return [store.on("round", draw), store.on("strip", draw)];
  };
})((window.Draftscope = window.Draftscope ?? {}));

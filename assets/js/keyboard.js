/* The keys of the page. They rest while someone types, and while a dialog is open. */
((D) => {
  "use strict";

  D.KEYS = [
    [["Space"], "play or pause"],
    [["←", "→"], "previous, next round"],
    [["↑", "↓"], "previous, next dart"],
    [["Home", "End"], "first, last round"],
    [["Esc"], "unpin"],
    [["?"], "this list"],
  ];

  const FIELDS =
    "input, textarea, select, [contenteditable], [role=textbox], [role=combobox], [role=listbox]";
  const PRESSED = "button, a, summary, [role=button], [role=tab]"; // Space belongs to them while they have the focus

  function rests(event, root) {
    const { target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return true;
    if (target instanceof Element && target.closest(FIELDS)) return true;
    return document.querySelector("dialog[open]") !== null || root.getClientRects().length === 0;
  }

  /** Listen for the page's keys while `root` is visible; gives back how to stop. */
  D.listenKeys = (root, store, player, help) => {
    const stepTo = (delta) => {
      player.stop();
      store.step(delta);
      return true;
    };
    const jump = (place) => {
      player.stop();
      const round = store.order.at(place);
      if (round !== undefined) store.select({ round });
      return true;
    };
    const actions = {
      " ": (event) => !event.target.closest?.(PRESSED) && (player.toggle(), true),
      ArrowLeft: () => stepTo(-1),
      ArrowRight: () => stepTo(1),
      ArrowUp: () => {
        player.stop();
        return store.stepNode(-1);
      },
      ArrowDown: () => {
        player.stop();
        return store.stepNode(1);
      },
      Home: () => jump(0),
      End: () => jump(-1),
      Escape: () => {
        if (player.playing) player.stop();
        else store.unpin();
        return false;
      },
      "?": () => {
        help();
        return true;
      },
    };
    function press(event) {
      const action = actions[event.key];
      if (!action || !store.overview || rests(event, root)) return;
      if (action(event)) event.preventDefault();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  };
})((window.Draftscope = window.Draftscope ?? {}));

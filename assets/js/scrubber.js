/* The rounds side by side, a token per dash: a slider over the whole text, with the buttons that play it. */
((D) => {
  "use strict";

  const WIDE = 26; // pixels per round, as long as they fit
  const NARROW = 8;
  const TALL = 46;
  const DASH = 12;
  const HINTED = 860; // of the bar's width: more than this and the key hints have room
  const AROUND = 284; // taken by buttons and place
  const AROUND_HINTED = 536; // by these and the hints

  function columnWidth(rounds, room) {
    return Math.max(NARROW, Math.min(WIDE, Math.floor(room / Math.max(1, rounds))));
  }

  function endMark(end, x, y, r) {
    if (end === "none") return [];
    return D.glyph(end, x, y, r, 1).map((part) => D.s("path", { d: part.d, fill: D.ref(part.fill) }));
  }

  function column(scrub, left, width, most) {
    const middle = left + width / 2;
    const wide = width >= 14;
    const pitch = Math.min(6, (TALL - 16) / Math.max(1, most));
    const dash = Math.min(DASH, width - 4);
    const base = TALL - 6;
    const mark = endMark(scrub.end, middle, base - scrub.accepted * pitch - (wide ? 4 : 3), wide ? 4 : 2.6);
    if (!wide) {
      const height = scrub.accepted * pitch;
      return [
        D.s("rect", {
          x: middle - dash / 2,
          y: base - height,
          width: dash,
          height,
          fill: "var(--ds-accepted)",
        }),
        ...mark,
      ];
    }
    const dashes = Array.from({ length: scrub.accepted }, (_, level) =>
      D.s("rect", {
        x: middle - dash / 2,
        y: base - (level + 1) * pitch + pitch * 0.3,
        width: dash,
        height: pitch * 0.6,
        fill: "var(--ds-accepted)",
      }),
    );
    return [...dashes, ...mark];
  }

  function drawing(overview, width, scale) {
    const most = Math.max(1, ...overview.scrub.map((scrub) => scrub.accepted));
    const chosen = D.s(
      "g",
      { class: "ds-scrub-chosen" },
      D.s("rect", { width, height: TALL - 2, fill: "var(--ds-sel)" }),
      D.s("rect", { y: TALL - 2, width, height: 2, fill: "var(--ds-ink)" }),
    );
    const columns = overview.scrub.map((scrub, place) => column(scrub, place * width, width, most));
    return D.canvas(width * overview.scrub.length, TALL, scale, chosen, columns);
  }

  function triangle(direction) {
    const d = direction < 0 ? "M8.5,1 L1.5,6 L8.5,11 Z" : "M1.5,1 L8.5,6 L1.5,11 Z";
    return D.canvas(10, 12, D.theme.scale, D.s("path", { d, fill: "currentColor" }));
  }

  /** A step button: -1 back, +1 forward. */
  D.stepButton = (store, direction) =>
    D.h(
      "button",
      {
        class: "ds-button ds-step",
        type: "button",
        "aria-label": direction < 0 ? "Previous round" : "Next round",
        on: { click: () => store.step(direction) },
      },
      triangle(direction),
    );

  /** The play button, in step with the player. */
  D.playButton = (player) => {
    const button = D.h(
      "button",
      {
        class: "ds-button ds-primary ds-play",
        type: "button",
        on: { click: () => player.toggle() },
      },
      "Play",
    );
    player.onChange((playing) => {
      button.textContent = playing ? "Pause" : "Play";
    });
    return button;
  };

  const key = (name) => D.h("kbd", null, name);

  function hints() {
    return D.h(
      "span",
      { class: "ds-hints", "aria-hidden": "true" },
      D.h("span", null, key("Space"), " play"),
      D.h("span", null, key("←"), " ", key("→"), " round"),
      D.h("span", null, key("↑"), " ", key("↓"), " dart"),
    );
  }

  /** "Round 8 of 14", kept up to date in `element`. */
  D.roundWords = (store) => {
    const { overview, order, round } = store;
    if (round === null) return [];
    const last = order[order.length - 1];
    return [D.h("b", null, `Round ${round}`), ` of ${last}${overview.finished ? "" : " so far"}`];
  };

  function follow(rail, left, width) {
    if (left < rail.scrollLeft || left + width > rail.scrollLeft + rail.clientWidth) {
      rail.scrollLeft = left - rail.clientWidth / 2 + width / 2;
    }
  }

  /** Mount the bar with buttons, slider, place and key hints. */
  D.mountScrubber = (root, store, player) => {
    const rail = D.h("div", {
      class: "ds-rail",
      role: "slider",
      tabindex: 0,
      "aria-label": "Round",
      "aria-valuemin": 1,
    });
    const words = D.h("span", { class: "ds-place" });
    const group = D.h(
      "span",
      { class: "ds-buttons" },
      D.stepButton(store, -1),
      D.playButton(player),
      D.stepButton(store, 1),
    );
    root.append(group, rail, words, hints());
    let width = WIDE;
    const reach = D.calmly((left, wide) => follow(rail, left, wide), 0);

    function draw() {
      const { overview } = store;
      if (!overview) return;
      const scale = D.theme.scale;
      const whole = root.clientWidth / scale;
      const room = whole - (whole > HINTED ? AROUND_HINTED : AROUND);
      width = columnWidth(overview.scrub.length, room);
      rail.replaceChildren(drawing(overview, width, scale));
      select();
    }

    function select() {
      const { overview, order, round } = store;
      if (!overview) return;
      const place = Math.max(0, order.indexOf(round));
      const scale = D.theme.scale;
      rail.querySelector(".ds-scrub-chosen")?.setAttribute("transform", `translate(${place * width} 0)`);
      rail.setAttribute("aria-valuemax", String(order.length));
      rail.setAttribute("aria-valuenow", String(place + 1));
      rail.setAttribute("aria-valuetext", `Round ${round} of ${order[order.length - 1]}`);
      words.replaceChildren(...D.roundWords(store));
      reach(place * width * scale, width * scale);
    }

    function pick(event) {
      const svg = rail.firstElementChild;
      if (!svg) return;
      const x = event.clientX - svg.getBoundingClientRect().left;
      const place = Math.floor(x / (width * D.theme.scale));
      const round = store.order[Math.max(0, Math.min(store.order.length - 1, place))];
      if (round !== undefined && round !== store.round) store.select({ round });
    }

    rail.addEventListener("pointerdown", (event) => {
      rail.setPointerCapture(event.pointerId);
      pick(event);
    });
    rail.addEventListener("pointermove", (event) => event.buttons && pick(event));

    const watcher = new ResizeObserver(draw);
    watcher.observe(root);
    return [
      store.on("trace", draw),
      store.on("strip", draw),
      store.on("round", select),
      D.onTheme(draw),
      () => watcher.disconnect(),
    ];
  };
})((window.Draftscope = window.Draftscope ?? {}));

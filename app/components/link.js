/* What a link says of a run: prompt, method, and every setting that is not the usual one. */
((D) => {
  "use strict";

  const PLAIN = { temperature: "t", top_k: "k", top_p: "p", seed: "seed", max_new_tokens: "n", stop: "stop" };
  const MODELS = ["target", "draft", "dtype", "device", "threads"];
  const OWN = ["example", "method", "prompt", "cut", "chat", ...Object.values(PLAIN), ...MODELS];

  const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

  function read(text) {
    try {
      return JSON.parse(text);
    } catch {
      return text; // words stand for themselves
    }
  }

  /** All parameters that are ours, empty: what a view does not say leaves the address. */
  const cleared = () => {
    const names = [...new URLSearchParams(location.search).keys()].filter((name) => name.startsWith("set."));
    return Object.fromEntries([...OWN, ...names].map((name) => [name, null]));
  };

  /** Parameters that name an example. */
  D.exampleParams = (key) => ({ ...cleared(), example: key });

  /** Parameters of all but the methods; `order` holds only what is unusual. A prompt longer than `most` is left out. */
  D.sharedParams = (order, most) => {
    const fits = order.prompt.length <= most;
    const params = { prompt: fits ? order.prompt : null, cut: fits ? null : "1", chat: order.chat ? null : "0" };
    for (const [name, value] of Object.entries(order.sampling)) params[PLAIN[name]] = written(value);
    for (const [name, value] of Object.entries(order.models)) params[name] = written(value);
    return params;
  };

  /** Parameters of a method's settings, each under `prefix` and its name. */
  D.configParams = (config, prefix) =>
    Object.fromEntries(Object.entries(config).map(([name, value]) => [`${prefix}${name}`, written(value)]));

  /** Parameters that set up a run. */
  D.orderParams = (order, most) => ({
    ...cleared(),
    method: order.method,
    ...D.sharedParams(order, most),
    ...D.configParams(order.config, "set."),
  });

  /** What a query says of all but the methods; `cut`: its prompt was too long for it. */
  D.readShared = (query) => {
    const order = { prompt: query.get("prompt") ?? "", chat: query.get("chat") !== "0", sampling: {}, models: {} };
    for (const [name, short] of Object.entries(PLAIN)) if (query.has(short)) order.sampling[name] = read(query.get(short));
    for (const name of MODELS) if (query.has(name)) order.models[name] = query.get(name);
    return { order, cut: query.get("cut") === "1" };
  };

  /** The settings under `prefix` in a query. */
  D.readConfig = (query, prefix) =>
    Object.fromEntries(
      [...query].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => [name.slice(prefix.length), read(value)]),
    );

  /** `{example}` or `{order}` of the address, or an empty object. */
  D.readLink = () => {
    const query = new URLSearchParams(location.search);
    if (query.get("example")) return { example: query.get("example") };
    if (!query.get("method")) return {};
    const { order, cut } = D.readShared(query);
    return { order: { ...order, method: query.get("method"), config: D.readConfig(query, "set.") }, cut };
  };

  /** Let the links of a page's navigation lead on with `query()`, which is asked when one is about to be used. */
  D.handOn = (root, query) => {
    const point = (event) => {
      const link = event.target.closest?.("nav a:not([aria-current])");
      if (link) link.search = query();
    };
    ["pointerover", "pointerdown", "focusin", "click"].forEach((name) => root.addEventListener(name, point, true));
  };
})((window.Draftscope = window.Draftscope ?? {}));

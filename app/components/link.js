/* What a link says of a run: prompt, method, and every setting that is not the usual one. */
((D) => {
  "use strict";

  const PLAIN = { temperature: "t", top_k: "k", top_p: "p", seed: "seed", max_new_tokens: "n", stop: "stop" };
  const OWN = ["example", "method", "prompt", "cut", "chat", ...Object.values(PLAIN), "target", "draft", "dtype", "device", "threads"];

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

  /** Parameters that set up a run; `order` holds only what is unusual. A prompt longer than `most` is left out. */
  D.orderParams = (order, most) => {
    const fits = order.prompt.length <= most;
    const params = { ...cleared(), method: order.method, prompt: fits ? order.prompt : null, cut: fits ? null : "1", chat: order.chat ? null : "0" };
    for (const [name, value] of Object.entries(order.sampling)) params[PLAIN[name]] = written(value);
    for (const [name, value] of Object.entries(order.models)) params[name] = written(value);
    for (const [name, value] of Object.entries(order.config)) params[`set.${name}`] = written(value);
    return params;
  };

  /** `{example}` or `{order}` of the address, or an empty object. */
  D.readLink = () => {
    const query = new URLSearchParams(location.search);
    if (query.get("example")) return { example: query.get("example") };
    if (!query.get("method")) return {};
    const order = { method: query.get("method"), prompt: query.get("prompt") ?? "", chat: query.get("chat") !== "0", config: {}, sampling: {}, models: {} };
    for (const [name, short] of Object.entries(PLAIN)) if (query.has(short)) order.sampling[name] = read(query.get(short));
    for (const name of ["target", "draft", "dtype", "device", "threads"]) if (query.has(name)) order.models[name] = query.get(name);
    for (const [name, value] of query) if (name.startsWith("set.")) order.config[name.slice(4)] = read(value);
    return { order, cut: query.get("cut") === "1" };
  };
})((window.Draftscope = window.Draftscope ?? {}));

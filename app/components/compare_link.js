/* What a link says of a comparison: the shared part as links of runs do, `m=KEY` per method, its settings as `m.1.NAME`,
   and what is selected behind the hash. Other pages leave these parameters as they are. */
((D) => {
  "use strict";

  const OWN = ["m", "comparison", "example", "method", "prompt", "cut", "chat", "t", "k", "p", "seed", "n", "stop"];
  const MODELS = ["target", "draft", "dtype", "device", "threads"];
  const isOwn = (name) => OWN.includes(name) || MODELS.includes(name) || name.startsWith("m.") || name.startsWith("set.");

  /** The address's query without what is ours. */
  function others() {
    const query = new URLSearchParams(location.search);
    [...new Set(query.keys())].filter(isOwn).forEach((name) => query.delete(name));
    return query;
  }

  function put(query, params) {
    for (const [name, value] of Object.entries(params)) if (value !== null && value !== undefined) query.set(name, value);
    return query;
  }

  /** The query of a recorded comparison. */
  D.recordedQuery = (key) => put(others(), { comparison: key });

  /** The query that sets up a comparison; `order` holds only what is unusual, a prompt longer than `most` is left out. */
  D.comparisonQuery = (order, most) => {
    const query = put(others(), D.sharedParams(order, most));
    order.methods.forEach(({ method, config }, place) => {
      query.append("m", method);
      put(query, D.configParams(config, `m.${place + 1}.`));
    });
    return query;
  };

  /** The query that sets up the run of one method on Explore, with the comparison to come back to. */
  D.methodQuery = (order, { method, config }, most) => {
    const { methods, ...shared } = order;
    return put(D.comparisonQuery(order, most), D.orderParams({ ...shared, method, config }, most));
  };

  /** `{comparison}` or `{order, cut}` of the address, or an empty object; plain decoding is not named. */
  D.readComparison = () => {
    const query = new URLSearchParams(location.search);
    if (query.get("comparison")) return { comparison: query.get("comparison") };
    const methods = query
      .getAll("m")
      .map((method, place) => ({ method, config: D.readConfig(query, `m.${place + 1}.`) }));
    const single = query.get("method");
    if (single && !methods.some((one) => one.method === single)) {
      methods.push({ method: single, config: D.readConfig(query, "set.") });
    }
    const chosen = methods.filter(({ method }) => method !== "plain");
    const { order, cut } = D.readShared(query);
    if (!methods.length && !order.prompt && !cut) return {};
    return { order: { ...order, methods: chosen }, cut };
  };

  const whole = (text) => (text !== null && /^\d{1,9}$/u.test(text) ? Number(text) : null);

  /** `{method, place}` behind the hash; null where it says nothing. */
  D.readSelection = () => {
    const hash = new URLSearchParams(location.hash.slice(1));
    return { method: whole(hash.get("method")), place: whole(hash.get("place")) };
  };

  /** The address of what is on the page. */
  D.comparisonUrl = (query, { method, place }) => {
    const url = new URL(location.href);
    url.search = query;
    url.hash = place === null ? "" : new URLSearchParams({ method, place });
    return url.href;
  };
})((window.Draftscope = window.Draftscope ?? {}));

/* What the catalogue is narrowed to: words looked for, and one choice per filter. It stands in the address, beside the
   prompt and the settings of a run, which pages hand on to each other. */
((D) => {
  "use strict";

  const FIND = "find";
  const words = (text) => text.toLowerCase().split(/\s+/u).filter(Boolean);

  /** The choices that the address makes; unknown values are none. */
  D.readNarrowing = (filters, search = location.search) => {
    const query = new URLSearchParams(search);
    const chosen = filters.map(({ name, options }) => {
      const value = query.get(name) ?? "";
      return [name, options.some((one) => one.value === value) ? value : ""];
    });
    return { find: query.get(FIND) ?? "", ...Object.fromEntries(chosen) };
  };

  /** The query without any narrowing: what other pages know. */
  D.carried = (filters, search = location.search) => {
    const query = new URLSearchParams(search);
    [FIND, ...filters.map(({ name }) => name)].forEach((name) => query.delete(name));
    return query;
  };

  /** The address of a narrowing on this page. */
  D.narrowedUrl = (narrowing, carried) => {
    const query = new URLSearchParams(carried);
    for (const [name, value] of Object.entries(narrowing)) if (value) query.set(name, value);
    return String(query) ? `?${query}` : location.pathname;
  };

  D.isNarrowed = (narrowing) => Object.values(narrowing).some(Boolean);

  /** True where a method is what was asked for; `except` names a filter that is left aside. */
  D.fits = (card, narrowing, except = "") =>
    Object.entries(card.filters).every(([name, value]) => name === except || !narrowing[name] || narrowing[name] === value) &&
    words(narrowing.find).every((word) => card.search.includes(word));

  /** The same for a method that is planned: of it only words and family are known. */
  D.fitsPlanned = (planned, { find, family, ...others }) =>
    !Object.values(others).some(Boolean) &&
    (!family || family === planned.family) &&
    words(find).every((word) => planned.search.includes(word));

  /** The prompt that came with the address, else that of the example it names, else the first example's. */
  D.carriedPrompt = (carried, examples) =>
    carried.get("prompt") ?? examples.find((one) => one.key === carried.get("example"))?.prompt ?? examples[0]?.prompt ?? "";

  /** The query of a run of `method`, with all that was carried but the settings of another; a prompt of more than `most`
      letters does not fit. */
  D.runQuery = (method, prompt, carried, most) => {
    const { order } = D.readShared(carried);
    const params = Object.entries({ method, ...D.sharedParams({ ...order, prompt }, most) });
    return new URLSearchParams(params.filter(([, value]) => value !== null));
  };

  /** The query of a comparison with plain decoding. */
  D.compareQuery = (method, prompt, carried, most) => {
    const query = D.runQuery(method, prompt, carried, most);
    query.delete("method");
    ["plain", method].forEach((one) => query.append("m", one));
    return query;
  };

  /** A text as one word of a shell's line; what begins with @ would name a file. */
  D.quoted = (text) => `'${(text.startsWith("@") ? `@${text}` : text).replaceAll("'", "'\\''")}'`;
})((window.Draftscope = window.Draftscope ?? {}));

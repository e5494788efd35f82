/* What an offline file carries: inflates and unpacks it. Nothing is fetched. */
((D) => {
  "use strict";

  const bytes = (id) =>
    Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  const inflate = (id) =>
    new Response(new Blob([bytes(id)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();

  /** The values of a column as `viz.packing` stores it, in order. Equal values become one object. */
  function unpacked(column) {
    if (column.raw) return column.raw;
    const values = unpacked(column.of ?? { raw: [] });
    if (column.at) return column.at.map((place) => values[place]);
    if (column.lengths) {
      let end = 0;
      return column.lengths.map((length) => values.slice(end, (end += length)));
    }
    if (column.has) {
      const all = new Array(column.size).fill(null);
      column.has.forEach((place, index) => {
        all[place] = values[index];
      });
      return all;
    }
    return records(column.keys);
  }

  function records(columns) {
    const entries = Object.entries(columns).map(([key, column]) => [key, unpacked(column)]);
    return entries[0][1].map((_, place) =>
      Object.fromEntries(entries.map(([key, values]) => [key, values[place]])),
    );
  }

  /** A promise of the payload. */
  D.carriedPayload = async () => unpacked(JSON.parse(await inflate("ds-payload")))[0];

  /** A promise of the chart library. */
  D.carriedLibrary = async () => {
    const script = document.createElement("script");
    script.textContent = await inflate("ds-plotly");
    document.head.append(script);
    return window.Plotly;
  };
})((window.Draftscope = window.Draftscope ?? {}));

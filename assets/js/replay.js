/* Opens the page inside a replay file: inflates what the file carries and mounts it. Nothing is fetched. */
(() => {
  "use strict";

  const bytes = (id) =>
    Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  const inflate = (id) =>
    new Response(new Blob([bytes(id)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();

  async function chartLibrary() {
    const script = document.createElement("script");
    script.textContent = await inflate("ds-plotly");
    document.head.append(script);
    return window.Plotly;
  }

  async function open() {
    const { overview, rounds } = JSON.parse(await inflate("ds-payload"));
    const pages = [{ name: "Explore", href: "#" }];
    const place = document.getElementById("ds-page");
    window.draftscope = window.Draftscope.mountExplore(place, {
      overview,
      rounds,
      pages,
      plotly: chartLibrary(),
    });
  }

  open();
})();

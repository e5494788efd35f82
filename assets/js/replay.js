/* Opens the page inside a replay file: mounts what the file carries. */
(async (D) => {
  "use strict";

  const { overview, rounds } = await D.carriedPayload();
  const pages = [{ name: "Explore", href: "#" }];
  const place = document.getElementById("ds-page");
  window.draftscope = D.mountExplore(place, { overview, rounds, pages, plotly: D.carriedLibrary() });
})(window.Draftscope);

/* Opens the Compare page inside an offline file: mounts what the file carries. */
(async (D) => {
  "use strict";

  const { comparison, positions } = await D.carriedPayload();
  const dialog = D.keysDialog(D.COMPARE_KEYS, "");
  const help = () => {
    if (!dialog.open) dialog.showModal();
  };
  const header = D.h("div");
  const host = D.h("div");
  const root = D.h("div", { class: "ds" }, header, D.h("div", { class: "ds-body" }, D.h("main", { class: "ds-main" }, host)), dialog);
  document.getElementById("ds-page").replaceChildren(root);
  D.wear(root);
  D.mountHeader(header, {
    pages: [{ name: "Compare", href: "#" }],
    current: "Compare",
    exports: [["Table, CSV", () => D.save("draftscope-comparison.csv", D.compareCsv(comparison))]],
    help,
  });
  const hash = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (/^\d{1,9}$/u.test(hash.get(name) ?? "") ? Number(hash.get(name)) : null);
  window.draftscope = D.mountCompare(host, {
    comparison,
    positions,
    plotly: D.carriedLibrary(),
    method: whole("method"),
    place: whole("place"),
    help,
  });
})(window.Draftscope);

/* The address bar: what is selected is in the query string, and a copied link opens the same view. */
((D) => {
  "use strict";

  const OWN = ["round", "node"];
  const whole = (text) => (text !== null && /^-?\d{1,9}$/u.test(text) ? Number(text) : null);

  /** `{round, node}` of the address; null where it says nothing. */
  D.readPlace = () => {
    const query = new URLSearchParams(location.search);
    return { round: whole(query.get("round")), node: whole(query.get("node")) };
  };

  /** Address of the view; `params` adds the page's own parameters, such as the example. */
  D.placeUrl = (store, params = {}) => {
    const url = new URL(location.href);
    const entries = { ...params, round: store.round, node: store.pin };
    for (const key of OWN) url.searchParams.delete(key);
    for (const [key, value] of Object.entries(entries)) {
      if (value === null || value === undefined || value === "") url.searchParams.delete(key);
      else url.searchParams.set(key, String(value));
    }
    return url.href;
  };

  const REST = 150; // milliseconds without a step before the address follows: browsers make each change costly

  /** Keep the address in step with the selection; gives back how to stop. */
  D.keepAddress = (store, params = () => ({})) =>
    store.on(
      "select",
      D.calmly(() => {
        try {
          history.replaceState(history.state, "", D.placeUrl(store, params()));
        } catch {
          // a frame without an address of its own, as in a notebook: there is nothing to keep
        }
      }, REST),
    );

  /** Put text on the clipboard; true when it is there. */
  D.copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const field = D.h("textarea", { style: { position: "fixed", opacity: "0" }, "aria-hidden": "true" });
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  };
})((window.Draftscope = window.Draftscope ?? {}));

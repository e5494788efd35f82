/* The server over plain HTTP, as all pages ask it. */
((D) => {
  "use strict";

  /** `{address(path), ask(url, options), download(url)}`; `prefix` is the root of all paths. */
  D.createServer = (prefix) => ({
    address: (path) => new URL(`${prefix}/${path}`, document.baseURI).href,

    /** A promise of the JSON there; what is wrong is one sentence. */
    async ask(url, options) {
      const answer = await fetch(url, options).catch(() => {
        throw new Error("The server does not answer. What is on the page stays; start it again, then try once more.");
      });
      const body = await answer.json();
      if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
      return body;
    },

    download(url) {
      const link = D.h("a", { href: url, download: "" });
      document.body.append(link);
      link.click();
      link.remove();
    },
  });

  /** A promise of the chart library. */
  D.chartLibrary = (url) =>
    new Promise((loaded, failed) => {
      const tag = D.h("script", { src: new URL(url, document.baseURI).href });
      tag.onload = () => loaded(window.Plotly);
      tag.onerror = () => failed(new Error("The chart library could not be loaded."));
      document.head.append(tag);
    });

  const PATIENCE = 5000; // milliseconds without a message before the server is asked whether it is there

  /** Ask for a sign of life whenever no message came for a while: `begin`, `hear` each message, `end`. */
  D.createWatch = (alive, lose) => {
    let heard = 0;
    let timer = null;
    const watch = {
      get on() {
        return timer !== null;
      },
      begin() {
        watch.end();
        heard = Date.now();
        timer = setInterval(() => {
          if (Date.now() - heard > PATIENCE) alive().then(watch.hear, lose);
        }, PATIENCE / 2);
      },
      hear() {
        heard = Date.now();
      },
      end() {
        clearInterval(timer);
        timer = null;
      },
    };
    return watch;
  };
})((window.Draftscope = window.Draftscope ?? {}));

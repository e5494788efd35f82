/* The tokens of the strip as elements: pieces, gaps, seams, lines. It knows no state. */
((D) => {
  "use strict";

  const LONGEST = 24; // characters kept on one line when tokens abut: scripts without spaces must wrap
  // scripts that put no spaces between words: a line may break before any of their tokens
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
  const PIECE = 12; // characters of a piece of a token longer than that

  const KINDS = {
    accepted: "drafted and accepted",
    relaxed: "accepted by the relaxed rule",
    correction: "correction, after a rejection",
    bonus: "bonus, the whole draft stood",
    plain: "plain step",
  };

  function piecesOf(text) {
    const characters = D.characters(text);
    if (characters.length <= LONGEST) return [text];
    const pieces = [];
    for (let start = 0; start < characters.length; start += PIECE)
      pieces.push(characters.slice(start, start + PIECE).join(""));
    return pieces;
  }

  /** Whether the line below a token is its own element: waves are drawn, and a pill's line stands below its box. */
  const ownLine = ({ kind, label }) => kind === "relaxed" || label.special;

  const wordClass = (token, bare) =>
    ["ds-word", bare && "ds-mark", token.label.special && "ds-pill", !ownLine(token) && `ds-line-${token.kind}`]
      .filter(Boolean)
      .join(" ");

  /** One token as an element, or as several where it is too long for a line. */
  function tokenElements(token, round, first, last) {
    const { label } = token;
    const bare = label.text === "" || /^[↵→␣␀-␡]+$/u.test(label.text);
    const pieces = piecesOf(label.text || (token.joined ? "" : "·"));
    return pieces.map((text, place) => {
      const opens = first && place === 0;
      const closes = place === pieces.length - 1;
      const classes = [
        "ds-tok",
        `ds-is-${token.kind}`,
        opens && "ds-first",
        last && closes && "ds-last",
        (token.joined || !closes) && "ds-joined",
      ];
      return D.h(
        "span",
        {
          class: classes.filter(Boolean).join(" "),
          "data-round": round.index,
          "data-node": token.node ?? -1,
          "data-text": place === 0 ? token.text : "",
          style: opens ? { "--digits": String(round.index).length } : {},
        },
        opens ? D.h("span", { class: "ds-num", "aria-hidden": "true" }, String(round.index)) : null,
        label.space && place === 0 ? D.h("span", { class: "ds-gap" }, " ") : null,
        D.h(
          "bdi",
          { class: wordClass(token, bare) },
          text,
          ownLine(token) ? D.underline(token.kind) : null,
          closes ? D.belowMark(token.kind) : null,
        ),
      );
    });
  }

  function cutElement(round) {
    if (!round.rejected.length) return null;
    return D.h(
      "span",
      { class: "ds-tok ds-cuts", "data-round": round.index, "data-node": "" },
      round.rejected.map((label) => [" ", D.token(label, { struck: true })]),
    );
  }

  const LONG = 600; // tokens of a text that is cut into blocks, of which the browser draws only those in sight
  const BLOCK = { least: 60, most: 240 }; // groups; a block ends where a line ends, or at the latest

  /** Group abutting tokens, so that no line breaks inside a word. */
  function createFlow(parent, isLong) {
    let group = null;
    let length = 0;
    let block = isLong ? null : parent;
    function add(element) {
      if (!block) parent.append((block = D.h("div", { class: "ds-block" })));
      block.append(element);
    }
    const endBlock = (least) => {
      if (isLong && block?.childElementCount >= least) block = null;
    };
    return {
      put(element, label, joins) {
        const size = label ? D.characters(label.text).length : 0;
        if (!group || !joins || UNSPACED.test(label?.text ?? "") || length + size > LONGEST) {
          group = D.h("span", { class: "ds-group" });
          endBlock(BLOCK.most);
          add(group);
          length = 0;
        }
        group.append(element);
        length += size;
      },
      breakLine() {
        add(D.h("br"));
        endBlock(BLOCK.least);
        group = null;
      },
    };
  }

  /** Put the whole text into `parent`; with `showCuts`, what was thrown away stands struck before its correction. */
  D.fillStrip = (parent, overview, showCuts) => {
    const tokens = overview.strip.reduce((sum, round) => sum + round.tokens.length, 0);
    const flow = createFlow(parent, tokens > LONG);
    for (const round of overview.strip) {
      round.tokens.forEach((token, place) => {
        const last = place === round.tokens.length - 1;
        if (showCuts && last && round.rejected.length) flow.put(cutElement(round), null, false);
        tokenElements(token, round, place === 0, last).forEach((element, piece) =>
          flow.put(element, token.label, piece === 0 && !token.label.space),
        );
        if (token.label.breaks) flow.breakLine();
      });
    }
  };

  /** The exact text of the tokens that a selection touches, the thrown away left out; null where it touches none. */
  D.selectedText = (parent, selection) => {
    const tokens = [...parent.querySelectorAll(".ds-tok[data-text]")];
    const touched = tokens.filter((token) => selection.containsNode(token, true));
    return touched.length ? touched.map((token) => token.dataset.text).join("") : null;
  };

  /** What stands where the next round will: a grey word after the last seam, dashes in the next line. */
  D.drafting = () => {
    const word = D.h("span", { class: "ds-word" }, "drafting…");
    return [
      D.h("span", { class: "ds-group" }, D.h("span", { class: "ds-tok ds-first ds-drafting" }, word)),
      D.skeleton(),
    ];
  };

  /** Legend of the kinds of tokens that occur. */
  D.stripLegend = (overview) => {
    const seen = new Set(overview.strip.flatMap((round) => round.tokens.map((token) => token.kind)));
    const entries = Object.entries(KINDS)
      .filter(([kind]) => seen.has(kind))
      .map(([kind, words]) => [D.lineSample(kind), words]);
    if (!entries.length) return "";
    return D.legend([...entries, [D.swatch("seam"), "seam between rounds"]]);
  };
})((window.Draftscope = window.Draftscope ?? {}));

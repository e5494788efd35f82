"""The text written once, one column per token, and each method's rounds as capsules over it.

Texts that differ are laid beside the exact one token by token; what only another text has gets a
column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.compare.alignment import Span
from core.compare.laid import is_whole, lay
from core.metrics import prompt_passes
from core.trace import Round, Trace, token_ids
from viz.compare.entry import Entry
from viz.compare.payload import Capsule, Piece, Place, Score, Stave, Written
from viz.numbers import count
from viz.payload import Kind, Label
from viz.reading import vocabulary
from viz.strip import flows_of, kind_of
from viz.text import shortened

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("accepted", "drafted and accepted"),
    ("relaxed", "accepted by the relaxed rule only"),
    ("correction", "the target's own token: correction"),
    ("bonus", "the target's own token: bonus"),
    ("plain", "the target's own token, nothing was drafted"),
)
_ROUNDS = (
    ("covered", "the round that covers the pinned token"),
    ("cut", "round goes on in the next line"),
)
_ON = -1  # a token on the column of an exact one

Spot = tuple[int, int]
"""Where a token stands: (exact place, `_ON`), or (exact place that it comes before, 0, 1, ...)."""


def score(entries: Sequence[Entry]) -> Score | None:
    """Return the score; None until plain decoding has written something."""
    exact = entries[0].trace if entries else None
    if exact is None or not token_ids(exact):
        return None
    texts = [_text(each.trace, token_ids(exact)) for each in entries]
    columns = _columns(len(token_ids(exact)), texts)
    staves = [_stave(place, text, columns) for place, text in enumerate(texts)]
    differs = any(stave["instead"] for stave in staves)
    return {
        "head": "The text, cut into rounds" if differs else "The same text, cut into rounds",
        "note": "Read it like a score: one column per text position, one stave per method. "
        "A capsule is a round, that is one target pass; the prompt pass is not counted.",
        "places": _places(texts[0], columns, staves),
        "staves": staves,
        "legend": _legend(staves),
    }


@dataclass(frozen=True, slots=True)
class _Text:
    """A method's text: per token its label and where it stands. `missing`: exact places that it
    leaves out; `other`: its tokens that are not the exact ones.
    """

    trace: Trace | None
    labels: Sequence[Label]
    spots: Sequence[Spot]
    missing: Sequence[int]
    other: Sequence[int]


def _text(trace: Trace | None, exact: Sequence[int]) -> _Text:
    if trace is None:
        return _Text(None, [], [], [], [])
    own, spots = token_ids(trace), _spots(lay(trace, exact))
    on = {place: token for (place, extra), token in zip(spots, own, strict=True) if extra == _ON}
    end = len(exact) if is_whole(trace) else max(on, default=-1) + 1
    return _Text(
        trace,
        _labels(trace),
        spots,
        [place for place in range(end) if place not in on],
        [i for i, (place, extra) in enumerate(spots) if extra != _ON or own[i] != exact[place]],
    )


def _labels(trace: Trace) -> list[Label]:
    flows = flows_of(trace, vocabulary(trace))
    return [shortened(token.label) for flow in flows for token in flow]


def _spots(spans: Sequence[Span]) -> list[Spot]:
    """Return where each token of a text stands beside the exact one."""
    spots: list[Spot] = []
    for span in spans:
        on = min(span.stop - span.start, span.last - span.first)
        spots += [(span.start + step, _ON) for step in range(on)]
        spots += [(span.stop, step) for step in range(span.last - span.first - on)]
    return spots


def _columns(length: int, texts: Sequence[_Text]) -> dict[Spot, int]:
    """Return the column of every spot in order: those before an exact token, then its own."""
    every = {spot for text in texts for spot in text.spots}
    every |= {(place, _ON) for place in range(length)}
    ordered = sorted(every, key=lambda spot: (spot[0], spot[1] == _ON, spot[1]))
    return {spot: column for column, spot in enumerate(ordered)}


def _places(exact: _Text, columns: Mapping[Spot, int], staves: Sequence[Stave]) -> list[Place]:
    replaced = {written["column"] for stave in staves for written in stave["instead"]}
    return [
        {
            "place": place if extra == _ON else None,
            "label": exact.labels[place] if extra == _ON else None,
            "replaced": extra == _ON and column in replaced,
        }
        for (place, extra), column in columns.items()
    ]


def _stave(method: int, text: _Text, columns: Mapping[Spot, int]) -> Stave:
    other = {columns[text.spots[i]]: text.labels[i] for i in text.other}
    missing = dict.fromkeys(columns[place, _ON] for place in text.missing)
    instead: list[Written] = [
        {"column": column, "label": label} for column, label in sorted((other | missing).items())
    ]
    return {"method": method, "capsules": list(_capsules(text, columns)), "instead": instead}


def _capsules(text: _Text, columns: Mapping[Spot, int]) -> Iterator[Capsule]:
    if text.trace is None:
        return
    at = passes = 0
    for r, is_prompt in zip(text.trace.rounds, prompt_passes(text.trace), strict=True):
        passes += 0 if is_prompt else r.cost.target_forwards
        size = len(r.outcome.emitted)
        pieces: list[Piece] = [
            {"column": columns[text.spots[at + i]], "kind": kind_of(r, i), "place": at + i}
            for i in range(size)
        ]
        if pieces:
            yield {
                "round": r.index,
                "start": pieces[0]["column"],
                "stop": pieces[-1]["column"] + 1,
                "pieces": pieces,
                "passes": passes,
                "title": _title(r, at, is_prompt),
            }
        at += size


def _title(r: Round, start: int, is_prompt: bool) -> str:
    size = len(r.outcome.emitted)
    where = f"position {start:,}" if size == 1 else f"positions {start:,} to {start + size - 1:,}"
    if is_prompt:
        return f"Prompt pass, {where}"
    if not r.drafted:
        return f"Round {r.index:,}, {where}: nothing drafted"
    kept = len(r.outcome.accepted)
    return f"Round {r.index:,}, {where}: {count(r.drafted, 'token')} drafted, {kept:,} kept"


def _legend(staves: Sequence[Stave]) -> list[tuple[str, str]]:
    capsules = [capsule for stave in staves for capsule in stave["capsules"]]
    met = {piece["kind"] for capsule in capsules for piece in capsule["pieces"]}
    return [*((kind, words) for kind, words in _KINDS if kind in met), *_ROUNDS]

"""The drafts of several methods at one text position, on one map: what was drafted after the same
text is one station, however many drafted it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from core.compare.laid import lay
from core.metrics import offered
from core.trace import Round, State, Trace, token_ids

Seen = State | Literal["correction", "bonus", "plain"]


@dataclass(frozen=True, slots=True)
class Cover:
    """A round that wrote what stands at a place: its index, the place in its own text where it
    begins, and the place of the exact text where that stands.
    """

    round: int
    start: int
    column: int


@dataclass(frozen=True, slots=True)
class Stop:
    """What one method made of a station. `node` of its round; None: the target's own token."""

    method: int
    node: int | None
    state: Seen


@dataclass(frozen=True, slots=True)
class Station:
    """A token at a place of the exact text; `parent`: the station before it, -1 where no method
    drafted that token. Two stops of one method: it drafted the token twice, or drafted it in vain
    and the target wrote it.
    """

    parent: int
    token: int
    place: int
    stops: tuple[Stop, ...]


def covers(trace: Trace, exact: Sequence[int]) -> list[Cover | None]:
    """Return the round that wrote what stands at each place of the exact text, None beyond the
    method's own text. Where the method left a token out, it is the round before that.
    """
    own = token_ids(trace)
    rounds, spans = _round_of_each(trace), lay(trace, exact)
    columns = [s.start + min(i, s.stop - s.start) for s in spans for i in range(s.last - s.first)]
    found: list[Cover | None] = []
    for span in spans:
        for step in range(span.stop - span.start):
            at = span.first + step
            if at >= span.last == len(own):
                found.append(None)
            else:
                index, start = rounds[max(0, min(at, span.last - 1))]
                found.append(Cover(index, start, columns[start]))
    return found


def _round_of_each(trace: Trace) -> list[tuple[int, int]]:
    """Return the round of each token of the answer, with the place of the round's first token."""
    found: list[tuple[int, int]] = []
    for index, each in enumerate(trace.rounds):
        found += [(index, len(found))] * len(each.outcome.emitted)
    return found


def round_at(trace: Trace, place: int) -> tuple[int, int] | None:
    """Return the round that wrote answer token `place`, and the place of its first token."""
    rounds = _round_of_each(trace)
    return rounds[place] if 0 <= place < len(rounds) else None


def overlay(traces: Sequence[Trace | None], found: Sequence[Cover | None]) -> tuple[Station, ...]:
    """Lay one round of each trace over each other; stations come parents first."""
    trie = _Trie()
    for method, (trace, cover) in enumerate(zip(traces, found, strict=True)):
        if trace is not None and cover is not None:
            before = token_ids(trace)[: cover.start]
            trie.lay(method, trace.rounds[cover.round], before, cover.start - cover.column)
    return trie.stations()


@dataclass(slots=True)
class _Text:
    """One text of the trie: that of `parent` and `token`. `shift`: by how much its place differs
    from that of the exact text, as the first method says that is there.
    """

    parent: int
    token: int
    place: int
    shift: int = 0
    stops: list[Stop] = field(default_factory=lambda: list[Stop]())


class _Trie:
    """All texts that were written or drafted."""

    def __init__(self) -> None:
        self._texts: list[_Text] = []
        self._known: dict[tuple[int, int], int] = {}

    def lay(self, method: int, made: Round, before: Sequence[int], shift: int) -> None:
        """Add a round's draft and final token; `before`: the answer that it began with."""
        tip = -1
        for place, token in enumerate(before):
            tip = self._after(tip, token, place)
        nodes, shown = made.nodes, offered(made.nodes)
        at, depth = [tip], [len(before)]
        for node, parent in enumerate(nodes.parent[1:], start=1):
            at.append(self._after(at[parent], nodes.token[node], depth[parent]))
            depth.append(depth[parent] + 1)
            if shown[node]:
                self._stop(at[node], Stop(method, node, nodes.state[node]), shift)
        outcome = made.outcome
        if outcome.final_token is not None and outcome.origin != "none":
            last = ([0, *outcome.accepted])[-1]
            final = self._after(at[last], outcome.final_token, depth[last])
            self._stop(final, Stop(method, None, outcome.origin), shift)

    def stations(self) -> tuple[Station, ...]:
        """Return the texts that a method drafted or ended with, as stations."""
        kept = [i for i, text in enumerate(self._texts) if text.stops]
        kept.sort(key=lambda i: self._texts[i].place)
        number = {text: station for station, text in enumerate(kept)}
        found: list[Station] = []
        for text in (self._texts[i] for i in kept):
            parent = number.get(text.parent, -1)
            place = text.place - text.shift if parent < 0 else found[parent].place + 1
            found.append(Station(parent, text.token, place, tuple(text.stops)))
        return tuple(found)

    def _stop(self, at: int, stop: Stop, shift: int) -> None:
        text = self._texts[at]
        if not text.stops:
            text.shift = shift
        text.stops.append(stop)

    def _after(self, parent: int, token: int, place: int) -> int:
        key = parent, token
        if key not in self._known:
            self._known[key] = len(self._texts)
            self._texts.append(_Text(parent, token, place))
        return self._known[key]

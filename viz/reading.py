"""One round, indexed: what every view of it looks up. Says nothing and draws nothing.

At temperature 0 the law in use is one-hot, so that views show the laws at temperature 1 instead:
`p` and `q` here are those that a view shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.metrics import depths
from core.trace import Check, Law, Residual, Round, State, Trace
from viz.payload import Label
from viz.text import Vocabulary

OWN = -1  # stands for the target's own token among the nodes
_UNFINISHED = 4  # tokens before the root that can still begin its character


@dataclass(frozen=True, slots=True)
class Reading:
    """A round. Per node: depth, children in the order tried, unfinished character after it."""

    trace: Trace
    round: Round
    greedy: bool
    vocabulary: Vocabulary
    depths: Sequence[int]
    children: Sequence[Sequence[int]]
    before: bytes  # unfinished character before node 0
    pending: Sequence[bytes]
    check_of: dict[int, int]  # node -> place among the checks
    law_of: dict[int, Law]
    residual_at: dict[int, Residual]  # place of the check that missed -> what it left

    @property
    def size(self) -> int:
        return len(self.round.nodes.token)

    @property
    def end(self) -> int:
        """Node at which the walk ended."""
        return self.round.outcome.accepted[-1] if self.round.outcome.accepted else 0

    @property
    def own(self) -> int | None:
        """The target's own token, if it wrote one."""
        return self.round.outcome.final_token

    @property
    def is_prompt(self) -> bool:
        """True for the pass over the prompt."""
        return self.round.index == 0 and self.round.drafted == 0

    def parent(self, node: int) -> int:
        return self.end if node == OWN else self.round.nodes.parent[node]

    def token(self, node: int) -> int:
        if node != OWN:
            return self.round.nodes.token[node]
        assert self.own is not None
        return self.own

    def state(self, node: int) -> State:
        return self.round.nodes.state[node]

    def check(self, node: int) -> Check | None:
        """Return the test that decided `node`."""
        place = self.check_of.get(node)
        return None if place is None else self.round.checks[place]

    def label(self, node: int) -> Label:
        """Return the label of a node, or of `OWN`."""
        if node == 0:
            return self.vocabulary.label(self.token(0), self.before)
        return self.candidate(self.token(node), self.parent(node))

    def candidate(self, token: int, after: int) -> Label:
        """Return the label of any token that could follow node `after`."""
        return self.vocabulary.label(token, self.pending[after])

    def p(self, node: int) -> float | None:
        """Return the target's probability of a node, or of `OWN`, given its parent."""
        if node != OWN:
            return (self.round.nodes.p_raw if self.greedy else self.round.nodes.p)[node]
        law = self.law_of.get(self.end)
        if law is None or self.own not in law.token:
            return None
        return (law.p_raw if self.greedy else law.p)[law.token.index(self.own)]

    def q(self, node: int) -> float | None:
        """Return the draft's probability of a node given its parent, with earlier siblings."""
        if node == OWN:
            return None
        nodes = self.round.nodes
        return (nodes.q_raw if self.greedy else nodes.q_before_siblings)[node]

    def is_chosen(self, node: int) -> bool:
        """Return whether the draft chose the token of `node` where its law gives it nothing: a
        sibling of the token that is certain at draft temperature 0.
        """
        return node != OWN and not self.greedy and self.q(node) == 0

    def missed(self, node: int) -> list[int]:
        """Return the earlier siblings that were tried and rejected before `node`, in order; what
        was drawn twice can be among them, and be `node` itself.
        """
        return [self.round.checks[place].node for place in self.misses_before(self.check_of[node])]

    def misses_before(self, place: int) -> list[int]:
        """Return the places of the earlier checks at the same parent that missed."""
        parent = self.parent(self.round.checks[place].node)
        earlier = enumerate(self.round.checks[:place])
        return [i for i, c in earlier if not c.passed and self.parent(c.node) == parent]

    def path(self) -> set[int]:
        """Return the nodes of the accepted path, the root included."""
        return {0, *self.round.outcome.accepted}


def vocabulary(trace: Trace) -> Vocabulary:
    """Return the labels of a trace's tokens; make one per view, it remembers labels."""
    return Vocabulary(trace.vocabulary, frozenset(trace.special))


def read(trace: Trace, index: int, words: Vocabulary | None = None) -> Reading:
    """Return round `index` of the trace, from 0; raise IndexError when there is none."""
    if not 0 <= index < len(trace.rounds):
        raise IndexError(
            f"Round {index} does not exist; the trace has {len(trace.rounds)} rounds, from 0."
        )
    words = words or vocabulary(trace)
    r = trace.rounds[index]
    before = _unfinished(trace, index, words)
    return Reading(
        trace=trace,
        round=r,
        greedy=trace.sampling.temperature == 0,
        vocabulary=words,
        depths=depths(r.nodes),
        children=_children(r),
        before=before,
        pending=_pending(r, before, words),
        check_of={check.node: place for place, check in enumerate(r.checks)},
        law_of={law.node: law for law in r.laws},
        residual_at=_residuals(r),
    )


def text_before(trace: Trace, index: int, most: int) -> list[int]:
    """Return the last tokens before what round `index` adds, its root included: at most `most`."""
    sequence, parts, found = trace.rounds[index].sequence, list[list[int]](), 0
    for place in range(index - 1, -1, -1):
        if found >= most:
            break
        if trace.rounds[place].sequence == sequence:
            parts.append(trace.rounds[place].outcome.emitted)
            found += len(parts[-1])
    if found < most:
        parts.append(trace.prompt.token_ids[found - most :])
    return [token for part in reversed(parts) for token in part][-most:]


def _unfinished(trace: Trace, index: int, words: Vocabulary) -> bytes:
    before = b""
    for token in text_before(trace, index, _UNFINISHED)[:-1]:
        before = words.after(before, token)
    return before


def _residuals(r: Round) -> dict[int, Residual]:
    """Return what each check that missed has left, by its place; a node can be tested twice."""
    missed = [place for place, check in enumerate(r.checks) if not check.passed]
    found: dict[int, Residual] = {}
    for residual in r.residuals:
        same = (i for i in missed if i not in found and r.checks[i].node == residual.after)
        place = next(same, None)
        if place is not None:
            found[place] = residual
    return found


def _children(r: Round) -> list[list[int]]:
    """Return the children of every node in the order tried; probes come last."""
    found: list[list[int]] = [[] for _ in r.nodes.parent]
    for node, parent in enumerate(r.nodes.parent[1:], start=1):
        found[parent].append(node)
    for siblings in found:
        if len(siblings) > 1:
            siblings.sort(
                key=lambda node: (r.nodes.role[node] == "probe", r.nodes.rank[node], node)
            )
    return found


def _pending(r: Round, before: bytes, words: Vocabulary) -> list[bytes]:
    found = [words.after(before, r.nodes.token[0])]
    for token, parent in zip(r.nodes.token[1:], r.nodes.parent[1:], strict=True):
        found.append(words.after(found[parent], token))
    return found

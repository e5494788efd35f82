"""A drafter with a language model behind it: a second model, or a view of the target.

Grows a tree level by level, scoring each level in one forward of the draft model over its own cache
(a second model) or the target's (a view). After a round its cache keeps the accepted path; accepted
tokens that it never scored enter with the next round's first forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from core.decode import Feedback
from core.dice import Dice
from core.models.base import Session
from core.models.views import ViewSession
from core.shapes.base import Grown, StopPolicy, TreePolicy
from core.trace import Stop
from core.tree import Draft, DraftTree, Resume, Work
from core.verify.base import Context

Opener = Callable[[Sequence[int], Session], Session]  # (prompt, target) -> draft session


@dataclass(slots=True)
class _Growing:
    """The draft under way. The session scores a tree of its own: the scored nodes only, in the
    order scored.
    """

    tree: DraftTree
    scored: DraftTree
    place: dict[int, int]  # node -> place in the session's tree
    q: list[Tensor] = field(default_factory=lambda: list[Tensor]())
    logits: list[Tensor] = field(default_factory=lambda: list[Tensor]())
    frontier: Sequence[int] = (0,)
    forwards: int = 0
    sublayers: int = 0

    def grown(self, limit: int) -> Grown:
        return Grown(
            self.tree, torch.cat(self.q), torch.cat(self.logits), self.place, self.frontier, limit
        )

    def resume(self, view: ViewSession) -> Resume | None:
        """Return what verifying can take over: the first nodes that stand alike in both trees."""
        found = view.resume()
        size = len(self.tree)
        alike = next((n for n in range(size) if self.place.get(n) != n), size)
        return found and replace(found, hidden=found.hidden[:alike])


class ModelDrafter:
    """Drafts with the session that `opener` opens; `source` names it in the trace."""

    taps: Sequence[int] = ()

    def __init__(
        self, opener: Opener, shape: TreePolicy, source: str, stops: Sequence[StopPolicy] = ()
    ) -> None:
        self._opener = opener
        self._shape = shape
        self._stops = stops
        self._source = source
        self._session: Session | None = None
        self._place: dict[int, int] = {}

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        self._session = self._opener(prompt[:-1], target)
        self._place = {}

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        session = self._open_session()
        limit = min(limit, session.context - session.length - 1)
        if limit < 1:
            return Draft.empty(context.root, "draft_context")
        chance = dice.at("draft", len(context.tokens))
        root = DraftTree.root(context.root)
        growing = _Growing(root, root, {0: 0})
        stop = Stop(reason="length")
        while growing.frontier:
            self._score(session, growing, context)
            grown = growing.grown(limit)
            found = next((s for policy in self._stops if (s := policy(grown)) is not None), None)
            if found is not None:
                stop = found
                break
            self._extend(growing, grown, chance, context.law.is_greedy)
        self._place = growing.place
        return self._draft(growing, stop, context.law.is_greedy)

    def observe(self, feedback: Feedback) -> None:
        session = self._open_session()
        path = (0, *feedback.outcome.path)
        kept = [self._place[node] for node in path if node in self._place]
        if kept:
            session.keep(kept)
        tokens = feedback.draft.tree.tokens
        session.feed([tokens[node] for node in path if node not in self._place])
        self._place = {}

    def _open_session(self) -> Session:
        if self._session is None:
            raise ValueError("begin a sequence before drafting")
        return self._session

    def _score(self, session: Session, growing: _Growing, context: Context) -> None:
        known = len(growing.q) and sum(map(len, growing.q))
        scores = session.score(growing.scored, known)
        growing.logits.append(scores.logits)
        growing.q.append(context.law(scores.logits))
        growing.forwards += 1
        growing.sublayers += scores.ran

    def _extend(self, growing: _Growing, grown: Grown, dice: Dice, greedy: bool) -> None:
        growth = self._shape.grow(grown, dice, greedy)
        first = len(growing.tree)
        growing.tree = growing.tree.extended(growth.parents, growth.tokens, growth.counts)
        growing.frontier = [first + i for i in growth.expand]
        parents = [growing.place[growing.tree.parents[node]] for node in growing.frontier]
        start = len(growing.scored)
        growing.scored = growing.scored.extended(
            parents, [growing.tree.tokens[n] for n in growing.frontier]
        )
        growing.place |= {node: start + i for i, node in enumerate(growing.frontier)}

    def _draft(self, growing: _Growing, stop: Stop, greedy: bool) -> Draft:
        session = self._session
        view = session if isinstance(session, ViewSession) else None
        size = len(growing.tree)
        grown = growing.grown(0)
        return Draft(
            growing.tree,
            self._shape.sampling(greedy),
            q=grown.q,
            logits=grown.logits,
            rows=dict(growing.place),
            sources=["", *[self._source] * (size - 1)],
            stop=stop,
            resume=growing.resume(view) if view else None,
            work=Work(growing.forwards, growing.sublayers),
            extras=(view.extras(),) if view else (),
        )

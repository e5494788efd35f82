"""A drafter with a language model behind it: a second model, or a view of the target.

Grows a tree level by level, scoring each level in one forward of the draft model over its own cache
(a second model) or the target's (a view). After a round its cache keeps the accepted path; accepted
tokens that it never scored enter with the next round's first forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from core.decode import Feedback
from core.dice import Dice
from core.drafters.source import Follower, Opener, Reviewer, Watch
from core.extras import Extras
from core.host import floats
from core.laws import Law
from core.models.base import Session
from core.models.views import ViewSession
from core.shapes.base import Finished, Grower, Grown, Growth, StopPolicy, TreePolicy
from core.trace import Stop
from core.tree import Draft, DraftTree, Pruned, Resume, Work
from core.verify.base import Context, Offer

MOST_PRUNED = 128  # nodes that a round's record keeps of those not offered


@dataclass(slots=True)
class Growing:
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

    features: dict[int, list[Tensor]] = field(default_factory=lambda: dict[int, list[Tensor]]())

    def grown(self, limit: int) -> Grown:
        features = {tap: torch.cat(parts) for tap, parts in self.features.items()}
        laws, logits = torch.cat(self.q), torch.cat(self.logits)
        return Grown(self.tree, laws, logits, self.place, self.frontier, limit, features)

    def add(self, growth: Growth) -> None:
        self.tree = self.tree.extended(growth.parents, growth.tokens, growth.offers)
        self.frontier = list(growth.expand)

    def schedule(self) -> None:
        """Append the frontier to what the session scores next."""
        parents = [self.place[self.tree.parents[node]] for node in self.frontier]
        start = len(self.scored)
        self.scored = self.scored.extended(parents, [self.tree.tokens[n] for n in self.frontier])
        self.place |= {node: start + i for i, node in enumerate(self.frontier)}


class ModelDrafter:
    """Drafts with the session that `opener` opens; `source` names it in the trace.

    `draft_taps`: layers of the drafter whose hidden states its policies want to see.
    `temperature`: the drafter's own; None: as the target's. `taps`: layers of the target whose
    states the session follows. `watch` is asked after every round that drafted.
    """

    def __init__(
        self,
        opener: Opener,
        shape: TreePolicy,
        source: str,
        stops: Sequence[StopPolicy] = (),
        draft_taps: Sequence[int] = (),
        temperature: float | None = None,
        taps: Sequence[int] = (),
        watch: Watch | None = None,
    ) -> None:
        self.taps = taps
        self._watch = watch
        self._opener = opener
        self._shape = shape
        self._stops = stops
        self._source = source
        self._draft_taps = draft_taps
        self._temperature = temperature
        self._session: Session | None = None
        self._place: dict[int, int] = {}
        self._prompt: Sequence[int] = ()

    def offer(self, greedy: bool) -> Offer:
        greedy = greedy if self._temperature is None else self._temperature == 0
        return Offer(frozenset({self._shape.sampling(greedy)}), self._shape.branches)

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        self._session = self._opener(prompt[:-1], target)
        self._place, self._prompt = {}, prompt

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        session = self._open_session()
        limit = min(limit, session.context - session.length - 1)
        if limit < 1:
            return Draft.empty(context.root, "draft_context")
        law, chance = self._law(context.law), dice.at("draft", len(context.tokens))
        root = DraftTree.root(context.root)
        growing, grower = Growing(root, root, {0: 0}), self._shape.begin(law.is_greedy)
        self._plant(growing, chance, context)
        while True:
            self._score(session, growing, law)
            grown = growing.grown(limit)
            growing.add(grower.grow(grown, chance))
            stop = self._stopped(replace(grown, tree=growing.tree, frontier=growing.frontier))
            if stop is not None or not growing.frontier:
                return self._draft(growing, grower, stop, law)
            growing.schedule()

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        session = self._open_session()
        path = [0, *feedback.outcome.path]
        if feedback.outcome.final is None:
            path.pop()  # the last token is the next root
        kept = [self._place[node] for node in path if node in self._place]
        if kept:
            session.keep(kept)
        tokens = feedback.draft.tree.tokens
        session.feed([tokens[node] for node in path if node not in self._place])
        learnt = self._reviewed(session, feedback)
        self._place = {}
        if isinstance(session, Follower):
            self._follow(session, feedback, path)
        if feedback.draft.tree.drafted:
            self._shape.observe(len(feedback.outcome.path), feedback.draft.tree.max_depth)
            learnt = [*learnt, *(self._watch(feedback) if self._watch else ())]
        return learnt

    def renumber(self, nodes: Sequence[int]) -> None:
        """Take the proposed draft as part of a larger tree: its node i is `nodes[i]` there."""
        self._place = {nodes[node]: place for node, place in self._place.items()}

    def _follow(self, session: Follower, feedback: Feedback, path: Sequence[int]) -> None:
        """Hand over the states of the text that the target has settled, and what follows each."""
        fed = len(feedback.scores.features[self.taps[0]]) - len(feedback.draft.tree)
        rows = [*range(fed), *(fed + node for node in path)]
        states = {tap: feedback.scores.features[tap][rows] for tap in self.taps}
        before = self._prompt[len(self._prompt) - fed :]  # the root is the prompt's last token
        session.learn(states, [*before, *feedback.committed])

    def _reviewed(self, session: Session, feedback: Feedback) -> Sequence[Extras]:
        """Return what the session says of its own states, now that the target's are known."""
        if not isinstance(session, Reviewer) or not feedback.draft.tree.drafted:
            return ()
        rows = slice(-len(feedback.draft.tree), None)
        states = {tap: feedback.scores.features[tap][rows] for tap in self.taps}
        found = session.review(states, self._place)
        return () if found is None else (found,)

    def _open_session(self) -> Session:
        if self._session is None:
            raise ValueError("begin a sequence before drafting")
        return self._session

    def _score(self, session: Session, growing: Growing, law: Law) -> None:
        known = sum(map(len, growing.q))
        scores = session.score(growing.scored, known, self._draft_taps)
        growing.logits.append(scores.logits)
        growing.q.append(law(scores.logits))
        for tap in self._draft_taps:
            rows = scores.features[tap][-len(scores.logits) :]  # fed tokens come first
            growing.features.setdefault(tap, []).append(rows)
        growing.forwards += scores.forwards
        growing.sublayers += scores.ran

    def _plant(self, growing: Growing, dice: Dice, context: Context) -> None:
        """Add what is known before the drafter runs; nothing, as a rule."""

    def _stopped(self, grown: Grown) -> Stop | None:
        if not grown.frontier:
            return None
        return next((stop for policy in self._stops if (stop := policy(grown)) is not None), None)

    def _law(self, law: Law) -> Law:
        return law if self._temperature is None else replace(law, temperature=self._temperature)

    def _draft(self, growing: Growing, grower: Grower, stop: Stop | None, law: Law) -> Draft:
        """Return the draft of what the policy keeps of the grown tree."""
        grown = growing.grown(0)
        done = grower.finish(grown)
        kept = range(len(growing.tree)) if done.keep is None else done.keep
        place_of = {node: i for i, node in enumerate(kept)}
        order = sorted(
            (node for node in growing.place if node in place_of), key=growing.place.__getitem__
        )
        rows = [growing.place[node] for node in order]
        whole = len(rows) == len(grown.q)
        self._place = {place_of[node]: growing.place[node] for node in order}
        tree = growing.tree if done.keep is None else growing.tree.selected(kept)
        scores = list(done.scores)
        view = self._session if isinstance(self._session, ViewSession) else None
        return Draft(
            tree,
            self._shape.sampling(law.is_greedy),
            mixed={place_of[n]: kind for n, kind in done.mixed.items() if n in place_of},
            q=grown.q if whole else grown.q[rows],
            logits=grown.logits if whole else grown.logits[rows],
            law=law,
            rows={place_of[node]: row for row, node in enumerate(order)},
            sources=["", *[self._source] * (len(tree) - 1)],
            scores=[scores[node] for node in kept] if scores else (),
            pruned=_pruned(grown, done, place_of) if done.keep is not None else None,
            stop=stop or done.stop or Stop(reason="length"),
            resume=_resume(view, self._place, len(tree)) if view else None,
            work=Work(growing.forwards, growing.sublayers),
            extras=(
                *((view.extras(),) if view else ()),
                *done.extras,
                *(extra for policy in self._stops for extra in policy.extras(grown)),
            ),
        )


def _resume(view: ViewSession, place: dict[int, int], size: int) -> Resume | None:
    """Return what verifying can take over: the first nodes that stand alike in both trees."""
    found = view.resume()
    alike = next((n for n in range(size) if place.get(n) != n), size)
    return found and replace(found, hidden=found.hidden[:alike])


def _pruned(grown: Grown, done: Finished, place_of: dict[int, int]) -> Pruned | None:
    """Return the nodes that are not offered, the best by their score first, in bounds."""
    left = [node for node in range(len(grown.tree)) if node not in place_of]
    if not left:
        return None
    scores = list(done.scores) or [None] * len(grown.tree)
    if len(left) > MOST_PRUNED:
        best = sorted(left, key=lambda node: -(scores[node] or 0.0))
        left = sorted(_closed(grown.tree, best, place_of)[:MOST_PRUNED])
    number = place_of | {node: len(place_of) + i for i, node in enumerate(left)}
    parents = [grown.tree.parents[node] for node in left]
    tokens = [grown.tree.tokens[node] for node in left]
    q = grown.q[[grown.rows[parent] for parent in parents], tokens]
    return Pruned(
        tokens, [number[p] for p in parents], [scores[n] for n in left], floats(q), done.reason
    )


def _closed(tree: DraftTree, order: Sequence[int], offered: Mapping[int, int]) -> list[int]:
    """Return `order` with every node behind its parent."""
    found: dict[int, None] = {}
    for node in order:
        for step in tree.path(node):
            if step not in offered:
                found.setdefault(step)
    return list(found)

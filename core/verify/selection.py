"""Select one of the drafts, then test it as if it had been the only one: the canonical
decomposition of multi-draft rules.

At each node one of the K drafted tokens is selected, by chances that depend on what was drawn. The
token selected has a law p_I, which takes q's place in ordinary speculative sampling: it stays with
probability min(1, p/p_I), and otherwise a token of norm((p - p_I)+) comes. Every rule for K drafts
can be written so, and acceptance is the overlap of p and p_I. The text keeps the target's law
whatever the chances are, since p_I is the exact law of the token selected (`selection_law`).

Where the token that comes is another of the drafts, the walk goes on there: what follows it was
drawn apart from all that was decided so far. Fixed children are selected in proportion to p.

Khisti et al., Multi-Draft Speculative Sampling, arXiv 2410.18234. With one draft this is
speculative sampling; at temperature 0 greedy matching.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from core.dice import Dice
from core.extras import Duel, Extras, SelectionExtras
from core.host import floats
from core.models.base import Scores
from core.parts import rule
from core.reduce import six_digits
from core.trace import Check
from core.tree import Draft, Sampling
from core.verify.base import Context, Outcome, PlainTable, Remains, check_draft
from core.verify.selection_law import Choice, Selection, choice
from core.verify.selection_record import pick_of


class CanonicalDecomposition:
    """The rule, with its way to select."""

    name = "Canonical decomposition"
    chain_only = False
    samplings = frozenset({Sampling.DETERMINISTIC, Sampling.INDEPENDENT})

    def __init__(self, selection: Selection | None = None) -> None:
        self._selection = selection or Selection()

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> SelectionTable:
        """Raise ValueError for a draft that the rule would verify wrongly."""
        check_draft(self, draft)
        law = context.law
        return SelectionTable(draft, law(scores.logits), self._selection, law.is_greedy)


@dataclass(frozen=True, slots=True)
class Selected:
    """What was selected at a node, and the meetings that led to it."""

    node: int
    child: int
    duels: Sequence[Duel]


@dataclass(frozen=True, slots=True)
class SelectionTable(PlainTable):
    """Target laws in use (N, V). Choices are planned at the nodes that the walk visits, and kept;
    `last` is what the last walk selected.
    """

    draft: Draft
    p: Tensor
    selection: Selection
    greedy: bool
    choices: dict[int, Choice] = field(default_factory=lambda: dict[int, Choice]())
    last: list[Selected] = field(default_factory=lambda: list[Selected]())

    @property
    def drawn(self) -> Sequence[float | None]:
        tree, q = self.draft.tree, self.draft.q
        known = [n for n in range(1, len(tree)) if not self._fixed(tree.parents[n])]
        if q is None or not known:
            return [None] * len(tree)
        rows = [self.draft.rows[tree.parents[node]] for node in known]
        values = q[rows, [tree.tokens[node] for node in known]].cpu().double().numpy()
        found = dict(zip(known, floats(six_digits(values)), strict=True))
        return [found.get(node) for node in range(len(tree))]

    def walk(self, dice: Dice, position: int) -> Outcome:
        tree, node, path, checks = self.draft.tree, 0, list[int](), list[Check]()
        self.last.clear()
        while tree.tries(node):
            depth = position + len(path)
            selected = self._select(node, dice.at("select", depth))
            self.last.append(selected)
            check = self._test(selected, dice.at("accept", depth, 0))
            checks.append(check)
            child: int | None = selected.child
            if not check.passed:
                token = int(dice.at("final", depth).draw(self.final_law(node)[None]))
                child = next((c for c in tree.children(node) if tree.tokens[c] == token), None)
                if child is None:
                    return Outcome(tuple(path), token, "correction", tuple(checks))
            path.append(child)
            node = child
        final = dice.at("final", position + len(path)).draw(self.final_law(node)[None])
        origin = "plain" if len(tree) == 1 else "bonus"
        return Outcome(tuple(path), int(final), origin, tuple(checks))

    def final_law(self, node: int) -> Tensor:
        return self._choice(node).residual if self.draft.tree.tries(node) else self.p[node]

    def residuals(self, outcome: Outcome) -> Sequence[Remains]:
        missed = [check.node for check in outcome.checks if not check.passed]
        choices = [self._choice(self.draft.tree.parents[node]) for node in missed]
        return [Remains(n, c.left, c.residual) for n, c in zip(missed, choices, strict=True)]

    def reasons(self, outcome: Outcome) -> Mapping[int, str]:
        found: dict[int, str] = {}
        for selected in self._visited(outcome):
            for child in self.draft.tree.children(selected.node):
                if child != selected.child:
                    found[child] = "landed" if child in outcome.path else "not_selected"
                elif not self.greedy:
                    found[child] = "u<p/p_I" if child in outcome.path else "u>=p/p_I"
        return found

    def extras(self, outcome: Outcome) -> tuple[Extras, ...]:
        shown = self.selection.free
        picks = [
            pick_of(self.draft.tree, s.node, s.child, s.duels, self._choice(s.node), shown)
            for s in self._visited(outcome)
            if len(self.draft.tree.tries(s.node)) > 1
        ]
        return (SelectionExtras(scheme=self.selection.scheme, picks=picks),) if picks else ()

    def _visited(self, outcome: Outcome) -> list[Selected]:
        """Return what the last walk selected, as far as the text goes that is left of it."""
        count = len(outcome.path) + (outcome.origin == "correction")
        return self.last[:count]

    def _fixed(self, node: int) -> bool:
        return self.draft.sampling_at(node) is Sampling.DETERMINISTIC

    def _choice(self, node: int) -> Choice:
        if node not in self.choices:
            tree, q = self.draft.tree, self.draft.q
            law = None if q is None or self._fixed(node) else q[self.draft.rows[node]]
            drafts = [tree.tokens[child] for child in tree.tries(node)]
            self.choices[node] = choice(self.p[node], law, drafts, self.selection)
        return self.choices[node]

    def _select(self, node: int, dice: Dice) -> Selected:
        """Let the drafts of a node meet in the order drawn; return the one that is left."""
        tree, planned = self.draft.tree, self._choice(node)
        held, *others = tree.tries(node)[: planned.plan.used]
        met, duels = [tree.tokens[held]], list[Duel]()
        for number, new in enumerate(others, start=1):
            chance = planned.stays(number, tree.tokens[held], tree.tokens[new], met)
            coin = dice.at(number)
            stays = coin.flip(chance)
            if new != held:
                sure = chance in (0.0, 1.0)
                duels.append(Duel(held=held, new=new, chance=chance, u=None if sure else coin.u))
            met.append(tree.tokens[new])
            held = held if stays else new
        return Selected(node, held, duels)

    def _test(self, selected: Selected, coin: Dice) -> Check:
        p, law = self._choice(selected.node).at(self.draft.tree.tokens[selected.child])
        chance = min(1.0, p / law) if law > 0 else 0.0
        passed = coin.flip(chance)
        shown_p, shown_law = floats(six_digits(np.array([p, law]).clip(0, 1)))
        return Check(
            node=selected.child,
            accept_probability=chance,
            u=coin.u,
            passed=passed,
            p=shown_p,
            q=shown_law,
            mass_before=1.0,
        )


PARTS = (
    rule(
        "canonical_decomposition",
        "Canonical decomposition",
        "Select one of the drafts by a linear program, then test it by ordinary speculative "
        "sampling.",
        "Khisti et al. 2025",
        CanonicalDecomposition,
    ),
)

"""Laws that a drafter records are those of its model on the whole text, and those of the target
stay the target's.

Every round of a real run over real sessions is watched: a stale or misplaced row of a cache would
change a law. For a second model that would cost acceptance and never show in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.decode import Decoder, start, step
from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.ending import Endings
from core.laws import Law
from core.models.base import Scores, Session
from core.models.views import View
from core.shapes.base import Grown, Growth, TreePolicy
from core.shapes.levels import Levels
from core.shapes.stops import Confidence
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context, Table
from core.verify.rejection import RecursiveRejection
from tests.drafts import Plain
from tests.tiny import CONTEXT, slow_part, slow_rows, tiny, wrapped

TOLERANCE = 1e-5
PROMPT = [5, 9, 2, 7, 5]
SlowDraft = Callable[[Sequence[int], Sequence[int]], Tensor]  # text, path -> logits (V,)


@dataclass(frozen=True)
class Drafting:
    """One kind of drafter and the slow way to its laws."""

    open: Callable[[Sequence[int], Session], Session]
    slow: SlowDraft


def second(shape: str, context: int = CONTEXT) -> Drafting:
    """Return a second model of fewer layers."""
    model = tiny(shape, layers=1, seed=5, context=context)
    return Drafting(
        lambda prompt, _: wrapped(model, context).open(prompt),
        lambda text, path: slow_rows_of_path(model, text, path),
    )


def slow_rows_of_path(model: PreTrainedModel, text: Sequence[int], path: Sequence[int]) -> Tensor:
    chain = DraftTree(tuple(path), tuple(range(-1, len(path) - 1)))
    return slow_rows(model, text, chain)[-1]


def part(shape: str, view: View) -> Drafting:
    """Return a part of the target itself."""
    return Drafting(
        lambda _, target: view.open(target),
        lambda text, path: slow_part(tiny(shape), text, path, view.plan(3)),
    )


def draftings(shape: str) -> dict[str, Drafting]:
    return {
        "second model": second(shape),
        "early exit": part(shape, View(exit_layer=2)),
        "skipped layer": part(shape, View((1,), (1,))),
        "skipped first layer": part(shape, View((0,), (0,))),
    }


class Half(Plain):
    """A policy that scores only every second new node, as policies with a budget do."""

    def sampling(self, greedy: bool) -> Sampling:
        return Sampling.DISTINCT

    def grow(self, grown: Grown, dice: Dice, greedy: bool) -> Growth:
        depth = grown.tree.depths[grown.frontier[-1]]
        if depth >= min(3, grown.limit):
            return Growth()
        drawn = dice.at(depth).draw(
            grown.q[[grown.rows[n] for n in grown.frontier]], 2, replace=False
        )
        pairs = [(n, t) for n, row in zip(grown.frontier, drawn.tolist(), strict=True) for t in row]
        first = len(grown.tree)
        new = range(first + 1, first + len(pairs), 2)
        expand = new if depth < min(3, grown.limit) - 1 else ()
        return Growth([n for n, _ in pairs], [t for _, t in pairs], expand=expand)


SHAPES: dict[str, TreePolicy] = {
    "a chain": Levels((1, 1, 1, 1)),
    "a tree": Levels((3, 2, 1)),
    "one level": Levels((2,)),
    "half of a tree": Half(),
}


@dataclass
class Watch:
    """A rule that checks every law before it decides."""

    target: str
    drafting: Drafting
    samplings: frozenset[Sampling] = frozenset(Sampling) - {Sampling.TOP_AND_ONE}
    name: str = "Watch"
    chain_only: bool = False
    seen: list[Draft] = field(default_factory=list)

    def prepare(self, draft: Draft, scores: Scores, context: Context) -> Table:
        text = context.tokens[:-1]
        expected = slow_rows(tiny(self.target), text, draft.tree)
        torch.testing.assert_close(scores.logits, expected, rtol=0, atol=TOLERANCE)
        for node, row in draft.rows.items():
            path = [draft.tree.tokens[n] for n in draft.tree.path(node)]
            assert draft.logits is not None
            assert draft.q is not None
            slow = self.drafting.slow(text, path)
            torch.testing.assert_close(draft.logits[row], slow, rtol=0, atol=TOLERANCE)
            assert draft.q[row].tolist() == context.law(draft.logits[row][None])[0].tolist()
        self.seen.append(draft)
        return RecursiveRejection().prepare(draft, scores, context)


def watched(
    shape: str,
    drafting: Drafting,
    policy: TreePolicy,
    law: Law,
    new: int = 14,
    prompt: Sequence[int] = PROMPT,
    stops: Sequence[Confidence] = (),
) -> tuple[list[Draft], list[int]]:
    """Run `new` tokens; return the drafts seen and how many tokens each round accepted."""
    watch = Watch(shape, drafting)
    decoder = Decoder(ModelDrafter(drafting.open, policy, "tiny", stops), watch)
    state = start(prompt, wrapped(tiny(shape)), decoder, law, new, Endings())
    accepted: list[int] = []
    while state.finished is None:
        accepted += [
            len(made.outcome.accepted) for made in step([state], SeededDice(3), lambda: 0.0)
        ]
    assert len(state.tokens) == min(len(prompt) + new, CONTEXT)
    return watch.seen, accepted


@pytest.mark.parametrize("policy", SHAPES)
@pytest.mark.parametrize("kind", draftings("llama"))
@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_every_law_of_a_run_is_that_of_its_model(shape: str, kind: str, policy: str) -> None:
    seen, accepted = watched(shape, draftings(shape)[kind], SHAPES[policy], Law(1))
    assert any(accepted)
    assert any(len(draft.tree) > 2 for draft in seen)


@pytest.mark.parametrize("kind", draftings("llama"))
def test_so_it_is_at_temperature_zero_and_up_to_the_end_of_the_context(kind: str) -> None:
    prompt = [place * 5 % 23 for place in range(CONTEXT - 10)]
    watched("llama", draftings("llama")[kind], SHAPES["a tree"], Law(0), CONTEXT, prompt)


def test_a_drafter_that_agrees_always_is_accepted_whole_and_fed_what_it_never_scored() -> None:
    same = Drafting(
        lambda prompt, _: wrapped(tiny("llama")).open(prompt),
        lambda text, path: slow_rows_of_path(tiny("llama"), text, path),
    )
    _, accepted = watched("llama", same, Levels((1, 1, 1)), Law(0), new=13)
    assert accepted == [0, 3, 3, 3]


def test_a_second_model_with_a_shorter_context_stops_drafting_there_and_the_text_goes_on() -> None:
    seen, _ = watched("llama", second("llama", 16), Levels((1, 1, 1)), Law(1), new=20)
    assert seen[-1].stop is not None
    assert seen[-1].stop.reason in ("draft_context", "room")
    assert any(draft.stop is not None and draft.stop.reason == "draft_context" for draft in seen)


def test_a_token_that_trips_the_stop_rule_stays_and_nothing_is_drafted_after_it() -> None:
    drafting, least = draftings("llama")["early exit"], 0.15
    seen, _ = watched(
        "llama", drafting, Levels((1,) * 4), Law(0.5), new=40, stops=[Confidence(least)]
    )
    lengths: set[tuple[int, bool]] = set()
    for draft in seen:
        if draft.q is None or draft.stop is None:
            continue
        chain = range(1, len(draft.tree))
        values = [float(draft.q[draft.rows[n - 1], draft.tree.tokens[n]]) for n in chain]
        tripped = draft.stop.reason == "confidence"
        assert all(value >= least for value in values[:-1])
        if tripped:
            assert values[-1] < least
            assert draft.stop.value == pytest.approx(values[-1], rel=1e-5)
            assert draft.stop.threshold == least
        lengths.add((len(values), tripped))
    assert {length for length, tripped in lengths if tripped} >= {1, 2}
    assert (4, False) in lengths


def test_work_is_counted_in_forwards_and_sublayers() -> None:
    seen, _ = watched("llama", draftings("llama")["skipped layer"], Levels((1, 1)), Law(1), new=8)
    drafts = [d for d in seen if d.tree.drafted == 2]
    assert drafts
    assert all((d.work.forwards, d.work.sublayers) == (2, 8) for d in drafts)

"""What a decoder writes, over every way its dice can fall, against what the target alone would
write.
"""

from __future__ import annotations

from collections.abc import Callable

from core.decode import Decoder, start, step
from core.dice import Dice
from core.laws import Law
from core.models.base import LanguageModel
from core.record import Recorded
from core.registry import Models
from core.trace import Nodes, Outcome, Scalars
from tests import exact
from tests.toy_heads import toy_counts, toy_heads
from tests.toys import Text, World, ancestral, completed

Builder = Callable[[Models], Decoder]

TOLERANCE = 1e-12
AMPLE = 40  # new tokens: more than any enumerated round can write


def unrecorded(*round_: object) -> Recorded:
    """Keep nothing of a round: recording throws no dice, has tests of its own, and takes half of a
    toy's time.
    """
    nodes = Nodes(**{name: [] for name in Nodes.__struct_fields__})
    scalars = Scalars(**{name: [] for name in Scalars.__struct_fields__})
    return Recorded(nodes, [], scalars, [], None)


def written(
    build: Builder,
    toy: World,
    law: Law,
    rounds: int,
    wrap: Callable[[LanguageModel], LanguageModel] = lambda model: model,
) -> dict[Text, float]:
    """Return the exact law of what the prompt pass and `rounds` rounds write; `wrap` replaces the
    target.
    """

    def run(dice: Dice) -> Text:
        target, draft = toy.models()
        wrapped = wrap(target)
        models = Models(wrapped, draft, heads=toy_heads(toy.size), counts=toy_counts(toy.size))
        state = start(toy.prompt, wrapped, build(models), law, AMPLE, recorder=unrecorded)
        for _ in range(rounds + 1):
            step([state], dice, lambda: 0.0)
        return tuple(state.tokens[len(toy.prompt) :])

    return exact.law(run)


def error(
    build: Builder,
    toy: World,
    law: Law,
    rounds: int,
    wrap: Callable[[LanguageModel], LanguageModel] = lambda model: model,
) -> float:
    """Return how far the law of the text, completed by the target, is from the target's own."""
    texts = written(build, toy, law, rounds, wrap)
    longest = max(map(len, texts))
    ours = completed(texts, toy.target, toy.prompt, law, longest)
    return exact.distance(ours, ancestral(toy.target, toy.prompt, law, longest))


def first_round(build: Builder, toy: World) -> list[tuple[Outcome, float]]:
    """Return the outcome of the first drafted round for every way the dice can fall, with its
    probability.
    """
    outcomes: list[Outcome] = []

    def run(dice: Dice) -> int:
        target, draft = toy.models()
        decoder = build(
            Models(target, draft, heads=toy_heads(toy.size), counts=toy_counts(toy.size))
        )
        state = start(toy.prompt, target, decoder, Law(1), AMPLE, recorder=unrecorded)
        step([state], dice, lambda: 0.0)
        (made,) = step([state], dice, lambda: 0.0)
        outcomes.append(made.outcome)
        return len(outcomes) - 1

    return [(outcomes[index], probability) for index, probability in exact.runs(run)]

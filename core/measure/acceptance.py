"""Which of the children drawn at a node is the one that stays: first, second ... or none.

The target writes answers to a list of prompts; in every round the drafter offers many children of
the last token and recursive rejection keeps one or none. The text is exact, so that the counts are
those of the target's own text. They do not depend on the speed of the machine. Knows no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import convert

from core.decode import Decoder, Drafter, decode, start
from core.dice import Dice
from core.ending import Endings
from core.laws import Law
from core.models.base import LanguageModel
from core.record import Recorded
from core.shapes.levels import Levels
from core.trace import Nodes, Scalars
from core.verify.rejection import RecursiveRejection


@dataclass(frozen=True, slots=True)
class Ranks:
    """`accepted`: nodes at which child number 1, 2 ... stayed; `rejected`: at which none did."""

    accepted: tuple[int, ...]
    rejected: int

    @staticmethod
    def of(places: Sequence[int | None], children: int) -> Ranks:
        """Count the places (0, 1 ... or None) of the children that stayed."""
        found = Counter(places)
        return Ranks(tuple(found[place] for place in range(children)), found[None])


def wide(children: int) -> Levels:
    """Return the shape to measure with: one level of so many children."""
    return Levels((children,))


def places(
    prompt: Sequence[int],
    target: LanguageModel,
    drafter: Drafter,
    law: Law,
    new_tokens: int,
    ends: frozenset[int],
    dice: Dice,
) -> Iterator[int | None]:
    """Decode one text of at most `new_tokens`; yield per drafted round the place of the child that
    stayed, None where none did.
    """
    state = start(
        prompt,
        target,
        Decoder(drafter, RecursiveRejection()),
        law,
        new_tokens,
        Endings(ends),
        recorder=_unrecorded,
    )
    for made in decode(state, dice, lambda: 0.0):
        if made.checks:
            yield next((i for i, check in enumerate(made.checks) if check.passed), None)


def _unrecorded(*_round: object) -> Recorded:
    """Keep nothing of a round's laws: here only the checks count."""
    nodes = convert(dict.fromkeys(Nodes.__struct_fields__, ()), Nodes)
    scalars = convert(dict.fromkeys(Scalars.__struct_fields__, ()), Scalars)
    return Recorded(nodes, [], scalars, [], None)

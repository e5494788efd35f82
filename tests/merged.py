"""Several toy drafters in one tree, and the rounds that they make."""

from __future__ import annotations

from collections.abc import Sequence

from core.decode import Decoder, decode, start
from core.dice import SeededDice
from core.drafters.merged import MergedDrafter
from core.drafters.model import ModelDrafter
from core.laws import Law
from core.methods.specinfer import OWN_LAWS
from core.models.toy import Table, ToyModel, hashed
from core.shapes.levels import Levels
from core.trace import Round
from core.tree import Sampling
from tests.toys import WORLDS

SIX = WORLDS["different laws"](6)  # its own drafter is a
OTHER = hashed(6, 20, 3.0)  # and this one b


def sequences(
    tables: Sequence[Table], size: int, length: int = 1, temperature: float | None = None
) -> MergedDrafter:
    """Return the drafters of `tables`, called a, b ..., as one."""
    made: list[ModelDrafter] = []
    for name, table in zip("abcd", tables, strict=False):
        model, shape = ToyModel(table, size), Levels((1,) * length, Sampling.INDEPENDENT)
        made.append(
            ModelDrafter(
                lambda text, _, model=model: model.open(text), shape, name, temperature=temperature
            )
        )
    return MergedDrafter(made)


def recorded(temperature: float) -> list[Round]:
    """Return the rounds of a run of a and b, with their records."""
    target, _ = SIX.models()
    decoder = Decoder(sequences([SIX.draft, OTHER], 6, 3), OWN_LAWS)
    state = start(SIX.prompt, target, decoder, Law(temperature), 30)
    return list(decode(state, SeededDice(5), lambda: 0.0))

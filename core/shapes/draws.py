"""Drawing siblings without replacement, also where they outnumber the support of their law."""

from __future__ import annotations

from torch import Tensor

from core.dice import Dice
from core.host import int_rows


def distinct(laws: Tensor, count: int, dice: Dice, uniform_fallback: bool = False) -> Tensor:
    """Draw tokens (R, C) from laws (R, V) without replacement, draw order kept; C is `count`, at
    most V.

    Where a row's support is used up there stands -1; with `uniform_fallback` (Sequoia, arXiv
    2402.12374) a token drawn uniformly from those not drawn yet, which the rule has to know of.
    """
    drawn = dice.draw(laws, min(count, laws.shape[1]), replace=False)
    if not uniform_fallback:
        return drawn
    for row, tokens in enumerate(int_rows(drawn)):
        missing = tokens.count(-1)
        if missing:
            others = (laws[row : row + 1] == 0).to(laws)
            drawn[row, -missing:] = dice.at("uniform", row).draw(others, missing, replace=False)[0]
    return drawn

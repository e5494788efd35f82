"""What a round's record keeps of one selection: who met whom, the chances, and three laws.

Numbers carry six digits; of the laws the tokens that matter are kept, of the chances those of the
last meeting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from core.bounds.bins import bins, independent_optimum
from core.extras import Duel, Pick
from core.host import Floats, float_rows, floats
from core.reduce import rest_of, six_digits
from core.tree import DraftTree
from core.verify.selection_law import Choice

MOST = 20  # tokens of the laws
_LARGEST = 3  # tokens of p that are always kept


def pick_of(
    tree: DraftTree, node: int, child: int, duels: Sequence[Duel], made: Choice, shown: int
) -> Pick:
    """Return the record of the choice `made` at `node`, where `child` was selected; the chances are
    those of the `shown` first tokens.
    """
    drafts = [tree.tokens[each] for each in tree.tries(node)]
    first = made.plan.order[:shown]
    tokens = _kept(made, first, drafts)
    index = torch.tensor(tokens, device=made.p.device)
    laws = [made.p, made.law] if made.q is None else [made.p, made.law, made.q]
    mass = six_digits(torch.stack([law[index] for law in laws]).double().cpu().numpy().clip(0, 1))
    rows, rests = float_rows(mass), floats(rest_of(mass))
    overlap = 1 - made.left
    return Pick(
        node=node,
        candidates=list(tree.tries(node)),
        selected=child,
        used=made.plan.used,
        duels=list(duels),
        free=len(first),
        chance=_digits([_chance(made, i, j) for i, j in _pairs(first)]),
        token=tokens,
        p=rows[0],
        picked=rows[1],
        q=None if made.q is None else rows[2],
        p_rest=rests[0],
        picked_rest=rests[1],
        q_rest=None if made.q is None else rests[2],
        overlap=_digits([overlap])[0],
        best=_digits([max(overlap, _best(made))])[0],
    )


def _kept(made: Choice, first: Sequence[int], drafts: Sequence[int]) -> list[int]:
    """Return the tokens to keep: those with recorded chances first, then what was drawn and what is
    largest.
    """
    known, law = made.known, made.plan.law
    likely = np.argsort(-known, kind="stable").tolist()
    large: list[int] = np.argsort(-np.maximum(known, law), kind="stable").tolist()
    places = [*first, *likely[:_LARGEST]]
    tokens = dict.fromkeys([made.tokens[place] for place in places] + list(drafts))
    for place in large:
        if len(tokens) >= MOST:
            break
        tokens.setdefault(made.tokens[place])
    return list(tokens)


def _pairs(first: Sequence[int]) -> list[tuple[int, int]]:
    return [(i, j) for place, i in enumerate(first) for j in first[place + 1 :]]


def _chance(made: Choice, i: int, j: int) -> float:
    return made.plan.stays(made.plan.used - 1, i, j, [i])


def _digits(values: Sequence[float]) -> list[float]:
    numbers: Floats = np.array(values, dtype=np.float64)
    return floats(six_digits(numbers.clip(0, 1)))


def _best(made: Choice) -> float:
    """Return the largest acceptance that any rule reaches with as many drafts."""
    if made.q is None:
        return 0.0  # fixed children leave nothing to choose: the rule is as good as any
    p, q = (law.double().cpu().numpy() for law in (made.p, made.q))
    return independent_optimum(bins(p, q, made.drafts), made.drafts)

"""What a round's record keeps of the bounds: at every node visited the best that any rule could do
with such drafts, and at the one that is drawn all ways of drafting, and the ladder of rules.

Made while decoding, so the tokens that both laws give next to nothing count as two where curves are
drawn: those with p below q, and the others. That moves an acceptance by less than 1e-4. Numbers are
rounded to what a picture can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from core.bounds.ladder import Node, drafted, rungs
from core.bounds.pair import Ints, Line
from core.bounds.prefix import Drafts, spread
from core.extras import PrefixLine, PrefixNode, PrefixWay, Rung, Way
from core.host import Floats, floats

_SMALL = 1e-7  # tokens below it in both laws are joined
_POINTS = 40  # of a curve
_DIGITS = 4  # of a curve's numbers
_NAMED = 10  # tokens of a line that are named
_WIDE = 0.004  # least q of a token that is
_FINE = 5  # digits of an acceptance
_PATHS = 512  # summed where an acceptance is estimated


@dataclass(frozen=True, slots=True)
class Visit:
    """A node whose children were tested: its laws p and q (V,), and how many `drafts` it has, of
    which the tokens `fixed` were chosen without chance.
    """

    node: int
    p: Tensor
    q: Tensor
    drafts: int
    fixed: Sequence[int]


def visited_bounds(visits: Sequence[Visit], failed: bool) -> list[PrefixNode]:
    """Return what is kept of the nodes visited, in order. The last one is drawn where all its
    drafts `failed`, else that where the least could be kept.
    """
    known = [_in_use(visit) for visit in visits]
    best = [line.ways[0].optimum for line in known]
    drawn = len(visits) - 1 if failed else best.index(min(best))
    return [
        _whole(visit) if place == drawn else _node(visit, [line], [])
        for place, (visit, line) in enumerate(zip(visits, known, strict=True))
    ]


def _node(visit: Visit, lines: list[PrefixLine], ladder: list[Rung]) -> PrefixNode:
    fixed = len(visit.fixed)
    return PrefixNode(node=visit.node, drafts=visit.drafts, fixed=fixed, lines=lines, rungs=ladder)


def _in_use(visit: Visit) -> PrefixLine:
    """Return the one prefix that bounds the drafts as they were made: the fixed tokens, and all
    others that p gives less than q', the law of the one drawn.
    """
    p, q, fixed = visit.p.numpy(), visit.q.numpy(), list(visit.fixed)
    drawn = q.copy()
    drawn[fixed] = 0.0
    left = drawn.sum()
    if left > 0:
        drawn /= left
    short = (p < drawn).astype(p.dtype)
    mass, target = (float(law[fixed].sum() + law @ short) for law in (q, p))
    inside = float(drawn @ short) if left > 0 else 1.0
    way = PrefixWay(
        way="top_and_one",
        inside=_rounded([inside]),
        widest=0,
        optimum=_fine(1.0 + target - inside),
    )
    prefix = (_rounded([mass]), _rounded([target]))
    return PrefixLine(mass=prefix[0], target=prefix[1], token=[], begin=[], end=[], ways=[way])


def _whole(visit: Visit) -> PrefixNode:
    """Return the node with all ways of drafting along their tokens, and the ladder."""
    ids, p, q = _gathered(visit.p, visit.q, visit.fixed)
    top = np.searchsorted(ids, np.asarray(visit.fixed, dtype=np.int64))
    made = drafted(p, q, visit.drafts, top)
    return _node(visit, _lines(ids, made), _ladder(made))


def _ladder(node: Node) -> list[Rung]:
    return [
        Rung(
            name=name,
            value=_fine(rung.value),
            margin=None if rung.margin is None else _fine(rung.margin),
        )
        for name, rung in rungs(node, _PATHS).items()
    ]


def _lines(ids: Ints, node: Node) -> list[PrefixLine]:
    ways: dict[Way, Drafts] = {"independent": node.independent, "distinct": node.distinct}
    greedy: dict[Way, Drafts] = {"top_and_one": node.greedy}
    return [_line(ids, node.both, ways), _line(ids, node.greedy.line, greedy)]


def _gathered(p: Tensor, q: Tensor, kept: Sequence[int]) -> tuple[Ints, Floats, Floats]:
    """Return the ids (S,) of the tokens that count by themselves, and both laws (S + 2,), summing
    to one: the last two entries are the others with p below q, and all other.
    """
    target, draft = p.numpy(), q.numpy()
    large = (target > _SMALL) | (draft > _SMALL)
    large[list(kept)] = True
    ids = np.flatnonzero(large)
    short = ((target < draft) & ~large).astype(target.dtype)
    found: list[Floats] = []
    for law in (target, draft):
        total = law.sum(dtype=np.float64)
        alone, below = law[ids] / total, (law @ short) / total
        found.append(np.append(alone, [below, max(0.0, 1.0 - alone.sum() - below)]))
    return ids, found[0], found[1]


def _line(ids: Ints, row: Line, ways: Mapping[Way, Drafts]) -> PrefixLine:
    best = {name: drafts.optimum() for name, drafts in ways.items()}
    sizes = spread(row, _POINTS, [found.size for found in best.values()])
    wide = np.flatnonzero((row.q >= _WIDE) & (row.tokens < len(ids)))
    named = np.sort(wide[np.argsort(-row.q[wide], kind="stable")][:_NAMED])
    return PrefixLine(
        mass=_rounded(row.q_below[sizes]),
        target=_rounded(row.p_below[sizes]),
        token=[int(ids[place]) for place in row.tokens[named]],
        begin=_rounded(row.q_below[named]),
        end=_rounded(row.q_below[named + 1]),
        ways=[
            PrefixWay(
                way=name,
                inside=_rounded(drafts.inside(sizes)),
                widest=int(np.searchsorted(sizes, best[name].size)),
                optimum=_fine(best[name].value),
            )
            for name, drafts in ways.items()
        ],
    )


def _rounded(numbers: Floats | Sequence[float]) -> list[float]:
    return floats(np.clip(np.asarray(numbers, dtype=np.float64), 0.0, 1.0).round(_DIGITS))


def _fine(acceptance: float) -> float:
    return round(min(max(acceptance, 0.0), 1.0), _FINE)

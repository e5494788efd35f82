"""What a round's record keeps of the bounds: three ways of drafting along their tokens, at every
node visited, and the ladder of rules at one.

Made while decoding, so the tokens that both laws give next to nothing count as two: those with p
below q, and the others. That moves an acceptance by less than 1e-4. Numbers are rounded to what a
picture can show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from core.bounds.ladder import Node, drafted, rungs
from core.bounds.pair import Ints, Line, laws
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
    """Return what is kept of the nodes visited, in order. The ladder is kept for the last one where
    all its drafts `failed`, else for that where the least could be kept.
    """
    made = [_made(visit) for visit in visits]
    best = [node.greedy.optimum().value for _, node in made]
    decisive = len(visits) - 1 if failed else best.index(min(best))
    return [
        PrefixNode(
            node=visit.node,
            drafts=visit.drafts,
            fixed=len(visit.fixed),
            lines=_lines(ids, node),
            rungs=_ladder(node) if place == decisive else [],
        )
        for place, (visit, (ids, node)) in enumerate(zip(visits, made, strict=True))
    ]


def _made(visit: Visit) -> tuple[Ints, Node]:
    """Return the node, with small tokens as one, and the ids of the others."""
    ids, p, q = _gathered(*laws(visit.p, visit.q), visit.fixed)
    top = np.searchsorted(ids, np.asarray(visit.fixed, dtype=np.int64))
    return ids, drafted(p, q, visit.drafts, top)


def _ladder(node: Node) -> list[Rung]:
    return [
        Rung(
            name=name,
            value=_rounded([rung.value], _FINE)[0],
            margin=None if rung.margin is None else _rounded([rung.margin], _FINE)[0],
        )
        for name, rung in rungs(node, _PATHS).items()
    ]


def _lines(ids: Ints, node: Node) -> list[PrefixLine]:
    ways: dict[Way, Drafts] = {"independent": node.independent, "distinct": node.distinct}
    greedy: dict[Way, Drafts] = {"top_and_one": node.greedy}
    return [_line(ids, node.both, ways), _line(ids, node.greedy.line, greedy)]


def _gathered(p: Floats, q: Floats, kept: Sequence[int]) -> tuple[Ints, Floats, Floats]:
    """Return the ids (S,) of the tokens that count by themselves, and both laws (S + 2,): the last
    two entries are the others with p below q, and all other.
    """
    large = (p > _SMALL) | (q > _SMALL)
    large[list(kept)] = True
    ids = np.flatnonzero(large)
    short = ((p < q) & ~large).astype(np.float64)
    found = [law[ids] for law in (p, q)]
    below = [float(law @ short) for law in (p, q)]
    both = zip(found, below, strict=True)
    ends = [[rest, max(0.0, 1.0 - float(law.sum()) - rest)] for law, rest in both]
    return ids, np.append(found[0], ends[0]), np.append(found[1], ends[1])


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
                optimum=_rounded([best[name].value], _FINE)[0],
            )
            for name, drafts in ways.items()
        ],
    )


def _rounded(numbers: Floats | Sequence[float], digits: int = _DIGITS) -> list[float]:
    return floats(np.clip(np.asarray(numbers, dtype=np.float64), 0.0, 1.0).round(digits))

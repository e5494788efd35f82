"""Trees of ranked candidates in plain Python: every candidate is kept, sorted and counted as the
papers say, on paths instead of node numbers. With the toy tables that the fixtures are about.

Written apart from the shapes under test, so that the two can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.dice import Dice
from core.drafters.model import ModelDrafter
from core.laws import Law
from core.models.toy import Table, ToyModel, hashed
from core.shapes.base import TreePolicy
from core.tree import Draft
from core.verify.base import Context
from tests.toys import World, certain_at

Path = tuple[int, ...]

PROMPT = (0, 1, 0, 1)  # what the toy tables' rows follow; the last token is the prompt pass's
A, B, C = 0, 1, 2
DRAFT: Mapping[Path, Sequence[float]] = {
    (): (0.6, 0.3, 0.1),
    (A,): (0.7, 0.2, 0.1),
    (B,): (0.5, 0.4, 0.1),
    (C,): (0.4, 0.3, 0.3),
    (A, A): (0.8, 0.1, 0.1),
    (A, B): (0.5, 0.3, 0.2),
    (B, A): (0.6, 0.3, 0.1),
    (B, B): (0.4, 0.4, 0.2),
}
TARGET: Mapping[Path, Sequence[float]] = {
    (): (0.5, 0.4, 0.1),
    (A,): (0.6, 0.3, 0.1),
    (B,): (0.3, 0.6, 0.1),
    (C,): (0.3, 0.3, 0.4),
    (A, A): (0.7, 0.2, 0.1),
}


def after_prompt(rows: Mapping[Path, Sequence[float]], otherwise: Sequence[float]) -> Table:
    """Return the table whose rows are keyed by what follows `PROMPT`."""
    return lambda context: rows.get(tuple(context[len(PROMPT) :]), otherwise)


def fixture_world() -> World:
    """Return the world of the fixtures."""
    target = after_prompt(TARGET, (0.4, 0.4, 0.2))
    draft = after_prompt(DRAFT, (0.5, 0.3, 0.2))
    return World(certain_at(target, len(PROMPT) - 1, PROMPT[-1]), draft, 3, PROMPT[:-1])


class NoDice:
    """Refuses to be thrown: fixed drafts need no luck."""

    @property
    def u(self) -> float:
        raise AssertionError("a number was asked for")

    def at(self, *key: int | str) -> NoDice:
        return self

    def flip(self, heads: float) -> bool:
        raise AssertionError("a coin was thrown")

    def draw(self, weights: object, count: int = 1, replace: bool = True) -> object:
        raise AssertionError("a token was drawn")


def proposed(
    shape: TreePolicy,
    table: Table,
    size: int,
    law: Law | None = None,
    limit: int = 40,
    dice: Dice | None = None,
    prompt: Sequence[int] = PROMPT,
) -> Draft:
    """Return what `shape` drafts after `prompt` with a toy of this table as the drafter."""
    return proposed_by(ToyModel(table, size), shape, law or Law(1), limit, dice, prompt)


def proposed_by(
    model: ToyModel,
    shape: TreePolicy,
    law: Law,
    limit: int = 20,
    dice: Dice | None = None,
    prompt: Sequence[int] = PROMPT,
) -> Draft:
    """Return what `shape` drafts after `prompt` with `model`; without `dice` it must not draw."""
    drafter = ModelDrafter(lambda text, _: model.open(text), shape, "toy")
    drafter.begin(prompt, model.open(prompt[:-1]))
    return drafter.propose(Context(tuple(prompt), law), limit, dice or NoDice())


def paths_of(draft: Draft) -> list[Path]:
    """Return the token path of every drafted node."""
    tree = draft.tree
    return [tuple(tree.tokens[n] for n in tree.path(i)[1:]) for i in range(1, len(tree))]


def tied(size: int, seed: int) -> Table:
    """Return a table of halves, quarters and so on: products are exact, and many are equal."""
    weights = hashed(size, seed)

    def law(context: tuple[int, ...]) -> Sequence[float]:
        left, row = 1.0, [0.0] * size
        for token in sorted(range(size), key=weights(context).__getitem__)[: size - 1]:
            left /= 2
            row[token] = left
        row[row.index(0.0)] += left
        return row

    return law


def name(path: Path) -> str:
    return "".join("abc"[token] for token in path)


def digits(value: float) -> float:
    return float(f"{value:.6g}")


def shares(table: Table, path: Path, prompt: Sequence[int] = PROMPT) -> list[float]:
    return list(table((*prompt, *path)))


def children(table: Table, path: Path, score: float, width: int) -> list[tuple[Path, float]]:
    row = shares(table, path)
    best = sorted(range(len(row)), key=lambda token: (-row[token], token))[:width]
    return [((*path, token), digits(score * row[token])) for token in best]


def largest(pool: Sequence[tuple[Path, float]], most: int) -> list[int]:
    """Return the places of the largest scores above 0; of equal ones the earlier."""
    places = sorted(range(len(pool)), key=lambda place: (-pool[place][1], place))[:most]
    return [place for place in places if pool[place][1] > 0]


@dataclass
class Expanded:
    """What EAGLE-2's construction goes through."""

    pool: list[tuple[Path, float]] = field(default_factory=list)
    frontiers: list[list[Path]] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)


def eagle2(table: Table, width: int, nodes: int, expansions: int) -> Expanded:
    """Expand and rerank, literally."""
    made = Expanded(children(table, (), 1.0, width))
    level = list(range(len(made.pool)))
    for _ in range(expansions):
        best = sorted(level[i] for i in largest([made.pool[p] for p in level], width))
        made.frontiers.append([made.pool[place][0] for place in best])
        level = []
        for place in best:
            new = children(table, *made.pool[place], width)
            level += range(len(made.pool), len(made.pool) + len(new))
            made.pool += new
    made.kept = [made.pool[place][0] for place in sorted(largest(made.pool, nodes - 1))]
    return made


@dataclass
class Optimal:
    """What OPT-Tree's construction goes through; every layer is scored whole."""

    expected: list[float] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    steps: int = 0


def opt_tree(table: Table, nodes: int, threshold: float, deepest: int, lags: bool) -> Optimal:
    """The algorithm, literally; with `lags` judged one step late."""
    made, pool = Optimal(), list[tuple[Path, float]]()
    layer: list[tuple[Path, float]] = [((), 1.0)]
    while True:
        below = [child for parent in layer for child in children(table, *parent, nodes)]
        layer = [below[place] for place in largest(below, nodes)]
        made.steps += 1
        if lags and made.expected and (made.steps == deepest or _small(made, threshold)):
            break
        pool += layer
        made.expected.append(math.fsum(pool[place][1] for place in largest(pool, nodes)))
        if made.steps == deepest or (not lags and _small(made, threshold)):
            break
    made.kept = [pool[place][0] for place in largest(pool, nodes)]
    return made


def _small(made: Optimal, threshold: float) -> bool:
    before = made.expected[-2] if len(made.expected) > 1 else 0.0
    return round(made.expected[-1] - before, 6) <= threshold


def reach(table: Table, path: Path, prompt: Sequence[int] = PROMPT) -> float:
    """Return the probability that the target writes `path` after the prompt."""
    return math.prod(table((*prompt, *path[:i]))[token] for i, token in enumerate(path))

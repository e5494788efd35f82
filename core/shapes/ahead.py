"""Children of nodes, drawn a few at a time and looked at one by one.

A device that is asked for each token alone waits for it each time. Here the next few children of a
node come in one read, and a policy sees a token and its q only when it takes the place that the
token fills. Above temperature 0 children are drawn without replacement; at temperature 0 they are
the likeliest tokens in order, and their q is that of the drafter's law at temperature 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from core.dice import Dice
from core.host import float_blocks
from core.laws import RAW
from core.reduce import top_tokens
from core.shapes.base import Grown

_AT_ONCE = 8  # more children than most nodes get


@dataclass(slots=True)
class _Row:
    tokens: list[int] = field(default_factory=lambda: list[int]())
    q: list[float] = field(default_factory=lambda: list[float]())
    is_spent: bool = False  # the law's support holds no more


@dataclass(slots=True)
class DrawnAhead:
    """The children of one draft's nodes, in the order drawn; `greedy`: the likeliest, in order."""

    greedy: bool
    _rows: dict[int, _Row] = field(default_factory=lambda: dict[int, _Row]())

    def __contains__(self, node: int) -> bool:
        return node in self._rows

    def child(
        self, node: int, rank: int, most: int, grown: Grown, dice: Dice
    ) -> tuple[int, float] | None:
        """Return token and q of child number `rank` of a node, None where the support holds fewer.

        `most`: children that the node can still get, of which no more are drawn.
        """
        row = self._rows[node]
        if rank == len(row.tokens) and not row.is_spent:
            self.draw([node], most, grown, dice)
        return (row.tokens[rank], row.q[rank]) if rank < len(row.tokens) else None

    def left(self, node: int, rank: int) -> float:
        """Return the mass of q that the first `rank` children of a node leave."""
        return 1 - sum(self._rows[node].q[:rank])

    def draw(self, nodes: Sequence[int], most: int, grown: Grown, dice: Dice) -> None:
        """Draw the next children of scored `nodes`, at most `most` of each, in one read."""
        rows = [self._rows.setdefault(node, _Row()) for node in nodes]
        count = min(_AT_ONCE, most)
        drawn = [
            self._next(grown, grown.rows[node], row.tokens, count, dice.at(node, len(row.tokens)))
            for node, row in zip(nodes, rows, strict=True)
        ]
        for row, (tokens, q) in zip(rows, float_blocks(torch.stack(drawn)), strict=True):
            found = [
                (int(token), mass) for token, mass in zip(tokens, q, strict=True) if token >= 0
            ]
            row.tokens += [token for token, _ in found]
            row.q += [mass for _, mass in found]
            row.is_spent = len(found) < count

    def _next(self, grown: Grown, place: int, known: list[int], count: int, dice: Dice) -> Tensor:
        """Return (2, count): the tokens after the `known` ones, -1 where there are none, and q."""
        taken = torch.tensor(known, dtype=torch.long, device=grown.q.device)
        logits = grown.logits[place, None]
        law = (RAW(logits) if self.greedy else grown.q[place, None]).index_fill(1, taken, 0.0)
        if self.greedy:
            tokens = top_tokens(logits.index_fill(1, taken, -torch.inf), count)
        else:
            tokens = dice.draw(law, count, replace=False)
        q = law.gather(1, tokens.clamp(min=0))
        both = torch.cat([tokens.to(q).masked_fill(q == 0, -1.0), q])  # ids fit into float32
        return pad(both, (0, count - both.shape[1]), value=-1.0)

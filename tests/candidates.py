"""Independent candidates for the tests of SpecTr's rules: what the sheet says of K of them, random
laws, random merged drafts, and one round over a real vocabulary.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.host import Floats
from core.laws import Law
from core.models.base import Scores
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context

RAW = Context((0,), Law(1))

SPECTR = [
    # name, K, K-SEQ, rho*, best with replacement
    ("F1", 1, 0.7, 1, 0.7),
    ("F2", 1, 0.5, 1, 0.5),
    ("F3", 1, 1, 1, 1),
    ("F4", 1, 0.5, 1, 0.5),
    ("F6", 1, 5 / 6, 1, 5 / 6),
    ("F1", 2, 0.791355, 1.456776, 0.86),
    ("F2", 2, 0.75, 1.5, 0.75),
    ("F3", 2, 1, 1, 1),
    ("F4", 2, 0.565887, 1.658872, 0.59),
    ("F6", 2, 0.924764, 1.274292, 1),
    ("F1", 3, 0.858519, 1.792593, 0.988),
    ("F2", 3, 0.875, 1.75, 0.875),
    ("F3", 3, 1, 1, 1),
    ("F4", 3, 0.624234, 2.242344, 0.671),
    ("F6", 3, 0.969682, 1.409046, 1),
]

each_row = pytest.mark.parametrize(("name", "count", "k_seq", "rho", "best"), SPECTR)


def random_pair(seed: int, size: int, zeros: float = 0.25) -> tuple[Floats, Floats]:
    """Return two laws (size,), a share of whose entries is zero, at times disjoint."""
    rng = np.random.default_rng(seed)

    def law() -> Floats:
        weights = rng.random(size) ** 3 * (rng.random(size) > zeros)
        weights[rng.integers(size)] += 0.05
        return weights / weights.sum()

    return law(), law()


def random_draft(
    seed: int, size: int, drafts: int, length: int, zeros: float = 0.25
) -> tuple[Draft, Scores]:
    """Return independent drafts, merged, with the laws that they came from, and target logits."""
    rng = np.random.default_rng(seed)
    tree, rows, laws = DraftTree.root(0), {}, list[Floats]()
    open_nodes = {0: drafts}
    for _ in range(length):
        grown: dict[int, int] = {}
        for node, count in open_nodes.items():
            q = random_pair(int(rng.integers(2**31)), size, zeros)[1]
            rows[node] = len(laws)
            laws.append(q)
            drawn = rng.choice(size, count, p=q).tolist()
            kinds = list(dict.fromkeys(drawn))
            numbers = {token: len(tree) + place for place, token in enumerate(kinds)}
            offers = {node: [numbers[token] for token in drawn]} if len(kinds) < count else {}
            tree = tree.extended([node] * len(kinds), kinds, offers)
            grown |= {numbers[token]: drawn.count(token) for token in kinds}
        open_nodes = grown
    p = torch.tensor(
        np.array([random_pair(seed + node + 1, size, zeros)[0] for node in range(len(tree))])
    )
    draft = Draft(tree, Sampling.INDEPENDENT, q=torch.tensor(np.array(laws)), rows=rows)
    return draft, Scores(torch.where(p > 0, p.log(), -torch.inf))


def real_round(size: int, drafts: int) -> tuple[Draft, Scores]:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn((drafts + 1, size), generator=generator) * 3
    q = (logits[:1] + torch.randn((1, size), generator=generator)).softmax(dim=1)
    drawn = torch.multinomial(q[0], drafts, replacement=True, generator=generator).tolist()
    kinds = list(dict.fromkeys(drawn))
    numbers = {token: 1 + place for place, token in enumerate(kinds)}
    tree = DraftTree.root(0).extended(
        [0] * len(kinds), kinds, {0: [numbers[token] for token in drawn]}
    )
    return Draft(tree, Sampling.INDEPENDENT, q=q, rows={0: 0}), Scores(logits[: len(tree)])

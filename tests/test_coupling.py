"""The recorded coupling of a plan and of K-SEQ, against running over every draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from core.extras import TransportNode
from core.host import Floats
from core.verify import alphabet as alphabets
from core.verify.alphabet import FREE, Alphabet, alphabet
from core.verify.coupling import told
from core.verify.plan import Plan, plan
from tests.candidates import random_pair

pytestmark = pytest.mark.matrix

Stays = Callable[[Sequence[int]], dict[int, float]]  # tokens in play -> chance of each


def stays_by_plan(found: Plan) -> Stays:
    def stays(tokens: Sequence[int]) -> dict[int, float]:
        first: dict[int, int] = {}
        for token in tokens:
            first.setdefault(int(found.symbols.place[token]), token)
        if FREE in first:
            return {first[FREE]: 1.0}
        chance = found.chance[found.place(first)]
        return {token: float(chance[symbol]) for symbol, token in first.items()}

    return stays


def stays_by_k_seq(symbols: Alphabet) -> Stays:
    def stays(tokens: Sequence[int]) -> dict[int, float]:
        found, missed = dict.fromkeys(tokens, 0.0), 1.0
        for token in tokens:
            most = symbols.rho * symbols.drawn[token]
            accept = min(1.0, symbols.target[token] / most) / symbols.play[token]
            found[token] += missed * accept
            missed *= 1 - accept
        return found

    return stays


def coupling(symbols: Alphabet, kept: TransportNode, rest: Floats, stays: Stays) -> Floats:
    """Return the recorded cells by running over every draw, and who of it is in play."""
    places = [int(symbols.place[tokens[0]]) for tokens in kept.token[:-1]]
    last = len(places)
    column = [places.index(place) if place in places else last for place in symbols.place.tolist()]
    rest = rest / rest.sum() if rest.any() else rest
    rows = {frozenset(row): place for place, row in enumerate(kept.sets)}
    cells = np.zeros((len(rows), last + 1))
    for drawn in product(range(len(rest)), repeat=symbols.count):
        for plays in product((True, False), repeat=symbols.count):
            mass, tokens = 1.0, list[int]()
            for token, is_in in zip(drawn, plays, strict=True):
                share = symbols.play[token] if symbols.place[token] >= FREE else 0.0
                mass *= symbols.drawn[token] * (share if is_in else 1 - share)
                tokens += [token] * is_in
            free = [token for token in tokens if symbols.place[token] == FREE]
            key = frozenset(column[token] for token in free or tokens)
            if not mass or key not in rows:
                continue
            chances = stays(tokens)
            for token, chance in chances.items():
                cells[rows[key], column[token]] += mass * chance
            for token, chance in enumerate(rest):
                cells[rows[key], column[token]] += mass * (1 - sum(chances.values())) * chance
    return cells


@pytest.mark.parametrize("truncated", [False, True])
def test_the_recorded_coupling_is_what_both_rules_do(
    truncated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, zeros = (8, 0.0) if truncated else (5, 0.25)
    if truncated:
        monkeypatch.setattr(alphabets, "_MOST", 5)
    bundles = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p, q = random_pair(seed, size, zeros)
        found = plan(alphabet(p, q, int(rng.integers(1, 3 if truncated else 4))))
        symbols = found.symbols
        bundles += not symbols.is_exact
        drawn = [int(token) for token in rng.choice(size, symbols.count, p=q)]
        kept = told(0, found, drawn)
        planned = coupling(symbols, kept, p - found.kept, stays_by_plan(found))
        rest = np.maximum(p - symbols.rho * q, 0)
        by_k_seq = coupling(symbols, kept, rest, stays_by_k_seq(symbols))
        assert np.array(kept.by_plan) == pytest.approx(planned, abs=1e-4)
        assert np.array(kept.by_k_seq) == pytest.approx(by_k_seq, abs=1e-4)
        assert kept.mass == pytest.approx(planned.sum(axis=1), abs=1e-4)
        assert sum(kept.p) == pytest.approx(1, abs=1e-3)
        assert sum(kept.size) == size
        assert kept.k_seq - 1e-6 <= kept.accept <= kept.best
    assert bool(bundles) == truncated

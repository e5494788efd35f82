"""Exactness with real sessions: tiny transformers models over three tokens, their caches, and each
kind of drafter.

GPT-2's shape computes in float64 throughout, so that 1e-11 holds; Llama's norm goes through
float32, which costs it 1e-6. The reference is a plain pass without cache.
"""

from __future__ import annotations

from functools import cache

import pytest
import torch

from core.decode import start, step
from core.dice import Dice
from core.laws import Law
from core.registry import Models, get
from tests import exact
from tests.exactness import AMPLE, unrecorded
from tests.tiny import slow_logits, tiny, wrapped
from tests.toys import Text, ancestral, completed

SIZE, LAYERS = 3, 2
PROMPT = (0, 1, 2)
TOLERANCE = {"gpt2": 1e-11, "llama": 1e-6}
DRAFTERS = {
    "skip": {"drafter": "skip", "skip_layers": [1]},
    "skip first": {"drafter": "skip", "skip_layers": [0]},
    "exit": {"drafter": "exit", "exit_layer": 1},
    "model": {"drafter": "model"},
}
PLANS = {
    "one round of two tokens": ("gpt2", "speculative_sampling", {"length": 2}, Law(1), 1),
    "two rounds of one token": (
        "llama",
        "speculative_sampling",
        {"length": 1},
        Law(0.7, top_k=2),
        2,
    ),
    "a tree": ("llama", "rsd", {"tree": [2, 1]}, Law(1, top_k=2), 1),
    "two rounds at temperature 0": ("gpt2", "rsd", {"tree": [2, 1]}, Law(0), 2),
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_real_sessions_write_with_the_target_s_law(drafter: str, plan: str) -> None:
    shape, key, values, law, rounds = PLANS[plan]
    model = tiny(shape, layers=LAYERS, vocabulary=SIZE, dtype=torch.float64)
    second = tiny(shape, layers=1, vocabulary=SIZE, seed=1, dtype=torch.float64)

    def run(dice: Dice) -> Text:
        target = wrapped(model)
        decoder = get(key).build(values | DRAFTERS[drafter], Models(target, wrapped(second)))
        state = start(PROMPT, target, decoder, law, AMPLE, recorder=unrecorded)
        for _ in range(rounds + 1):
            step([state], dice, lambda: 0.0)
        return tuple(state.tokens[len(PROMPT) :])

    @cache
    def table(context: Text) -> list[float]:
        return slow_logits(model, context)[-1].softmax(dim=0).tolist()

    texts = exact.law(run)
    longest = max(map(len, texts))
    ours = completed(texts, table, PROMPT, law, longest)
    assert exact.distance(ours, ancestral(table, PROMPT, law, longest)) < TOLERANCE[shape]
    assert longest > rounds + 1  # something drafted can be accepted

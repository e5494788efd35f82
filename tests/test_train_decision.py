"""Training DynaSD's decision model: it learns what its inputs tell, alike for the same seed."""

from __future__ import annotations

import pytest
import torch

from core.train.decision import EPOCHS, Examples, train


def examples(count: int, seed: int) -> Examples:
    """Return states whose first number says how likely a token is to be kept."""
    hidden = torch.randn((count, 12), generator=torch.Generator().manual_seed(seed))
    return Examples(hidden, (2 * hidden[:, 0]).sigmoid())


def test_it_comes_closer_to_the_labels_than_any_constant_and_the_best_epoch_stays() -> None:
    model, report = train(examples(400, 0), examples(80, 1), seed=0)
    losses = [held for _, held in report.losses]
    assert len(losses) == EPOCHS
    assert report.floor < min(losses) < report.constant
    assert min(losses) - report.floor < 0.2 * (report.constant - report.floor)
    assert report.positions == (400, 80)
    held = examples(80, 1)
    with torch.inference_mode():
        found = torch.nn.functional.binary_cross_entropy(model(held.hidden), held.label)
        sides = ((model(held.hidden) > 0.4) == (held.label > 0.4)).float().mean()
    assert float(found) == pytest.approx(min(losses))
    assert report.agreement == pytest.approx(float(sides))


def test_a_seed_gives_one_model_and_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    (one, _), (same, _), (other, _) = (
        train(examples(60, 0), examples(20, 1), seed) for seed in (3, 3, 4)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    pairs = zip(one.state_dict().values(), same.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(one.layers[0].weight, other.layers[0].weight)

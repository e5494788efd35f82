"""How much of the target's law a draft model's law covers: its acceptance per drafted token.

Speculative sampling keeps a drafted token with chance Σ min(p, q) at its place. Counted at places
of the target's own answers on held-out topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor
from transformers import PreTrainedModel

from core.heads.target import TargetWeights
from core.models.base import FINAL
from core.models.trimmed import head_of
from core.train.data import Text

PLACES = 2048  # that are looked at, evenly spread
_PART = 256  # of them at once: a law has as many numbers as there are tokens


@dataclass(frozen=True, slots=True)
class Overlap:
    mean: float
    places: int


@torch.no_grad()
def overlap(
    model: PreTrainedModel,
    texts: Sequence[Text],
    target: TargetWeights,
    temperature: float,
    most: int = PLACES,
) -> Overlap:
    """Return the mean of Σ min(p, q) at that temperature, above 0."""
    every = max(1, sum(len(text.tokens) - text.answer for text in texts) // most)
    found: list[Tensor] = []
    for text in texts:
        chosen = torch.arange(text.answer, len(text.tokens), every)
        hidden = model.base_model(input_ids=text.tokens[None], use_cache=False).last_hidden_state[0]
        for part in torch.split(chosen, _PART):
            q = head_of(model)(hidden[part]).float().div(temperature).softmax(-1)
            p = target_law(target, text.states[FINAL][part], temperature)
            found.append(torch.minimum(p, q).sum(-1))
    kept = torch.cat(found)
    return Overlap(float(kept.mean()), len(kept))


def target_law(target: TargetWeights, states: Tensor, temperature: float) -> Tensor:
    """Return the laws (n, V) that the target reads off its last states (n, D)."""
    logits = F.linear(states.to(target.dtype), target.head).float()
    return logits.div(temperature).softmax(-1)

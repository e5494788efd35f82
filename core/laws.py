"""From logits to the laws that tokens are drawn from: temperature, then top-k, then top-p, as transformers orders them.

Temperature 0 is the limit, not a branch of its own elsewhere: the law is one-hot on the arg-max (lowest id on a tie),
and every rule that is right for laws is then greedy matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_PREFIX = 256  # top-p looks at this many tokens before it sorts everything


@dataclass(frozen=True, slots=True)
class Law:
    """How logits become probabilities. `top_k` 0 and `top_p` 1 switch the filters off.

    Raises ValueError with one sentence when a value is out of range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"Temperature is {self.temperature:g}; it may be 0 to 2.")
        if self.top_k < 0:
            raise ValueError(f"Top-k is {self.top_k}; it may be 0 (off) or more.")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"Top-p is {self.top_p:g}; it may be above 0 and at most 1.")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0

    def __call__(self, logits: Tensor) -> Tensor:
        """Return probabilities (N, V) in float32, or float64 for float64 logits."""
        if self.is_greedy:
            return _one_hot(logits)
        scaled = widen(logits) / self.temperature
        if 0 < self.top_k < scaled.shape[-1]:
            kth = scaled.topk(self.top_k, dim=-1).values[..., -1:]
            scaled = scaled.masked_fill(scaled < kth, -torch.inf)
        probabilities = scaled.softmax(dim=-1)
        return probabilities if self.top_p == 1 else _nucleus(probabilities, self.top_p)


RAW = Law()  # temperature 1, unfiltered


def widen(logits: Tensor) -> Tensor:
    """Return `logits` in at least float32."""
    return logits if logits.dtype == torch.float64 else logits.float()


def _one_hot(logits: Tensor) -> Tensor:
    best = logits.argmax(dim=-1, keepdim=True)
    dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
    return torch.zeros(logits.shape, dtype=dtype, device=logits.device).scatter_(-1, best, 1.0)


def _nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Keep the smallest set of likeliest tokens whose mass reaches `top_p`, rescaled; at least one token."""
    size = probabilities.shape[-1]
    prefix = min(_PREFIX, size)
    values, tokens = probabilities.topk(prefix, dim=-1)
    if prefix < size and bool((values.sum(dim=-1) < top_p).any()):
        values, tokens = probabilities.sort(dim=-1, descending=True)
    mass_before = values.cumsum(dim=-1) - values
    kept = values.masked_fill(mass_before >= top_p, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter_(-1, tokens, kept)

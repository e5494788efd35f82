"""From logits to the laws that tokens are drawn from: temperature, then top-k, then top-p, as
transformers orders them.

Temperature 0 is the limit, not a branch of its own elsewhere: the law is one-hot on the arg-max
(lowest id on a tie), and every rule that is right for laws is then greedy matching.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LEAST = 1e-3  # temperature above 0
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
        if 0 < self.temperature < LEAST:  # logits over less leave the range of single precision
            raise ValueError(
                f"Temperature is {self.temperature:g}; it may be 0, or {LEAST:g} to 2."
            )
        if self.top_k < 0:
            raise ValueError(f"Top-k is {self.top_k}; it may be 0 (off) or more.")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"Top-p is {self.top_p:g}; it may be above 0 and at most 1.")

    @property
    def is_greedy(self) -> bool:
        return self.temperature == 0

    @property
    def is_filtered(self) -> bool:
        """Return whether some tokens can have no mass."""
        return self.is_greedy or self.top_k > 0 or self.top_p < 1

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
    """Keep the smallest set of likeliest tokens whose mass reaches `top_p`, rescaled; at least one
    token.

    Of equal tokens the lowest ids are kept: topk leaves that open, and the law of a row would
    depend on its batch.
    """
    size = probabilities.shape[-1]
    values, tokens = _leading(probabilities, min(_PREFIX, size))
    count, sums = _needed(values, top_p)
    if size > _PREFIX and bool((values.gather(-1, count - 1) <= values[..., -1:]).any()):
        values, tokens = probabilities.sort(dim=-1, descending=True, stable=True)
        count, sums = _needed(values, top_p)
    dropped = torch.arange(values.shape[-1], device=values.device) >= count
    kept = values.masked_fill(dropped, 0.0) / sums.gather(-1, count - 1)
    return torch.zeros_like(probabilities).scatter_(-1, tokens, kept)


def _leading(probabilities: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the `count` largest and their ids, lowest id first among equals that are all there."""
    tokens = probabilities.topk(count, dim=-1).indices.sort(dim=-1).values
    values, order = probabilities.gather(-1, tokens).sort(dim=-1, descending=True, stable=True)
    return values, tokens.gather(-1, order)


def _needed(values: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """Return how many of the sorted `values` are needed to reach `top_p`, and the running sums."""
    sums = values.cumsum(dim=-1)
    return (sums - values < top_p).sum(dim=-1, keepdim=True), sums

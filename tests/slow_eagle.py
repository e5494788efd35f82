"""Heads over pairs, computed again from nothing, pair by pair with numpy: no cache, no mask, none
of the code under test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from core.heads.pairs import Pairs
from core.heads.target import Shape

Row = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """Pairs that ran: keys and values (G, d), outputs (D,)."""

    keys: Sequence[Row]
    values: Sequence[Row]
    outputs: Sequence[Row]


class SlowHead:
    """One head's weights, and what it says of a text."""

    def __init__(self, head: Pairs) -> None:
        state = head.head.state_dict()
        self.weights: Mapping[str, Row] = {n: _array(t) for n, t in state.items()}
        self.kind = head.kind
        self.shape: Shape = head.head.shape
        self.embedding, self.rows = _array(head.embedding), _array(head.rows)
        self.ids = head.vocabulary.ids.tolist()
        self.prefix = "layers.0." if head.kind == "eagle" else "midlayer."

    def read(self, true: Sequence[Row], tokens: Sequence[int]) -> Known:
        """Return what is known after the pairs of a text."""
        known = Known([], [], [])
        for feature, token in zip(true, tokens, strict=True):
            known = self._longer(known, feature, token)
        return known

    def draft(self, known: Known, tokens: Sequence[int]) -> Row:
        """Return the last output once `tokens` were drafted: each pair reads the output before."""
        for token in tokens:
            known = self._longer(known, known.outputs[-1], token)
        return known.outputs[-1]

    def _longer(self, known: Known, feature: Row, token: int) -> Known:
        inputs, residual = self._entered(feature, self.embedding[token])
        query, key, value = self._heads(inputs, len(known.keys))
        keys, values = [*known.keys, key], [*known.values, value]
        mixed = self._w("self_attn.o_proj.weight") @ self._seen(query, keys, values)
        hidden = residual + mixed
        output = hidden + self._mlp(self._normed(hidden, "post_attention_layernorm"))
        return Known(keys, values, [*known.outputs, output])

    def fused(self, states: Sequence[Row]) -> Row:
        """Return the feature of one position from its states."""
        if self.kind == "eagle":
            return states[0]
        norms = [self.weights.get(f"fc_norm.{place}.weight") for place in range(len(states))]
        parts = [
            state if norm is None else _rms(state, norm, self.shape.eps)
            for state, norm in zip(states, norms, strict=True)
        ]
        return self.weights["fc.weight"] @ np.concatenate(parts)

    def logits(self, output: Row) -> Row:
        """Return logits (V,), minus infinity for what the head cannot name."""
        read = output
        if self.kind == "eagle3":
            read = _rms(output, self.weights["norm.weight"], self.shape.eps)
        found = np.full(len(self.embedding), -np.inf)
        found[self.ids] = self.rows @ read
        return found

    def _entered(self, feature: Row, embedded: Row) -> tuple[Row, Row]:
        if self.kind == "eagle":
            joined = self.weights["fc.weight"] @ np.concatenate([embedded, feature])
            joined = joined + self.weights.get("fc.bias", np.zeros_like(joined))
            return joined, joined
        parts = (
            self._normed(embedded, "input_layernorm"),
            self._normed(feature, "hidden_norm"),
        )
        return np.concatenate(parts), feature

    def _heads(self, inputs: Row, place: int) -> tuple[Row, Row, Row]:
        """Return queries (H, d), keys and values (G, d), turned to their position."""
        size = self.shape.head_dim
        parts = [(self._w(f"self_attn.{x}_proj.weight") @ inputs).reshape(-1, size) for x in "qkv"]
        turns = place * self.shape.theta ** -(np.arange(0, size, 2) / size)
        cos, sin = np.tile(np.cos(turns), 2), np.tile(np.sin(turns), 2)

        def turned(rows: Row) -> Row:
            half = size // 2
            return rows * cos + np.concatenate([-rows[:, half:], rows[:, :half]], axis=1) * sin

        return turned(parts[0]), turned(parts[1]), parts[2]

    def _seen(self, queries: Row, keys: Sequence[Row], values: Sequence[Row]) -> Row:
        fold = self.shape.heads // self.shape.groups
        out: list[Row] = []
        for head, query in enumerate(queries):
            group = head // fold
            scores = np.stack([key[group] for key in keys]) @ query / np.sqrt(len(query))
            shares = np.exp(scores - scores.max())
            out.append(shares / shares.sum() @ np.stack([value[group] for value in values]))
        return np.concatenate(out)

    def _mlp(self, hidden: Row) -> Row:
        gate, up = (self._w(f"mlp.{x}_proj.weight") @ hidden for x in ("gate", "up"))
        return self._w("mlp.down_proj.weight") @ (gate / (1 + np.exp(-gate)) * up)

    def _normed(self, hidden: Row, name: str) -> Row:
        return _rms(hidden, self._w(f"{name}.weight"), self.shape.eps)

    def _w(self, name: str) -> Row:
        return self.weights[self.prefix + name]


def _array(tensor: Tensor) -> Row:
    return tensor.detach().double().numpy()


def _rms(hidden: Row, weight: Row, eps: float) -> Row:
    return hidden / np.sqrt((hidden * hidden).mean() + eps) * weight

"""Keys and values of one sequence in buffers that are allocated once and written in place.

Speaks the part of transformers' cache interface that attention layers use. A forward writes its
rows from `offset` on and sees everything before them; which rows are text and which are drafts is
the session's business.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

_FIRST = 256  # rows allocated at first; doubled when they run out


class TreeCache(Cache):
    """`offset`: the row at which the next forward writes."""

    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=DynamicLayer)
        self.offset = 0
        self._keys: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}

    def update(
        self,
        key_states: Tensor,
        value_states: Tensor,
        layer_idx: int,
        *args: object,
        **kwargs: object,
    ) -> tuple[Tensor, Tensor]:
        """Write rows (1, H, T, D) at `offset`; return all rows up to the last one written."""
        end = self.offset + key_states.shape[2]
        keys = _fitting(self._keys, layer_idx, key_states, end)
        values = _fitting(self._values, layer_idx, value_states, end)
        keys[:, :, self.offset : end] = key_states
        values[:, :, self.offset : end] = value_states
        return keys[:, :, :end], values[:, :, :end]

    def move(self, rows: Sequence[int], start: int) -> None:
        """Copy `rows` to `start`, `start + 1`, ... in every layer."""
        end = start + len(rows)
        if list(rows) == list(range(start, end)):
            return
        for buffers in (self._keys, self._values):
            index: dict[torch.device, Tensor] = {}
            for buffer in buffers.values():
                if buffer.device not in index:
                    index[buffer.device] = torch.tensor(rows, device=buffer.device)
                buffer[:, :, start:end] = buffer[:, :, index[buffer.device]]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.offset

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.offset + query_length, 0


def _fitting(buffers: dict[int, Tensor], layer: int, states: Tensor, rows: int) -> Tensor:
    """Return the layer's buffer, grown to hold `rows`."""
    buffer = buffers.get(layer)
    if buffer is not None and buffer.shape[2] >= rows:
        return buffer
    capacity = _FIRST
    while capacity < rows:
        capacity *= 2
    grown = states.new_empty((states.shape[0], states.shape[1], capacity, states.shape[3]))
    if buffer is not None:
        grown[:, :, : buffer.shape[2]] = buffer
    buffers[layer] = grown
    return grown

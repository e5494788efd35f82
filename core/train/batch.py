"""Many texts at once through a Llama-shaped model: how the corpora of the trainers are written.

Every step feeds one token per slot, a prompt's next or the text's own last; a slot whose text is
finished takes the next request. The prefix that all prompts share is run once. Three times as fast
on a CPU as padded batches of `generate`, whose rows wait for the longest text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.host import int_rows
from core.models.lean import LeanLlama


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to go on from, at a temperature, by at most `limit` tokens."""

    prompt: tuple[int, ...]
    temperature: float
    limit: int


@dataclass(frozen=True, slots=True)
class Written:
    """What was written for request `number`, the end token included where there is one."""

    number: int
    tokens: tuple[int, ...]


@dataclass(slots=True)
class _Slot:
    """One text under way: `ahead` are prompt tokens still to feed, the next one last."""

    number: int
    ahead: list[int]
    temperature: float
    limit: int
    length: int = 0  # rows in the cache
    written: list[int] = field(default_factory=lambda: list[int]())


class BatchWriter:
    """Writes texts in `slots` rows. `rows`: longest prompt plus text that can come."""

    def __init__(self, model: LeanLlama, slots: int, rows: int) -> None:
        self._model = model
        shape = (model.num_layers, slots, model.groups, rows, model.head_dim)
        self._keys = torch.zeros(shape, dtype=model.dtype)
        self._values = torch.zeros(shape, dtype=model.dtype)
        self._slots = slots
        self._rows = rows

    @torch.inference_mode()
    def write(
        self, requests: Sequence[Request], ends: frozenset[int], generator: torch.Generator
    ) -> Iterator[Written]:
        """Yield the texts in the order in which they end. Raises ValueError for an empty prompt, or
        where a prompt and its text outgrow the rows.
        """
        for request in requests:
            if not request.prompt or len(request.prompt) + request.limit > self._rows:
                raise ValueError(f"a prompt and its text have 1 to {self._rows} tokens")
        prefix = self._prefix(requests)
        waiting = list(enumerate(requests))[::-1]
        live: dict[int, _Slot] = {}
        while waiting or live:
            for row in range(self._slots):
                if row not in live and waiting:
                    live[row] = self._started(row, *waiting.pop(), prefix)
            yield from self._step(live, ends, generator)

    def _prefix(self, requests: Sequence[Request]) -> int:
        """Run the tokens that all prompts begin with, but for their last ones, into row 0."""
        shortest = min((request.prompt[:-1] for request in requests), key=len, default=())
        size = next(
            (i for i, t in enumerate(shortest) if any(r.prompt[i] != t for r in requests)),
            len(shortest),
        )
        for place, token in enumerate(shortest[:size]):
            self._forward(torch.tensor([0]), torch.tensor([token]), torch.tensor([place]))
        self._shared = self._keys[:, 0, :, :size].clone(), self._values[:, 0, :, :size].clone()
        return size

    def _started(self, row: int, number: int, request: Request, prefix: int) -> _Slot:
        keys, values = self._shared
        self._keys[:, row, :, :prefix], self._values[:, row, :, :prefix] = keys, values
        ahead = list(request.prompt[prefix:])[::-1]
        return _Slot(number, ahead, request.temperature, request.limit, prefix)

    def _step(
        self, live: dict[int, _Slot], ends: frozenset[int], generator: torch.Generator
    ) -> Iterator[Written]:
        """Feed one token per slot; yield and clear the slots whose text ended."""
        rows = sorted(live)
        slots = [live[row] for row in rows]
        fed = [slot.ahead.pop() if slot.ahead else slot.written[-1] for slot in slots]
        places = [slot.length for slot in slots]
        hidden = self._forward(torch.tensor(rows), torch.tensor(fed), torch.tensor(places))
        for slot in slots:
            slot.length += 1
        writing = [i for i, slot in enumerate(slots) if not slot.ahead]
        if not writing:
            return
        logits = self._model.head(self._model.norm(hidden[writing])).float()
        heat = torch.tensor([slots[i].temperature for i in writing])
        for i, token in zip(writing, _chosen(logits, heat, generator), strict=True):
            slot = slots[i]
            slot.written.append(token)
            if token in ends or len(slot.written) == slot.limit:
                del live[rows[i]]
                yield Written(slot.number, tuple(slot.written))

    def _forward(self, rows: Tensor, tokens: Tensor, places: Tensor) -> Tensor:
        """Return the last layer's states (B, D) of one token per row, at `places` (B,)."""
        model, longest = self._model, int(places.max()) + 1
        hidden = model.embed(tokens[None], places[None])[0]
        cos, sin = model.turns(hidden, places)
        seen = torch.arange(longest) <= places[:, None]
        mask = torch.zeros(seen.shape, dtype=model.dtype).masked_fill_(~seen, -torch.inf)
        whole = bool((rows == torch.arange(len(rows))).all())
        for layer in range(model.num_layers):
            queries, keys, values = model.projected(layer, hidden, cos, sin)
            self._keys[layer, rows, :, places] = keys
            self._values[layer, rows, :, places] = values
            index = slice(len(rows)) if whole else rows
            mixed = F.scaled_dot_product_attention(
                queries.view(len(rows), model.groups, -1, model.head_dim),
                self._keys[layer, index, :, :longest],
                self._values[layer, index, :, :longest],
                mask[:, None, None].expand(-1, 1, model.fold, -1),
            )
            hidden = hidden + model.mixed(layer, mixed.reshape(len(rows), -1))
            hidden = model.transform(layer, hidden)
        return hidden


def _chosen(logits: Tensor, heat: Tensor, generator: torch.Generator) -> list[int]:
    """Return a token per row of `logits` (B, V): drawn at its temperature, the likeliest at 0.

    One number of chance per row: `multinomial` takes one per token, a quarter of all time.
    """
    tokens = logits.argmax(-1)
    warm = heat > 0
    if warm.any():
        below = (logits[warm] / heat[warm, None]).softmax(-1).cumsum(-1, dtype=torch.float64)
        height = torch.rand((len(below), 1), generator=generator, dtype=torch.float64)
        tokens[warm] = torch.searchsorted(below, height * below[:, -1:], right=True)[:, 0]
    return int_rows(tokens[None])[0]

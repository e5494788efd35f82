"""Training of heads over pairs (EAGLE and its kind) on whole texts, a draft unrolled from every
place of an answer at once.

Chain t starts at the root x_{t+1}. Its step 0 is the pair of the true feature f_t and x_{t+1}; step
i is the pair of the chain's own last output and x_{t+1+i}, at position t+i, as in drafting. It sees
the true pairs up to t and, of what was drafted, its own chain alone: keys of step 0 under a causal
mask, and one key per later step on the diagonal. One step is EAGLE's training; several are the
training-time test of EAGLE-3 (Li et al., arXiv 2503.01840), where outputs keep their gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.layer import Attention
from core.heads.pairs import PairHead
from core.heads.vocabulary import DraftVocabulary
from core.models.base import FINAL
from core.train.data import Text

Read = Callable[[Tensor], Tensor]  # outputs (n, D) -> logits (n, k)

_POOL = 8  # batches whose texts are sorted by length together


@dataclass(frozen=True, slots=True)
class Rows:
    """Texts side by side, padded at the end. `tokens` (B, T); `states` {tap: (B, T, D)}; chains
    start at pairs `first` on. `answers`, `lengths` (B,).
    """

    tokens: Tensor
    states: dict[int, Tensor]
    answers: Tensor
    lengths: Tensor

    @property
    def first(self) -> int:
        """Return the pair of the first root that belongs to an answer."""
        return max(0, int(self.answers.min()) - 1)

    @property
    def chains(self) -> int:
        """Return how many chains start in a row; the last one has one token to draft."""
        return self.tokens.shape[1] - 2 - self.first

    def counts(self, step: int) -> Tensor:
        """Return bool (B, chains - step): whether the root is of the answer, and the token that
        `step` drafts still of the text.
        """
        starts = torch.arange(self.first, self.first + self.chains - step)
        return (starts + 1 >= self.answers[:, None]) & (starts + 2 + step < self.lengths[:, None])

    def drafted(self, step: int) -> Tensor:
        """Return the tokens (B, chains - step) that `step` is to draft."""
        return self.tokens[:, self.first + 2 + step :]

    def true(self, step: int, tap: int = FINAL) -> Tensor:
        """Return the target's states (B, chains - step, D) that these tokens were read off."""
        begin = self.first + 1
        return self.states[tap][:, begin + step : begin + self.chains]


def rows(texts: Sequence[Text]) -> Rows:
    """Return texts of at least three tokens as one batch."""
    longest = max(len(text.tokens) for text in texts)

    def padded(parts: Sequence[Tensor]) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)[:, :longest]

    return Rows(
        padded([text.tokens for text in texts]),
        {tap: padded([text.states[tap] for text in texts]) for tap in texts[0].states},
        torch.tensor([text.answer for text in texts]),
        torch.tensor([len(text.tokens) for text in texts]),
    )


def batches(texts: Sequence[Text], size: int, seed: int) -> Iterator[Rows]:
    """Yield all texts with something to draft, in batches of like length, in an order that follows
    from the seed.
    """
    chance = torch.Generator().manual_seed(seed)
    usable = [text for text in texts if len(text.tokens) - max(1, text.answer) >= 2]
    order = cast("list[int]", torch.randperm(len(usable), generator=chance).tolist())
    for begin in range(0, len(order), size * _POOL):
        pool = sorted(order[begin : begin + size * _POOL], key=lambda i: len(usable[i].tokens))
        parts = [pool[first : first + size] for first in range(0, len(pool), size)]
        places = cast("list[int]", torch.randperm(len(parts), generator=chance).tolist())
        for place in places:
            yield rows([usable[i] for i in parts[place]])


def unrolled(
    head: PairHead, features: Tensor, embedded: Tensor, first: int, steps: int
) -> Iterator[Tensor]:
    """Yield the outputs (B, C - i, D) of step i of the C chains that start at pairs `first` on.

    `features` (B, T, D) of the text, `embedded` (B, T, D) its tokens.
    """
    length, attention = embedded.shape[1], head.layer.self_attn
    chains = length - 2 - first
    inputs, residual = head.enter(features[:, :-1], embedded[:, 1:])
    turns = head.turns(torch.arange(length - 1)[None], inputs)
    queries, keys, values = attention.project(inputs, turns)
    window = slice(first, first + chains)
    seen = torch.arange(length - 1) <= torch.arange(first, first + chains)[:, None]
    mixed = attention.mix(queries[:, :, window], keys, values, seen)
    outputs = head.leave(residual[:, window], mixed)
    yield outputs
    own: list[tuple[Tensor, Tensor]] = []
    for step in range(1, min(steps, chains)):
        count = chains - step
        begin = first + 1 + step
        inputs, residual = head.enter(outputs[:, :count], embedded[:, begin : begin + count])
        places = torch.arange(first + step, first + chains)[None]
        queries, *fresh = attention.project(inputs, head.turns(places, inputs))
        own = [(k[:, :, :count], v[:, :, :count]) for k, v in [*own, (fresh[0], fresh[1])]]
        mixed = _mixed(attention, queries, keys, values, seen[:count], own)
        outputs = head.leave(residual, mixed)
        yield outputs


def _mixed(
    attention: Attention,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    seen: Tensor,
    own: Sequence[tuple[Tensor, Tensor]],
) -> Tensor:
    """Return what queries (B, H, C, d) see of the text, (B, G, T, d) under `seen` (C, T), and of
    their own chains, (B, G, C, d) per step.
    """
    batch, heads, count, size = queries.shape
    groups = keys.shape[1]
    folded = (queries * size**-0.5).view(batch, groups, heads // groups, count, size)
    flat = folded.flatten(2, 3)
    text = (flat @ keys.transpose(2, 3)).view(batch, groups, -1, count, keys.shape[2])
    chain = [(folded * k[:, :, None]).sum(-1, keepdim=True) for k, _ in own]
    scores = torch.cat([text.masked_fill(~seen, -torch.inf), *chain], dim=-1)
    shares = scores.float().softmax(-1).to(values.dtype)
    split = shares[..., : keys.shape[2]].flatten(2, 3) @ values
    found = split.view(folded.shape)
    for place, (_, v) in enumerate(own, start=keys.shape[2]):
        found = found + shares[..., place, None] * v[:, :, None]
    joined = found.reshape(batch, heads, count, size).transpose(1, 2).flatten(2)
    return cast(Tensor, attention.o_proj(joined))


def soft_cross_entropy(logits: Tensor, laws: Tensor) -> Tensor:
    """Return the mean cross-entropy of `logits` (n, k) under the laws (n, k) of the target."""
    return F.cross_entropy(logits.float(), laws)


class Laws:
    """The target's laws over a draft vocabulary, at the places of an answer, each computed once.

    `weight` (k, D): the target's head at the tokens of the vocabulary.
    """

    def __init__(self, batch: Rows, weight: Tensor) -> None:
        begin = batch.first + 1
        places = torch.arange(begin, begin + batch.chains)
        inside = (places >= batch.answers[:, None]) & (places + 1 < batch.lengths[:, None])
        self._row = inside.flatten().cumsum(0).view(inside.shape) - 1
        with torch.no_grad():
            logits = F.linear(batch.true(0)[inside].to(weight), weight)
            self._laws = logits.float().softmax(-1)

    def at(self, step: int, chosen: Tensor) -> Tensor:
        """Return the laws (n, k) of what `step` drafts in `chosen` (B, chains - step) chains."""
        return self._laws[self._row[:, step:][chosen]]


def accepted(
    outputs: Iterator[Tensor], batch: Rows, read: Read, vocabulary: DraftVocabulary
) -> list[tuple[int, int]]:
    """Return per step how many drafted tokens were right, and how many were drafted where all
    before them were.
    """
    found: list[tuple[int, int]] = []
    alive: Tensor | None = None
    for step, out in enumerate(outputs):
        tried = batch.counts(step)
        tried = tried if alive is None else tried & alive[:, : tried.shape[1]]
        right = torch.zeros_like(tried)
        if bool(tried.any()):
            best = vocabulary.ids[read(out[tried]).argmax(-1)]
            right[tried] = best == batch.drafted(step)[tried]
        found.append((int(right.sum()), int(tried.sum())))
        alive = right
    return found


def chained(right: Tensor, places: Tensor, depth: int) -> list[tuple[int, int]]:
    """Return per depth how many tokens were right, and how many stood after right ones only, of
    chains from all `places` (B, T) bool; `right` (B, T): whether the token after a place was.

    A chain whose tokens were right so far reads the text itself: no draft has to be run.
    """
    alive, found = torch.ones_like(places), list[tuple[int, int]]()
    for step in range(depth):
        moved, hits = places.roll(-step, 1), right.roll(-step, 1)
        moved[:, places.shape[1] - step :] = False
        tested = alive & moved & places
        alive = tested & hits
        found.append((int(alive.sum()), int(tested.sum())))
    return found

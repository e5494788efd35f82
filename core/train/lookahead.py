"""What the trainers of Medusa and Hydra share: every head learns at every place of the answers.

Head d learns the target's law d + 2 places on, with the true tokens between where it reads tokens;
the law is cut to the draft vocabulary and rescaled. Judged by its k likeliest tokens on held-out
greedy answers, which is also what the tree of the method is made from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.accuracy import RANKS, Accuracy, write_accuracy
from core.heads.vocabulary import DraftVocabulary
from core.host import int_rows
from core.models.base import FINAL
from core.train.data import Features, Text
from core.train.unrolled import soft_cross_entropy

DECAY = 0.8  # of a head's weight in the loss, from the head before
TAPS = (FINAL,)


@dataclass(frozen=True, slots=True)
class Places:
    """Answers end to end, a row per token. `states` (N, D): what the target made of all before it;
    `tokens` (N,); `left` (N,): tokens of the same answer behind it.
    """

    states: Tensor
    tokens: Tensor
    left: Tensor

    def seen_by(self, head: int) -> Tensor:
        """Return the rows (M,) from which a head has a token to guess: that of row + 1 + head."""
        return (self.left > head).nonzero()[:, 0]


def places(texts: Sequence[Text]) -> Places:
    begins = [_begin(text) for text in texts]
    pairs = list(zip(texts, begins, strict=True))
    return Places(
        torch.cat([text.states[FINAL][begin - 1 : -1] for text, begin in pairs]).float(),
        torch.cat([text.tokens[begin:] for text, begin in pairs]),
        torch.cat([torch.arange(len(text.tokens) - begin).flip(0) for text, begin in pairs]),
    )


def batches(texts: Sequence[Text], size: int, seed: int) -> Iterator[Places]:
    """Yield all answers with something to guess, `size` at a time, in an order that follows from
    the seed.
    """
    usable = [text for text in texts if len(text.tokens) - _begin(text) >= 2]
    chance = torch.Generator().manual_seed(seed)
    order = cast("list[int]", torch.randperm(len(usable), generator=chance).tolist())
    for first in range(0, len(order), size):
        yield places([usable[i] for i in order[first : first + size]])


class LookaheadTask:
    """A trainer of heads that look ahead. `size`: answers per batch."""

    taps = TAPS

    def __init__(self, features: Features, heads: int, vocabulary: int, size: int) -> None:
        self.heads = heads
        self.size = size
        self.target = features.target
        self.vocabulary: DraftVocabulary = features.vocabulary(vocabulary)
        self._weight = self.vocabulary.rows(features.target.head).float()
        self._accuracy: Accuracy | None = None  # of the weights that were judged last

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[Places]:
        return batches(texts, self.size, seed)

    def hidden(self, batch: Places, head: int, rows: Tensor) -> Tensor:
        """Return what a head makes (M, D) of some rows (M,) of a batch."""
        raise NotImplementedError

    def write(self, folder: Path) -> None:
        """Write the weights as they are published."""
        raise NotImplementedError

    def loss(self, batch: Places) -> Tensor:
        with torch.no_grad():
            laws = F.linear(batch.states, self._weight).float().softmax(-1)
        total, weights = batch.states.new_zeros(()), 0.0
        for head in range(self.heads):
            rows = batch.seen_by(head)
            if len(rows):
                logits = F.linear(self.hidden(batch, head, rows), self._weight)
                unlike = soft_cross_entropy(logits, laws[rows + 1 + head]).mean()
                total, weights = total + DECAY**head * unlike, weights + DECAY**head
        return total / weights

    @torch.no_grad()
    def accepted(self, texts: Sequence[Text]) -> list[tuple[int, int]]:
        ranks = min(RANKS, len(self.vocabulary))
        hits = torch.zeros((self.heads, ranks), dtype=torch.long)
        counts = torch.zeros((3, self.heads), dtype=torch.long)  # guessed; after right ones; right
        for batch in batches(texts, self.size, 0):
            sound = torch.ones(len(batch.tokens), dtype=torch.bool)  # all heads so far were right
            for head in range(self.heads):
                rows = batch.seen_by(head)
                logits = F.linear(self.hidden(batch, head, rows), self._weight)
                likely = self.vocabulary.ids[logits.topk(ranks).indices]
                found = likely == batch.tokens[rows + 1 + head, None]
                hits[head] += found.sum(0)
                after = sound[rows]
                sound[rows] = after & found[:, 0]
                counted = torch.ones_like(after), after, sound[rows]
                counts[:, head] += torch.stack(counted).sum(1)
        tried, after, right = int_rows(counts)
        self._accuracy = Accuracy(tried=tried, hits=int_rows(hits)) if all(tried) else None
        return list(zip(right, after, strict=True))

    def save(self, folder: Path) -> None:
        """Write the weights, and how often each candidate was right when they were judged."""
        self.write(folder)
        if self._accuracy is not None:
            write_accuracy(self._accuracy, folder)


def add_options(parser: argparse.ArgumentParser, blocks: int) -> None:
    """Declare what both families have."""
    parser.add_argument("--heads", type=int, default=4, help="tokens ahead of the root")
    parser.add_argument("--blocks", type=int, default=blocks, help="of a head")
    parser.add_argument("--batch", type=int, default=8, help="answers per step")


def details(options: argparse.Namespace) -> dict[str, str]:
    return {
        "heads": f"{options.heads} of {options.blocks} blocks",
        "loss": f"cross-entropy under the target's law, weights {DECAY:g}^i",
        "draft vocabulary": f"{options.vocabulary:,} tokens",
    }


def _begin(text: Text) -> int:
    """Return the first token of the answer that has a state before it."""
    return max(1, text.answer)

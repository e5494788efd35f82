"""What the trainers of EAGLE and EAGLE-3 share: batches, unrolling, and how a chain is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.pairs import PairHead
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.train.data import Text
from core.train.unrolled import Rows, accepted, batches, unrolled

DEPTH = 5  # of the chains that acceptance is measured with
DECAY = 0.8  # of a step's weight in the loss, from the step before


@dataclass(frozen=True, slots=True)
class Recipe:
    """`size`: texts per batch; `steps`: pairs of a chain that are trained."""

    size: int = 16
    steps: int = 1


class ChainTask:
    """A trainer of a head over pairs. `embedding` (V, D), `weight` (k, D): the target's embedding,
    and its head at the tokens of the draft vocabulary.
    """

    def __init__(
        self,
        head: PairHead,
        taps: tuple[int, ...],
        target: TargetWeights,
        vocabulary: DraftVocabulary,
        recipe: Recipe,
    ) -> None:
        self.head = head
        self.target = target
        self.vocabulary = vocabulary
        self.recipe = recipe
        self._taps = taps
        self._embedding = target.embedding.float()
        self.weight = vocabulary.rows(target.head).float()

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[Rows]:
        return batches(texts, self.recipe.size, seed)

    def accepted(self, texts: Sequence[Text]) -> list[tuple[int, int]]:
        total = [(0, 0)] * DEPTH
        with torch.no_grad():
            for batch in batches(texts, self.recipe.size, 0):
                chains = self.chains(batch, self.features(batch), DEPTH)
                found = accepted(chains, batch, self.read, self.vocabulary)
                found += [(0, 0)] * (DEPTH - len(found))
                total = [(a + r, b + t) for (a, b), (r, t) in zip(total, found, strict=True)]
        return total

    def features(self, batch: Rows) -> Tensor:
        """Return the true features (B, T, D) of a batch."""
        return self.head.fuse([batch.states[tap].float() for tap in self._taps])

    def chains(self, batch: Rows, features: Tensor, steps: int) -> Iterator[Tensor]:
        """Yield the outputs of unrolled chains, step by step."""
        embedded = F.embedding(self.fed(batch.tokens), self._embedding)
        return unrolled(self.head, features, embedded, batch.first, steps)

    def fed(self, tokens: Tensor) -> Tensor:
        """Return the tokens as the head is to see them."""
        return tokens

    def read(self, outputs: Tensor) -> Tensor:
        """Return logits (n, k) of outputs (n, D)."""
        raise NotImplementedError


def layer_config(shape: Shape, target: TargetWeights) -> dict[str, object]:
    """Return config.json of a head with one Llama layer of `shape`."""
    return {
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": 1,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.groups,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": shape.eps,
        "rope_theta": shape.theta,
        "vocab_size": target.vocabulary_size,
        "torch_dtype": "bfloat16",
    }

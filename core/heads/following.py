"""Sessions of trained heads: they follow the target's text by its hidden states.

`Following` is what they share. `Autoregressive` is the session of heads that run a small layer of
their own over pairs of a feature and the token after it (EAGLE and its kind): pairs of the settled
text carry the target's true features and stay in the head's cache; drafted nodes carry the head's
own, and are dropped after the round, so that the cache always equals a recomputation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.extras import Extras, FeatureExtras, FeatureHead
from core.host import float_rows
from core.laws import widen
from core.models.base import FINAL, Scores, Session
from core.models.cache import TreeCache
from core.reduce import six_digits
from core.tree import DraftTree, Resume


class Following:
    """Base of the sessions of heads. Its text and its room are the target's."""

    def __init__(self, target: Session) -> None:
        self._target = target

    @property
    def length(self) -> int:
        return self._target.length

    @property
    def context(self) -> int:
        return self._target.context

    def feed(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the text is learnt together with its states."""

    def keep(self, path: Sequence[int]) -> None:
        """Nothing to do: what was drafted is forgotten."""


class Body(Protocol):
    """A head over pairs. Rows of one text: features and states (T, D), tokens (T,)."""

    @property
    def kind(self) -> FeatureHead:
        """Return the head's key."""
        ...

    @property
    def taps(self) -> tuple[int, ...]:
        """Return the layers of the target whose states its features are made of."""
        ...

    @property
    def layers(self) -> int:
        """Return how many layers the target has."""
        ...

    @property
    def sublayers(self) -> int:
        """Return how many attention and MLP sublayers one forward runs."""
        ...

    def fused(self, states: Mapping[int, Tensor]) -> Tensor:
        """Return the features (k, D) of positions from the target's states {tap: (k, D)}."""
        ...

    def run(
        self,
        features: Tensor,
        tokens: Tensor,
        positions: Tensor,
        mask: Tensor | None,
        cache: TreeCache,
    ) -> Tensor:
        """Return outputs (T, D), each the feature that stands for the next position. Writes T rows
        into layer 0 of `cache` at its offset. `mask` (T, K) bool: which rows a pair sees, itself
        included; None: all up to its own.
        """
        ...

    def logits(self, outputs: Tensor) -> Tensor:
        """Return logits (n, V) of what follows the token of each pair."""
        ...


class Autoregressive(Following):
    """Rows of the cache: the pairs of the text, the root's the last of them, then drafted nodes."""

    def __init__(self, target: Session, body: Body, device: torch.device) -> None:
        super().__init__(target)
        self._body = body
        self._device = device
        self._cache = TreeCache()
        self._settled = 0  # rows of true pairs
        self._fresh = 0  # of them, those that ran last
        self._features: list[Tensor] = []  # of pairs that did not run yet
        self._tokens: list[int] = []
        self._text: Tensor | None = None  # (k, D) outputs of the pairs that ran last
        self._outputs: Tensor | None = None  # (N, D) of the nodes of this round
        self._seen = torch.ones((1, 1), dtype=torch.bool)  # (N, N): ancestors of these nodes
        self._root = -1

    @torch.inference_mode()
    def learn(self, states: Mapping[int, Tensor], tokens: Sequence[int]) -> None:
        self._outputs = None
        if tokens:
            self._features.append(self._body.fused(states))
            self._tokens += tokens

    @torch.inference_mode()
    def review(self, states: Mapping[int, Tensor], places: Mapping[int, int]) -> Extras | None:
        """Compare the outputs of the nodes that were drafted with the target's own features."""
        known = dict(sorted(places.items()))
        if self._outputs is None or not known:
            return None
        own = self._outputs[list(known.values())].float()
        true = self._body.fused(states)[list(known)].float()
        cosine = F.cosine_similarity(own, true, dim=-1).clamp(-1, 1)
        least = torch.finfo(true.dtype).tiny
        length = own.square().sum(-1).sqrt() / true.square().sum(-1).sqrt().clamp(min=least)
        both = torch.stack([cosine, length]).cpu().double().numpy()
        cosines, lengths = float_rows(six_digits(both))
        return FeatureExtras(
            head=self._body.kind,
            taps=[tap for tap in self._body.taps if tap != FINAL],
            layers=self._body.layers,
            settled=self._fresh,
            node=list(known),
            cosine=cosines,
            length=lengths,
        )

    @torch.inference_mode()
    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        """Run the nodes from `start` on, level by level: a node's feature is its parent's output.

        Raises ValueError where the root is not the token that ends the text, or nodes before
        `start` were not scored.
        """
        levels, fed = 0, 0
        if start == 0:
            fed = self._settle(tree.tokens[0])
            levels += fed > 0
        if self._outputs is None or start > len(self._outputs):
            raise ValueError(f"nodes before {start} were not scored yet")
        known = max(1, start)
        self._outputs, self._seen = self._outputs[:known], self._seen[:known, :known]
        while len(self._outputs) < len(tree):
            self._level(tree)
            levels += 1
        outputs = self._outputs[start:]
        text = [self._text[-fed:-1]] if fed and self._text is not None else []
        features = {FINAL: torch.cat([*text, outputs])} if FINAL in taps else {}
        logits = widen(self._body.logits(outputs))
        return Scores(logits, features, ran=self._body.sublayers * levels, forwards=levels)

    def _settle(self, root: int) -> int:
        """Run the pairs of the text that are new, the root's the last; return how many they are."""
        waiting = len(self._tokens)
        if root != (self._tokens[-1] if waiting else self._root):
            raise ValueError("the draft does not begin with the token that ends the text")
        if waiting:
            self._root = root
            seen = None
            if self._settled and waiting > 1:
                seen = torch.ones((waiting, self._settled + waiting), dtype=torch.bool)
                seen = seen.tril(self._settled)
            places = torch.arange(self._settled, self._settled + waiting)
            features = torch.cat(self._features)
            self._text = self._run(features, self._tokens, places, seen, self._settled)
            self._settled += waiting
            self._features, self._tokens = [], []
        self._fresh = waiting
        assert self._text is not None
        self._outputs = self._text[-1:]
        return waiting

    def _level(self, tree: DraftTree) -> None:
        """Run the next nodes whose parents are known, as far as they go."""
        assert self._outputs is not None
        first = len(self._outputs)
        end = first + 1
        while end < len(tree) and tree.parents[end] < first:
            end += 1
        parents = list(tree.parents[first:end])
        self._look(parents)
        seen = None
        if end - first > 1 or not tree.is_chain:
            text = torch.ones((end - first, self._settled), dtype=torch.bool)
            seen = torch.cat([text, self._seen[first:, 1:]], dim=1)
        places = self._settled - 1 + torch.tensor(tree.depths[first:end])
        row = self._settled - 1 + first
        fresh = self._run(self._outputs[parents], tree.tokens[first:end], places, seen, row)
        self._outputs = torch.cat([self._outputs, fresh])

    def _look(self, parents: Sequence[int]) -> None:
        """Let new nodes see what their parents see, and themselves."""
        first, size = len(self._seen), len(self._seen) + len(parents)
        seen = torch.eye(size, dtype=torch.bool)
        seen[:first, :first] = self._seen
        seen[first:, :first] = self._seen[list(parents)]
        self._seen = seen

    def _run(
        self,
        features: Tensor,
        tokens: Sequence[int],
        places: Tensor,
        seen: Tensor | None,
        offset: int,
    ) -> Tensor:
        self._cache.offset = offset
        ids = torch.tensor(tokens, device=self._device)
        places = places.to(self._device)
        seen = None if seen is None else seen.to(self._device)
        return self._body.run(features, ids, places, seen, self._cache)

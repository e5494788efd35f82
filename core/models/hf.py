"""Tree-masked scoring with transformers models over a real cache of keys and values.

One forward runs the nodes of a draft tree: each sees the text and its own ancestors (4-D mask) and
stands at the position of its depth. `keep` moves the rows of the accepted path to where the text
goes on, so that no prefix is ever computed twice. Knows no tokenizer, no law and no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from core.laws import widen
from core.models.anatomy import Anatomy, Pass, attention_of, run_whole
from core.models.base import FINAL, Scores
from core.models.cache import TreeCache
from core.models.families import FULL, Window, anatomy, check, layer_kinds, windows
from core.trace import ModelCard
from core.tree import DraftTree, Resume

Read = Callable[[Tensor], Tensor]  # states (1, n, D) after the last layer -> logits (1, n, V)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which attention and MLP sublayers a pass runs; a skipped one is an identity on the residual
    stream.
    """

    attention: tuple[bool, ...]
    mlp: tuple[bool, ...]

    @property
    def shared(self) -> int:
        """First layers that run completely: what they compute is what the full pass would."""
        whole = [a and m for a, m in zip(self.attention, self.mlp, strict=True)]
        return whole.index(False) if False in whole else len(whole)

    @property
    def sublayers(self) -> int:
        return sum(self.attention) + sum(self.mlp)

    @staticmethod
    def full(layers: int) -> Plan:
        return Plan((True,) * layers, (True,) * layers)


class HFModel:
    """A transformers causal model that opens sessions."""

    def __init__(self, model: PreTrainedModel, card: ModelCard) -> None:
        """Raise ValueError for a model that cannot score a tree."""
        check(model)
        self._model = model.eval()
        self._card = card
        self._anatomy = anatomy(model)

    @property
    def card(self) -> ModelCard:
        return self._card

    @property
    def model(self) -> PreTrainedModel:
        """Return the weights; trained heads share embedding and head with them."""
        return self._model

    def open(self, token_ids: Sequence[int] = ()) -> HFSession:
        size = self._card.vocabulary_size
        session = HFSession(self._model, self._anatomy, self._card.context, size)
        session.feed(token_ids)
        return session


class HFSession:
    """One sequence in one model. Its cache holds the committed text, then the rows of the tree
    being scored.
    """

    def __init__(
        self, model: PreTrainedModel, pieces: Anatomy | None, context: int, vocabulary_size: int
    ) -> None:
        self.model = model
        self.anatomy = pieces
        self._context = context
        self._vocabulary_size = vocabulary_size
        self._cache = TreeCache()
        self._committed = 0  # rows of committed text
        self._scored = 0  # rows of tree nodes after them
        self._fed: list[int] = []  # committed tokens without rows yet
        self._device = next(model.get_input_embeddings().parameters()).device
        self._eager = attention_of(model) == "eager"
        self._windows = windows(model)
        self._kinds = frozenset(layer_kinds(model)) or frozenset(self._windows)

    @property
    def length(self) -> int:
        return self._committed + len(self._fed)

    @property
    def context(self) -> int:
        return self._context

    def feed(self, tokens: Sequence[int]) -> None:
        if self._scored:
            raise ValueError("keep the accepted path before feeding more text")
        self._fed += tokens

    @torch.inference_mode()
    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
        plan: Plan | None = None,
        read: Read | None = None,
    ) -> Scores:
        """Run nodes from `start` on, with `plan` only its sublayers, with `resume` only what is not
        computed yet, with `read` another way from the last layer's states to logits.

        Raises ValueError when earlier nodes were not scored, the deepest node lies beyond the
        context, or the request makes no sense (see `_check_part`).
        """
        if start > self._scored or (start and self._fed):
            raise ValueError(f"nodes before {start} were not scored yet")
        self._check_part(taps, resume, plan)
        if self.length + max(tree.depths) >= self._context:
            raise ValueError(
                f"the text would outgrow the model's context of {self._context} tokens"
            )
        fed = [] if start else self._fed
        ids = torch.tensor([[*fed, *tree.tokens[start:]]], device=self._device)
        shared = self._pass(tree, start, len(fed))
        rows = len(tree) - start
        if self.anatomy is None and not (taps or resume or plan or read):
            scores = Scores(run_whole(self.model, ids, shared, rows))
        else:
            pieces = self._pieces()
            run = _Run(pieces, plan or Plan.full(pieces.num_layers), frozenset(taps))
            if resume is None:
                hidden, first = run.embed(ids, shared), 0
            else:
                hidden, first = self._resumed(run, tree, ids, resume), resume.layer
                shared = self._pass(tree, start, 0)
            hidden = run.blocks(first, run.pieces.num_layers, hidden, shared)
            scores = run.finish(hidden, rows, 2 * first, read)
        self._committed += len(fed)
        self._fed = self._fed if start else []
        self._scored = len(tree)
        logits = widen(scores.logits[:, : self._vocabulary_size])  # once, not in every reader
        return replace(scores, logits=logits)

    def _check_part(self, taps: Sequence[int], resume: Resume | None, plan: Plan | None) -> None:
        """Refuse what would leave rows of the text without keys, or states without rows."""
        if self._fed and (plan is not None or resume is not None):
            raise ValueError("run the text through the whole model before a part of it drafts")
        if resume is not None and any(0 <= tap < resume.layer for tap in taps):
            raise ValueError(f"a pass that goes on at layer {resume.layer} has no states before it")

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        if (path and path[0] != 0) or any(not 0 <= node < self._scored for node in path):
            raise ValueError("a kept path begins at the root and holds scored nodes only")
        self._cache.move([self._committed + node for node in path], self._committed)
        self._committed += len(path)
        self._scored = 0

    @torch.inference_mode()
    def layers(
        self, first: int, last: int, hidden: Tensor, positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Run layers `first` <= i < `last` on `hidden` (1, T, D) at `positions` (1, T); rows are
        written after the text.
        """
        pieces = self._pieces()
        self._cache.offset = self._committed
        shared = pieces.prepare(hidden, Pass(positions, mask, self._cache))
        for layer in range(first, last):
            hidden = pieces.transform(layer, pieces.attend(layer, hidden, shared))
        return hidden

    def _pieces(self) -> Anatomy:
        if self.anatomy is None:
            raise ValueError(
                f"Models of type {self.model.config.model_type} run whole here; parts of the "
                "target can draft for Llama, Mistral, Qwen2, Qwen3 and GPT-2 shapes."
            )
        return self.anatomy

    def _pass(self, tree: DraftTree, start: int, fed: int) -> Pass:
        """Lay out one forward: row i of the cache is text, then fed tokens, then nodes."""
        text = self._committed
        self._cache.offset = text + start
        depths = torch.tensor(tree.depths[start:])
        positions = torch.cat([torch.arange(fed), depths + fed]) + text
        windows = self._sliding(text + fed + max(tree.depths) + 1)
        mask = None if windows else self._mask(tree, start, fed)
        return Pass(
            positions[None].to(self._device),
            mask,
            self._cache,
            masks=self._masks(tree, start, fed, windows) if windows else None,
        )

    def _sliding(self, length: int) -> dict[str, Window]:
        """Return the windows that are narrower than a text of `length` tokens."""
        return {kind: each for kind, each in self._windows.items() if each.size < length}

    def _mask(self, tree: DraftTree, start: int, fed: int) -> Tensor | None:
        if fed + len(tree) - start == 1 and tree.is_chain:
            return None
        if self._committed == 0 and start == 0 and tree.is_chain and not self._eager:
            return None  # plain causal from the first token: the kernel's own mask
        return self._additive(self._seen(tree, start, fed))

    def _masks(
        self, tree: DraftTree, start: int, fed: int, windows: dict[str, Window]
    ) -> dict[str, Tensor]:
        """Return one mask per kind of layer."""
        seen, text = self._seen(tree, start, fed), self._committed
        places = torch.cat([torch.arange(text + fed), torch.tensor(tree.depths) + text + fed])
        rows = places[len(places) - len(seen) :]
        near = {kind: seen & window.sees(rows, places) for kind, window in windows.items()}
        return {kind: self._additive(near.get(kind, seen)) for kind in self._kinds or {FULL}}

    def _seen(self, tree: DraftTree, start: int, fed: int) -> Tensor:
        """Return bool (T, K): the text, then fed tokens before themselves, then ancestors."""
        text, size, rows = self._committed, fed + len(tree), fed + len(tree) - start
        seen = torch.ones((rows, text + size), dtype=torch.bool)
        inner = torch.ones((size, size), dtype=torch.bool).tril()
        inner[fed:, fed:] = tree.ancestor_mask()
        seen[:, text:] = inner[size - rows :]
        return seen

    def _additive(self, seen: Tensor) -> Tensor:
        lowest = torch.finfo(self.model.dtype).min
        mask = torch.zeros(seen.shape, dtype=self.model.dtype).masked_fill_(~seen, lowest)
        return mask[None, None].to(self._device)

    def _resumed(self, run: _Run, tree: DraftTree, ids: Tensor, resume: Resume) -> Tensor:
        """Return the states of all nodes after `resume.layer` layers: those known, then the rest
        computed here.
        """
        known = resume.hidden.shape[0]
        if known == len(tree):
            return resume.hidden[None]
        shared = self._pass(tree, known, 0)
        fresh = run.blocks(0, resume.layer, run.embed(ids[:, known:], shared), shared)
        return torch.cat([resume.hidden[None], fresh], dim=1)


class _Run:
    """One forward through the layers: runs what the plan says, keeps the states asked for, counts
    sublayers.
    """

    def __init__(self, pieces: Anatomy, plan: Plan, taps: frozenset[int]) -> None:
        self.pieces = pieces
        self._plan = plan
        self._taps = taps
        self._features: dict[int, Tensor] = {}
        self._ran = 0

    def embed(self, ids: Tensor, shared: Pass) -> Tensor:
        return self.pieces.embed(ids, shared.positions)

    def blocks(self, first: int, last: int, hidden: Tensor, shared: Pass) -> Tensor:
        """Return hidden states (1, T, D) after layers `first` <= i < `last`."""
        shared = self.pieces.prepare(hidden, shared)
        for layer in range(first, last):
            if layer in self._taps:
                self._features[layer] = hidden[0]
            if self._plan.attention[layer]:
                hidden = self.pieces.attend(layer, hidden, shared)
            if self._plan.mlp[layer]:
                hidden = self.pieces.transform(layer, hidden)
            self._ran += self._plan.attention[layer] + self._plan.mlp[layer]
        return hidden

    def finish(self, hidden: Tensor, rows: int, reused: int, read: Read | None) -> Scores:
        """Apply `read` to the last `rows` rows, or norm and head where it is None."""
        if self.pieces.num_layers in self._taps:
            self._features[self.pieces.num_layers] = hidden[0]
        if read is not None:
            return Scores(read(hidden[:, -rows:])[0], self._features, self._ran, reused)
        hidden = self.pieces.norm(hidden if FINAL in self._taps else hidden[:, -rows:])
        if FINAL in self._taps:
            self._features[FINAL] = hidden[0]
        logits = self.pieces.head(hidden[:, -rows:])[0]
        return Scores(logits, self._features, self._ran, reused)

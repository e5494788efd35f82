"""Drafters that can name a part of the vocabulary only: the rows of the output head that are left
out are never multiplied.

For heads that are the model's own, a view's or a second model's; a trained head cuts its rows
itself (`Head.trimmed`). Rows are gathered once per session. Source: VocabTrim (Goel et al., arXiv
2506.22694).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.base import Head
from core.heads.frequencies import Frequencies
from core.heads.kangaroo import Kangaroo
from core.heads.vocabulary import DraftVocabulary
from core.models.base import LanguageModel, Scores, Session
from core.models.hf import HFModel, HFSession, Read
from core.models.trimmed import TrimmedHead
from core.models.views import View, ViewSession
from core.tree import DraftTree, Resume

_LAYER = re.compile(r"\.(?:layers|h)\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Trim:
    """What a drafter may name, and the counts that it was cut from."""

    vocabulary: DraftVocabulary
    frequencies: Frequencies

    @staticmethod
    def of(frequencies: Frequencies, count: int) -> Trim:
        """Return the trim to `count` tokens, to all where there are fewer. Raises ValueError where
        end and special tokens alone are more.
        """
        return Trim(frequencies.vocabulary(min(count, len(frequencies.counts))), frequencies)

    def within(self, own: DraftVocabulary | None) -> Trim:
        """Return what is left where the drafter names some tokens only anyway. Raises ValueError
        where that is none.
        """
        return self if own is None else replace(self, vocabulary=own.common(self.vocabulary)[0])


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers that a drafter is made of: `rest` beside its output head, `row` for each token of
    that. Zeros where nobody knows.
    """

    rest: int = 0
    row: int = 0


def trimmed_view(view: View, target: Session, vocabulary: DraftVocabulary) -> ViewSession:
    """Return a session of a part of the target; errors as `View.open`."""
    shared, plan = view.parts(target)
    return ViewSession(shared, plan, view.exit_layer, _read(shared, vocabulary))


def view_size(view: View, target: LanguageModel) -> Size:
    """Raise ValueError for layers that the target does not have."""
    if not isinstance(target, HFModel):
        return Size()
    plan = view.plan(target.card.layers)
    runs = {
        (layer, is_attention)
        for layer, both in enumerate(zip(plan.attention, plan.mlp, strict=True))
        for is_attention, does in zip((True, False), both, strict=True)
        if does
    }
    found = 0
    for name, parameter in target.model.named_parameters():
        layer = _LAYER.search(name)
        if layer and (int(layer[1]), "attn" in name) in runs:
            found += parameter.numel()
    return Size(found, _width(target))


def model_size(model: LanguageModel) -> Size:
    if not isinstance(model, HFModel):
        return Size()
    weight = _output(model).weight
    return Size(model.card.parameters - weight.numel(), weight.shape[1])


def head_size(head: Head, target: LanguageModel) -> Size:
    """Return the sizes of a trained head, with the layers of the target that run before it."""
    if not isinstance(target, HFModel):
        return Size()
    early = (
        view_size(View(exit_layer=head.exit_layer), target)
        if isinstance(head, Kangaroo)
        else Size()
    )
    return Size(early.rest + head.parameters, _width(target))


def named(model: LanguageModel) -> DraftVocabulary | None:
    """Return what a second model can name; None: every token."""
    output = _output(model) if isinstance(model, HFModel) else None
    return output.vocabulary if isinstance(output, TrimmedHead) else None


class TrimmedSession:
    """A session of a second model. A model that only runs whole computes all logits, and loses
    those outside afterwards.
    """

    def __init__(self, session: Session, vocabulary: DraftVocabulary) -> None:
        self._session = session
        self._vocabulary = vocabulary
        self._layered: HFSession | None = None
        if isinstance(session, HFSession) and session.anatomy is not None:
            self._layered, self._read = session, _read(session, vocabulary)

    @property
    def length(self) -> int:
        return self._session.length

    @property
    def context(self) -> int:
        return self._session.context

    def feed(self, tokens: Sequence[int]) -> None:
        self._session.feed(tokens)

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        if self._layered is not None:
            return self._layered.score(tree, start, taps, resume, read=self._read)
        scores = self._session.score(tree, start, taps, resume)
        inside = scores.logits[:, self._vocabulary.ids.to(scores.logits.device)]
        none = inside.isneginf().all(dim=1, keepdim=True)  # then any of them is as good
        logits = self._vocabulary.spread(inside.masked_fill(none, 0))
        return Scores(logits, scores.features, scores.ran, scores.reused, scores.forwards)

    def keep(self, path: Sequence[int]) -> None:
        self._session.keep(path)


def _read(session: HFSession, vocabulary: DraftVocabulary) -> Read:
    """Return the way from the last layer's states (1, n, D) to logits (1, n, V) over the rows of
    `vocabulary` alone.
    """
    pieces, output = session.anatomy, cast(_Output, session.model.get_output_embeddings())
    weight, bias = output.weight.detach(), getattr(output, "bias", None)
    vocabulary = vocabulary.on(weight.device)
    places = vocabulary.ids
    if isinstance(output, TrimmedHead):
        places = torch.searchsorted(output.vocabulary.ids.to(places), places)
    rows = weight[places]
    offsets = bias.detach()[places] if isinstance(bias, Tensor) else None
    assert pieces is not None

    def read(hidden: Tensor) -> Tensor:
        return vocabulary.spread(F.linear(pieces.norm(hidden)[0], rows, offsets))[None]

    return read


class _Output(Protocol):
    """An output layer."""

    @property
    def weight(self) -> Tensor: ...


def _output(model: HFModel) -> _Output:
    return cast(_Output, model.model.get_output_embeddings())


def _width(model: HFModel) -> int:
    return _output(model).weight.shape[1]

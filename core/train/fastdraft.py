"""Train FastDraft: a small Llama of its own that drafts for one target.

Two stages. Pretraining: every token of the corpus, the user turns and the warm answers too, under
the target's whole law at each place. Alignment: the target's answers alone, each token as it came
(sequence-level distillation by plain cross-entropy, which the paper found sufficient).

As published in its order, but for: no outside text, the target's law where the paper pretrains on
tokens, 0.5 million tokens instead of 10 billion, and a trimmed output layer.

Zafrir, Margulis, Shteyman, Boudoukh: FastDraft, ACL Findings 2025, arXiv 2411.11055.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn
from transformers import PreTrainedModel

from core.heads.target import TargetWeights
from core.models.base import FINAL
from core.models.trimmed import Size, built, head_of, write_trimmed
from core.train.data import Features, Text
from core.train.family import Family, run_folder, say
from core.train.kangaroo import after, predicting
from core.train.loop import Task, train
from core.train.overlap import overlap
from core.train.report import Accepted, Plan, Report, per_pass
from core.train.unrolled import Rows, batches, chained, soft_cross_entropy

KIND = "fastdraft"
DEPTH = 4  # of the chains that acceptance is measured with
STD = 0.02  # of initial weights, as transformers begins a Llama
CONTEXT = 8192
PRETRAINING = Plan(rate=1e-3, warmup=0.05, epochs=14, minutes=75.0)
ALIGNMENT = Plan(rate=3e-4, warmup=0.05, epochs=3, minutes=20.0)


class DraftTask:
    """What both stages share. `size`: texts per batch; `vocabulary` is that of the model."""

    kind = KIND
    taps = (FINAL,)

    def __init__(self, module: PreTrainedModel, shape: Size, features: Features, size: int) -> None:
        self.module: nn.Module = module
        self.model = module
        self.shape = shape
        self.vocabulary = head_of(module).vocabulary
        self._target = features.target
        self._size = size
        self._shared = _shared(features.training)

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[Rows]:
        return batches(texts, self._size, seed)

    def states(self, batch: Rows, places: Tensor) -> Tensor:
        """Return what the output layer reads (n, D) at some places (B, T) of a batch."""
        return states(self.model, batch.tokens)[places]

    @torch.no_grad()
    def accepted(self, texts: Sequence[Text]) -> list[Accepted]:
        total = [(0, 0)] * DEPTH
        for batch in batches(texts, self._size, 0):
            places = predicting(batch) & after(batch)
            right = torch.zeros_like(places)
            best = head_of(self.model).rows(self.states(batch, places)).argmax(-1)
            right[places] = self.vocabulary.ids[best] == batch.tokens.roll(-1, 1)[places]
            found = chained(right, places, DEPTH)
            total = [(a + r, b + t) for (a, b), (r, t) in zip(total, found, strict=True)]
        return total

    def save(self, folder: Path) -> None:
        write_trimmed(folder, self.model, self.shape, self._target.name)


class Pretraining(DraftTask):
    """Every place but those of the template that all texts begin with."""

    def __init__(self, module: PreTrainedModel, shape: Size, features: Features, size: int) -> None:
        super().__init__(module, shape, features, size)
        self._weight = self.vocabulary.rows(features.target.head)

    def loss(self, batch: Rows) -> Tensor:
        places = torch.arange(batch.tokens.shape[1]) + 1
        chosen = (places >= self._shared) & (places < batch.lengths[:, None])
        with torch.no_grad():
            known = batch.states[FINAL][chosen].to(self._weight.dtype)
            laws = F.linear(known, self._weight).float().softmax(-1)
        logits = head_of(self.model).rows(self.states(batch, chosen))
        return soft_cross_entropy(logits, laws).mean()


class Alignment(DraftTask):
    """The tokens of the answers that the model can name. `pretrained`: the stage before."""

    def __init__(
        self,
        module: PreTrainedModel,
        shape: Size,
        features: Features,
        size: int,
        pretrained: Report,
    ) -> None:
        super().__init__(module, shape, features, size)
        self.pretrained = pretrained
        self._row = torch.full((self.vocabulary.size,), -1)
        self._row[self.vocabulary.ids] = torch.arange(len(self.vocabulary))

    def loss(self, batch: Rows) -> Tensor:
        rows = self._row[batch.tokens.roll(-1, 1)]
        chosen = predicting(batch) & (rows >= 0)
        logits = head_of(self.model).rows(self.states(batch, chosen))
        return F.cross_entropy(logits.float(), rows[chosen])


def states(model: PreTrainedModel, tokens: Tensor) -> Tensor:
    """Return the states (B, T, D) after the last norm of texts (B, T) that are padded behind."""
    return cast(Tensor, model.base_model(input_ids=tokens, use_cache=False).last_hidden_state)


def begun(size: Size, features: Features, rows: int, project: bool = False) -> PreTrainedModel:
    """Return a model that has learnt nothing yet. `project`: its embedding is the target's, in the
    directions in which that varies most; else it is random.
    """
    model = built(size, features.vocabulary(rows))
    embedding = cast(nn.Embedding, model.get_input_embeddings()).weight
    head = head_of(model)
    with torch.no_grad():
        nn.init.normal_(embedding, std=STD)
        nn.init.normal_(head.weight, std=STD)
        if project:
            narrow = projected(features.target, size.hidden)
            embedding[:, : narrow.shape[1]] = narrow
    return model


def projected(target: TargetWeights, width: int) -> Tensor:
    """Return the target's embedding (V, `width` at most) on its first principal axes, each as wide
    as the others and each token as large as initial weights are: unscaled, the first few axes would
    hide all others, and common tokens would be small.
    """
    whole = target.embedding.float()
    whole = whole - whole.mean(0)
    axes = cast(Tensor, torch.linalg.eigh(whole.T @ whole).eigenvectors)
    narrow = whole @ axes[:, -width:]
    narrow = narrow / narrow.std(0)
    return STD * narrow / narrow.square().mean(1, keepdim=True).sqrt()


def _shared(texts: Sequence[Text]) -> int:
    """Return how many tokens all texts begin with: those of the chat template."""
    first, last = texts[0].tokens, texts[-1].tokens
    length = min(len(first), len(last))
    alike = (first[:length] == last[:length]).long().cumprod(0)
    return int(alike.sum())


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=16, help="texts per step")
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=3)
    parser.add_argument("--inner", type=int, default=512, help="width of the MLPs")
    parser.add_argument(
        "--project-embedding",
        action="store_true",
        help="begin with the target's embedding, projected; random otherwise",
    )
    parser.add_argument("--pretraining-epochs", type=int, default=PRETRAINING.epochs)
    parser.add_argument("--pretraining-minutes", type=float, default=PRETRAINING.minutes)
    parser.add_argument("--pretraining-rate", type=float, default=PRETRAINING.rate)


def _make(features: Features, options: argparse.Namespace) -> Task[Rows]:
    """Carry out the first stage, or take what it came to, and return the second."""
    shape = Size(
        options.hidden,
        options.layers,
        options.heads,
        options.inner,
        CONTEXT,
        features.target.shape.eps,
        features.target.shape.theta,
    )
    model = begun(shape, features, options.vocabulary, options.project_embedding)
    own = PRETRAINING
    plan = Plan(
        epochs=options.pretraining_epochs,
        minutes=options.pretraining_minutes,
        rate=options.pretraining_rate,
        warmup=own.warmup,
        clip=own.clip,
        betas=own.betas,
        decay=own.decay,
        seed=options.seed,
        mixed=options.mixed,
    )
    first = Pretraining(model, shape, features, options.batch)
    folder = run_folder(KIND, options) / "pretraining"
    report = train(first, features, plan, folder, tell=say)
    return Alignment(model, shape, features, options.batch, report)


def _measured(task: Task[Rows], features: Features) -> Mapping[str, str]:
    """Return what the card says of acceptance at temperatures, and of the first stage."""
    assert isinstance(task, Alignment)
    held = features.texts(True)
    found = {
        f"per token at temperature {heat:g}": overlap(task.model, held, features.target, heat)
        for heat in (1.0, 0.6)
    }
    before = task.pretrained
    return {
        **{name: f"Σ min(p, q) {each.mean:.3f} at {each.places:,} places held out"
           for name, each in found.items()},
        "after pretraining alone": f"{per_pass(before.accepted):.2f} tokens per pass, in "
        f"{before.steps:,} steps, {before.seconds / 60:.0f} minutes",
    }  # fmt: skip


def _details(options: argparse.Namespace) -> Mapping[str, str]:
    begins = "the target's on its principal axes" if options.project_embedding else "random"
    return {
        "shape": f"{options.layers} layers, width {options.hidden}, {options.heads} heads, MLP "
        f"{options.inner}",
        "pretraining": f"the target's law on every token, rate {options.pretraining_rate:g}, "
        f"{options.pretraining_epochs} epochs or {options.pretraining_minutes:g} minutes",
        "alignment": "cross-entropy of the target's answers",
        "embedding": f"begins as {begins}",
        "draft vocabulary": f"{options.vocabulary:,} tokens",
    }


add_parser = Family(
    kind=KIND,
    name="FastDraft",
    paper="Zafrir et al. 2025, arXiv 2411.11055",
    taps=lambda options: (FINAL,),
    make=_make,
    plan=ALIGNMENT,
    add_options=_add_options,
    details=_details,
    measured=_measured,
).add_parser

"""Train EAGLE-3's head by unrolled drafts (training-time test): it meets its own outputs already
in training.

Soft cross-entropy over the draft vocabulary alone, 0.8^i for the step i, where the token that comes
is one that the head can name. Without the test (`--steps 1`) the head is as good at its first token
and collapses after it: it never saw what it hands on. The output head begins as the target's own.

Li, Wei, Zhang, Zhang, arXiv 2503.01840. Published: AdamW (0.9, 0.95), rate 5e-5, 7 steps in the
code, a draft vocabulary of 32,000; a place counts where the target's favourite is in it, which in
texts drawn above temperature 0 may be another than the token that comes. The states are fused as
they are (`--raw`); normed first, as the `speculators` format allows, they are learnt from faster:
the target's deep states have single numbers in the thousands.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from core.heads.checkpoint import CONFIG, WEIGHTS
from core.heads.eagle3 import KIND, Eagle3Head, Variant, default_taps
from core.heads.eagle3_files import LISTED
from core.heads.files import write_tensors
from core.models.base import FINAL
from core.train.chains import DECAY, ChainTask, Recipe, layer_config
from core.train.data import Features
from core.train.family import Family
from core.train.report import Plan
from core.train.unrolled import Laws, Rows, soft_cross_entropy

LAYERS = (2, 15, 27)  # whose inputs are fused: the published choice for 30 layers
STEPS = 4  # of the test: as deep as chains are drafted here


class Trained(nn.Module):
    """The head and its output head."""

    def __init__(self, head: Eagle3Head, rows: Tensor) -> None:
        super().__init__()
        self.head = head
        self.lm_head = nn.Linear(rows.shape[1], rows.shape[0], bias=False)
        with torch.no_grad():
            self.lm_head.weight.copy_(rows)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by their names in the `speculators` format."""
        state = cast("dict[str, Tensor]", self.state_dict())
        return {_published(name): tensor for name, tensor in state.items()}


def _published(name: str) -> str:
    return name.removeprefix("head.").replace("midlayer.", "layers.0.", 1)


class Eagle3Task(ChainTask):
    """`normed`: the target's states are normed before they are fused."""

    kind = KIND
    head: Eagle3Head

    def __init__(
        self,
        features: Features,
        vocabulary: int,
        recipe: Recipe,
        layers: tuple[int, ...] = LAYERS,
        normed: bool = True,
    ) -> None:
        """Raise ValueError for layers that the target has not, or that a reader would take for
        others.
        """
        target = features.target
        usual = default_taps(target.layers)
        if not all(0 <= layer <= target.layers for layer in layers):
            raise ValueError(f"The layers of this target are 0 to {target.layers}.")
        if layers == tuple(layer - 1 for layer in usual):
            raise ValueError(
                f"The layers {layers} are the usual ones less 1, which readers of checkpoints take "
                f"for {usual}: choose others."
            )
        head = Eagle3Head(target.shape, Variant(len(layers), "each" if normed else "none"))
        super().__init__(head, layers, target, features.vocabulary(vocabulary), recipe)
        self.module = Trained(head, self.weight)
        self.taps = (*layers, FINAL)
        self.layers = layers
        self._named = torch.zeros(target.vocabulary_size, dtype=torch.bool)
        self._named[self.vocabulary.ids] = True

    def read(self, outputs: Tensor) -> Tensor:
        return cast(Tensor, self.module.lm_head(self.head.read(outputs)))

    def loss(self, batch: Rows) -> Tensor:
        features, laws = self.features(batch), Laws(batch, self.weight)
        total = features.new_zeros(())
        for step, outputs in enumerate(self.chains(batch, features, self.recipe.steps)):
            counted = batch.counts(step) & self._named[batch.drafted(step)]
            if bool(counted.any()):
                apart = soft_cross_entropy(self.read(outputs[counted]), laws.at(step, counted))
                total = total + DECAY**step * apart
        return total

    def save(self, folder: Path) -> None:
        ids, size = self.vocabulary.ids, self.target.vocabulary_size
        tensors = {name: tensor.detach().bfloat16() for name, tensor in self.module.named().items()}
        tensors["d2t"] = ids - torch.arange(len(ids))
        tensors["t2d"] = torch.zeros(size, dtype=torch.bool).index_fill(0, ids, True)
        write_tensors(tensors, folder / WEIGHTS)
        config = json.dumps(self._config(), indent=2) + "\n"
        (folder / CONFIG).write_text(config, encoding="utf-8")

    def _config(self) -> dict[str, object]:
        """Return config.json in the `speculators` format."""
        proposal = {
            "proposal_type": "greedy",
            "speculative_tokens": self.recipe.steps,
            "verifier_accept_k": 1,
            "accept_tolerance": 0.0,
        }
        return {
            "architectures": ["Eagle3Speculator"],
            "speculators_model_type": KIND,
            "speculators_version": "0.9.0",
            "speculators_config": {
                "algorithm": KIND,
                "default_proposal_method": "greedy",
                "proposal_methods": [proposal],
                "verifier": {"name_or_path": self.target.name, "architectures": []},
            },
            "transformer_layer_config": layer_config(self.head.shape, self.target),
            "draft_vocab_size": len(self.vocabulary),
            "norm_before_residual": False,
            "norm_before_fc": False,
            "fc_norm": self.head.variant.before == "each",
            "norm_output": False,
            "embed_requires_grad": False,
            LISTED: list(self.layers),
        }


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=16, help="texts per step")
    parser.add_argument(
        "--steps",
        type=int,
        default=STEPS,
        help="unrolled steps of the training-time test; 1 switches it off",
    )
    parser.add_argument(
        "--layers",
        type=int,
        nargs="+",
        default=LAYERS,
        help="layers of the target whose inputs are fused; 2, the half, and 3 less than all are "
        "published",
    )
    parser.add_argument(
        "--raw", action="store_true", help="fuse the states as they are, as first published"
    )


def _make(features: Features, options: argparse.Namespace) -> Eagle3Task:
    recipe = Recipe(options.batch, options.steps)
    layers = tuple(options.layers)
    return Eagle3Task(features, options.vocabulary, recipe, layers, not options.raw)


def _details(options: argparse.Namespace) -> Mapping[str, str]:
    test = f"{options.steps} unrolled steps" if options.steps > 1 else "switched off"
    return {
        "reads": f"the inputs of layers {', '.join(map(str, options.layers))}, "
        + ("as they are" if options.raw else "each normed"),
        "training-time test": test,
        "draft vocabulary": f"{options.vocabulary:,} tokens, with a head of its own",
    }


def _taps(options: argparse.Namespace) -> tuple[int, ...]:
    return (*options.layers, FINAL)


add_parser = Family(
    kind=KIND,
    name="EAGLE-3 head",
    paper="Li et al. 2025, arXiv 2503.01840",
    taps=_taps,
    make=_make,
    plan=Plan(rate=1e-3),
    add_options=_add_options,
    details=_details,
).add_parser

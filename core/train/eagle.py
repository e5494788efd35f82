"""Train EAGLE's head, for EAGLE-1 and 2, to write the target's next state.

SmoothL1 to the true state, and a tenth of the cross-entropy under the target's law; noise on the
states that are read makes up for the head reading its own later on. As published, but for: the
target's own texts, a trimmed draft vocabulary, a learning rate for minutes instead of days, and
clipping by norm.

Li, Wei, Zhang, Zhang, arXiv 2401.15077. Published: AdamW (0.9, 0.95), rate 3e-5, clipping by value
0.5, noise 0.2 (U - 0.5) 512 / length.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.checkpoint import CONFIG, WEIGHTS
from core.heads.eagle import KIND, NEXT_TOKEN, TAPS, TOKEN_MAP, EagleHead
from core.heads.files import write_tensors
from core.train.chains import DECAY, ChainTask, Recipe, layer_config
from core.train.data import Features
from core.train.family import Family
from core.train.report import Plan
from core.train.unrolled import Laws, Rows, soft_cross_entropy

NOISE, NOISE_LENGTH = 0.2, 512
ENTROPY_WEIGHT = 0.1  # of the cross-entropy beside SmoothL1


class EagleTask(ChainTask):
    """`next_token` False: the head sees x_t beside f_t instead of x_{t+1}, to show what it is for.

    `entropy`: weight of the cross-entropy.
    """

    kind = KIND
    taps = TAPS

    def __init__(
        self,
        features: Features,
        vocabulary: int,
        recipe: Recipe,
        entropy: float = ENTROPY_WEIGHT,
        next_token: bool = True,
    ) -> None:
        target = features.target
        self.module = EagleHead(target.shape)
        self._entropy = entropy
        self._next_token = next_token
        super().__init__(self.module, TAPS, target, features.vocabulary(vocabulary), recipe)

    def fed(self, tokens: Tensor) -> Tensor:
        return tokens if self._next_token else torch.cat([tokens[:, :1], tokens[:, :-1]], dim=1)

    def read(self, outputs: Tensor) -> Tensor:
        return F.linear(outputs, self.weight)

    def loss(self, batch: Rows) -> Tensor:
        features, laws = self.features(batch), Laws(batch, self.weight)
        if self.module.training:
            sizes = NOISE * NOISE_LENGTH / batch.lengths
            features = features + (torch.rand_like(features) - 0.5) * sizes[:, None, None]
        total = features.new_zeros(())
        for step, outputs in enumerate(self.chains(batch, features, self.recipe.steps)):
            counted = batch.counts(step)
            if not bool(counted.any()):
                break
            out, true = outputs[counted], batch.true(step)[counted].float()
            near = F.smooth_l1_loss(out.float(), true)
            apart = soft_cross_entropy(self.read(out), laws.at(step, counted))
            total = total + DECAY**step * (near + self._entropy * apart)
        return total

    def save(self, folder: Path) -> None:
        shape = self.module.shape
        config = layer_config(shape, self.target) | {
            "architectures": ["LlamaForCausalLM"],
            "bias": True,
            NEXT_TOKEN: self._next_token,
        }
        state = cast("dict[str, Tensor]", self.module.state_dict())
        tensors = {name: tensor.detach().bfloat16() for name, tensor in state.items()}
        if not self.vocabulary.is_whole:
            tensors[TOKEN_MAP] = self.vocabulary.ids
        write_tensors(tensors, folder / WEIGHTS)
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=16, help="texts per step")
    parser.add_argument("--steps", type=int, default=1, help="drafted pairs trained; published: 1")
    parser.add_argument(
        "--entropy",
        type=float,
        default=ENTROPY_WEIGHT,
        help="weight of the cross-entropy; published: 0.1",
    )
    parser.add_argument(
        "--without-next-token",
        action="store_true",
        help="for comparison: the head sees the token before the drawn one, and cannot draft",
    )


def _make(features: Features, options: argparse.Namespace) -> EagleTask:
    return EagleTask(
        features,
        options.vocabulary,
        Recipe(options.batch, options.steps),
        options.entropy,
        not options.without_next_token,
    )


def _details(options: argparse.Namespace) -> Mapping[str, str]:
    return {
        "loss": f"SmoothL1 + {options.entropy:g} cross-entropy, steps: {options.steps}",
        "reads": "the state after the last norm, with the "
        + ("token before the drawn one" if options.without_next_token else "drawn token"),
        "draft vocabulary": f"{options.vocabulary:,} tokens",
    }


add_parser = Family(
    kind=KIND,
    name="EAGLE head",
    paper="Li et al. 2024, arXiv 2401.15077",
    taps=lambda options: TAPS,
    make=_make,
    plan=Plan(rate=1e-3),
    add_options=_add_options,
    details=_details,
).add_parser

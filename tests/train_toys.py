"""A family that learns in a moment, and features of no model: what the tests of the rails train."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from core.heads.files import write_tensors
from core.heads.target import Shape, TargetWeights
from core.models.base import FINAL
from core.train.data import DTYPE, Features, Text

WIDTH, VOCABULARY = 6, 11


def target() -> TargetWeights:
    chance = torch.Generator().manual_seed(5)
    shape = Shape(WIDTH, 2, 1, 3, 8, 1e-5, 10000.0)
    embedding = torch.randn((VOCABULARY, WIDTH), generator=chance)
    head = torch.randn((VOCABULARY, WIDTH), generator=chance)
    return TargetWeights("toy/target", shape, 2, VOCABULARY, embedding, head, lambda states: states)


def text(number: int, length: int = 9) -> Text:
    """Return tokens that follow from the states: what a linear map of them can learn."""
    states = torch.randn((length, WIDTH), generator=torch.Generator().manual_seed(number))
    turned = states @ torch.randn(
        (WIDTH, VOCABULARY), generator=torch.Generator().manual_seed(1000)
    )
    return Text(turned.argmax(-1), 3, number % 2 == 0, {FINAL: states.to(DTYPE)})


def features(training: int = 24, held: int = 8) -> Features:
    texts = [text(number) for number in range(training + held)]
    counts = torch.zeros(VOCABULARY, dtype=torch.long)
    for trained in texts[:training]:
        counts += torch.bincount(trained.tokens[trained.answer :], minlength=VOCABULARY)
    return Features(
        (FINAL,), texts[:training], texts[training:], target(), counts, frozenset({0, 7})
    )


@dataclass
class ToyTask:
    """Reads a token off a state, through dropout so that chance takes part."""

    module: nn.Module
    pause: float = 0.0
    kind: str = "toy"
    taps: tuple[int, ...] = (FINAL,)

    @staticmethod
    def made(seed: int = 0, pause: float = 0.0) -> ToyTask:
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(seed)
            return ToyTask(
                nn.Sequential(nn.Dropout(0.2), nn.Linear(WIDTH, VOCABULARY)), pause=pause
            )

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[list[Text]]:
        order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(seed)).tolist()
        for first in range(0, len(order), 4):
            yield [texts[i] for i in order[first : first + 4]]

    def loss(self, batch: list[Text]) -> Tensor:
        time.sleep(self.pause)
        states = torch.cat([t.states[FINAL][t.answer :].float() for t in batch])
        tokens = torch.cat([t.tokens[t.answer :] for t in batch])
        return nn.functional.cross_entropy(self.module(states), tokens)

    def accepted(self, texts: Sequence[Text]) -> list[tuple[int, int]]:
        right = torch.cat(
            [
                self.module(t.states[FINAL][t.answer :].float()).argmax(-1) == t.tokens[t.answer :]
                for t in texts
            ]
        )
        both = right[1:] & right[:-1]
        return [(int(right.sum()), len(right)), (int(both.sum()), int(right[:-1].sum()))]

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text("{}", encoding="utf-8")
        weights = {name: tensor.bfloat16() for name, tensor in self.module.state_dict().items()}
        write_tensors(weights, folder / "model.safetensors")

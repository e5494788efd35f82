"""A corpus on disk: shards of conversations, and what is committed of them.

Who writes the conversations is `core.train.corpus`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
import torch
from torch import Tensor

from core.models.folders import cache_root

RECIPE = 2  # raise it when the same seed would give another corpus
_MOST_BYTES = 64 * 2**20  # of a shard


class Example(msgspec.Struct, frozen=True):
    """One conversation. `prompt`: ids up to where the answer begins; `answer`: with its end."""

    kind: str
    topic: str
    held_out: bool
    temperature: float
    request: str
    prompt: list[int]
    answer: list[int]


class Summary(msgspec.Struct, frozen=True):
    """What is committed of a corpus. `digest`: SHA-256 over all token ids, in order."""

    recipe: int
    seed: int
    model: str
    examples: int
    held_out: int
    answer_tokens: int
    held_out_tokens: int
    distinct: int  # tokens that occur in training answers
    digest: str


def corpus_folder(model: str, seed: int) -> Path:
    """Return where the corpus of a model and a seed lies."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-")
    return cache_root() / "train" / f"corpus-{name}-{RECIPE}-{seed}"


def read_shard(file: Path) -> list[Example]:
    """Raise ValueError for a file that is no shard."""
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{file.name} is larger than {_MOST_BYTES:,} bytes: it is no shard.")
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Example])
    except msgspec.MsgspecError as error:
        raise ValueError(f"{file.name} is damaged: {error}.") from error


def read_corpus(folder: Path) -> list[Example]:
    """Return all examples; raise ValueError where there are none."""
    found = [example for file in sorted(folder.glob("*.json")) for example in read_shard(file)]
    if not found:
        raise ValueError("There is no corpus: write one with python -m core.train corpus.")
    return found


def summary(examples: list[Example], model: str, seed: int) -> Summary:
    held = [example for example in examples if example.held_out]
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr((example.prompt, example.answer)).encode())
    return Summary(
        recipe=RECIPE,
        seed=seed,
        model=model,
        examples=len(examples),
        held_out=len(held),
        answer_tokens=sum(len(example.answer) for example in examples),
        held_out_tokens=sum(len(example.answer) for example in held),
        distinct=len({t for example in examples if not example.held_out for t in example.answer}),
        digest=digest.hexdigest(),
    )


def write_summary(told: Summary, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(told)) + b"\n")


def tally(examples: Iterable[Example], size: int) -> Tensor:
    """Return how often each token (V,) occurs in the answers that are trained on."""
    found = torch.zeros(size, dtype=torch.long)
    for example in examples:
        if not example.held_out:
            found += torch.bincount(torch.tensor(example.answer), minlength=size)
    return found

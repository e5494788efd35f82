"""What trainers read: the corpus's texts together with the target's hidden states.

The states lie in files, one per shard of the corpus and tap, and stay there: they are mapped into
memory, and a text's states are views of its rows. Who made them is `core.train.features`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.heads.files import read_tensors
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.models.base import FINAL
from core.models.hf import HFModel
from core.train.corpus import Teacher, load_teacher
from core.train.shards import Example, corpus_folder, read_shard, tally

DTYPE = torch.bfloat16
_MOST_BYTES = 2 * 2**30  # of a shard's states at one tap


@dataclass(frozen=True, slots=True)
class Text:
    """One conversation: `tokens` (T,) int64, of which those from `answer` on are the target's own.

    `states`: by tap, (T, D) in bfloat16. Row t is what the target made of tokens 0 to t.
    """

    tokens: Tensor
    answer: int
    greedy: bool
    states: Mapping[int, Tensor]


@dataclass(frozen=True, slots=True)
class Features:
    """Texts of one target. `counts` (V,): how often a token occurs in the answers to train on.

    `always`: end and special tokens, which every draft vocabulary holds.
    """

    taps: tuple[int, ...]
    training: Sequence[Text]
    held: Sequence[Text]
    target: TargetWeights
    counts: Tensor
    always: frozenset[int]

    def texts(self, held_out: bool) -> Sequence[Text]:
        """Return the texts on topics that are held out, or all others."""
        return self.held if held_out else self.training

    def vocabulary(self, count: int) -> DraftVocabulary:
        """Return the `count` most frequent tokens, padded with the lowest ids. Raises ValueError
        for a count that cannot be.
        """
        return DraftVocabulary.frequent(self.counts, count, self.always)


def open_features(
    taps: Iterable[int], model: str, seed: int = 0, shards: int | None = None
) -> Features:
    """Load a target and map its features, of the first `shards` shards only where they are given.

    Raises ValueError with one sentence where corpus or features are missing.
    """
    teacher = load_teacher(model)
    folder = corpus_folder(teacher.name, seed)
    return read_features(folder, target_of(teacher), always_of(teacher), taps, shards)


def target_of(teacher: Teacher) -> TargetWeights:
    loaded = teacher.text.loaded
    return TargetWeights.of(HFModel(loaded.model, loaded.card))


def always_of(teacher: Teacher) -> frozenset[int]:
    """Return the tokens that end a text or have a meaning of their own."""
    return teacher.text.ends | teacher.text.special


def read_features(
    corpus: Path,
    target: TargetWeights,
    always: frozenset[int],
    taps: Iterable[int],
    shards: int | None = None,
) -> Features:
    """Map the features of a corpus; raise ValueError where some are missing or of another one."""
    wanted = tuple(sorted(set(taps)))
    training, held = list[Text](), list[Text]()
    counts = tally([], target.vocabulary_size)
    for file in shard_files(corpus, shards):
        examples = read_shard(file)
        states = {tap: _states(file, tap, examples, target.shape.hidden) for tap in wanted}
        counts += tally(examples, len(counts))
        first = 0
        for example in examples:
            last = first + len(example.prompt) + len(example.answer)
            rows = {tap: found[first:last] for tap, found in states.items()}
            (held if example.held_out else training).append(_text(example, rows))
            first = last
    return Features(wanted, training, held, target, counts, always)


def shard_files(corpus: Path, shards: int | None = None) -> list[Path]:
    """Return the corpus's shards, in order; raise ValueError where there are fewer than asked."""
    files = sorted(corpus.glob("[0-9]*.json"))
    if not files or len(files) < (shards or 0):
        raise ValueError(
            f"The corpus has {len(files)} shards: write it with python -m core.train corpus."
        )
    return files[:shards]


def states_file(shard: Path, tap: int) -> Path:
    """Return where the states of a shard at a tap lie."""
    name = "final" if tap == FINAL else f"layer{tap}"
    folder = shard.parent.with_name(shard.parent.name.replace("corpus-", "features-", 1))
    return folder / f"{shard.stem}-{name}.safetensors"


def all_tokens(examples: Sequence[Example]) -> Tensor:
    """Return the tokens (N,) int32 of a shard's texts end to end, as its states lie."""
    texts = (token for example in examples for token in (*example.prompt, *example.answer))
    return torch.tensor(list(texts), dtype=torch.int32)


def _states(shard: Path, tap: int, examples: Sequence[Example], width: int) -> Tensor:
    """Return the states (N, D) of a shard's texts end to end."""
    file = states_file(shard, tap)
    if not file.is_file():
        raise ValueError(
            f"The features {file.name} are missing: make them with "
            f"python -m core.train features --taps {tap}."
        )
    tensors = read_tensors(file, _MOST_BYTES)
    tokens = all_tokens(examples)
    found = tensors.get("states")
    if found is None or found.shape != (len(tokens), width) or found.dtype != DTYPE:
        raise ValueError(f"{file.name} holds no states of {len(tokens):,} tokens: remove it.")
    if not torch.equal(tensors.get("tokens", tokens[:0]), tokens):
        raise ValueError(f"{file.name} was made of another corpus: remove it.")
    return found


def _text(example: Example, states: Mapping[int, Tensor]) -> Text:
    tokens = torch.tensor([*example.prompt, *example.answer])
    return Text(tokens, len(example.prompt), example.temperature == 0, states)

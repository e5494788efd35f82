"""The corpus of the trainers: the target's own conversations, without outside data.

The target writes user turns behind its chat template's user tag, begun with the first words of a
kind of request over a topic (`openings`); what is cut off, broken or a double is left out. It then
answers them, half greedily and half at temperature 0.7. Written in shards, each whole or not at
all: a run that was stopped goes on at its last shard.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import torch

from core.engine import TokenizerText
from core.heads.frequencies import Frequencies, frequencies_file
from core.heads.shelf import FOLDER, slug
from core.models.devices import choose_threads
from core.models.families import anatomy
from core.models.lean import LeanLlama
from core.models.loading import LoadOptions, load
from core.models.sources import DEFAULT, silent
from core.train.batch import BatchWriter, Request
from core.train.openings import Opening, openings
from core.train.shards import (
    Example,
    corpus_folder,
    read_corpus,
    read_shard,
    summary,
    tally,
    write_summary,
)

SHARD = 256  # user turns begun per shard
SLOTS = 128
TURN, ANSWER = 64, 144  # most tokens of a user turn, of an answer
TURN_HEAT, ANSWER_HEATS = 0.7, (0.0, 0.7)
_SPLIT = "\x00"  # stands for the user's words while the template is filled


@dataclass(frozen=True, slots=True)
class Teacher:
    """The target as the trainers use it."""

    name: str
    text: TokenizerText
    model: LeanLlama


def add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=DEFAULT, help="target (default: the default model)")
    parser.add_argument("--tokens", type=int, default=450_000, help="answer tokens to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", default="auto")
    parser.add_argument(
        "--summary", action="store_true", help="write nothing new, only sum up what there is"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    torch.set_num_threads(choose_threads(options.threads))
    teacher = load_teacher(options.model)
    folder = corpus_folder(teacher.name, options.seed)
    if not options.summary:
        write(teacher, folder, options.tokens, options.seed)
    examples = read_corpus(folder)
    frequencies = Frequencies(
        tally(examples, teacher.text.loaded.card.vocabulary_size),
        teacher.text.ends | teacher.text.special,
    )
    frequencies.write(frequencies_file(teacher.name))
    told = summary(examples, teacher.name, options.seed)
    write_summary(told, FOLDER / f"corpus-{slug(teacher.name)}.json")
    print(f"{told.answer_tokens:,} answer tokens in {told.examples:,} texts; they are in {folder}")


def load_teacher(model: str) -> Teacher:
    """Load a target in bfloat16; raise ValueError for one that is no Llama-shaped model."""
    loaded = load(model, LoadOptions(dtype="bfloat16"), silent)
    lean = anatomy(loaded.model)
    if not isinstance(lean, LeanLlama):
        raise ValueError("Corpora are written by Llama-shaped models: name one of those.")
    return Teacher(loaded.card.id, TokenizerText(loaded), lean)


def write(teacher: Teacher, folder: Path, tokens: int, seed: int) -> None:
    """Write shards until there are `tokens` answer tokens. Raises ValueError where a whole shard
    brings nothing new.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known, total, number, began = set[str](), 0, 0, time.monotonic()
    writer = BatchWriter(teacher.model, SLOTS, 2 * (TURN + ANSWER))
    while total < tokens:
        file = folder / f"{number:04}.json"
        if not file.is_file():
            found = _shard(teacher, writer, known, seed, number)
            new = file.with_suffix(".new")
            new.write_bytes(msgspec.json.encode(found))
            new.replace(file)
        shard = read_shard(file)
        if not shard:
            raise ValueError(f"Shard {number + 1} brought nothing new: ask for fewer tokens.")
        known |= {_key(example.request) for example in shard}
        total += sum(len(example.answer) for example in shard)
        number += 1
        print(
            f"shard {number}: {total:,} of {tokens:,} answer tokens, "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )


def _shard(
    teacher: Teacher, writer: BatchWriter, known: set[str], seed: int, number: int
) -> list[Example]:
    """Write one shard: user turns, what is good of them, answers."""
    every = openings(seed)
    begun = [every[(number * SHARD + i) % len(every)] for i in range(SHARD)]
    asked = list(good(_turns(teacher, writer, begun, (seed, number)), known))
    requests = [
        Request(tuple(teacher.text.encode(text, True)), ANSWER_HEATS[i % len(ANSWER_HEATS)], ANSWER)
        for i, (_, text) in enumerate(asked)
    ]
    chance = _chance(seed, number, 1)
    answers = {w.number: w.tokens for w in writer.write(requests, teacher.text.ends, chance)}
    return [
        Example(
            kind=opening.kind,
            topic=opening.topic,
            held_out=opening.held_out,
            temperature=request.temperature,
            request=text,
            prompt=list(request.prompt),
            answer=list(answers[i]),
        )
        for i, ((opening, text), request) in enumerate(zip(asked, requests, strict=True))
    ]


def _turns(
    teacher: Teacher, writer: BatchWriter, begun: list[Opening], key: tuple[int, int]
) -> list[tuple[Opening, str]]:
    """Let the model finish user turns; return those that it ended itself."""
    head = teacher.text.loaded.tokenizer.decode(teacher.text.encode(_SPLIT, True)).split(_SPLIT)[0]
    starts = [teacher.text.encode(head + opening.text, False) for opening in begun]
    requests = [Request(tuple(start), TURN_HEAT, TURN) for start in starts]
    written = writer.write(requests, teacher.text.ends, _chance(*key, 0))
    ended = {w.number: w.tokens for w in written if w.tokens[-1] in teacher.text.ends}
    decode = teacher.text.loaded.tokenizer.decode
    return [
        (opening, opening.text + decode(list(ended[i][:-1])))
        for i, opening in enumerate(begun)
        if i in ended
    ]


def good(turns: list[tuple[Opening, str]], known: set[str]) -> Iterator[tuple[Opening, str]]:
    """Leave out doubles and what no person would write."""
    seen = set(known)
    for opening, text in turns:
        words = text.split()
        if _key(text) in seen or len(words) < 4 or len(set(words)) < 0.5 * len(words):
            continue
        if "\ufffd" in text or "<|" in text or not text.replace("\n", " ").isprintable():
            continue
        seen.add(_key(text))
        yield opening, text.strip()


def _key(text: str) -> str:
    """Return what two requests share that differ in case, signs and numbers only."""
    return " ".join(re.findall(r"[a-z]+", text.lower()))


def _chance(*key: int) -> torch.Generator:
    digest = hashlib.sha256(repr(key).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))

"""The target's hidden states for every text of the corpus, so that no trainer runs the target.

One pass per text, several texts laid end to end: products run over all of them at once, attention
over each alone, and nothing is padded. Kept per shard and tap, each file whole or not at all: a run
that was stopped goes on where it was, and another tap costs one more pass.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.heads.files import write_tensors
from core.models.base import FINAL
from core.models.devices import choose_threads
from core.models.lean import LeanLlama
from core.models.sources import DEFAULT
from core.train.corpus import load_teacher
from core.train.data import DTYPE, all_tokens, shard_files, states_file
from core.train.shards import Example, corpus_folder, read_shard

TAPS = (FINAL, 2, 6, 8, 10, 15, 27)
ROWS = 1024  # tokens per pass


def add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default=DEFAULT, help="target (default: the default model)")
    parser.add_argument("--taps", type=int, nargs="+", default=TAPS, help="-1: after the last norm")
    parser.add_argument("--shards", type=int, help="of the corpus, the first so many")
    parser.add_argument("--corpus-seed", type=int, default=0, help="the corpus's")
    parser.add_argument("--threads", default="auto")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    torch.set_num_threads(choose_threads(options.threads))
    teacher = load_teacher(options.model)
    corpus = corpus_folder(teacher.name, options.corpus_seed)
    write(teacher.model, shard_files(corpus, options.shards), options.taps)


def write(model: LeanLlama, shards: Sequence[Path], taps: Iterable[int]) -> None:
    """Write the states that are missing. Raises ValueError for taps that the model has not."""
    wanted = sorted(set(taps))
    if not all(tap == FINAL or 0 <= tap <= model.num_layers for tap in wanted):
        raise ValueError(f"Taps of this model are 0 to {model.num_layers}, and -1 for its end.")
    began, done = time.monotonic(), 0
    for number, shard in enumerate(shards, 1):
        missing = [tap for tap in wanted if not states_file(shard, tap).is_file()]
        if missing:
            examples = read_shard(shard)
            tokens = all_tokens(examples)
            for tap, states in shard_states(model, examples, missing).items():
                write_tensors({"states": states, "tokens": tokens}, states_file(shard, tap))
            done += len(tokens)
        print(
            f"shard {number} of {len(shards)}: {done:,} tokens, {time.monotonic() - began:.0f} s",
            flush=True,
        )


def shard_states(
    model: LeanLlama, examples: Sequence[Example], taps: Sequence[int]
) -> dict[int, Tensor]:
    """Return the states (N, D) in bfloat16 of all texts end to end, by tap."""
    found: dict[int, list[Tensor]] = {tap: [] for tap in taps}
    for texts in _parts(examples):
        for tap, states in text_states(model, texts, taps).items():
            found[tap].append(states.to(DTYPE))
    return {tap: torch.cat(states) for tap, states in found.items()}


@torch.inference_mode()
def text_states(
    model: LeanLlama, texts: Sequence[Sequence[int]], taps: Sequence[int]
) -> Mapping[int, Tensor]:
    """Return the states (N, D) of some texts end to end, by tap, in the model's format."""
    ends = list(accumulate(len(text) for text in texts))
    spans = [slice(end - len(text), end) for text, end in zip(texts, ends, strict=True)]
    tokens = torch.tensor([token for text in texts for token in text])
    places = torch.cat([torch.arange(len(text)) for text in texts])
    hidden = model.embed(tokens[None], places[None])[0]
    cos, sin = model.turns(hidden, places)
    found = {0: hidden}
    for layer in range(max((_depth(model, tap) for tap in taps), default=0)):
        queries, keys, values = model.projected(layer, hidden, cos, sin)
        mixed = torch.cat([_attended(queries[at], keys[at], values[at]) for at in spans])
        hidden = model.transform(layer, hidden + model.mixed(layer, mixed))
        found[layer + 1] = hidden
    if FINAL in taps:
        found[FINAL] = model.norm(hidden)
    return {tap: found[tap] for tap in taps}


def _depth(model: LeanLlama, tap: int) -> int:
    """Return how many layers have to run for a tap."""
    return model.num_layers if tap == FINAL else tap


def _attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return (T, H * d): causal attention within one text of queries (T, H, d)."""
    rows, fold = len(queries), queries.shape[1] // keys.shape[1]
    out = F.scaled_dot_product_attention(
        queries.transpose(0, 1)[None],
        keys.repeat_interleave(fold, dim=1).transpose(0, 1)[None],
        values.repeat_interleave(fold, dim=1).transpose(0, 1)[None],
        is_causal=True,
    )
    return out[0].transpose(0, 1).reshape(rows, -1)


def _parts(examples: Sequence[Example]) -> Iterator[list[list[int]]]:
    """Yield texts in their order, as many at a time as a pass may have rows."""
    part, rows = list[list[int]](), 0
    for example in examples:
        text = [*example.prompt, *example.answer]
        if part and rows + len(text) > ROWS:
            yield part
            part, rows = [], 0
        part.append(text)
        rows += len(text)
    if part:
        yield part

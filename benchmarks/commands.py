"""The commands that are compared: transformers' `generate` and ours, on the same weights, prompts
and length.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import torch
from transformers import PreTrainedModel

from benchmarks.pairs import Timed
from core.decode import Recorder, decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.base import LanguageModel, Scores
from core.record import Recorded, record
from core.registry import Models, get
from core.trace import Nodes, Scalars
from core.tree import Draft
from core.verify.base import Context, Outcome, Table

NEW_TOKENS = 96

_NOTHING = Recorded(
    nodes=Nodes(**{name: [] for name in Nodes.__struct_fields__}),
    laws=[],
    scalars=Scalars(**{name: [] for name in Scalars.__struct_fields__}),
    residuals=[],
    final_top=None,
)


def without_record(
    draft: Draft, scores: Scores, table: Table, outcome: Outcome, context: Context, eos: int | None
) -> Recorded:
    """Keep nothing: what recording costs is the difference to this."""
    return _NOTHING


def theirs(model: PreTrainedModel, ids: Sequence[int], **options: object) -> Timed:
    """Greedy `generate` with `options`; end tokens are ignored so that both sides write the same
    length.
    """
    inputs = torch.tensor([ids])
    settings = {"do_sample": False, "max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS}

    def run() -> float:
        began = time.perf_counter()
        out = model.generate(inputs, attention_mask=torch.ones_like(inputs), **settings, **options)
        seconds = time.perf_counter() - began
        assert out.shape[1] == len(ids) + NEW_TOKENS
        return seconds

    return run


def ours(
    target: LanguageModel,
    ids: Sequence[int],
    method: str,
    config: Mapping[str, object],
    recorder: Recorder = record,
) -> Timed:
    """Our greedy loop with one method."""

    def run() -> float:
        decoder = get(method).build(config, Models(target))
        began = time.perf_counter()
        state = start(ids, target, decoder, Law(0.0), NEW_TOKENS, recorder=recorder)
        for _ in decode(state, SeededDice(0), time.perf_counter):
            pass
        seconds = time.perf_counter() - began
        assert len(state.tokens) == len(ids) + NEW_TOKENS
        return seconds

    return run

"""Sequoia: plan the best tree once, from how often a first, second, third ... child was the one
that stayed.

If a child's place among its siblings decides how often it is accepted, whatever the text, then a
dynamic program finds the tree with the most accepted tokens for every number of nodes and levels,
and measured times say which size pays. Every round fills this tree: children are drawn without
replacement and verified by recursive rejection, which goes on with uniform draws where the support
of the draft law is used up.

Chen, May, Svirschevski, Huang, Ryabinin, Jia, Chen: Sequoia: Scalable, Robust, and
Hardware-aware Speculative Decoding, arXiv 2402.12374, NeurIPS 2024, and its code,
github.com/Infini-AI-Lab/Sequoia.

The acceptance is that of this target, drafter and temperature, or of the nearest temperature, where
it was measured: by `python -m core.measure acceptance`, or with the default model and drafters,
where it comes along. Else the vector of the paper's code stands in, and the record says so. The
paper's trees have 64 to 768 nodes for targets on large GPUs; the default here is 16, and 256 the
most. With times (`--times` of that command), nodes and levels are the best ones within the given
bounds; without, the bounds themselves.
The acceptance is measured at the first drafted level: a drafter that is part of the target does
worse at deeper ones, so that the expectation is on the high side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator

from core.decode import Decoder
from core.drafters.by_law import ByLaw
from core.drafters.choice import DraftModelConfig, model_drafter
from core.extras import SequoiaExtras
from core.host import floats
from core.measured import Times, drafter_key, find
from core.reduce import six_digits
from core.registry import Models, Parts, Reported, method
from core.shapes.positional import best_trees, choose
from core.shapes.sequoia import DEPTH, MAX_NODES, PUBLISHED_NODES, Sequoia, published
from core.verify.rejection import RecursiveRejection

Share = Annotated[float, Field(ge=0, le=1)]


class Config(DraftModelConfig):
    budget: int = Field(
        16, title="Node budget", description="Most tokens drafted per round", ge=1, le=MAX_NODES
    )
    depth: int = Field(DEPTH, title="Depth", description="Most tokens on a path", ge=1, le=32)
    fit: bool = Field(
        True,
        title="Fit to times",
        description="Choose nodes and depth by measured times, where there are any",
    )
    acceptance: tuple[Share, ...] | None = Field(
        None,
        title="Acceptance by place",
        description="How often the first, second ... child is the one that stays; empty: as "
        "measured for this target and drafter",
        min_length=1,
        max_length=64,
    )

    @field_validator("acceptance")
    @classmethod
    def _is_a_law(cls, shares: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if shares is not None and sum(shares) > 1 + 1e-9:
            raise ValueError("its shares add up to more than 1, and at most one child stays")
        return shares

    def most_nodes(self) -> int:
        return self.budget


@method(
    "sequoia",
    name="Sequoia",
    paper="Chen et al. 2024",
    url="https://arxiv.org/abs/2402.12374",
    year=2024,
    family="draft-centric: tree and graph",
    lossless=True,
    config=Config,
    parts=Parts("skip", "sequoia", "rejection"),
    reported=(
        Reported(
            "4.04×",
            "the speed of plain decoding",
            "LLaMA 68M drafts for 7B, A100, C4, temperature 0; 5.08 tokens per target pass",
        ),
        Reported(
            "8.6×",
            "the speed of plain decoding",
            "70B offloaded, MT-bench; 10.30 tokens per target pass",
        ),
    ),
    toy={"budget": 3, "acceptance": [0.5, 0.4], "drafter": "model"},
)
def build(config: Config, models: Models) -> Decoder:
    @cache
    def shape(temperature: float) -> Sequoia:
        return _planned(config, _evidence(config, models, temperature))

    like = model_drafter(config, models, _planned(config, _PUBLISHED))
    drafter = ByLaw(like, lambda law: model_drafter(config, models, shape(law.temperature)))
    return Decoder(drafter, RecursiveRejection(uniform_fallback=True))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The acceptance that a tree is planned for, and where it is from."""

    acceptance: tuple[float, ...]
    origin: Literal["measured", "shipped", "published", "given"]
    measured_for: str | None = None
    is_same: bool = False
    temperature: float | None = None
    counted: int = 0
    times: Times | None = None


_PUBLISHED = _Evidence(published(), "published", counted=PUBLISHED_NODES)


def _evidence(config: Config, models: Models, temperature: float) -> _Evidence:
    """Return the best there is: what was given, measured, or published."""
    if config.acceptance is not None:
        return _Evidence(config.acceptance, "given")
    drafter = drafter_key(config.drafter_name, models.draft.card if models.draft else None)
    found = find(models.target.card, drafter, temperature)
    if found is None:
        return _PUBLISHED
    numbers = found.acceptance
    alike = config.draft_temperature in (None, temperature)
    return _Evidence(
        numbers.vector,
        "shipped" if found.is_shipped else "measured",
        f"{numbers.target}, {numbers.drafter}",
        found.is_same and alike,
        numbers.temperature,
        numbers.counted,
        found.times,
    )


def _planned(config: Config, evidence: _Evidence) -> Sequoia:
    """Return the policy with the best tree within the bounds."""
    nodes, levels = config.budget + 1, config.depth + 1
    best, speedup = best_trees(evidence.acceptance, nodes, levels), None
    times = evidence.times.relative if evidence.times is not None and config.fit else {}
    if evidence.times is not None and any(1 < n <= nodes for n in times):
        choice = choose(best, times, evidence.times.step, levels)
        nodes, levels, speedup = choice.nodes, choice.levels, choice.speedup
    plan = best.plan(nodes, levels)
    about = SequoiaExtras(
        acceptance=_rounded(evidence.acceptance),
        origin=evidence.origin,
        measured_for=evidence.measured_for,
        is_same=evidence.is_same,
        temperature=evidence.temperature,
        counted=evidence.counted,
        expected=_rounded([plan.expected(evidence.acceptance)])[0],
        speedup=None if speedup is None else _rounded([speedup])[0],
        tree_parent=list(plan.parents[1:]),
        tree_rank=list(plan.ranks[1:]),
    )
    return Sequoia(plan, about)


def _rounded(values: Sequence[float]) -> list[float]:
    return floats(six_digits(np.array(values, dtype=np.float64)))

"""Which drafter and which shapes an X-ray takes: those of the trace where it has any."""

from __future__ import annotations

from dataclasses import replace

from core.drafters.choice import DrafterConfig, DraftModelConfig
from core.drafters.ranking import RankingConfig
from core.laws import Law
from core.measured import drafter_key, find
from core.parts import shapes
from core.registry import get
from core.run import Engine
from core.shapes.base import TreePolicy
from core.shapes.sequoia import planned
from core.trace import Trace

SHAPES = ("sequoia", "expansion", "static", "eagle2", "dyspec", "opt_tree")


def drafting(engine: Engine, trace: Trace) -> tuple[DrafterConfig, bool]:
    """Return what drafts, and whether the trace's method drafts with it: where that has no model
    behind its drafts, the second model if there is one, else the target with two layers left out.
    """
    config = get(trace.method).configure(trace.config)
    if isinstance(config, DrafterConfig):
        return config, True
    if engine.draft is not None:
        return DraftModelConfig.model_validate({"drafter": "model"}), False
    layers = engine.target.card.layers
    skipped = (layers * 2 // 5, layers * 3 // 5)
    return DraftModelConfig.model_validate({"skip_layers": skipped}), False


def draft_law(config: DrafterConfig, law: Law) -> Law:
    """Return the law that drafts are drawn from. The temperature of a method that ranks tokens
    rather than drawing them is for its ranking.
    """
    own = None if isinstance(config, RankingConfig) else config.draft_temperature
    return law if own is None else replace(law, temperature=own)


def policies(
    engine: Engine, config: DrafterConfig, law: Law, budget: int
) -> tuple[dict[str, TreePolicy], bool]:
    """Return all shapes, Sequoia's for what was measured of this drafter where that is known, at
    the temperature of `law`, the target's.
    """
    made = {key: shapes()[key].make(budget) for key in SHAPES}
    name = drafter_key(config.drafter_name, engine.draft.card if engine.draft else None)
    found = find(engine.target.card, name, law.temperature)
    if found is not None:
        made["sequoia"] = planned(budget, found.acceptance.vector)
    return made, found is not None

"""The left column as data: every method with its settings, and the settings that all share.

Made from the typed configs, the one place where a setting is declared. Knows no method by name.
"""

from __future__ import annotations

from typing import TypedDict, cast

import msgspec

from app.commands.parameters import Parameter, parameters
from app.limits import Limits
from app.orders import ModelsOrder, SamplingOrder
from core.measure.tuned import Tuned, find_tuned
from core.models.default import HUB


class TunedControls(TypedDict):
    """What `python -m core.measure tune` found for the default target on this machine."""

    settings: dict[str, object]
    threads: str
    words: str


class MethodControls(TypedDict):
    key: str
    name: str
    idea: str
    paper: str
    url: str
    lossless: bool
    meaning: str  # of the badge, above temperature 0
    meaning_greedy: str
    parameters: list[dict[str, object]]
    tuned: TunedControls | None


class Catalogue(TypedDict):
    methods: list[MethodControls]
    sampling: list[dict[str, object]]
    models: list[dict[str, object]]
    note: str  # what a first run costs, or empty


def catalogue(limits: Limits, loaded: bool) -> Catalogue:
    """Return all controls; `loaded`: the default models are here. The first call imports torch."""
    from core.registry import methods  # late: see above

    found = find_tuned(HUB.repo)
    return {
        "methods": [
            {
                "key": method.key,
                "name": method.name,
                "idea": method.idea,
                "paper": method.paper,
                "url": method.url,
                "lossless": method.lossless,
                "meaning": "Same law as plain sampling"
                if method.lossless
                else "Not the target's own law",
                "meaning_greedy": "Same text as greedy"
                if method.lossless
                else "Not always the greedy text",
                "parameters": [_built(parameter) for parameter in parameters(method.config)],
                "tuned": _tuned(found, method.key),
            }
            for method in methods().values()
        ],
        "sampling": [_bounded(parameter, limits) for parameter in parameters(SamplingOrder)],
        "models": [_built(parameter) for parameter in parameters(ModelsOrder)],
        "note": "" if loaded else "The first run loads the model.",
    }


def _tuned(found: Tuned | None, method: str) -> TunedControls | None:
    proposal = found and found.of(method)
    if found is None or proposal is None:
        return None
    nodes = f"{proposal.nodes} node{'' if proposal.nodes == 1 else 's'}"
    return {
        "settings": dict(proposal.settings),
        "threads": str(proposal.threads),
        "words": f"Measured on {found.machine}: {nodes}, {proposal.depth} deep, threads "
        f"{proposal.threads}; {proposal.speedup:.2f} times plain decoding expected.",
    }


def _built(parameter: Parameter) -> dict[str, object]:
    return cast("dict[str, object]", msgspec.to_builtins(parameter))


def _bounded(parameter: Parameter, limits: Limits) -> dict[str, object]:
    bounds = {"maximum": limits.new_tokens} if parameter.name == "max_new_tokens" else {}
    return _built(parameter) | bounds

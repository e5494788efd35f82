"""Below each frame of a film: the entropy of its law, between bounds where not all is listed."""

from __future__ import annotations

import math
import re

from core.trace import Trace
from tests.sample_traces import changed
from tests.tree_rounds import toy_trace
from viz.pictures import residuals
from viz.reading import read


def films(trace: Trace) -> list[tuple[str, dict[int, float]]]:
    """Return what the first miss at every node left: its entropy as told, and as it is recorded."""
    found: list[tuple[str, dict[int, float]]] = []
    for index, r in enumerate(trace.rounds):
        picture = residuals.draw(read(trace, index))
        for film in picture.get("films", []) if picture else []:
            told = {frame["head"]: frame["entropy"] for frame in film["frames"]}
            missed = [place for place, check in enumerate(r.checks) if not check.passed]
            for place, residual in zip(missed, r.residuals, strict=True):
                following = [h for h in told if h.startswith(f"Dart {place + 2} ")]
                parents = [r.nodes.parent[check.node] for check in r.checks]
                if following and parents[: place + 2].count(residual.node) == 2:
                    law = dict(zip(residual.token, residual.mass, strict=True))
                    found.append((told[following[0]], law))
    return found


def entropy(law: dict[int, float]) -> float:
    return -math.fsum(mass * math.log(mass) for mass in law.values() if mass > 0)


def test_a_law_that_is_listed_whole_has_one_number() -> None:
    told = films(toy_trace("rsd", {"tree": [4, 2, 2]}))
    assert len(told) > 5
    for text, law in told:
        assert text == f"{entropy(law):.2f}"


def test_what_is_not_listed_widens_it_to_bounds_that_hold_the_true_one() -> None:
    trace = toy_trace("rsd", {"tree": [4, 2]}, pieces=tuple(b" %d" % i for i in range(10)))
    cut = changed(
        trace,
        rounds=[
            changed(
                r,
                residuals=[
                    changed(x, token=x.token[:2], mass=x.mass[:2], rest=1 - sum(x.mass[:2]))
                    for x in r.residuals
                ],
                laws=[
                    changed(x, token=x.token[:0], p=[], p_raw=[], q=[], q_raw=[], p_rest=1.0)
                    for x in r.laws
                ],
            )
            for r in trace.rounds
        ],
        models=changed(trace.models, target=changed(trace.models.target, vocabulary_size=10)),
    )
    whole = [entropy(law) for _, law in films(trace)]
    wide = 0
    for (text, _), true in zip(films(cut), whole, strict=True):
        low, *high = map(float, re.findall(r"[\d.]+", text))
        assert low <= true + 0.006
        assert true - 0.006 <= (high or [low])[0]
        wide += bool(high)
    assert wide > 3


def test_without_the_size_of_the_vocabulary_there_is_a_lower_bound() -> None:
    trace = toy_trace("rsd", {"tree": [4, 2]})
    unknown = changed(
        trace, models=changed(trace.models, target=changed(trace.models.target, vocabulary_size=0))
    )
    assert all(not text.startswith("over") for text, _ in films(unknown)), "all is listed"

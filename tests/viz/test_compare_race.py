"""The race has the rounds of the records, no more and no less, and all that its model takes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.lanes import Machine, legs
from core.compare.waterfall import rounds_after_prompt, spent
from core.trace import Trace, token_ids
from tests import sample_traces as samples
from tests.compared import entry, plain_of
from tests.traces import traces
from tests.viz.test_compare_positions import greedy, sampled
from viz.compare.entry import Entry
from viz.compare.payload import Lane, Leg, Race
from viz.compare.race import MARKED, race


def apart(found: Sequence[Trace]) -> list[Entry]:
    """Return entries that their names tell apart."""
    return [entry(trace, name=str(place)) for place, trace in enumerate(found)]


def lanes_of(found: list[Entry]) -> list[tuple[Lane, Trace]]:
    made = race(found)
    assert made is not None
    json.dumps(made, allow_nan=False)
    by_name = {each.name: each.trace for each in found if each.trace}
    return [(lane, by_name[lane["name"]]) for lane in made["lanes"]]


def check(found: list[Entry]) -> None:
    for lane, trace in lanes_of(found):
        rounds = rounds_after_prompt(trace)
        assert [leg["tokens"] for leg in lane["legs"]] == [len(r.outcome.emitted) for r in rounds]
        assert lane["tokens"] == sum(leg["tokens"] for leg in lane["legs"])
        assert lane["begin"] + lane["tokens"] == len(token_ids(trace))
        ms = math.fsum(leg["draft"] + leg["verify"] + leg["rest"] for leg in lane["legs"])
        assert ms == pytest.approx(math.fsum(spent(r.cost) for r in rounds), abs=0.01)
        for leg, r in zip(lane["legs"], rounds, strict=True):
            counts = (leg["forwards"], leg["passes"], leg["width"])
            cost = r.cost
            assert counts == (cost.draft_forwards, cost.target_forwards, cost.target_tokens)


@pytest.mark.parametrize("made", [greedy, sampled])
def test_lanes_have_the_tokens_and_the_time_of_the_records(made: object) -> None:
    assert callable(made)
    check(apart(made()))


@settings(max_examples=40, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=3))
def test_any_records_can_race(found: list[Trace]) -> None:
    named = apart(found)
    if race(named) is None:
        passes = [leg.verify_ms for leg in legs(found[0]) if leg.target_forwards]
        assert 2 * passes.count(0) >= len(passes)  # the median took no time, or there is none
    else:
        check(named)


def modelled(made: Race, lane: Lane, leg: Leg) -> float:
    """Return the cost of a round in plain passes, by the formula of `Race` and nothing else."""

    def single(n: int) -> float:
        return max(1, n * made["batch"] * made["wide"] / made["wide_at"])

    drafting = leg["forwards"] * made["draft"] * (lane["draft_cost"] or 0) * single(1)
    return leg["passes"] * single(leg["width"]) + drafting


@pytest.mark.parametrize("batch", [1, 8])
def test_the_payload_has_all_that_the_model_takes(batch: int) -> None:
    found = race(apart(sampled()))
    assert found is not None
    moved: Race = {**found, "batch": batch, "wide": 3.0}
    for lane, trace in lanes_of(apart(sampled())):
        machine = Machine(lane["draft_cost"] or 0, moved["wide"], batch)
        for leg, lap in zip(lane["legs"], legs(trace), strict=True):
            assert modelled(moved, lane, leg) == pytest.approx(machine.cost(lap))


def test_sliders_begin_with_what_was_measured() -> None:
    plain, chain = plain_of(samples.chain()), samples.chain()
    found = race([entry(plain), entry(chain)])
    assert found is not None
    assert (found["plain_ms"], found["draft"], found["batch"]) == (20.0, 1.0, 1)
    costs = {lane["name"]: lane["draft_cost"] for lane in found["lanes"]}
    drafts = [r.cost for r in rounds_after_prompt(chain)]
    forward = sum(c.draft_ms for c in drafts) / sum(c.draft_forwards for c in drafts)
    assert costs == {"Plain": None, chain.method_name: pytest.approx(forward / 20, abs=1e-3)}
    assert found["wide"] > 1
    alone = race([entry(plain)])
    assert alone is not None
    assert alone["wide"] == 1.0


def test_lanes_come_by_time_with_those_under_way_last() -> None:
    plain, chain = plain_of(samples.chain()), samples.chain()
    running = entry(replace(plain, rounds=plain.rounds[:3]), "running", "Quick")
    found = race([entry(plain), running, entry(chain), Entry("later", "Later", True, "waiting")])
    assert found is not None
    names = [lane["name"] for lane in found["lanes"]]
    assert names == ["Plain", chain.method_name, "Quick"]


def test_methods_without_a_mark_of_their_own_are_grey() -> None:
    plain = plain_of(samples.chain())
    many = [entry(plain, name=f"{place}") for place in range(MARKED + 3)]
    found = race(many)
    assert found is not None
    told = {lane["name"]: lane["method"] for lane in found["lanes"]}
    expected = [place if place < MARKED else None for place in range(MARKED + 3)]
    assert told == {str(place): method for place, method in enumerate(expected)}
    few = race(many[:MARKED])
    assert few is not None
    assert ("Grey" in found["note"], "Grey" in few["note"]) == (True, False)


def test_without_a_step_of_plain_decoding_there_is_no_race() -> None:
    plain = plain_of(samples.chain())
    begun = replace(plain, rounds=plain.rounds[:1])
    assert race([]) is race([Entry("plain", "Plain", True, "running")]) is None
    assert race([entry(begun, "running")]) is None

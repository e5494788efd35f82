"""What is said of several methods beside each other follows from their records."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.alignment import align, same_tokens
from core.compare.laid import lay
from core.compare.lanes import WIDE, Leg, Machine, draft_cost, legs, plain_pass, wide_cost
from core.compare.overlay import covers, overlay, round_at
from core.compare.verdict import NEAR_TIE, top2_gap, verdict
from core.compare.waterfall import rounds_after_prompt, spent, waterfall
from core.metrics import offered
from core.trace import Trace, token_ids
from tests.compared import changed_at, plain_of
from tests.sample_traces import chain, tree, with_replacement

SAMPLES = {"chain": chain, "tree": tree, "drawn twice": with_replacement}


def sample(name: str = "chain") -> Trace:
    return SAMPLES[name]()


texts = st.lists(st.integers(0, 4), max_size=30)


@given(texts, texts)
def test_an_alignment_writes_both_texts_out_in_order(ours: list[int], theirs: list[int]) -> None:
    spans = align(ours, theirs)
    assert [token for s in spans for token in ours[s.start : s.stop]] == ours
    assert [token for s in spans for token in theirs[s.first : s.last]] == theirs
    for span in spans:
        same = ours[span.start : span.stop] == theirs[span.first : span.last]
        assert same == span.same
        assert span.columns > 0


@given(texts, texts)
def test_what_two_texts_begin_with_stays_aligned(ours: list[int], theirs: list[int]) -> None:
    head = same_tokens(ours, theirs)
    assert ours[:head] == theirs[:head]
    assert len(ours) == head or len(theirs) == head or ours[head] != theirs[head]
    spans = align(ours, theirs)
    if head:
        assert spans[0].same
        assert spans[0].start == spans[0].first == 0
        assert min(spans[0].stop, spans[0].last) >= head


@pytest.mark.parametrize("seed", SAMPLES)
def test_the_same_text_is_identical_whatever_the_rounds_were(seed: str) -> None:
    trace = sample(seed)
    found = verdict(trace, plain_of(trace))
    assert found.is_identical
    assert found.same == found.total == len(token_ids(trace))


@pytest.mark.parametrize(
    ("lossless", "temperature", "gap", "cause"),
    [
        (True, 0.0, NEAR_TIE["float32"] / 2, "near tie"),
        (True, 0.0, 2.0, "unexplained"),
        (True, 0.7, 2.0, "sampling"),
        (False, 0.0, 1e-4, "lossy rule"),
        (False, 0.7, 2.0, "lossy rule"),
    ],
)
def test_a_difference_has_its_place_its_tokens_its_gap_and_its_cause(
    lossless: bool, temperature: float, gap: float, cause: str
) -> None:
    trace = sample()
    trace = replace(
        trace,
        lossless=lossless,
        finish_reason="length",
        sampling=replace(trace.sampling, temperature=temperature),
        models=replace(trace.models, target=replace(trace.models.target, dtype="float32")),
    )
    plain = plain_of(trace)
    rounds = list(plain.rounds)
    rounds[5] = replace(rounds[5], scalars=replace(rounds[5].scalars, top2_gap=[gap]))
    found = verdict(changed_at(trace, 5), replace(plain, rounds=rounds))
    ids = token_ids(trace)
    assert not found.is_identical
    assert (found.same, found.ours, found.theirs) == (5, ids[5] + 1, ids[5])
    assert (found.gap, found.cause) == (gap, cause)


def test_a_cancelled_run_differs_by_its_end_alone() -> None:
    trace = sample()
    plain = plain_of(trace)
    cut = replace(trace, rounds=trace.rounds[:-1], finish_reason="cancelled")
    found = verdict(cut, plain)
    assert (found.cause, found.ours) == ("end", None)
    assert found.theirs == token_ids(trace)[found.same]


def test_the_gap_of_a_place_in_a_draft_is_that_of_its_parent() -> None:
    trace = sample("tree")
    written = 0
    for each in trace.rounds:
        for step, parent in enumerate([0, *each.outcome.accepted][: len(each.outcome.emitted)]):
            assert top2_gap(trace, written + step) == each.scalars.top2_gap[parent]
        written += len(each.outcome.emitted)
    assert top2_gap(trace, written) is None


@pytest.mark.parametrize("seed", SAMPLES)
def test_a_waterfall_adds_up_to_the_time_of_the_run(seed: str) -> None:
    trace = sample(seed)
    found = waterfall(trace, plain_of(trace))
    assert found is not None
    parts = found.plain + found.fewer_passes + found.wider_passes + found.drafting + found.rest
    assert math.isclose(parts, found.total, rel_tol=1e-9)
    total = math.fsum(spent(each.cost) for each in rounds_after_prompt(trace))
    assert math.isclose(found.total, total)
    assert found.fewer_passes <= 0


def test_plain_decoding_s_own_waterfall_has_one_bar() -> None:
    plain = plain_of(sample())
    found = waterfall(plain, plain)
    assert found is not None
    assert math.isclose(found.plain, found.total)
    rest = (found.fewer_passes, found.wider_passes, found.drafting, found.rest)
    assert rest == pytest.approx((0.0, 0.0, 0.0, 0.0), abs=1e-9)
    assert found.wasted is None
    assert found.speedup == pytest.approx(1.0)


def leg(width: int, verify: float = 1.0, forwards: int = 0, draft: float = 0.0) -> Leg:
    return Leg(draft, verify, 0.0, forwards, 1, width, 1)


@given(st.floats(1, WIDE), st.integers(1, 64), st.integers(1, 64))
def test_a_pass_is_flat_then_linear_and_never_cheaper_when_wider(
    wide: float, width: int, batch: int
) -> None:
    machine = Machine(0.1, wide, batch)
    assert machine.passes(width) >= 1
    assert machine.passes(width + 1) >= machine.passes(width)
    assert Machine(0.1, wide).passes(WIDE) == pytest.approx(wide)
    assert Machine(0.1, wide, batch).passes(1) == Machine(0.1, wide).passes(batch)


def test_a_round_costs_its_drafts_and_its_pass() -> None:
    machine = Machine(draft=0.1, wide=2.5)
    assert machine.cost(leg(10, forwards=4)) == pytest.approx(4 * 0.1 + 1)
    assert machine.cost(leg(20, forwards=4)) == pytest.approx(4 * 0.1 + 2)


def test_the_costs_that_sliders_begin_with_are_those_that_were_measured() -> None:
    plain = [leg(1, verify=20.0)] * 5
    machine = Machine(0.25, 1.6)
    lane = [
        leg(width, 20 * machine.passes(width), 3, 3 * 20 * machine.draft)
        for width in (5, 20, 30, 40)
    ]
    assert draft_cost(lane, plain) == pytest.approx(machine.draft)
    assert wide_cost([lane], plain) == pytest.approx(machine.wide)
    assert draft_cost(plain, plain) is None
    assert wide_cost([plain], plain) is None


@pytest.mark.parametrize("seed", SAMPLES)
def test_a_lane_has_the_time_and_the_tokens_of_its_rounds(seed: str) -> None:
    trace = sample(seed)
    rounds = rounds_after_prompt(trace)
    lane = legs(trace)
    assert math.isclose(math.fsum(x.ms for x in lane), math.fsum(spent(r.cost) for r in rounds))
    assert [x.tokens for x in lane] == [len(r.outcome.emitted) for r in rounds]


def prefixes(trace: Trace, index: int, start: int) -> dict[tuple[int, ...], int]:
    """Return the answer up to and with each offered node, found by walking to node 0."""
    made, before = trace.rounds[index], tuple(token_ids(trace)[:start])
    found: dict[tuple[int, ...], int] = {}
    for node, shown in enumerate(offered(made.nodes)):
        if shown:
            path, at = list[int](), node
            while at:
                path.append(made.nodes.token[at])
                at = made.nodes.parent[at]
            found[(*before, *reversed(path))] = node
    return found


def mixed() -> list[Trace]:
    return [sample(), plain_of(sample()), sample("tree"), sample()]


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_station_is_one_text_and_has_all_who_drafted_it(place: int) -> None:
    traces = mixed()
    found = [covers(trace, token_ids(traces[0]))[place] for trace in traces]
    expected: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for method, (trace, cover) in enumerate(zip(traces, found, strict=True)):
        if cover is not None:
            for text, node in prefixes(trace, cover.round, cover.start).items():
                expected.setdefault(text, set()).add((method, node))
    stations = overlay(traces, found)
    drafted = [s for s in stations if any(stop.node is not None for stop in s.stops)]
    marks = [{(x.method, x.node) for x in s.stops if x.node is not None} for s in drafted]
    assert sorted(map(sorted, marks)) == sorted(map(sorted, expected.values()))
    for number, station in enumerate(stations):
        assert station.parent < number
        if station.parent >= 0:
            assert stations[station.parent].place == station.place - 1


@pytest.mark.parametrize("seed", SAMPLES)
def test_the_same_text_is_covered_where_it_stands(seed: str) -> None:
    trace = sample(seed)
    for place, cover in enumerate(covers(trace, token_ids(trace))):
        assert cover is not None
        assert (cover.round, cover.start) == round_at(trace, place)
        assert cover.column == cover.start
        stations = overlay([trace], [cover])
        assert token_ids(trace)[place] in {s.token for s in stations if s.place == place}


@given(texts, texts)
def test_what_stands_at_a_place_is_covered_by_the_round_that_wrote_it(
    exact: list[int], own: list[int]
) -> None:
    trace = written(own)
    found = covers(trace, exact)
    assert len(found) == len(exact)
    for span in lay(trace, exact):
        for step in range(span.stop - span.start):
            cover, at = found[span.start + step], span.first + step
            if at < span.last:
                assert cover is not None
                assert (cover.round, cover.start) == round_at(trace, at)
            assert cover is not None or at >= len(own)
            assert cover is None or 0 <= cover.column <= len(exact)
    rounds = [cover.round for cover in found if cover is not None]
    assert rounds == sorted(rounds)


def written(tokens: list[int]) -> Trace:
    """Return a record of a text, two tokens a round."""
    trace = sample()
    outcome = trace.rounds[0].outcome
    rounds = [
        replace(trace.rounds[0], outcome=replace(outcome, emitted=tokens[start : start + 2]))
        for start in range(0, len(tokens), 2)
    ]
    return replace(trace, rounds=rounds)


def test_a_token_put_in_moves_the_method_s_own_places() -> None:
    exact, own = [1, 2, 3, 4, 1, 2], [1, 2, 9, 3, 4, 1, 2]
    assert [c and c.column for c in covers(written(own), exact)] == [0, 0, 2, 3, 3, 5]


def test_the_draft_of_a_method_that_put_a_token_in_stands_under_the_exact_text() -> None:
    trace = sample()
    rounds, ids = list(trace.rounds), token_ids(trace)
    early = rounds[1].outcome
    rounds[1] = replace(rounds[1], outcome=replace(early, emitted=[*early.emitted, 999]))
    longer = replace(trace, rounds=rounds)
    for place in range(4 + len(early.emitted), len(ids)):
        cover = covers(longer, ids)[place]
        assert cover is not None
        assert cover.start == cover.column + 1
        where = [s.place for s in overlay([longer], [cover])]
        assert where == [s.place for s in overlay([trace], [covers(trace, ids)[place]])]


def test_a_text_that_is_shorter_is_not_on_the_map() -> None:
    trace = sample()
    ids = token_ids(trace)
    assert covers(trace, [*ids, ids[-1] + 1])[len(ids)] is None
    assert overlay([trace, None], [None, None]) == ()


@pytest.mark.parametrize("batch", [1, 4])
def test_the_modelled_time_is_that_of_the_one_formula(batch: int) -> None:
    """The page has the same formula in JavaScript, see `viz.compare.payload.Race`."""
    machine = Machine(draft=0.2, wide=2.5, batch=batch)
    for width, forwards in ((1, 0), (9, 1), (10, 3), (11, 3), (60, 5)):
        single = max(1, 1 * batch * 2.5 / 25)
        expected = forwards * 0.2 * single + max(1, width * batch * 2.5 / 25)
        assert machine.cost(leg(width, forwards=forwards)) == pytest.approx(expected)


def test_one_late_pass_does_not_bend_the_roof() -> None:
    plain = [leg(1, verify=20.0)] * 5
    lane = [leg(25, verify=40.0)] * 5 + [leg(25, verify=400.0)]
    assert wide_cost([lane], plain) == pytest.approx(2.0)
    assert plain_pass([*plain, leg(1, verify=900.0)]) == 20.0

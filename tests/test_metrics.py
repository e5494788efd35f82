"""Metrics: checked by hand on a small trace, and by invariants on made-up ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core import metrics, registry
from core.decode import decode, start
from core.dice import SeededDice
from core.laws import Law
from core.metrics import METRICS, Ratio
from core.registry import get
from core.trace import Models, Round, Trace
from tests import sample_traces
from tests.golden.trace_v1 import TRACE
from tests.toys import WORLDS
from tests.traces import traces

BY_HAND = {
    "tokens_per_pass": (8, 4),
    "tokens_per_pass_decoding": (7, 3),
    "whole_round_length": (6, 2),
    "accepted_length": (5, 3),
    "accepted_length_with_bonus": (8, 3),
    "acceptance_rate": (5, 7),
    "draft_efficiency": (5, 10),
    "depth_efficiency": (5, 8),
    "draft_efficiency_by_round": (2 / 5 + 2 / 2 + 1 / 3, 3),
    "wasted_drafts": (5, 10),
    "marginal_acceptance": (0.25 + 0.8 + 0.5 + 0.3 + 1 + 5 * 0.9, 10),
    "overlap": (0.6 + 0.5 + 0.25 + 0.9, 4),
    "drafted_per_round": (10, 3),
    "rounds_without_draft": (0, 3),
    "ms_per_token": (70, 7),
    "tokens_per_second": (7, 0.070),
    "speedup": (7 * 20, 70),
    "speedup_with_prompt": (7 * 20 + 40, 70 + 40),
    "memory_bound_speedup": (7, 3 + 6 * 0.1),
    "draft_time_share": (8, 70),
    "recording_overhead": (1.5, 70),
}


def test_every_metric_is_as_counted_by_hand() -> None:
    assert METRICS.keys() == BY_HAND.keys()
    for key, counts in BY_HAND.items():
        ratio = METRICS[key].function(TRACE)
        assert ratio.counts == pytest.approx(counts), key
        assert ratio.value == pytest.approx(counts[0] / counts[1]), key


def test_every_metric_has_its_own_label_and_a_definition() -> None:
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)
    assert all(metric.definition.endswith(".") for metric in METRICS.values())


def test_the_prompt_pass_counts_in_the_default_metrics_and_no_other() -> None:
    for key, metric in METRICS.items():
        ratio = metric.function(TRACE)
        counted = (ratio.numerator[0], ratio.denominator[0]) != (0, 0)
        assert counted == (key in {"tokens_per_pass", "speedup_with_prompt"}), key


def test_a_metric_without_its_numbers_has_no_value() -> None:
    untimed = replace(TRACE, plain_step_ms=None)
    assert metrics.speedup(untimed).value is None
    assert metrics.speedup_with_prompt(untimed).value is None
    own_layers = replace(TRACE, models=Models(target=TRACE.models.target))
    assert metrics.memory_bound_speedup(own_layers).value is None
    assert metrics.acceptance_rate(replace(TRACE, rounds=[])).value is None


def test_a_lookup_has_no_size_in_the_memory_bound_speedup() -> None:
    lookup = replace(TRACE, rounds=[TRACE.rounds[0], TRACE.rounds[2]])
    alone = replace(lookup, models=Models(target=TRACE.models.target))
    assert metrics.memory_bound_speedup(alone).counts == (3, 1)


@given(traces())
def test_metrics_have_one_entry_per_round_and_shares_stay_shares(trace: Trace) -> None:
    for key, metric in METRICS.items():
        ratio = metric.function(trace)
        assert len(ratio.numerator) == len(ratio.denominator) == len(trace.rounds), key
        if metric.unit == "share" and key != "recording_overhead" and ratio.value is not None:
            assert 0 <= ratio.value <= 1 + 1e-12, key


@given(traces())
def test_drafts_are_either_accepted_or_wasted(trace: Trace) -> None:
    kept, wasted = metrics.draft_efficiency(trace), metrics.wasted_drafts(trace)
    assert kept.counts[0] + wasted.counts[0] == kept.counts[1] == trace.totals.drafted


@given(traces())
def test_totals_are_the_sums_behind_the_metrics(trace: Trace) -> None:
    total = metrics.totals(trace.rounds)
    assert total == trace.totals
    assert metrics.tokens_per_pass(trace).counts == (total.emitted, total.target_forwards)
    tested = sum(len(metrics.tests_made(r)) for r in trace.rounds)
    assert metrics.acceptance_rate(trace).counts[1] <= tested == total.tested


def rounds_of(key: str, values: Mapping[str, object], seed: int = 0) -> list[Round]:
    """Return the drafted rounds of a toy run at temperature 1."""
    toy = WORLDS["different laws"](3)
    target, draft = toy.models()
    decoder = get(key).build({"drafter": "model", **values}, registry.Models(target, draft))
    state = start(toy.prompt, target, decoder, Law(1), 60)
    return [r for r in decode(state, SeededDice(seed), lambda: 0.0) if r.drafted]


@pytest.mark.parametrize("key", ["speculative_sampling", "rsd", "mcsd", "spectr"])
def test_rules_that_go_token_by_token_test_nothing_behind_a_token_that_is_not_kept(
    key: str,
) -> None:
    for r in rounds_of(key, {}):
        assert metrics.tests_reached(r) == metrics.tests_made(r)


def test_a_block_is_counted_up_to_its_first_token_that_was_not_kept() -> None:
    left_out = 0
    for r in rounds_of("block_verification", {"length": 6}):
        kept = r.outcome.accepted
        lost = [node for node in metrics.tests_made(r) if node not in kept][:1]
        assert metrics.tests_reached(r) == [*kept, *lost]
        assert metrics.kept_tests(r) == kept, "also those whose own dart missed"
        left_out += len(metrics.tests_made(r)) - len(metrics.tests_reached(r))
    assert left_out > 5


def test_one_token_as_a_block_has_the_acceptance_rate_of_the_standard_rule() -> None:
    block, alone = (
        replace(TRACE, rounds=rounds_of(key, {"length": 1}))
        for key in ("block_verification", "speculative_sampling")
    )
    assert metrics.acceptance_rate(block) == metrics.acceptance_rate(alone)
    assert metrics.overlap(block).counts == pytest.approx(metrics.overlap(alone).counts)


def test_of_several_strands_the_winner_s_tests_count_and_its_root_was_not_tested() -> None:
    left_out = 0
    for r in rounds_of("dynasd", {"tree": [3, 1, 1], "stop": "never"}):
        root, *below = r.outcome.accepted
        assert metrics.kept_tests(r) == below
        assert set(metrics.tests_reached(r)) >= set(below)
        assert all(r.nodes.parent[node] in (root, *below) for node in metrics.tests_reached(r))
        left_out += len(metrics.tests_made(r)) - len(metrics.tests_reached(r))
    assert left_out > 5


def test_siblings_do_not_count_against_the_depth_efficiency() -> None:
    rounds = rounds_of("mcsd", {"tree": [2, 2]})
    above, below = metrics.depth_efficiency(replace(TRACE, rounds=rounds)).counts
    assert above == sum(len(r.outcome.accepted) for r in rounds)
    assert below == sum(max(metrics.depths(r.nodes)) for r in rounds)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("previous", [(3, 3), (2, 2), (0, 1)]),
        ("offered", [(3, 3), (2, 2), (0, 1)]),
        ("drafting", [(3, 3), (2, 3), (0, 3)]),
    ],
)
def test_acceptance_by_depth_is_as_counted_by_hand(
    given_: metrics.Given, expected: list[tuple[int, int]]
) -> None:
    rows = metrics.acceptance_by_depth(TRACE, given_)
    assert [row.depth for row in rows] == [1, 2, 3]
    assert [row.ratio.counts for row in rows] == expected


def test_a_text_that_ends_inside_the_draft_is_no_rejection() -> None:
    """Round 3 of the trace accepted an end-of-text token at depth 1 of 3."""
    ended = replace(TRACE, rounds=[TRACE.rounds[3]])
    assert [row.ratio.counts for row in metrics.acceptance_by_depth(ended)] == [
        (1, 1),
        (0, 0),
        (0, 0),
    ]
    assert metrics.whole_round_length(ended).value is None


def test_depths_multiply_to_the_survival_of_a_chain_that_always_drafts_to_its_end() -> None:
    rounds = [TRACE.rounds[2]] * 3
    rows = metrics.acceptance_by_depth(replace(TRACE, rounds=rounds))
    survival = 1.0
    for row in rows:
        survival *= row.ratio.value or 0
    accepted_to_the_end = sum(len(r.outcome.accepted) == r.drafted for r in rounds)
    assert survival == accepted_to_the_end / len(rounds)


@given(traces())
def test_tries_at_a_depth_are_nested(trace: Trace) -> None:
    """What is due at a depth was accepted above; each wider reading counts at least as many."""
    narrow = metrics.acceptance_by_depth(trace)
    middle = metrics.acceptance_by_depth(trace, "offered")
    wide = metrics.acceptance_by_depth(trace, "drafting")
    for rows in zip(narrow, middle, wide, strict=True):
        hits = [row.ratio.counts[0] for row in rows]
        tries = [row.ratio.counts[1] for row in rows]
        assert hits[0] == hits[1] == hits[2]
        assert hits[0] <= tries[0] <= tries[1] <= tries[2]
    own = [any("root" in x or "strand" in x for x in r.nodes.reason) for r in trace.rounds]
    for above, below in pairwise(narrow):
        pairs = zip(own, above.ratio.numerator, below.ratio.denominator, strict=True)
        assert all(tried <= right for skip, right, tried in pairs if not skip)


def test_a_root_that_the_target_drew_counts_at_no_depth() -> None:
    """DynaSD's roots stay without a test, so that depth 1 has no rate; what hangs on them has."""
    plain = sample_traces.chain()
    made = plain.rounds[-1]
    reason = ["", "longest_strand", *made.nodes.reason[2:]]
    changed = replace(plain, rounds=[replace(made, nodes=replace(made.nodes, reason=reason))])
    untouched = metrics.acceptance_by_depth(replace(plain, rounds=[made]))
    first, *rest = metrics.acceptance_by_depth(changed)
    assert first.ratio.counts == (0, 0)
    assert untouched[0].ratio.counts[1] == 1
    assert [row.ratio for row in rest] == [row.ratio for row in untouched[1:]]


@given(traces(), st.integers(1, 5))
def test_positions_share_out_the_tests(trace: Trace, width: int) -> None:
    stretches = metrics.acceptance_by_position(trace, width)
    total = metrics.acceptance_rate(trace).counts
    assert sum(s.ratio.counts[0] for s in stretches) == total[0]
    assert sum(s.ratio.counts[1] for s in stretches) == total[1]
    assert all(s.last - s.first + 1 == width for s in stretches)
    assert [s.first for s in stretches] == sorted({s.first for s in stretches})


def test_positions_count_prompt_and_answer() -> None:
    first = metrics.acceptance_by_position(TRACE)[0]
    assert (first.first, first.last, first.ratio.counts) == (2, 2, (1, 2))


def test_a_stretch_has_a_width() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        metrics.acceptance_by_position(TRACE, 0)


@given(traces())
def test_reasons_share_out_the_rejections(trace: Trace) -> None:
    reasons = metrics.rejected_by_reason(trace)
    rejected = sum(r.nodes.state.count("rejected") for r in trace.rounds)
    assert sum(reason.ratio.counts[0] for reason in reasons) == rejected
    counts = [reason.ratio.counts[0] for reason in reasons]
    assert counts == sorted(counts, reverse=True)


def test_rounds_without_recorded_checks_count_the_nodes_with_a_verdict() -> None:
    blind = replace(TRACE, rounds=[replace(r, checks=[], judge=None) for r in TRACE.rounds])
    assert metrics.acceptance_rate(blind).counts == metrics.acceptance_rate(TRACE).counts


@pytest.mark.parametrize(
    ("hits", "tries", "low", "high"),
    [
        (9, 12, 0.4677, 0.9111),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_wilson_agrees_with_published_values(
    hits: int, tries: int, low: float, high: float
) -> None:
    assert metrics.wilson(hits, tries) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_holds_the_share_and_stays_in_range(hits: int, more: int) -> None:
    interval = metrics.wilson(hits, hits + more)
    assert interval is not None
    assert 0 <= interval[0] <= hits / (hits + more) <= interval[1] <= 1


def test_no_tries_no_interval() -> None:
    assert metrics.wilson(0, 0) is None


def test_micro_and_macro_averages_differ_as_defined() -> None:
    long, short = Ratio((90.0,), (100.0,)), Ratio((0.0, 1.0), (5.0, 5.0))
    assert metrics.pooled([long, short]).value == pytest.approx(91 / 110)
    assert metrics.mean_of([long, short, Ratio((), ())]) == pytest.approx((0.9 + 0.1) / 2)
    assert metrics.mean_of([]) is None


@pytest.mark.parametrize("module", ["metrics", "trace_io", "recorder", "trace_schema"])
def test_traces_are_handled_without_torch_or_numpy(module: str) -> None:
    probe = f"import sys, core.{module}; print(*{{'torch', 'numpy', 'plotly'}} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""

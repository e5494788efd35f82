"""Any valid trace gives a complete payload that agrees with the trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from core.trace import Round, Trace, token_ids
from core.validate import validate
from tests.sample_traces import (
    ALL,
    World,
    chain,
    rescaled,
    tree,
)
from tests.sample_traces import plain as plain_run
from viz.overview import overview
from viz.reading import OWN
from viz.replay_data import explore_payload
from viz.round import round_view
from viz.sentence import plain

SAMPLES = pytest.mark.parametrize("make", list(ALL.values()), ids=list(ALL))


@SAMPLES
def test_samples_are_valid_and_survive_the_file_format(make: Callable[[], Trace]) -> None:
    trace = make()
    validate(trace)
    again = msgspec.json.decode(msgspec.json.encode(trace), type=Trace)
    assert explore_payload(again) == explore_payload(trace)


@SAMPLES
def test_payload_is_finite_json(make: Callable[[], Trace]) -> None:
    json.dumps(explore_payload(make()), allow_nan=False)


@SAMPLES
def test_strip_holds_every_token_once_with_its_node(make: Callable[[], Trace]) -> None:
    trace = make()
    found = overview(trace)
    tokens = [token for r in found["strip"] for token in r["tokens"]]
    assert len(tokens) == len(token_ids(trace))
    for r, shown in zip(trace.rounds, found["strip"], strict=True):
        nodes = [token["node"] for token in shown["tokens"]]
        own = [None] if r.outcome.final_token is not None else []
        assert nodes == [*r.outcome.accepted, *own]
        assert len(shown["rejected"]) == r.nodes.state.count("rejected")
    first = len(trace.prompt.token_ids)
    assert [token["position"] for token in tokens] == list(range(first, first + len(tokens)))


@SAMPLES
def test_rounds_agree_with_the_trace(make: Callable[[], Trace]) -> None:
    trace = make()
    for index, r in enumerate(trace.rounds):
        view = round_view(trace, index)
        ids = [*range(len(r.nodes.token)), *([OWN] if r.outcome.final_token is not None else [])]
        assert [node["id"] for node in view["nodes"]] == ids
        assert [found["node"] for found in view["inspectors"]] == ids
        assert view["focus"] in ids
        assert [dart["node"] for dart in view["darts"]] == [check.node for check in r.checks]
        assert {node["id"] for node in view["nodes"] if node["path"]} == {
            0,
            *r.outcome.accepted,
            *ids[len(r.nodes.token) :],
        }
        assert len(view["depths"]) == 1 + max(node["depth"] for node in view["nodes"])
        states = {node["state"] for node in view["nodes"]} - {"root"}
        assert set(view["states"]) == states


@SAMPLES
def test_bars_are_laws(make: Callable[[], Trace]) -> None:
    trace = make()
    for index in range(len(trace.rounds)):
        for found in round_view(trace, index)["inspectors"]:
            rows = found["bars"]
            if not rows:
                continue
            assert sum(row["p"] for row in rows) == pytest.approx(1, abs=1e-4)
            if found["has_q"]:
                assert sum(row["q"] or 0 for row in rows) == pytest.approx(1, abs=1e-4)
            if found["has_residual"]:
                assert sum(row["remains"] or 0 for row in rows) == pytest.approx(1, abs=1e-4)
            assert len(rows) <= 9
            named = [row for row in rows if row["label"] is not None]
            assert len(rows) - len(named) <= 1
            assert sum(row["tested"] for row in rows) == int(found["node"] != 0)


@SAMPLES
def test_bars_of_a_tested_node_hold_the_numbers_of_its_dart(make: Callable[[], Trace]) -> None:
    trace = make()
    if trace.sampling.temperature == 0:
        return
    for index, r in enumerate(trace.rounds):
        inspectors = round_view(trace, index)["inspectors"]
        for check in r.checks:
            row = next(row for row in inspectors[check.node]["bars"] if row["tested"])
            assert check.p is not None
            assert row["p"] == pytest.approx(check.p, abs=1e-5)
            if check.q is not None:
                assert row["q"] == pytest.approx(check.q, abs=1e-5)


def test_what_remains_is_what_the_rule_says_of_the_whole_laws() -> None:
    """Also for tokens that the trace does not list."""
    world, trace = World(), tree()
    seen = 0
    for index, r in enumerate(trace.rounds):
        inspectors = round_view(trace, index)["inspectors"]
        first = {node for node, rank in enumerate(r.nodes.rank) if node and rank == 0}
        for node in first & {check.node for check in r.checks if not check.passed}:
            last = r.nodes.token[r.nodes.parent[node]]
            pairs = zip(world.law("p", last), world.law("q", last), strict=True)
            expected = rescaled([max(0.0, p - q) for p, q in pairs])
            law = next(law for law in r.laws if law.node == r.nodes.parent[node])
            shown = [row for row in inspectors[node]["bars"] if row["label"]]
            tokens = sorted(
                law.token, key=lambda t: -max(world.law("p", last)[t], world.law("q", last)[t])
            )
            for row, token in zip(shown[:7], tokens, strict=False):
                assert row["remains"] == pytest.approx(expected[token], abs=2e-6)
                seen += 1
    assert seen >= 21


def test_probes_and_pruned_nodes_are_shown_as_what_they_are() -> None:
    trace = tree()
    r = trace.rounds[1]
    state, role = list(r.nodes.state), list(r.nodes.role)
    state[-1], role[-1], state[-2] = "probe", "probe", "pruned"
    reason = [*r.nodes.reason[:-2], "budget", ""]
    nodes = replace(r.nodes, state=state, role=role, reason=reason)
    changed = replace(trace, rounds=[trace.rounds[0], replace(r, nodes=nodes)])
    view = round_view(changed, 1)
    probe, pruned = view["inspectors"][len(state) - 1], view["inspectors"][len(state) - 2]
    assert (probe["title"], pruned["title"]) == ("Probe", "Pruned")
    assert plain(probe["rule"]).startswith("A probe: scored, never offered.")
    assert "it did not fit the budget" in plain(pruned["rule"])
    assert view["depths"][-1]["note"].endswith("1 pruned, 1 probe")


def test_texts_of_several_sequences_are_repaired_separately() -> None:
    """Half a character of one text is not completed by another."""
    trace = plain_run()
    halves = {900: "é".encode()[:1], 901: "é".encode()[1:]}

    def emits(index: int, token: int, sequence: int) -> Round:
        r = trace.rounds[index]
        outcome = replace(r.outcome, final_token=token, emitted=[token])
        return replace(r, outcome=outcome, sequence=sequence)

    def texts(second: int) -> list[str]:
        rounds = [trace.rounds[0], emits(1, 900, 0), emits(2, 901, second)]
        vocabulary = {**trace.vocabulary, **halves}
        both = replace(trace, rounds=rounds, sequences=2, vocabulary=vocabulary)
        return [
            token["label"]["text"] for r in overview(both)["strip"][1:] for token in r["tokens"]
        ]

    assert texts(second=0) == ["", "é"]
    assert texts(second=1) == ["‹C3›", "‹A9›"]


def test_views_do_without_what_is_unknown() -> None:
    """Every optional column and block may be missing."""
    trace = tree()
    r = trace.rounds[5]
    size = len(r.nodes.token)
    none: list[float | None] = [None] * size
    bare = replace(
        r,
        nodes=replace(
            r.nodes, p=none, q=none, q_raw=none, p_raw=none, q_before_siblings=none, score=none
        ),
        checks=[replace(c, p=None, q=None, mass_before=None) for c in r.checks],
        laws=[],
        residuals=[],
        scalars=msgspec.convert(dict.fromkeys(r.scalars.__struct_fields__, none), type(r.scalars)),
        outcome=replace(r.outcome, final_top=None),
        extras=[],
        stop=None,
    )
    rounds = [*trace.rounds[:5], bare, *trace.rounds[6:]]
    for temperature in (0.0, 0.7):
        sampling = replace(trace.sampling, temperature=temperature)
        view = round_view(replace(trace, rounds=rounds, sampling=sampling), 5)
        json.dumps(view, allow_nan=False)
        assert all(not found["bars"] for found in view["inspectors"])
        assert all(plain(found["rule"]) for found in view["inspectors"])


def test_round_that_does_not_exist_is_named() -> None:
    with pytest.raises(IndexError, match="Round 99 does not exist; the trace has 15 rounds"):
        round_view(chain(), 99)


def test_id_names_the_run_not_the_file() -> None:
    assert overview(chain())["id"] == overview(chain())["id"]
    assert overview(chain())["id"] != overview(tree())["id"]


@SAMPLES
def test_hardest_tokens_are_refused_ones_that_the_draft_trusted_most(
    make: Callable[[], Trace],
) -> None:
    trace = make()
    greedy = trace.sampling.temperature == 0

    def gap(r: Round, node: int) -> float:
        q = r.nodes.q_raw[node] if greedy else r.nodes.q_before_siblings[node]
        return (1.0 if q is None else q) - ((r.nodes.p_raw if greedy else r.nodes.p)[node] or 0.0)

    gaps: dict[int, float] = {}
    for r in trace.rounds:
        for node in (check.node for check in r.checks if not check.passed):
            if r.nodes.state[node] == "rejected":
                token = r.nodes.token[node]
                if gap(r, node) > 0:
                    gaps[token] = max(gap(r, node), gaps.get(token, 0.0))
    found = overview(trace)["hardest"]
    rounds = {r.index: r for r in trace.rounds}
    shown = [gap(rounds[hard["round"]], hard["node"]) for hard in found]
    assert shown == sorted(gaps.values(), reverse=True)[:5]
    tokens = [rounds[hard["round"]].nodes.token[hard["node"]] for hard in found]
    assert len(set(tokens)) == len(tokens)
    assert all("target " in hard["numbers"] for hard in found)


def test_all_that_is_stored_is_over_however_it_ended() -> None:
    assert all(overview(make())["finished"] for make in ALL.values())


def test_views_need_neither_models_nor_charts() -> None:
    """The page's first paint waits for no heavy import."""
    script = (
        "import sys, viz.replay_data, viz.terminal, viz.export\n"
        "print([name for name in ('torch', 'plotly', 'gradio', 'numpy') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "[]"

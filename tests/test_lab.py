"""Questions to the models once more: whole laws equal the recorded tops, simulated rounds have the
law that going through every case gives, and a mistake is called one.

The slow law of a round is written out case by case, by other means than the code under test.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import get_args

import numpy as np
import pytest
import torch
from msgspec import structs

from core.bounds.ladder import ladder
from core.bounds.pair import laws
from core.extras import SelectionExtras
from core.host import Floats
from core.lab.band import band, distance
from core.lab.ladder import OWN, SELECTION, ladders, selected, selection_of
from core.lab.rescore import CLOSE, rescore
from core.lab.simulate import OFF, ROUNDS, Bug, Setup, drawn, simulate, tempered
from core.laws import RAW
from core.registry import get
from core.run import Engine, Request, Run
from core.trace import Trace
from core.verify.selection_law import Selection
from core.verify.selection_plan import largest_alphabet
from tests.app.toys import ENVIRONMENT, SIZE, WordText, toy_engine
from tests.sheet import P, Q
from tests.tiny import tiny, wrapped

pytestmark = pytest.mark.matrix

LAYERS = 4
PROMPT = "Why is the sky blue?"


def run(engine: Engine, method: str, config: Mapping[str, object], **asked: float) -> Trace:
    wish = {"temperature": 0.8, "top_k": 0, "top_p": 1.0} | asked
    request = Request(
        PROMPT,
        get(method),
        config,
        temperature=wish["temperature"],
        top_k=int(wish["top_k"]),
        top_p=wish["top_p"],
        seed=3,
        max_new_tokens=20,
    )
    made = Run(request, engine, time.perf_counter, "2026-01-01T00:00:00+00:00")
    list(made)
    return made.trace()


def transformers_engine() -> Engine:
    """Return random weights of a known shape, in float32, with a text side."""
    target = wrapped(tiny("llama", layers=LAYERS, vocabulary=SIZE, context=96), context=96)
    draft = wrapped(tiny("gpt2", vocabulary=SIZE, seed=1, context=96), context=96)
    return Engine(WordText(), target, ENVIRONMENT, draft)


RUNS: Mapping[str, tuple[str, Mapping[str, object], Mapping[str, float]]] = {
    "a tree": ("rsd", {"drafter": "model", "tree": [3, 2, 1]}, {}),
    "a chain at the top of the law": (
        "speculative_sampling",
        {"drafter": "model"},
        {"top_k": 6, "top_p": 0.9},
    ),
    "a drafter at its own temperature": (
        "speculative_sampling",
        {"drafter": "model", "draft_temperature": 1.5},
        {},
    ),
    "layers that are ranked": ("opt_tree", {"drafter": "model", "nodes": 9, "threshold": 0.05}, {}),
    "layers ranked at a temperature of their own": (
        "opt_tree",
        {"drafter": "model", "nodes": 9, "threshold": 0.05, "draft_temperature": 1.6, "lags": True},
        {"top_k": 9, "top_p": 0.95},
    ),
    "a mixed method": ("mix", {"drafter": "model", "shape": "opt_tree", "budget": 8}, {}),
    "candidates that are ranked": ("eagle2", {"drafter": "model", "width": 3, "nodes": 8}, {}),
    "drafts that repeat": ("specinfer", {"drafter": "model", "tree": [3, 2]}, {}),
}
VIEWS: Mapping[str, tuple[str, Mapping[str, object], Mapping[str, float]]] = {
    "skipped layers": ("rsd", {"drafter": "skip", "skip_layers": [2], "tree": [2, 2]}, {}),
    "early exit": ("speculative_sampling", {"drafter": "exit", "exit_layer": 2}, {}),
    "several drafters": (
        "specinfer",
        {"drafter": "model", "construction": "merge", "others": ["exit-2", "skip-1"], "length": 2},
        {},
    ),
}


def every_law_agrees(engine: Engine, trace: Trace, most: float, is_raw: bool = False) -> int:
    """Ask again wherever the trace kept a law; return at how many nodes q was compared."""
    compared = 0
    for r in trace.rounds:
        for law in r.laws:
            found = rescore(engine, trace, r.index, law.node, RAW if is_raw else None)
            assert found.agreement is not None
            assert found.agreement.tokens == len(law.token)
            assert found.agreement.p < most
            assert found.agreement.is_close
            assert float(found.p.sum()) == pytest.approx(1, abs=1e-5)
            if law.q is not None:
                assert found.agreement.q is not None
                assert found.agreement.q < most
                compared += 1
    return compared


@pytest.mark.parametrize("name", RUNS)
def test_the_whole_laws_are_those_that_the_run_recorded(name: str) -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS[name][:2], **RUNS[name][2])
    assert every_law_agrees(engine, trace, 2e-6) > 5  # six digits are recorded


@pytest.mark.parametrize("name", [*RUNS, *VIEWS])
def test_transformers_models_give_the_recorded_laws_in_float32(name: str) -> None:
    engine = transformers_engine()
    method, config, asked = (RUNS | VIEWS)[name]
    trace = run(engine, method, config, **asked)
    assert every_law_agrees(engine, trace, CLOSE / 10) > 5


def test_greedy_runs_are_compared_at_temperature_one() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2], temperature=0.0)
    assert every_law_agrees(engine, trace, 2e-6, is_raw=True) > 5
    one_hot = rescore(engine, trace, 1, 0)
    assert sorted(one_hot.p.tolist())[-2:] == [0, 1]


def test_a_leaf_that_nobody_scored_has_a_draft_law_too() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    leaves = {law.node for law in trace.rounds[1].laws if law.q is None}
    assert leaves
    for leaf in leaves:
        found = rescore(engine, trace, 1, leaf)
        assert found.q is not None
        assert found.agreement is not None
        assert found.agreement.q is None


@pytest.mark.parametrize("method", ["plain", "prompt_lookup"])
def test_methods_without_a_draft_model_have_no_draft_law(method: str) -> None:
    engine = toy_engine()
    trace = run(engine, method, {})
    assert rescore(engine, trace, 1, 0).q is None


def test_the_likeliest_tokens_are_spelled_exactly() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    found = rescore(engine, trace, 1, 0)
    assert found.named[int(found.p.argmax())] == engine.text.spell(int(found.p.argmax()))
    assert found.special <= found.named.keys()


def test_what_differs_from_the_record_is_said() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    other = run(engine, "rsd", {"drafter": "model", "tree": [3, 2, 1]}, temperature=1.1)
    mixed = structs.replace(trace, sampling=other.sampling)
    found = rescore(engine, mixed, 1, 0)
    assert found.agreement is not None
    assert not found.agreement.is_close


def renamed(trace: Trace, name: str, vocabulary: int = SIZE) -> Trace:
    card = structs.replace(trace.models.target, id=name, vocabulary_size=vocabulary)
    return structs.replace(trace, models=structs.replace(trace.models, target=card))


def test_refusals_are_one_sentence() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    other = structs.replace(
        trace, prompt=structs.replace(trace.prompt, token_ids=[SIZE, *trace.prompt.token_ids])
    )
    bad: list[tuple[Engine, Trace, int, int, str]] = [
        (engine, trace, len(trace.rounds), 0, "does not exist; the trace has"),
        (engine, trace, -1, 0, "Round -1 does not exist"),
        (engine, trace, 1, 99, "Node 99 does not exist; round 1 has"),
        (engine, trace, 1, -1, "Node -1 does not exist"),
        (engine, renamed(trace, "someone/other"), 1, 0, "was made with someone/other"),
        (engine, renamed(trace, "toy", 7), 1, 0, "was made with toy"),
        (replace(engine, draft=None), trace, 1, 0, "none is loaded"),
        (engine, other, 1, 0, f"holds token {SIZE}"),
        (engine, structs.replace(trace, method="nothing"), 1, 0, "There is no method"),
    ]
    for loaded, asked, index, node, words in bad:
        with pytest.raises(ValueError, match=words) as error:
            rescore(loaded, asked, index, node)
        assert "\n" not in str(error.value)


def test_the_same_model_by_another_address_is_the_same() -> None:
    engine = toy_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    assert rescore(engine, renamed(trace, "someone/toy (Q4_1)"), 1, 0).models[0].id == "toy"


def test_a_text_beyond_the_context_is_refused() -> None:
    engine = transformers_engine()
    trace = run(engine, *RUNS["a tree"][:2])
    long = [1] * 95 + trace.prompt.token_ids[-1:]
    longer = structs.replace(trace, prompt=structs.replace(trace.prompt, token_ids=long))
    with pytest.raises(ValueError, match="the context of tiny holds 96"):
        rescore(engine, longer, 1, 3)


# -- simulated rounds --

Row = Sequence[float]


def scaled(row: Row) -> list[float]:
    return [x / sum(row) for x in row]


def decided(p: Row, q: Row, drafts: Sequence[int], bug: Bug) -> tuple[list[float], float]:
    """Return the law of what one round writes after `drafts`, and the chance that it is a draft."""
    law, open_, remains, offered = [0.0] * len(p), 1.0, list(p), list(q)
    for token in drafts:
        chance = (
            min(1.0, remains[token] / offered[token])
            if offered[token] > 0
            else float(remains[token] > 0)
        )
        law[token] += open_ * chance
        open_ *= 1 - chance
        less = [max(r - d, 0.0) for r, d in zip(remains, offered, strict=True)]
        remains = scaled(less) if sum(less) > 1e-15 else remains
        offered[token] = 0.0
        if bug != "siblings" and sum(offered) > 0:
            offered = scaled(offered)
    kept = 1 - open_
    if bug == "greedy":
        remains = [float(i == max(range(len(p)), key=p.__getitem__)) for i in range(len(p))]
    return [a + open_ * b for a, b in zip(law, remains, strict=True)], kept


def exact(p: Row, q: Row, setup: Setup) -> tuple[list[float], float]:
    """Return the law of one round and its acceptance, over all ways to draw."""
    read_p = [x ** (1 / OFF) for x in p] if setup.bug == "one_side" else list(p)
    read_q = [x ** (1 / OFF) for x in q] if setup.bug == "other_q" else list(q)
    can_be = [token for token in range(len(q)) if q[token] > 0]
    count = min(2 if setup.bug == "likeliest" else setup.drafts, len(can_be))
    law, kept = [0.0] * len(p), 0.0
    for drafts in permutations(can_be, count):
        chance, left = 1.0, 1.0
        for token in drafts:
            chance, left = chance * q[token] / left, left - q[token]
        tried = [max(drafts, key=q.__getitem__)] if setup.bug == "likeliest" else drafts
        one, accepted = decided(scaled(read_p), scaled(read_q), tried, setup.bug)
        law = [a + chance * b for a, b in zip(law, one, strict=True)]
        kept += chance * accepted
    return law, kept


WORLDS: Mapping[str, tuple[Row, Row]] = {
    **{name: (P[name], Q[name]) for name in ("F1", "F2", "F4", "F6")},
    "five": ((0.32, 0.28, 0.2, 0.15, 0.05), (0.1, 0.45, 0.15, 0.05, 0.25)),
    "no common": ((0.5, 0.5, 0.0, 0.0), (0.0, 0.0, 0.3, 0.7)),
    "q has holes": ((0.4, 0.3, 0.2, 0.1), (0.6, 0.0, 0.4, 0.0)),
    "certain": ((0.0, 1.0, 0.0), (0.9, 0.05, 0.05)),
}
BUGS: tuple[Bug, ...] = get_args(Bug)


def arrays(p: Row, q: Row) -> tuple[Floats, Floats]:
    return np.array(p, dtype=np.float64), np.array(q, dtype=np.float64)


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("world", WORLDS)
def test_simulated_rounds_have_the_exact_law(world: str, bug: Bug) -> None:
    p, q = WORLDS[world]
    for drafts in (1, 2, 3):
        if bug == "siblings" and drafts == 1:
            continue
        setup = Setup(drafts, bug, seed=5)
        law, kept = exact(p, q, setup)
        thrown = simulate(*arrays(p, q), setup)
        found = np.bincount(thrown.tokens, minlength=len(p)) / ROUNDS
        share = np.clip(law, 0, 1)
        noise = 4.5 * np.sqrt(share * (1 - share) / ROUNDS) + 1e-9
        assert (np.abs(found - law) <= noise).all(), (drafts, found, law)
        wide = 4.5 * (max(0.0, kept * (1 - kept)) / ROUNDS) ** 0.5 + 1e-9
        assert abs(thrown.kept.mean() - kept) <= wide


def test_the_slow_law_is_p_without_a_mistake_and_not_with_one() -> None:
    p, q = WORLDS["five"]
    for drafts in (1, 2, 3):
        assert exact(p, q, Setup(drafts))[0] == pytest.approx(p, abs=1e-12)
        for bug in BUGS[1:]:
            if bug != "siblings" or drafts > 1:
                law, _ = exact(p, q, Setup(drafts, bug))
                assert max(abs(a - b) for a, b in zip(law, p, strict=True)) > 0.004, bug


def test_the_sheet_s_negative_control_is_reproduced() -> None:
    law, _ = exact(P["F1"], Q["F1"], Setup(1, "likeliest"))
    assert law == pytest.approx((0.503571, 0.160714, 0.335714), abs=1e-6)


@pytest.mark.parametrize("bug", BUGS)
def test_the_verdict_turns_for_every_mistake_that_matters_and_for_no_other(bug: Bug) -> None:
    p, q = arrays(*WORLDS["five"])
    honest = band(p, ROUNDS)
    for drafts in (2, 3):
        for seed in range(4):
            verdict = distance(honest, simulate(p, q, Setup(drafts, bug, seed)).tokens).verdict
            assert (verdict == "broken") == (bug != "none"), (drafts, seed)


def test_honest_rounds_are_hardly_ever_called_broken() -> None:
    p, q = arrays(*WORLDS["F4"])
    honest = band(p, ROUNDS)
    verdicts = Counter(
        distance(honest, simulate(p, q, Setup(2, seed=seed)).tokens).verdict for seed in range(200)
    )
    assert verdicts["broken"] == 0
    assert 0 <= verdicts["unsure"] <= 8  # one in a hundred


def test_a_mistake_that_changes_nothing_is_not_called_one() -> None:
    p = np.array([0.5, 0.3, 0.2])
    for bug in ("greedy", "siblings"):  # p = q: every first draft stays
        thrown = simulate(p, p, Setup(2, bug))
        assert thrown.kept.all()
        assert distance(band(p, ROUNDS), thrown.tokens).verdict == "kept"


def test_the_band_is_as_wide_as_chance() -> None:
    """Two cells: the distance is |X/n - p|, whose mean and 99 % quantile are those of a normal."""
    honest = band(np.array([0.7, 0.3]), ROUNDS)
    deviation = (0.21 / ROUNDS) ** 0.5
    assert honest.mean[-1] == pytest.approx(deviation * (2 / np.pi) ** 0.5, rel=0.1)
    assert honest.most[-1] == pytest.approx(deviation * 2.576, rel=0.15)
    assert honest.rounds[-1] == ROUNDS
    assert (np.diff(honest.mean) < 0).all()


def test_rare_tokens_are_one_cell() -> None:
    p = np.append(np.full(10_000, 1e-5), 0.9)
    honest = band(p, ROUNDS)
    assert honest.tokens.tolist() == [10_000]
    assert honest.p == pytest.approx([0.9, 0.1])
    even = band(np.full(4_000, 1 / 4_000), ROUNDS)
    assert len(even.tokens) <= 512  # and no more, whatever the law


def test_drafts_are_drawn_without_replacement_in_the_order_of_the_law() -> None:
    q = np.array([0.5, 0.0, 0.3, 0.2])
    tokens = drawn(q, 50_000, 3, np.random.default_rng(0))
    assert {tuple(sorted(row)) for row in tokens.tolist()} == {(0, 2, 3)}
    seen = Counter(map(tuple, tokens[:, :2].tolist()))
    for first in (0, 2, 3):
        for second in {0, 2, 3} - {first}:
            chance = q[first] * q[second] / (1 - q[first])
            assert seen[first, second] / 50_000 == pytest.approx(chance, abs=0.01)


def test_a_token_that_nearly_fills_q_is_drawn_once() -> None:
    q = np.array([1 - 2e-9, 1e-9, 1e-9])
    tokens = drawn(q, 2_000, 3, np.random.default_rng(1))
    assert all(sorted(row) == [0, 1, 2] for row in tokens.tolist())


def test_tempering_a_law_is_dividing_its_logits() -> None:
    logits = np.array([1.0, 0.2, -1.0])
    law = np.exp(logits) / np.exp(logits).sum()
    warm = np.exp(logits / OFF) / np.exp(logits / OFF).sum()
    assert tempered(law, OFF) == pytest.approx(warm)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"drafts": 0}, "there may be 1 to 8"),
        ({"drafts": 9}, "there may be 1 to 8"),
        ({"rounds": ROUNDS + 1}, "there may be 1 to 20,000"),
        ({"bug": "siblings"}, "take 2 or more"),
    ],
)
def test_what_is_thrown_is_bounded(values: Mapping[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(Setup(), **values)


def real_size() -> tuple[torch.Tensor, torch.Tensor]:
    """Return two laws of a language model's size, in float32."""
    size = 49_152
    ranks = torch.arange(1, size + 1).log()
    shift = torch.sin(torch.arange(size) * 12.9898) * 1.5
    return (-1.3 * ranks + shift).softmax(0), (-1.2 * ranks + shift.roll(3)).softmax(0)


def test_a_real_vocabulary_keeps_the_law_and_accepts_as_the_ladder_says() -> None:
    p, q = real_size()
    both = laws(p, q)
    honest = band(both[0], ROUNDS)
    for drafts in (1, 2, 4):
        thrown = simulate(*both, Setup(drafts, seed=1))
        assert distance(honest, thrown.tokens).verdict == "kept"
        value = ladder(p, q, drafts)["distinct/recursive"].value
        assert thrown.kept.mean() == pytest.approx(value, abs=0.016)
    for bug in ("other_q", "greedy", "likeliest", "one_side"):
        broken = simulate(*both, Setup(2, bug))
        assert distance(honest, broken.tokens).verdict == "broken"


# -- the ladder --


def test_one_draft_makes_all_rules_but_naive_ones_alike() -> None:
    first = ladders(torch.tensor(P["F4"]), torch.tensor(Q["F4"]))[0]
    standard = first["one/standard"].value
    assert standard == pytest.approx(0.5)
    exempt = ("naive", "one_hot")
    rules = [r for name, r in first.items() if not name.endswith(exempt)]
    assert len(rules) > 6
    assert all(rule.value == pytest.approx(standard, abs=1e-6) for rule in rules)


def test_two_drafts_reach_the_numbers_of_the_sheet() -> None:
    second = ladders(torch.tensor(P["F1"]).double(), torch.tensor(Q["F1"]).double(), 2)[1]
    expected = {
        "independent/naive": 0.483,
        "independent/recursive": 0.76,
        "independent/k_seq": 0.791355,
        "independent/selection": 0.86,
        "independent/optimum": 0.86,
        "distinct/naive": 0.613214,
        "distinct/recursive": 0.82,
        "distinct/optimum": 0.985714,
        "top_and_one/optimum": 0.9,
        "deterministic/one_hot": 0.5,
    }
    assert {name: second[name].value for name in expected} == pytest.approx(expected, abs=1e-6)


def test_no_rule_exceeds_its_optimum_and_more_drafts_accept_more() -> None:
    found = ladders(*real_size())
    assert len(found) == 8
    for rungs in found:
        for name, rung in rungs.items():
            way = name.partition("/")[0]
            if f"{way}/optimum" in rungs:
                assert rung.value - (rung.margin or 0) <= rungs[f"{way}/optimum"].value + 1e-6
    for name in found[0]:
        if name.endswith("/optimum"):
            values = [rungs[name].value for rungs in found]
            assert values == sorted(values)
    assert found[1][SELECTION].is_exact


@pytest.mark.parametrize("world", WORLDS)
def test_a_vocabulary_smaller_than_the_drafts_has_a_ladder(world: str) -> None:
    p, q = (torch.tensor(law, dtype=torch.float64) for law in WORLDS[world])
    for rungs in ladders(p, q):
        assert all(0 <= rung.value <= 1 + 1e-9 for rung in rungs.values())


def test_selection_takes_the_same_whichever_token_leads() -> None:
    p, q = real_size()
    overlap = float(torch.minimum(p, q).sum())
    assert selected(p, q, 1, Selection()) == pytest.approx(overlap, abs=1e-5)


def peaked(sharpness: float = 3.0, size: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """Return laws with so many tokens worth a decision that five free ones are not enough."""
    dice = torch.Generator().manual_seed(1)
    first, second = (torch.randn(size, generator=dice, dtype=torch.float64) for _ in range(2))
    return (sharpness * first + 0.5 * second).softmax(0), (sharpness * first).softmax(0)


def test_the_ladder_s_own_selection_is_not_cut_below_recursive_rejection() -> None:
    p, q = peaked()
    found = ladders(p, q)
    short = ladders(p, q, selection=Selection())
    assert any(r[SELECTION].value < r["independent/recursive"].value for r in short)
    for rungs in found:
        assert rungs[SELECTION].value >= rungs["independent/recursive"].value - 1e-9
    values = [rungs[SELECTION].value for rungs in found]
    assert values == sorted(values)
    assert values[1] > short[1][SELECTION].value


def test_over_flat_laws_the_ladder_s_own_selection_is_cut_short_too() -> None:
    """Why the ladder says so: thirty free tokens are few where hundreds matter."""
    last = ladders(*peaked(2.0), most=4)[-1]
    assert last[SELECTION].value < last["independent/recursive"].value


@pytest.mark.parametrize("way", [OWN, Selection(), Selection(3, 6)])
def test_the_first_drafts_of_a_selection_are_selected_as_if_there_were_no_others(
    way: Selection,
) -> None:
    p, q = peaked()
    for count, rungs in enumerate(ladders(p, q, 5, way), start=1):
        assert rungs[SELECTION].value == pytest.approx(selected(p, q, count, way), abs=1e-12)


SELECTING: list[dict[str, object]] = [
    {"free": 2, "alphabet": 6},
    {"selection": "importance", "alphabet": 9},
]


@pytest.mark.parametrize("values", SELECTING, ids=str)
def test_the_selection_is_that_of_the_run(values: dict[str, object]) -> None:
    engine = toy_engine()
    config = {"drafter": "model", "drafts": 2, "length": 2, **values}
    trace = run(engine, "canonical_decomposition", config)
    way = selection_of(trace)
    assert way is not None
    for name, value in values.items():
        assert getattr(way, "scheme" if name == "selection" else name) == value
    compared = 0
    for r in trace.rounds:
        for extra in r.extras:
            for pick in extra.picks if isinstance(extra, SelectionExtras) else ():
                found = rescore(engine, trace, r.index, pick.node)
                assert found.q is not None
                rung = ladders(found.p, found.q, 2, way)[1][SELECTION]
                assert rung.value == pytest.approx(pick.overlap, abs=2e-5)
                compared += 1
    assert compared > 2


def test_other_methods_made_no_selection() -> None:
    trace = run(toy_engine(), *RUNS["a tree"][:2])
    assert selection_of(trace) is None


def test_importance_weights_are_planned_for_as_many_tokens_as_can_be_gone_through() -> None:
    p, q = real_size()
    for alphabet in (0, 500):
        found = ladders(p, q, selection=Selection(alphabet=alphabet, scheme="importance"))
        assert all(0 < rungs[SELECTION].value <= 1 for rungs in found)
        for count, rungs in enumerate(found, start=1):
            fitting = Selection(alphabet=largest_alphabet(max(2, count)), scheme="importance")
            assert rungs[SELECTION].value == selected(p, q, count, fitting)

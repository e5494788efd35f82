"""What suits a machine: costs from rounds timed by a clock that the test turns, the best draft of
all, and a table that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.commands.parameters import parse_settings
from app.commands.values import setting
from app.controls import catalogue
from app.limits import Limits
from core.decode import Drafter
from core.drafters.model import ModelDrafter
from core.drafters.nothing import NoDrafter
from core.heads.accuracy import Accuracy
from core.laws import Law
from core.measure import __main__ as command
from core.measure.pace import Pace, Stage, Widths, pace, plain_ms
from core.measure.times import verify_times
from core.measure.tune import MOST_DEPTH, Costs, Evidence, candidates, proposals
from core.measure.tuned import Proposal, Tuned, find_tuned, this_machine, tuned_file, write_tuned
from core.measure.tuned import command as words_of
from core.measure.tuning import Bench, Machine, Wish, available, table, tune
from core.measured import find
from core.models.base import Scores
from core.models.toy import ToyModel, ToySession, hashed
from core.registry import get, methods
from core.run import Engine
from core.shapes.base import TreePolicy
from core.shapes.positional import best_trees
from core.tree import DraftTree, Resume
from tests.app.engines import ENVIRONMENT, ToyText

PLACES = (0.6, 0.15, 0.08, 0.04)
EVIDENCE = Evidence(PLACES, 500)
LINE = Widths((1, 8, 64), (10.0, 12.0, 40.0))
FAST = Pace(first=1.0, level=1.0, node=0.1, share=1.0, rest=0.5)


@dataclass
class FakeClock:
    """Time in milliseconds; forwards turn it."""

    ms: float = 0.0

    def __call__(self) -> float:
        return self.ms / 1000


class Timed(ToyModel):
    """A toy whose forward of n tokens takes `base` + `each` n ms."""

    def __init__(self, clock: FakeClock, base: float, each: float, seed: int = 1) -> None:
        super().__init__(hashed(8, seed, 3.0), 8, context=2000)
        self.clock, self.base, self.each = clock, base, each

    def open(self, token_ids: Sequence[int] = ()) -> ToySession:
        return TimedSession(self, tuple(token_ids))


class TimedSession(ToySession):
    def __init__(self, model: Timed, text: tuple[int, ...]) -> None:
        super().__init__(model, text)
        self._timed = model

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        self._timed.clock.ms += self._timed.base + self._timed.each * (len(tree) - start)
        return super().score(tree, start, taps, resume)


def engine(clock: FakeClock, draft: bool = True) -> Engine:
    second = Timed(clock, 0.8, 0.2, seed=2) if draft else None
    return Engine(ToyText(), Timed(clock, 9.0, 1.0), ENVIRONMENT, second)


def bench(
    clock: FakeClock,
    set_threads: Callable[[int], None] = lambda threads: None,
    threads: Sequence[int] = (1,),
    **wish: object,
) -> Bench:
    machine = Machine("here", threads, set_threads, clock, lambda: "2026-12-01T00:00:00+00:00")
    asked = Wish(Law(0), **{"texts": ("a cat", "a dog"), **wish})  # type: ignore[arg-type]
    return Bench(engine(clock), machine, asked, lambda words: None)


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "cache"))


def test_times_between_widths_lie_on_a_line_and_go_on_behind_the_last() -> None:
    assert [LINE.at(n) for n in (1, 8, 64)] == [10.0, 12.0, 40.0]
    assert LINE.at(4) == pytest.approx(10 + 2 * 3 / 7)
    assert LINE.at(36) == pytest.approx(26.0)
    assert LINE.at(120) == pytest.approx(68.0)
    assert [LINE.at(n) for n in range(1, 130)] == sorted(LINE.at(n) for n in range(1, 130))


def test_the_pace_of_a_drafter_is_read_off_the_clock() -> None:
    clock = FakeClock()
    target, draft = Timed(clock, 9.0, 1.0), Timed(clock, 0.8, 0.2, seed=2)
    widths = Widths((1, 8, 64), verify_times(target.open((1, 2)), 3, clock, (1, 8, 64)))
    assert widths.ms == pytest.approx((10.0, 17.0, 73.0))

    def grow(shape: TreePolicy) -> Drafter:
        return ModelDrafter(lambda text, _: draft.open(text), shape, "model")

    stage = Stage(target, (1, 2, 3), Law(0), clock)
    found = pace(stage, grow, MOST_DEPTH, widths)
    assert found.first == pytest.approx(1.0)
    assert found.level == pytest.approx(1.0)
    assert found.node == pytest.approx(0.6 / 18)  # the second level is scored at four nodes
    assert (found.share, found.rest) == (pytest.approx(1.0), 0.0)
    assert plain_ms(stage, NoDrafter()) == pytest.approx(10.0)
    assert found.draft_ms(3, 3) == pytest.approx(3.0)
    assert found.round_ms(3, 3, widths) == pytest.approx(3.0 + 13.0)


def test_a_drafter_that_drafts_nothing_is_told() -> None:
    clock = FakeClock()
    stage = Stage(Timed(clock, 9.0, 1.0), (1, 2), Law(0), clock, rounds=2)
    with pytest.raises(ValueError, match="too few rounds"):
        pace(stage, lambda shape: NoDrafter(), 4, LINE)


def test_the_best_candidate_is_the_best_of_all() -> None:
    costs = Costs(2, LINE, 10.5, {"model": FAST})
    for use, form in (("speculative_sampling", "chain"), ("sequoia", "tree")):
        (found,) = (p for p in proposals({"model": EVIDENCE}, [costs], takes) if p.method == use)
        every = {
            (c.nodes, c.depth): c.tokens / FAST.round_ms(c.nodes, c.depth, LINE)
            for c in candidates(form, EVIDENCE)  # type: ignore[arg-type]
        }
        best = max(every, key=lambda each: every[each])
        assert (found.nodes, found.depth) == best
        assert found.speedup == pytest.approx(every[best] * 10.5, abs=1e-3)
        assert found.threads == 2


def takes(method: str) -> bool:
    return method in ("speculative_sampling", "sequoia", "eagle2")


def test_expected_tokens_are_those_of_the_shapes() -> None:
    chains = {c.depth: c.tokens for c in candidates("chain", EVIDENCE)}
    assert chains[3] == pytest.approx(1 + 0.6 + 0.36 + 0.216)
    best = best_trees(PLACES, 20, 4)
    trees = {(c.nodes, c.depth): c.tokens for c in candidates("tree", EVIDENCE)}
    assert trees[12, 3] == pytest.approx(best.value(13, 4))
    accuracy = Accuracy(tried=[100, 100], hits=[[50, 20], [30, 10]])
    planned = list(candidates("planned", Evidence(None, 0, accuracy, 2)))
    assert planned[0].tokens == pytest.approx(1.5)
    assert planned[1].tokens == pytest.approx(1.7)  # a sibling at .20 before a child at .15
    assert planned[2].tokens == pytest.approx(1.85)
    assert [c.depth for c in planned[:3]] == [1, 1, 2]
    assert list(candidates("planned", EVIDENCE)) == []
    assert list(candidates("tree", Evidence(None, 0))) == []
    assert max(c.depth for c in candidates("chain", Evidence(PLACES, 9, None, 2))) == 2


def test_a_cheaper_check_and_a_better_drafter_want_more_nodes() -> None:
    def nodes(slope: float, places: Sequence[float]) -> int:
        wide = Widths((1, 64), (10.0, 10.0 + 63 * slope))
        costs = Costs(1, wide, 10.0, {"model": FAST})
        found = proposals({"model": Evidence(places, 9)}, [costs], takes)
        return next(p.nodes for p in found if p.method == "sequoia")

    assert nodes(0.05, PLACES) > nodes(0.5, PLACES) > nodes(5.0, PLACES)
    assert nodes(0.5, (0.8, 0.1)) > nodes(0.5, (0.3, 0.1))


def test_the_number_of_threads_is_the_fastest_one() -> None:
    slow = Costs(1, Widths((1, 64), (20.0, 80.0)), 20.0, {"model": FAST})
    fast = Costs(2, LINE, 10.0, {"model": FAST})
    for order in ((slow, fast), (fast, slow)):
        found = proposals({"model": EVIDENCE}, order, takes)
        assert {p.threads for p in found} == {2}
    (best, *_) = proposals({"model": EVIDENCE}, [slow, fast], takes)
    assert best.speedup == pytest.approx(best.tokens * 10.0 / best.round_ms, abs=2e-3)


def test_every_proposal_is_one_that_its_method_takes() -> None:
    accuracy = Accuracy(tried=[10] * 4, hits=[[5, 2]] * 4)
    known = {kind: Evidence(PLACES, 9, accuracy, 4) for kind in KINDS}
    costs = [Costs(1, LINE, 10.0, dict.fromkeys(known, FAST))]

    def has_choice(method: str) -> bool:
        return "drafter" in get(method).config.model_fields

    found = proposals(known, costs, has_choice)
    assert {p.method for p in found} >= {"speculative_sampling", "sequoia", "medusa", "hydra"}
    for proposal in found:
        config = get(proposal.method).configure(proposal.settings)
        assert config.most_nodes() >= proposal.nodes - 1
        assert set(proposal.settings) <= set(type(config).model_fields)
    assert found == sorted(found, key=lambda p: -p.speedup)


KINDS = ("skip", "exit", "model", "eagle", "eagle3", "kangaroo", "medusa", "hydra")


def test_drafters_that_are_not_there_are_told_with_their_reason() -> None:
    found, missing = available(engine(FakeClock(), draft=False))
    assert set(found) == set()
    assert "cannot draft with its own layers" in missing["skip"]
    assert "none comes along for toy" in missing["model"]
    assert set(available(engine(FakeClock()))[0]) == {"model"}


def test_all_is_measured_and_threads_are_set_back() -> None:
    clock, threads = FakeClock(), list[int]()

    def set_threads(count: int) -> None:
        threads.append(count)
        target = made.engine.target
        assert isinstance(target, Timed)
        target.base = 9.0 / count

    made = bench(clock, set_threads, (1, 2))
    found = tune(made, (1, 2, 3))
    assert threads == [1, 2, ENVIRONMENT.threads]
    assert [each.threads for each in found.plain] == [1, 2]
    assert [each.round_ms for each in found.plain] == pytest.approx([10.0, 5.5])
    assert found.best_plain.threads == 2
    assert {p.method for p in found.proposals} == {"speculative_sampling", "fastdraft", "sequoia"}
    best = found.proposals[0]
    assert best.threads == 2
    assert best.counted > 0
    # what was counted is there for Sequoia
    known = find(made.engine.target.card, "model-toy", 0.0)
    assert known is not None
    assert known.acceptance.counted == best.counted


class Slowing(Timed):
    """A target that takes twice as long from its `at`-th session on, and `draft` with it."""

    def __init__(self, like: Timed, draft: Timed, at: int) -> None:
        super().__init__(like.clock, like.base, like.each)
        self.draft, self.left = draft, at

    def open(self, token_ids: Sequence[int] = ()) -> ToySession:
        self.left -= 1
        if self.left == 0:
            for each in (self, self.draft):
                each.base, each.each = 2 * each.base, 2 * each.each
        return super().open(token_ids)


@pytest.mark.parametrize("at", [6, 7])  # with the plain rounds of the drafter, or behind them
def test_work_beside_it_is_divided_out_and_told(at: int) -> None:
    made, told = bench(FakeClock()), list[str]()
    quiet = tune(made, (1, 2, 3))
    target, draft = made.engine.target, made.engine.draft
    assert isinstance(target, Timed)
    assert isinstance(draft, Timed)
    busy = replace(made.engine, target=Slowing(target, draft, at))
    found = tune(Bench(busy, made.machine, made.wish, told.append), (1, 2, 3))
    mine, theirs = ([p.speedup for p in each.proposals] for each in (found, quiet))
    if at == 6:
        assert mine == pytest.approx(theirs, rel=1e-3)
    else:  # what comes in between cannot be seen
        assert mine != pytest.approx(theirs, rel=0.1)
    assert any("other work runs here" in words for words in told) == (at == 6)


def test_what_was_counted_once_is_not_counted_again() -> None:
    told: list[str] = []
    first = bench(FakeClock())
    tune(first, (1, 2, 3))
    again = Bench(first.engine, first.machine, Wish(Law(0), (), ()), told.append)
    assert tune(again, (1, 2, 3)).proposals
    assert not any("counting" in words for words in told)


def test_without_counts_a_drafter_is_left_out_and_that_is_said() -> None:
    told: list[str] = []
    made = bench(FakeClock(), texts=())
    found = tune(Bench(made.engine, made.machine, made.wish, told.append), (1, 2, 3))
    assert found.proposals == []
    assert any("model is left out" in words for words in told)
    assert "Plain decoding is expected to be the fastest here:" in table(found)


def test_a_drafter_that_was_named_and_is_missing_is_one_sentence() -> None:
    with pytest.raises(ValueError, match="cannot draft with its own layers"):
        tune(bench(FakeClock(), drafters=("skip",)), (1, 2, 3))


def test_the_table_ends_in_a_line_that_can_be_given() -> None:
    found = tune(bench(FakeClock()), (1, 2, 3))
    lines = table(found)
    assert lines[0] == "toy, float64, temperature 0, on here (toy)"
    best = found.proposals[0]
    assert words_of(best).startswith(f"--method {best.method} --set ")
    assert lines[-1] == f"python -m app run {words_of(best)} --prompt TEXT" or best.speedup <= 1
    named = table(found, "org/large", "my draft")[-1]
    assert named.endswith("--model org/large --draft 'my draft' --prompt TEXT")
    head, *rows = lines[3 : 4 + len(found.proposals)]
    assert head.split()[0] == "method"
    assert all(len(row) == len(head) for row in rows)


def test_a_file_gives_back_what_was_written_and_bad_ones_are_left_out() -> None:
    found = tune(bench(FakeClock()), (1, 2, 3))
    path = write_tuned(found)
    assert find_tuned("toy", machine="here") == found
    assert find_tuned("org/toy (Q4_1)", machine="here") == found
    assert find_tuned("toy", machine="elsewhere") is None
    assert find_tuned("toy", 0.7, "here") is None
    for data in (b"", b"{", b"\xff", b'{"version": 2}', b"[" * 10_000):
        path.write_bytes(data)
        assert find_tuned("toy", machine="here") is None


def proposal(**changes: object) -> Proposal:
    plain: dict[str, object] = {
        "method": "speculative_sampling",
        "drafter": "model",
        "settings": {"drafter": "model", "length": 2},
        "threads": 1,
        "nodes": 2,
        "depth": 2,
        "tokens": 1.6,
        "round_ms": 14.0,
        "speedup": 1.25,
        "counted": 700,
    }
    return Proposal(**{**plain, **changes})  # type: ignore[arg-type]


def test_the_page_offers_what_was_found_for_the_default_model() -> None:
    assert all(entry["tuned"] is None for entry in catalogue(Limits(), loaded=True)["methods"])
    write_tuned(
        Tuned(
            target="SmolLM2-135M-Instruct (Q4_1)",
            revision=None,
            dtype="bfloat16",
            machine=this_machine(),
            processor="toy",
            temperature=0.0,
            created="2026-12-01",
            plain=[{"threads": 1, "round_ms": 20.0}],  # type: ignore[list-item]
            proposals=[proposal()],
        )
    )
    shown = {entry["key"]: entry["tuned"] for entry in catalogue(Limits(), loaded=True)["methods"]}
    assert set(shown) == set(methods())
    (tuned,) = (each for each in shown.values() if each is not None)
    assert tuned["settings"] == {"drafter": "model", "length": 2}
    assert tuned["threads"] == "1"
    assert "2 nodes, 2 deep" in tuned["words"]
    assert "1.25 times plain decoding expected" in tuned["words"]


def test_settings_are_written_as_the_command_line_takes_them() -> None:
    found = proposal(method="sequoia", settings={"budget": 4, "depth": 2, "fit": False})
    assert words_of(found) == "--method sequoia --set budget=4 depth=2 fit=false --threads 1"
    method = get("sequoia")
    pairs = [setting(word) for word in ("budget=4", "depth=2", "fit=false")]
    assert method.configure(parse_settings(method, pairs)) == method.configure(found.settings)


def test_the_command_says_and_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(command, "load_engine", lambda *_names, **_options: engine(clock))
    monkeypatch.setattr(command.time, "perf_counter", clock)
    set_to: list[int] = []
    monkeypatch.setattr(command.torch, "set_num_threads", set_to.append)
    assert command.main(["tune", "--threads", "2", "--prompts", "1"]) == 0
    out, progress = capsys.readouterr()
    assert set_to == [1, 2, ENVIRONMENT.threads]
    assert "times plain decoding:" in out or "Plain decoding is expected" in out
    assert out.splitlines()[-1] == f"wrote {tuned_file('toy', this_machine(), 0.0)}"
    assert "timing with 2 threads" in progress
    assert command.main(["tune", "--drafters", "exit"]) == 2
    assert "cannot draft with its own layers" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--threads 0", "--prompts -1", "--drafters other"])
def test_wrong_words_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["tune", *words.split()])
    assert "usage" in capsys.readouterr().err


def test_drafters_without_a_pace_have_no_proposal() -> None:
    assert proposals({"model": EVIDENCE}, [Costs(1, LINE, 10.0, {})], takes) == []

"""The training loop: a run that was stopped anywhere ends as one that was not."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from core.heads.files import read_tensors
from core.train.loop import Task, train
from core.train.report import EpochLine, Line, Plan, Report, StepLine, per_pass, read_log
from tests.train_toys import WIDTH, ToyTask, features

PLAN = Plan(epochs=3, rate=2e-2, decay=0.1)
STEPS = 6  # per epoch of the toy: 24 texts, 4 at a time


class StoppedError(Exception):
    """The power goes out."""


class Stopping(ToyTask):
    """Stops before its n-th loss of a kind."""

    left = 0
    in_training = True

    def loss(self, batch: list[object]) -> Tensor:
        if self.module.training == self.in_training:
            if self.left == 0:
                raise StoppedError
            self.left -= 1
        return super().loss(batch)


def stopping(left: int, in_training: bool = True) -> Stopping:
    task = Stopping(ToyTask.made().module)
    task.left, task.in_training = left, in_training
    return task


def run(
    folder: Path, task: Task[list[object]] | None = None, plan: Plan = PLAN, every: float = 0.0
) -> Report:
    return train(task or ToyTask.made(), features(), plan, folder, every=every)


def facts(lines: list[Line]) -> list[object]:
    """Return what a log says, but for how long it took."""
    return [
        (line.step, line.loss, line.rate, line.norm)
        if isinstance(line, StepLine)
        else (line.number, line.made.training, line.made.held_out, line.made.accepted)
        for line in lines
    ]


def outcome(report: Report) -> object:
    epochs = [(e.training, e.held_out, e.accepted, e.step) for e in report.epochs]
    return epochs, report.best, report.steps, report.held_out, report.accepted


def test_it_learns_and_tells_all_of_it(tmp_path: Path) -> None:
    task = ToyTask.made()
    report = run(tmp_path, task, Plan(epochs=12, rate=3e-2))
    assert report.epochs[-1].held_out < report.epochs[0].held_out
    assert report.epochs[-1].training < report.epochs[0].training
    assert report.steps == 12 * STEPS
    assert report.parameters == sum(p.numel() for p in task.module.parameters())
    lines = read_log(tmp_path / "log.jsonl")
    steps = [line for line in lines if isinstance(line, StepLine)]
    assert [line.step for line in steps] == list(range(1, report.steps + 1))
    assert [line.made for line in lines if isinstance(line, EpochLine)] == list(report.epochs)
    for number, epoch in enumerate(report.epochs):
        losses = [line.loss for line in steps[number * STEPS : (number + 1) * STEPS]]
        assert epoch.training == pytest.approx(math.fsum(losses) / STEPS)
        assert epoch.step == (number + 1) * STEPS


def test_the_best_epoch_is_kept_as_it_is_saved(tmp_path: Path) -> None:
    task = ToyTask.made()
    report = run(tmp_path, task, Plan(epochs=10, rate=0.3))  # too fast: it gets worse now and then
    merits = [(per_pass(epoch.accepted), -epoch.held_out) for epoch in report.epochs]
    assert report.best == merits.index(max(merits))
    task.save(tmp_path / "out")
    saved = read_tensors(tmp_path / "out" / "model.safetensors", 10**6)
    assert all(torch.equal(saved[n].float(), t) for n, t in task.module.state_dict().items())
    held = features().texts(True)
    greedy = [text for text in held if text.greedy]
    assert task.module.eval() is not None
    assert tuple(task.accepted(greedy)) == report.accepted


@pytest.mark.parametrize("left", [0, 1, 5, 6, 7, 11, 12, 17])
def test_a_run_that_stops_at_any_step_ends_as_one_that_does_not(tmp_path: Path, left: int) -> None:
    whole = run(tmp_path / "whole")
    with pytest.raises(StoppedError):
        run(tmp_path / "stopped", stopping(left))
    report = run(tmp_path / "stopped", ToyTask.made(seed=9))  # its own weights count no more
    if left == 0:
        return  # nothing was saved: it began anew
    assert outcome(report) == outcome(whole)
    assert facts(read_log(tmp_path / "stopped" / "log.jsonl")) == facts(
        read_log(tmp_path / "whole" / "log.jsonl")
    )


@pytest.mark.parametrize("every", [0.0, 1e9])
@pytest.mark.parametrize("left", [0, 1, 3])
def test_it_may_stop_while_it_is_judged(tmp_path: Path, every: float, left: int) -> None:
    whole = run(tmp_path / "whole")
    with pytest.raises(StoppedError):
        run(tmp_path / "stopped", stopping(left, in_training=False), every=every)
    assert outcome(run(tmp_path / "stopped")) == outcome(whole)


def test_it_may_stop_again_and_again(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    for _ in range(2 * STEPS):
        with pytest.raises(StoppedError):
            run(tmp_path / "stopped", stopping(1))
    assert outcome(run(tmp_path / "stopped")) == outcome(whole)


def test_a_finished_run_is_not_made_again(tmp_path: Path) -> None:
    report = run(tmp_path)
    task = stopping(0)
    assert run(tmp_path, task) == report


def test_one_whole_checkpoint_is_left(tmp_path: Path) -> None:
    run(tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    kept = {"checkpoint.json", "log.jsonl", f"step-{3 * STEPS}.safetensors"}
    best = names - kept
    assert kept < names
    assert len(best) == 1
    assert best.pop().startswith("best-")


@pytest.mark.process
def test_a_run_that_is_killed_at_any_moment_ends_as_one_that_is_not(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", plan=PLAN)
    for lines in (2, 9, 16):  # steps after which it is killed, within an epoch each
        _kill_after(lines, tmp_path / "killed")
    assert outcome(run(tmp_path / "killed", plan=PLAN)) == outcome(whole)
    assert facts(read_log(tmp_path / "killed" / "log.jsonl")) == facts(
        read_log(tmp_path / "whole" / "log.jsonl")
    )


def _kill_after(lines: int, folder: Path) -> None:
    """Start the run as a process, and kill it once its log has so many lines."""
    program = (
        "import torch; torch.set_num_threads(1)\n"
        "from pathlib import Path\n"
        "from tests.test_train_loop import PLAN, features, train\n"
        "from tests.train_toys import ToyTask\n"
        f"train(ToyTask.made(pause=0.03), features(), PLAN, Path({str(folder)!r}), every=0.05)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[1], env=os.environ.copy()
    )
    try:
        log, late = folder / "log.jsonl", time.monotonic() + 60
        while not log.is_file() or log.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < late, "it wrote nothing"
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL


def ticking(step: float) -> Callable[[], float]:
    """Return a clock that moves by so many seconds whenever it is read."""
    ticks = count()
    return lambda: next(ticks) * step


def test_time_ends_it_with_the_rate_at_nothing(tmp_path: Path) -> None:
    plan = Plan(epochs=1000, minutes=20, rate=1e-2)
    report = train(ToyTask.made(), features(), plan, tmp_path, clock=ticking(1.0))
    assert report.seconds < 1.2 * 60 * plan.minutes
    assert 1 < len(report.epochs) < 1000
    steps = [line for line in read_log(tmp_path / "log.jsonl") if isinstance(line, StepLine)]
    assert steps[-1].rate < 0.01 * plan.rate
    assert max(line.rate for line in steps) > 0.9 * plan.rate


def test_one_epoch_is_judged_even_where_the_time_is_too_short(tmp_path: Path) -> None:
    plan = Plan(epochs=5, minutes=1)
    report = train(ToyTask.made(), features(), plan, tmp_path, clock=ticking(50.0))
    assert (len(report.epochs), report.steps) == (1, 1)


def test_the_rate_rises_then_falls_as_a_cosine(tmp_path: Path) -> None:
    plan = Plan(epochs=10, rate=1e-2, warmup=0.2)
    run(tmp_path, plan=plan)
    rates = [line.rate for line in read_log(tmp_path / "log.jsonl") if isinstance(line, StepLine)]
    steps = 10 * STEPS
    for step, rate in enumerate(rates, 1):
        gone = step / steps
        wanted = gone / 0.2 if gone < 0.2 else 0.5 * (1 + math.cos(math.pi * (gone - 0.2) / 0.8))
        assert rate == pytest.approx(plan.rate * wanted, abs=1e-9)


def test_another_run_in_the_folder_is_one_sentence(tmp_path: Path) -> None:
    run(tmp_path)
    with pytest.raises(ValueError, match="other settings"):
        run(tmp_path, plan=Plan(epochs=3, rate=1e-2))
    other = ToyTask.made()
    other.kind = "other"
    with pytest.raises(ValueError, match="other settings"):
        run(tmp_path, other)


@pytest.mark.parametrize("content", [b"", b"{", b'{"kind": "toy"}'])
def test_a_damaged_checkpoint_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "checkpoint.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint\.json is damaged"):
        run(tmp_path)


def test_a_loss_that_is_no_number_ends_it_before_the_weights_are_spoilt(tmp_path: Path) -> None:
    class Broken(ToyTask):
        def loss(self, batch: list[object]) -> Tensor:
            return super().loss(batch) * math.inf

    task = Broken(ToyTask.made().module)
    with pytest.raises(ValueError, match="step 1: try a lower --rate"):
        run(tmp_path, task)
    assert all(bool(p.isfinite().all()) for p in task.module.parameters())


@pytest.mark.parametrize(("training", "held", "word"), [(0, 4, "train on"), (4, 0, "judge by")])
def test_nothing_to_train_on_or_to_judge_by_is_one_sentence(
    tmp_path: Path, training: int, held: int, word: str
) -> None:
    with pytest.raises(ValueError, match=f"nothing to {word}"):
        train(ToyTask.made(), features(training, held), PLAN, tmp_path)


def test_warm_texts_alone_are_nothing_to_judge_by(tmp_path: Path) -> None:
    made = features()
    made = replace(made, held=[text for text in made.held if not text.greedy])
    with pytest.raises(ValueError, match="nothing to judge by"):
        train(ToyTask.made(), made, PLAN, tmp_path)


def test_seeds_give_runs_of_their_own_and_the_global_generator_is_left_alone(
    tmp_path: Path,
) -> None:
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    one, same, other = (
        run(tmp_path / name, plan=Plan(epochs=2, seed=seed))
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    assert outcome(one) == outcome(same) != outcome(other)


def test_matrices_decay_and_biases_do_not(tmp_path: Path) -> None:
    class Still(ToyTask):
        def loss(self, batch: list[object]) -> Tensor:
            return super().loss(batch) * 0

    module = nn.Linear(WIDTH, 11)
    weight, bias = (p.detach().clone() for p in (module.weight, module.bias))
    run(tmp_path, Still(module), Plan(epochs=2, rate=1e-1, decay=0.5))
    torch.testing.assert_close(module.bias, bias.bfloat16().float())
    assert bool((module.weight.abs() < 0.9 * weight.abs()).all())


def test_mixed_products_are_narrow_in_training_only_and_weights_stay_wide(tmp_path: Path) -> None:
    kinds: set[tuple[bool, torch.dtype]] = set()

    class Watching(ToyTask):
        def loss(self, batch: list[object]) -> Tensor:
            product = self.module(torch.ones((1, WIDTH)))
            kinds.add((self.module.training, product.dtype))
            return super().loss(batch)

    task = Watching(ToyTask.made().module)
    run(tmp_path, task, Plan(epochs=1, mixed=True))
    assert kinds == {(True, torch.bfloat16), (False, torch.float32)}
    assert {parameter.dtype for parameter in task.module.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"minutes": 0.0}, {"rate": 0.0}, {"clip": 0.0}, {"warmup": 1.0}, {"decay": -1}],
)
def test_a_plan_that_cannot_be_is_one_sentence(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"A training|The warm-up"):
        Plan(**wrong)


@pytest.mark.parametrize(
    ("accepted", "tokens"),
    [
        ((), 1.0),
        (((0, 10),), 1.0),
        (((5, 10), (4, 5)), 1 + 0.5 + 0.4),
        (((10, 10), (10, 10), (10, 10)), 4.0),
        (((0, 10), (0, 0)), 1.0),
    ],
)
def test_tokens_per_pass_are_the_targets_own_and_those_reached(
    accepted: tuple[tuple[int, int], ...], tokens: float
) -> None:
    assert per_pass(accepted) == pytest.approx(tokens)

"""The loop that trains every family: AdamW, warm-up and cosine, clipping, and a budget of time.

It knows nothing of what is trained: a `Task` is one family's trainer. All that chance decides is
keyed by seed, epoch and step, and all that a run knows is in its checkpoint, so that a run that was
killed goes on as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from core.train.checkpoint import Checkpoints, Progress
from core.train.data import Features, Text
from core.train.report import Accepted, Epoch, EpochLine, Log, Plan, Report, StepLine, per_pass

B = TypeVar("B")

MINUTE = 60.0  # seconds


class Task(Protocol[B]):
    """One family's trainer."""

    @property
    def kind(self) -> str:
        """Return the family's key."""
        ...

    @property
    def taps(self) -> tuple[int, ...]:
        """Return the layers whose states it reads."""
        ...

    @property
    def module(self) -> nn.Module:
        """Return what is trained, in float32, and nothing else."""
        ...

    def batches(self, texts: Sequence[Text], seed: int) -> Iterator[B]:
        """Yield one epoch; order and everything else follow from the seed."""
        ...

    def loss(self, batch: B) -> Tensor:
        """Return a scalar. Its chance is torch's global generator, which is seeded for it.

        Where training is mixed, products come out in bfloat16: widen them before a softmax.
        """
        ...

    def accepted(self, texts: Sequence[Text]) -> list[tuple[int, int]]:
        """Return per depth how many drafted tokens were right, and how many were drafted after
        nothing but right ones: greedy drafting against greedy texts.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors, in bfloat16, as the method is published."""
        ...


def quiet(words: str) -> None:
    """Tell nobody."""


def train(
    task: Task[B],
    features: Features,
    plan: Plan,
    folder: Path,
    *,
    every: float = MINUTE,
    clock: Callable[[], float] = time.monotonic,
    tell: Callable[[str], None] = quiet,
) -> Report:
    """Train, or go on with the run in `folder`; `task.module` then holds the best epoch's weights,
    rounded to bfloat16 as they are saved.

    A checkpoint is written `every` so many seconds; `tell` hears how it goes. Raises ValueError
    where the folder holds another run, or the loss stops being a number.
    """
    run = _Run(task, features, plan, folder, every, clock, tell)
    while not run.is_done:
        run.epoch()
    return run.finish()


def key(*parts: int | str) -> int:
    """Return a seed that depends on all parts."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big")


class _Run(Generic[B]):
    """One training under way."""

    def __init__(
        self,
        task: Task[B],
        features: Features,
        plan: Plan,
        folder: Path,
        every: float,
        clock: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._task, self._features, self._plan = task, features, plan
        self._every, self._clock, self._tell = every, clock, tell
        self._optimizer = torch.optim.AdamW(
            _groups(task.module, plan.decay), lr=plan.rate, betas=plan.betas
        )
        self._files = Checkpoints(folder, task.module, self._optimizer)
        self._now = self._files.read(task.kind, plan) or Progress(task.kind, plan, self._count())
        self._log = Log(folder / "log.jsonl", self._now.step, len(self._now.epochs))
        self._began = clock() - self._now.seconds
        self._saved = clock()

    @property
    def is_done(self) -> bool:
        return len(self._now.epochs) >= self._plan.epochs or (
            bool(self._now.epochs) and self._out_of_time()
        )

    def epoch(self) -> None:
        """Run the rest of an epoch, as far as the time goes, and judge what came of it."""
        now, number = self._now, len(self._now.epochs)
        batches = self._task.batches(self._features.texts(False), key(self._plan.seed, number))
        for batch in islice(batches, now.batch, None):
            self._step(batch)
            if self._out_of_time():
                break
            if self._clock() - self._saved >= self._every:
                self._save()
                steps = f"{now.batch:,} of {now.batches:,} steps"
                self._tell(f"epoch {number + 1}: {steps}, loss {now.total / now.batch:.4f}")
        loss, accepted = self._judged()
        made = Epoch(now.total / max(1, now.batch), loss, tuple(accepted), now.step, self._passed())
        now.epochs.append(made)
        now.batch, now.total = 0, 0.0
        if now.best is None or _merit(made) > _merit(now.epochs[now.best]):
            now.best = number
            self._files.keep_best(number)
        self._log.write(EpochLine(number, made))
        self._save()
        self._tell(
            f"epoch {number + 1} of {self._plan.epochs}: loss {made.training:.4f}, held out "
            f"{loss:.4f}, {per_pass(accepted):.2f} tokens per pass, {made.seconds / MINUTE:.0f} min"
        )

    def finish(self) -> Report:
        """Return to the best epoch, as it will be saved, and measure it."""
        best = self._now.best
        assert best is not None
        self._files.restore_best(best)
        with torch.no_grad():
            for parameter in self._task.module.parameters():
                parameter.copy_(parameter.bfloat16())
        loss, accepted = self._judged()
        return Report(
            kind=self._now.kind,
            plan=self._plan,
            parameters=sum(p.numel() for p in self._task.module.parameters()),
            steps=self._now.step,
            seconds=self._now.seconds,
            epochs=tuple(self._now.epochs),
            best=best,
            held_out=loss,
            accepted=tuple(accepted),
        )

    def _step(self, batch: B) -> None:
        now = self._now
        rate = self._rate()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        narrow = torch.autocast("cpu", torch.bfloat16, enabled=self._plan.mixed)
        with torch.random.fork_rng(devices=()), narrow:
            torch.manual_seed(key(self._plan.seed, "step", now.step))
            loss = self._task.loss(batch)
        self._optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self._task.module.parameters(), self._plan.clip)
        value = float(loss.detach())
        if not (math.isfinite(value) and math.isfinite(float(norm))):
            raise ValueError(
                f"The loss is no number any more at step {now.step + 1}: try a lower --rate."
            )
        self._optimizer.step()
        now.step += 1
        now.batch += 1
        now.total += value
        self._log.write(StepLine(now.step, value, rate, float(norm), self._passed()))

    def _rate(self) -> float:
        """Return the learning rate: it rises, then falls as a cosine, to 0 when steps or time run
        out.
        """
        plan, steps = self._plan, self._plan.epochs * self._now.batches
        gone = max((self._now.step + 1) / steps, self._passed() / (MINUTE * plan.minutes))
        if gone < plan.warmup:
            return plan.rate * gone / plan.warmup
        left = min(1.0, (gone - plan.warmup) / (1 - plan.warmup))
        return plan.rate * 0.5 * (1 + math.cos(math.pi * left))

    def _judged(self) -> tuple[float, list[Accepted]]:
        """Return loss and acceptance per depth on the topics that are held out."""
        held = self._features.texts(True)
        module = self._task.module.eval()
        with torch.no_grad(), torch.random.fork_rng(devices=()):
            torch.manual_seed(key(self._plan.seed, "held out"))
            losses = [float(self._task.loss(batch)) for batch in self._task.batches(held, 0)]
            accepted = self._task.accepted([text for text in held if text.greedy])
        module.train()
        return math.fsum(losses) / max(1, len(losses)), accepted

    def _count(self) -> int:
        """Return how many batches an epoch has; raise ValueError where there are none, or nothing
        to judge by.
        """
        texts = self._features.texts(False)
        count = sum(1 for _ in self._task.batches(texts, key(self._plan.seed, 0))) if texts else 0
        if not count:
            raise ValueError("There is nothing to train on: write more of the corpus.")
        if not any(text.greedy for text in self._features.texts(True)):
            raise ValueError("There is nothing to judge by: write more of the corpus.")
        return count

    def _passed(self) -> float:
        return self._clock() - self._began

    def _out_of_time(self) -> bool:
        return self._passed() >= MINUTE * self._plan.minutes

    def _save(self) -> None:
        self._now.seconds = self._passed()
        self._files.write(self._now)
        self._saved = self._clock()


def _groups(module: nn.Module, decay: float) -> list[dict[str, object]]:
    """Return the parameters by whether they decay: matrices do, norms and biases do not."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]


def _merit(epoch: Epoch) -> tuple[float, float]:
    """Return what makes an epoch the best: most tokens per pass, then least loss."""
    return per_pass(epoch.accepted), -epoch.held_out

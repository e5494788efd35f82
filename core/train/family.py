"""One family of trained drafters as a command: options, features, training, weights, card.

A family is one file of this package that ends with `add_parser = Family(...).add_parser`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

import torch

from core.heads.shelf import FOLDER, slug
from core.models.devices import choose_threads
from core.models.folders import cache_root
from core.models.sources import DEFAULT
from core.train.card import Subject, write_card
from core.train.data import Features, open_features
from core.train.loop import Task, train
from core.train.report import Plan, per_pass

B = TypeVar("B")

_OTHER_WEIGHTS = (
    "Its weights come from a quantised file; those that its makers published on the hub differ "
    "from them, and with those nothing was measured."
)
_ELSEWHERE = ("threads", "out", "trainer", "run")  # options that change nothing of what is learnt


def say(words: str) -> None:
    """Tell how far a training has come."""
    print(words, flush=True)


def no_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def no_details(options: argparse.Namespace) -> Mapping[str, str]:
    """Tell nothing."""
    return {}


def not_measured(task: Task[B], features: Features) -> Mapping[str, str]:
    """Measure nothing."""
    return {}


@dataclass(frozen=True, slots=True)
class Family(Generic[B]):
    """`kind`: the head's key; `taps`: the layers whose states are read; `make`: builds the trainer
    under a seeded global generator.

    `add_options` declares what only this family has, `details` tells the card of it: rows of a
    table; `measured`: further rows, found out of what was trained. `vocabulary`: rows of the
    trimmed head, None where the family has none. `plan`: the defaults.
    """

    kind: str
    name: str
    paper: str
    taps: Callable[[argparse.Namespace], tuple[int, ...]]
    make: Callable[[Features, argparse.Namespace], Task[B]]
    plan: Plan
    vocabulary: int | None = 8192
    add_options: Callable[[argparse.ArgumentParser], None] = no_options
    details: Callable[[argparse.Namespace], Mapping[str, str]] = no_details
    measured: Callable[[Task[B], Features], Mapping[str, str]] = not_measured

    def add_parser(self, parser: argparse.ArgumentParser) -> None:
        plan = self.plan
        parser.add_argument("--model", default=DEFAULT, help="target (default: the default model)")
        parser.add_argument("--epochs", type=int, default=plan.epochs)
        parser.add_argument("--minutes", type=float, default=plan.minutes, help="most time")
        parser.add_argument("--rate", type=float, default=plan.rate, help="highest learning rate")
        parser.add_argument("--seed", type=int, default=plan.seed)
        parser.add_argument(
            "--mixed",
            action=argparse.BooleanOptionalAction,
            default=plan.mixed,
            help="products in bfloat16: twice as fast where the processor has instructions for it",
        )
        if self.vocabulary is not None:
            parser.add_argument("--vocabulary", type=int, default=self.vocabulary)
        parser.add_argument("--shards", type=int, help="of the corpus, the first so many")
        parser.add_argument("--threads", default="auto")
        parser.add_argument("--out", type=Path, help="folder of the weights (default: the shelf)")
        self.add_options(parser)
        parser.set_defaults(run=self.run)

    def run(self, options: argparse.Namespace) -> None:
        """Train as the options say, then write weights and card."""
        torch.set_num_threads(choose_threads(options.threads))
        plan = self._plan(options)
        features = open_features(self.taps(options), options.model, shards=options.shards)
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(plan.seed)
            task = self.make(features, options)
        folder = run_folder(self.kind, options)
        report = train(task, features, plan, folder, tell=say)
        out = options.out or FOLDER / f"{self.kind}-{slug(features.target.name)}"
        task.save(out)
        details = {**self.details(options), **self.measured(task, features)}
        note = _OTHER_WEIGHTS if options.model == DEFAULT else ""
        subject = Subject(self.name, self.paper, command(self.kind, options), details, note)
        write_card(out, subject, report, features, folder / "log.jsonl")
        print(f"{per_pass(report.accepted):.2f} tokens per pass on held-out topics; wrote {out}")

    def _plan(self, options: argparse.Namespace) -> Plan:
        own = self.plan
        return Plan(
            epochs=options.epochs,
            minutes=options.minutes,
            rate=options.rate,
            warmup=own.warmup,
            clip=own.clip,
            betas=own.betas,
            decay=own.decay,
            seed=options.seed,
            mixed=options.mixed,
        )


def command(kind: str, options: argparse.Namespace) -> str:
    """Return the command line that makes the same run."""
    told = [f"python -m core.train {kind}"]
    for name, value in _settings(options).items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, list | tuple):
            told.append(" ".join([flag, *(str(part) for part in cast("list[object]", value))]))
        elif name == "mixed":
            told.append(flag if value else "--no-mixed")
        elif value is True:
            told.append(flag)
        elif value is not None and value is not False:
            told.append(f"{flag} {value}")
    return " ".join(told)


def run_folder(kind: str, options: argparse.Namespace) -> Path:
    """Return where the run of these settings is kept while it is made."""
    digest = hashlib.sha256(json.dumps(_settings(options), sort_keys=True).encode()).hexdigest()
    return cache_root() / "train" / f"run-{kind}-{digest[:12]}"


def _settings(options: argparse.Namespace) -> dict[str, object]:
    return {k: v for k, v in sorted(vars(options).items()) if k not in _ELSEWHERE}

"""The card of trained weights: what they are, what made them, and how well they draft.

Every number comes with what it was counted from. The plot of the run lies beside the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.metrics import wilson
from core.train.data import Features, Text
from core.train.plot import plot
from core.train.report import Accepted, Plan, Report, StepLine, per_pass, read_log

CARD, PLOT = "README.md", "training.svg"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a card is about. `details`: rows of its table that only this family has; `note`: what to
    say of other weights of the same target.
    """

    name: str
    paper: str
    command: str
    details: Mapping[str, str]
    note: str = ""


def write_card(
    folder: Path, subject: Subject, report: Report, features: Features, log: Path
) -> None:
    """Write the card and its plot into the folder of the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = [line for line in read_log(log) if isinstance(line, StepLine)]
    (folder / PLOT).write_text(plot(steps, report.epochs), encoding="utf-8")
    (folder / CARD).write_text(card(subject, report, features), encoding="utf-8")


def card(subject: Subject, report: Report, features: Features) -> str:
    """Return the card, in Markdown."""
    best = report.epochs[report.best]
    rows = {
        "paper": subject.paper,
        "target": features.target.name,
        "parameters trained": f"{report.parameters:,}",
        **subject.details,
        "data": "conversations that the target wrote itself: "
        f"{_amount(features.training)} to train on, {_amount(features.held)} on topics that are "
        "held out",
        "recipe": _recipe(report.plan),
        "made in": f"{report.steps:,} steps, {report.seconds / 60:.0f} minutes; "
        f"epoch {report.best + 1} of {len(report.epochs)} is kept",
        "mean loss": f"{best.training:.4f} in training, {report.held_out:.4f} held out",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    depths = "\n".join(_depth(i, counts) for i, counts in enumerate(report.accepted, 1))
    chain = len(report.accepted)
    return f"""---
license: apache-2.0
tags:
- speculative-decoding
---

# {subject.name} for {features.target.name}

Made by

    {subject.command}

How to make all of it again is told in `docs/training.md`.

| | |
|---|---|
{table}

## How well it drafts

A chain is drafted greedily from every position of the target's greedy answers on the topics that
are held out, with weights in bfloat16. A token counts where all before it were right.

| drafted token | accepted | counts | 95 % interval |
|---|---|---|---|
{depths}

**{per_pass(report.accepted):.2f} tokens per pass of the target** with a chain of {chain}: its own
token, and those accepted.

![Loss by step, and acceptance by epoch]({PLOT})

{_measured(subject, features)}

Licence: Apache-2.0, as the target's.
"""


def _measured(subject: Subject, features: Features) -> str:
    told = f"States and acceptance are those of `{features.target.name}` as this program loads it."
    return f"{told} {subject.note}".strip()


def _amount(texts: Sequence[Text]) -> str:
    tokens = sum(len(text.tokens) - text.answer for text in texts)
    return f"{len(texts):,} texts with {tokens:,} answer tokens"


def _recipe(plan: Plan) -> str:
    parts = [
        f"AdamW {plan.betas}, rate {plan.rate:g}, warm-up {plan.warmup:.0%} and cosine",
        f"clip {plan.clip:g}",
        f"decay {plan.decay:g}",
        f"{plan.epochs} epochs or {plan.minutes:g} minutes",
        f"seed {plan.seed}",
        "products in bfloat16" if plan.mixed else "float32",
    ]
    return ", ".join(parts)


def _depth(depth: int, counts: Accepted) -> str:
    right, tried = counts
    interval = wilson(right, tried)
    if interval is None:
        return f"| {depth} | - | 0 of 0 | - |"
    low, high = interval
    return f"| {depth} | {right / tried:.3f} | {right:,} of {tried:,} | {low:.3f} to {high:.3f} |"

"""Simulated rounds against the law that they should follow: verdict, histogram and distance, as
words and numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from viz.numbers import probability
from viz.payload import Badge, Label

Verdict = Literal["kept", "unsure", "broken"]
ROWS = 10  # tokens of the histogram that are named
_DECIMALS = 4
_DISTANCE = (
    "Distances are total variations, with tokens that p expects fewer than five times as one."
)


class Mistake(TypedDict):
    key: str
    name: str
    definition: str
    least: int  # drafts without which it is none
    always: int | None  # drafts that it has, whatever the number asked for; None: as many as asked


class Row(TypedDict):
    label: Label | None  # None: all others
    p: float
    p_text: str
    shares: list[float]  # of the rounds so far, at each stop
    text: str  # of the last share


class Lossy(TypedDict):
    """That the run itself follows another rule than the one that is thrown."""

    badge: Badge
    words: str


class Rounds(TypedDict):
    """`missing`: why nothing was thrown, or empty; the rest is then empty too. `own`: None where
    the run's own rule is lossless too.
    """

    missing: str
    own: Lossy | None
    verdict: Verdict
    words: str
    kept: str
    drafts: int
    mistake: str
    seed: int
    mistakes: list[Mistake]
    rows: list[Row]
    rounds: list[int]  # stops
    apart: list[float]  # at each stop
    mean: list[float]  # of draws from p itself
    most: list[float]  # which 99 of 100 of those stay below
    apart_text: str
    alt: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What was thrown: distances at each of the `rounds`, and those of draws from p itself.

    `kept`: rounds that wrote one of their drafts. `cells`: for each token, the likeliest first, its
    label, p and shares at each stop; the last is all others, without a label.
    """

    rounds: Sequence[int]
    apart: Sequence[float]
    mean: Sequence[float]
    most: Sequence[float]
    verdict: Verdict
    kept: int
    cells: Sequence[tuple[Label | None, float, Sequence[float]]]


@dataclass(frozen=True, slots=True)
class Own:
    """The name of a run's lossy method, and its badge."""

    method: str
    badge: Badge


def mistakes(temperature: float) -> list[Mistake]:
    """Return the mistakes that can be put in, at laws of this temperature."""
    told = (
        "The test divides the target's logits by .7 once more, and leaves the draft's alone."
        if temperature in (0, 1)
        else "The test reads p at temperature 1; q, and the text asked for, are at "
        f"{temperature:g}."
    )
    found = (
        ("none", "None", "Recursive rejection as it should be.", 1),
        (
            "other_q",
            "q is not the law that was drawn from",
            "Drafts come from q, and the test reads q at .7 of its temperature.",
            1,
        ),
        (
            "greedy",
            "Greedy fix-up",
            "When all drafts fail, the target's favourite is written, not a token from what "
            "remains of p.",
            1,
        ),
        (
            "siblings",
            "Siblings not rescaled",
            "After a miss the token tried leaves q, but q is not brought back to one. Needs two "
            "drafts.",
            2,
        ),
        (
            "likeliest",
            "The likelier of two is kept",
            "Two are always drawn, and the one that q favours is tested as if it were alone.",
            1,
        ),
        ("one_side", "Temperature on one side", told, 1),
    )
    return [
        {
            "key": key,
            "name": name,
            "definition": definition,
            "least": least,
            "always": 2 if key == "likeliest" else None,
        }
        for key, name, definition, least in found
    ]


def rounds(
    measured: Measured,
    drafts: int,
    mistake: str,
    seed: int,
    temperature: float,
    own: Own | None = None,
) -> Rounds:
    """Return what the panel shows of one throw. `own`: the run's method where that is lossy."""
    total = measured.rounds[-1]
    shown = sorted(
        (cell for cell in measured.cells if cell[0] is not None),
        key=lambda cell: -max(cell[1], cell[2][-1]),
    )[:ROWS]
    rest = _rest(shown, len(measured.rounds))
    words = verdict_words(measured, mistake)
    known = mistakes(temperature)
    always = next(each["always"] for each in known if each["key"] == mistake)
    return {
        "missing": "",
        "own": own and _lossy(own),
        "verdict": measured.verdict,
        "words": words,
        "kept": f"{measured.kept:,} of {total:,} rounds kept a draft "
        f"({probability(measured.kept / total)}). {_DISTANCE}",
        "drafts": always or drafts,
        "mistake": mistake,
        "seed": seed,
        "mistakes": known,
        "rows": [_row(*cell) for cell in (*shown, *rest)],
        "rounds": list(measured.rounds),
        "apart": list(measured.apart),
        "mean": list(measured.mean),
        "most": list(measured.most),
        "apart_text": probability(measured.apart[-1], _DECIMALS),
        "alt": f"Total variation after {measured.rounds[0]:,} to {total:,} rounds. {words}",
    }


def no_rounds(missing: str, temperature: float) -> Rounds:
    """Return the panel where nothing can be thrown."""
    return {
        "missing": missing,
        "own": None,
        "verdict": "unsure",
        "words": "",
        "kept": "",
        "drafts": 1,
        "mistake": "none",
        "seed": 0,
        "mistakes": mistakes(temperature),
        "rows": [],
        "rounds": [],
        "apart": [],
        "mean": [],
        "most": [],
        "apart_text": "",
        "alt": "",
    }


def verdict_words(measured: Measured, mistake: str) -> str:
    """Return the verdict as one or two sentences."""
    apart, mean, most = (
        probability(float(each[-1]), _DECIMALS)
        for each in (measured.apart, measured.mean, measured.most)
    )
    honest = f"Draws from p itself lie {mean} from it, 99 of 100 within {most}."
    if measured.verdict == "broken":
        return f"What these rounds write does not follow p: it lies {apart} from it. {honest}"
    if measured.verdict == "unsure":
        return f"Hard to say: {apart} from p, where one honest run in a hundred lies. Throw again."
    if mistake != "none":
        return f"The mistake does not show at this node: {apart} from p. {honest}"
    return f"What these rounds write follows p: it lies {apart} from it. {honest}"


def _lossy(own: Own) -> Lossy:
    words = (
        f"{own.method}, which made this run, has a rule of its own that bends the law. It is not "
        "simulated here: these rounds are of recursive rejection, which is lossless."
    )
    return {"badge": own.badge, "words": words}


def _row(label: Label | None, p: float, shares: Sequence[float]) -> Row:
    return {
        "label": label,
        "p": p,
        "p_text": probability(p),
        "shares": list(shares),
        "text": probability(shares[-1]),
    }


def _rest(
    shown: Sequence[tuple[Label | None, float, Sequence[float]]], stops: int
) -> list[tuple[Label | None, float, list[float]]]:
    """Return all others as one row, where anything is left for them."""
    p = max(0.0, 1.0 - sum(cell[1] for cell in shown))
    shares = [max(0.0, 1.0 - sum(cell[2][stop] for cell in shown)) for stop in range(stops)]
    return [(None, p, shares)] if p > 1e-9 or max(shares) > 1e-9 else []

"""The ladder of rules as bars: what each is called and means, and its acceptance as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from viz.numbers import count, probability

Value = tuple[float, float | None]  # acceptance; how far an estimate may be off, None: exact
_NEAR = 0.01  # the ladder and the inspector may be so far apart without a word


@dataclass(frozen=True, slots=True)
class Selecting:
    """How one of several drafts is selected: `weighted`, in proportion to p/q, else by a linear
    program between `free` tokens; planned for `alphabet` tokens, 0: all. `of_run`: the run did so.
    """

    free: int
    alphabet: int
    weighted: bool
    of_run: bool

    @property
    def tag(self) -> str:
        return "" if self.weighted else f"{count(self.free, 'token')} free"


@dataclass(frozen=True, slots=True)
class Standard:
    """The overlap of p and q at a node: from the laws asked for `here`, and as the run recorded it;
    `why` they can differ, as a sentence.
    """

    here: float
    recorded: float | None
    why: str


class Bar(TypedDict):
    value: float
    margin: float | None  # how far an estimate may be off; None: exact
    text: str
    note: str  # exact, or estimated to within what


class Row(TypedDict):
    name: str
    definition: str
    tag: str  # what cuts the rule short here, said on its bar, or empty
    bound: bool  # the most that any rule reaches with such drafts
    bars: list[Bar]  # for 1, 2, ... drafts


class Group(TypedDict):
    head: str
    rows: list[Row]


class Ladder(TypedDict):
    """`missing`: why there is none, or empty. `bridge`: how the ladder stands to the inspector's
    overlap, where they differ, or empty.
    """

    groups: list[Group]
    drafts: int  # to begin with
    bridge: str
    missing: str


_SELECTION = "independent/selection"
_OPTIMUM = (
    "no rule accepts more of such drafts: 1 + min over sets H of p(H) − Q(H), where Q(H) is the "
    "chance that all of them lie in H."
)
_GROUPS: Sequence[tuple[str, Sequence[tuple[str, str, str]]]] = (
    (
        "One draft",
        (
            (
                "one/standard",
                "Standard",
                "A draft x from q stays with probability min(1, p/q): Σ min(p, q) in all.",
            ),
        ),
    ),
    (
        "Drawn with replacement",
        (
            (
                "independent/naive",
                "Naive membership",
                "Draw a token from p; it counts when it is among the drafts.",
            ),
            (
                "independent/recursive",
                "Recursive rejection",
                "Try the drafts one by one, each against what the misses before it left of p "
                "(SpecInfer).",
            ),
            (
                "independent/k_seq",
                "K-SEQ",
                "Try the drafts in order, each against p / (ρ q), with the smallest ρ that keeps "
                "the law (SpecTr).",
            ),
            (_SELECTION, "Importance selection", ""),  # said by `_selecting`
            ("independent/optimum", "Optimum", f"With replacement, {_OPTIMUM}"),
        ),
    ),
    (
        "Drawn without replacement",
        (
            (
                "distinct/naive",
                "Naive membership",
                "Draw a token from p; it counts when it is among the drafts, all different.",
            ),
            (
                "distinct/recursive",
                "Recursive rejection",
                "Try the drafts one by one, each against what the misses before it left of p; "
                "tokens tried leave q (RSD, Sequoia, MCSD).",
            ),
            ("distinct/optimum", "Optimum", f"Without replacement, {_OPTIMUM}"),
        ),
    ),
    (
        "Favourites of q, the last one drawn",
        (
            (
                "top_and_one/naive",
                "Naive membership",
                "Draw a token from p; it counts when it is a favourite or the one drawn.",
            ),
            (
                "top_and_one/recursive",
                "Recursive rejection",
                "Try the favourites first, as fixed drafts, then the one drawn.",
            ),
            (
                "top_and_one/optimum",
                "Optimum",
                "Try the one drawn first; what remains of p falls on the favourites: no rule "
                "accepts more of such drafts (greedy draft sampling).",
            ),
        ),
    ),
    (
        "Favourites of q only",
        (
            (
                "deterministic/one_hot",
                "Fixed drafts",
                "Nothing is drawn: p of the favourites together, which no rule exceeds.",
            ),
        ),
    ),
)


def ladder(
    rungs: Sequence[Mapping[str, Value]], drafts: int, selecting: Selecting, standard: str = ""
) -> Ladder:
    """Return the bars of `rungs` {name: acceptance}, for 1, 2, ... drafts; `drafts` is shown first.

    A rule without a value, or of no name known here, is left out. `selecting`: how drafts are
    selected where one is; `standard`: what `bridge` says.
    """
    groups: list[Group] = []
    for head, rows in _GROUPS:
        known = [row for row in rows if all(row[0] in each for each in rungs)]
        told = [(key, name, words or _selecting(selecting)) for key, name, words in known]
        if told:
            groups.append({"head": head, "rows": [_row(*row, rungs, selecting) for row in told]})
    first = min(max(drafts, 1), len(rungs))
    return {"groups": groups, "drafts": first, "bridge": standard, "missing": ""}


def bridge(standard: Standard) -> str:
    """Say how far the ladder's single draft is from the inspector's overlap, or nothing."""
    here, recorded = standard.here, standard.recorded
    if recorded is None or abs(here - recorded) <= _NEAR:
        return ""
    return (
        f"Standard is {probability(here)} here, and the inspector's overlap {probability(recorded)}"
        ": the same quantity, from the laws asked for now and from those of the run. "
        f"{standard.why}"
    )


def _selecting(how: Selecting) -> str:
    """Return what importance selection does, and whose settings it was computed with."""
    whose = "the settings of this run" if how.of_run else "more than the method has by default"
    tokens = f"{how.alphabet:,} tokens" if how.alphabet else "all tokens"
    if how.weighted:
        way = "in proportion to p/q"
        size = f"{tokens} planned for, or as many as that many drafts allow"
        cut = ""
    else:
        way = "by a linear program"
        size = f"{how.tag}, {tokens} planned for"
        cut = (
            " Cut short: a fixed order decides all tokens that are not free, and of three or more "
            "drafts two meet at a time, so that it can stop growing and even fall below recursive "
            "rejection. The paper's rule in full reaches the optimum."
        )
    return (
        f"Select one of the drafts {way}, then test it alone against the law of the token selected "
        f"(canonical decomposition; {size}: {whose}).{cut}"
    )


def no_ladder(method: str) -> Ladder:
    """Return the ladder of a method whose drafts follow no law, which says so."""
    return {"groups": [], "drafts": 1, "bridge": "", "missing": no_law(method)}


def no_law(method: str) -> str:
    return (
        f"{method} has no draft law: what it drafts is copied, or nothing is. There is no q to "
        "compare p with."
    )


def _row(
    key: str,
    name: str,
    definition: str,
    rungs: Sequence[Mapping[str, Value]],
    selecting: Selecting,
) -> Row:
    bound = key.endswith("/optimum") or key == "deterministic/one_hot"
    tag = selecting.tag if key == _SELECTION else ""
    bars = [_bar(*each[key]) for each in rungs]
    return {"name": name, "definition": definition, "tag": tag, "bound": bound, "bars": bars}


def _bar(value: float, margin: float | None) -> Bar:
    if margin is None:
        return {"value": value, "margin": None, "text": probability(value), "note": "exact"}
    near = probability(margin)
    note = f"estimated, within {near}"
    return {"value": value, "margin": margin, "text": f"≈ {probability(value)}", "note": note}

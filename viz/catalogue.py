"""The catalogue of methods: entries by family, what they can be filtered by, and what was measured.

Python decides words, numbers, order and what a filter matches; the browser hides and shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TypedDict

from viz.method_entry import Entries, Entry, Measured, Measurement, PlannedEntry
from viz.numbers import count, factor, percent
from viz.payload import Badge, Run
from viz.prose import Paragraph, Words, linked, paragraphs, words
from viz.sentence import Strong, say

FACTS = (
    ("drafter", "Drafter"),
    ("shape", "Tree shape"),
    ("stopping", "Stop rule"),
    ("rule", "Verification"),
    ("trained", "Trained"),
)  # what an entry says it is made of, in this order: name in the address, words
_KINDS = {"drafter": "drafter", "shape": "shape", "stopping": "stop", "rule": "rule"}
_TRAINED = {
    "nothing": "nothing",
    "draft model": "a draft model",
    "heads": "heads on the target",
    "adapter": "an adapter on the target",
    "stop rule": "the stop rule",
}
_LAWS = {"lossless": "Lossless", "lossy": "Lossy"}
_FAMILIES = {
    "baseline": ("Baseline", "What all others are measured against."),
    "independent drafter": (
        "Independent drafters",
        "A model that owes the target nothing writes the draft.",
    ),
    "dependent drafter": (
        "Dependent drafters",
        "Layers or states of the target write the draft.",
    ),
    "probability": ("Drafting by probability", "Which tokens may be drafted at all."),
    "search": ("Drafting by search", "What is drafted is looked up."),
    "tree and graph": ("Trees", "Several candidates for a place, checked in one pass."),
    "hybrid and adaptive": (
        "Adaptive drafts",
        "How long or wide a draft grows is decided while it grows.",
    ),
    "verification": ("Verification", "Which drafted tokens stay."),
    "serving": ("Serving", "Many requests, or many devices."),
    "workbench": ("Workbench", "Any parts together, to see what each does."),
}
_NO_PAPER = "No paper."
_NO_NUMBERS = "No number that could be checked."


class Option(TypedDict):
    value: str
    words: str


class Filter(TypedDict):
    """One choice; `name` stands in the address."""

    name: str
    label: str
    options: list[Option]


class Fact(TypedDict):
    """A part, linked to all methods that share it. `value` is empty where there is none."""

    name: str
    label: str
    value: str
    text: str
    idea: str
    more: str


class Pair(TypedDict):
    """At one temperature: what was promised, tokens per target pass, and what came of it, speed."""

    label: str
    tokens: float
    tokens_text: str
    speed: float
    low: float
    high: float
    speed_text: str
    words: str


class Number(TypedDict):
    number: str
    words: str


class Line(TypedDict):
    written: str
    words: str


class Card(TypedDict):
    """One method; `filters` by name, `search` in small letters."""

    key: str
    name: str
    badge: Badge
    idea: list[Words]
    cited: list[Words]
    facts: list[Fact]
    pairs: list[Pair]
    unmeasured: list[Words]
    reported: list[Number]
    unreported: str
    about: list[Paragraph]
    settings: list[Line]
    command: str
    comparable: bool  # with plain decoding
    filters: dict[str, str]
    search: str


class Planned(TypedDict):
    name: str
    cited: list[Words]
    idea: str
    family: str
    family_words: str
    search: str


class Family(TypedDict):
    key: str
    head: str
    branch: str  # of the survey, or empty
    note: str
    cards: list[Card]


class Catalogue(TypedDict):
    sentence: list[Run]
    source: str
    legend: dict[str, str]  # by mark: delivered, promised, one
    most: float  # where the axis of the pairs ends
    filters: list[Filter]
    families: list[Family]
    planned_head: str
    planned_note: str
    planned: list[Planned]
    note: list[Words]  # where the families are from


def catalogue(entries: Entries, measurement: Measurement | None) -> Catalogue:
    """Return the page; `measurement`: the last one, None where there is none."""
    rows = {} if measurement is None or measurement.void else _by_method(measurement.methods)
    cards = {
        entry.key: _card(entry, rows.get(entry.key, []), measurement) for entry in entries.methods
    }
    by_family = [
        (family, [cards[e.key] for e in entries.methods if e.family == family])
        for family in entries.families
    ]
    return {
        "sentence": _sentence(entries.methods, rows),
        "source": _source(measurement),
        "legend": {
            "delivered": "speed, with its 95 % interval",
            "promised": "tokens per target pass",
            "one": "plain decoding; T: temperature",
        },
        "most": _most(rows),
        "filters": _filters(entries),
        "families": [_family(family, found) for family, found in by_family if found],
        "planned_head": "Planned",
        "planned_note": f"{count(len(entries.planned), 'method')} that cannot be run here yet.",
        "planned": [_planned(entry) for entry in entries.planned],
        "note": words(
            "Families are the branches of the survey by Ryu and Kim (arXiv 2411.13157), as others "
            "sum it up; verification and serving were added, and the placing is ours."
        ),
    }


def _by_method(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {}
    for row in sorted(rows, key=lambda row: row.temperature):
        found.setdefault(row.method, []).append(row)
    return found


def _sentence(methods: Sequence[Entry], rows: Mapping[str, Sequence[Measured]]) -> list[Run]:
    lossless = sum(method.lossless for method in methods)
    there_are = f"{count(len(methods), 'method')}, {lossless} of them lossless"
    known = [rows[method.key][0] for method in methods if method.key in rows]
    if not known:
        return say(Strong(there_are), "; none has been measured here yet.")
    faster = sum(row.plain_over.low > 1 for row in known)
    slower = sum(row.plain_over.high < 1 for row in known)
    passes = [row.tokens_per_pass for row in known]
    return say(
        Strong(
            f"{_number_of(faster)} of the {len(known)} methods measured here "
            f"{'is' if faster < 2 else 'are'} clearly faster than plain decoding"
        ),
        f", and {_number_of(slower).lower()} clearly slower, though they write "
        f"{min(passes):.1f} to {max(passes):.1f} tokens per target pass: half of them spend more "
        f"than {percent(median(row.draft for row in known))} of their time on drafting.",
    )


def _number_of(number: int) -> str:
    return str(number) if number else "None"


def _source(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    machine, model = measurement.machine, measurement.model
    made = (
        f"{measurement.date}, {machine.processor}, {count(machine.threads, 'thread')}: {model.id}, "
        f"{model.dtype} on {model.device}"
    )
    if measurement.void:
        return (
            f"The measurement of {made} is void: plain decoding differed from itself by more than "
            "5 %."
        )
    return (
        f"Measured on {made}; {count(measurement.prompts, 'prompt')} of "
        f"{count(measurement.tokens, 'token')}, each method with its defaults and in turn with "
        "plain decoding, both recorded in full. The sentence is about temperature 0; clearly: the "
        "whole interval lies on one side."
    )


def _most(rows: Mapping[str, Sequence[Measured]]) -> float:
    """Return where the axis ends: at a whole number beyond all values."""
    values = [max(r.tokens_per_pass, r.plain_over.high) for found in rows.values() for r in found]
    return float(int(max(values, default=1)) + 1)


def _filters(entries: Entries) -> list[Filter]:
    cards = [_matches(entry) for entry in entries.methods]
    families = {entry.family for entry in entries.methods}
    named = {
        "family": {family: _head(family) for family in entries.families if family in families},
        "law": _LAWS,
        "trained": _TRAINED,
        **{
            name: {
                piece.key: piece.name
                for entry in entries.methods
                if (piece := entry.parts.get(kind)) is not None
            }
            for name, kind in _KINDS.items()
        },
    }
    labels = {"family": "Family", "law": "Text", **dict(FACTS)}
    order = ("family", "law", "trained", *_KINDS)
    return [
        {
            "name": name,
            "label": labels[name],
            "options": [
                {"value": value, "words": told}
                for value, told in named[name].items()
                if any(card[name] == value for card in cards)
            ],
        }
        for name in order
    ]


def _matches(entry: Entry) -> dict[str, str]:
    parts = {
        name: entry.parts[kind].key if kind in entry.parts else "" for name, kind in _KINDS.items()
    }
    law = "lossless" if entry.lossless else "lossy"
    return {"family": entry.family, "law": law, "trained": entry.trained, **parts}


def _family(family: str, cards: list[Card]) -> Family:
    return {
        "key": family,
        "head": _head(family),
        "branch": family.partition(": ")[0] if ": " in family else "",
        "note": _FAMILIES[_leaf(family)][1],
        "cards": cards,
    }


def _leaf(family: str) -> str:
    return family.rpartition(": ")[2]


def _head(family: str) -> str:
    return _FAMILIES[_leaf(family)][0]


def _card(entry: Entry, rows: Sequence[Measured], measurement: Measurement | None) -> Card:
    return {
        "key": entry.key,
        "name": entry.name,
        "badge": {
            "lossless": entry.lossless,
            "word": _LAWS["lossless" if entry.lossless else "lossy"],
            "meaning": "The text has the target's own law"
            if entry.lossless
            else "The text may have another law than the target's",
        },
        "idea": words(_idea(entry)),
        "cited": _cited(entry),
        "facts": [_fact(entry, name, label) for name, label in FACTS],
        "pairs": [_pair(row) for row in rows],
        "unmeasured": [] if rows else _unmeasured(entry, measurement),
        "reported": [
            {"number": each.number, "words": f"{each.counts} ({each.on})"}
            for each in entry.reported
        ],
        "unreported": "" if entry.reported or "drafter" not in entry.parts else _unreported(entry),
        "about": paragraphs(entry.about),
        "settings": [{"written": each.written, "words": each.words} for each in entry.settings],
        "command": f"python -m app run --method {entry.key}",
        "comparable": entry.parts.get("drafter") is not None,
        "filters": _matches(entry),
        "search": _search(entry),
    }


def _idea(entry: Entry) -> str:
    """Return the idea without the name, which stands above it."""
    idea = entry.idea.removeprefix(f"{entry.name}: ")
    return idea[:1].upper() + idea[1:]


def _cited(entry: Entry) -> list[Words]:
    if not entry.citation:
        return linked(entry.paper.capitalize() + ".", entry.url)
    return words(entry.citation)


def _fact(entry: Entry, name: str, label: str) -> Fact:
    if name == "trained":
        value, text, idea = entry.trained, _TRAINED[entry.trained], "By its paper."
    else:
        piece = entry.parts.get(_KINDS[name])
        value, text, idea = (piece.key, piece.name, piece.idea) if piece else ("", "none", "")
    more = "or any other" if name == "drafter" and entry.any_drafter else ""
    return {"name": name, "label": label, "value": value, "text": text, "idea": idea, "more": more}


def _pair(row: Measured) -> Pair:
    speed = row.plain_over
    interval = f"{speed.low:.2f} to {speed.high:.2f}"
    return {
        "label": f"T {row.temperature:g}",
        "tokens": row.tokens_per_pass,
        "tokens_text": f"{row.tokens_per_pass:.1f}",
        "speed": speed.median,
        "low": speed.low,
        "high": speed.high,
        "speed_text": factor(speed.median),
        "words": f"Temperature {row.temperature:g}: {row.tokens_per_pass:.2f} tokens per target "
        f"pass, {speed.median:.2f} times the speed of plain decoding ({interval}).",
    }


def _unmeasured(entry: Entry, measurement: Measurement | None) -> list[Words]:
    if "drafter" not in entry.parts:
        return words("It is what the others are measured against.")
    why = measurement.left_out.get(entry.key, "") if measurement is not None else ""
    return words(f"Not measured yet. {why}".strip())


def _unreported(entry: Entry) -> str:
    return _NO_NUMBERS if entry.citation else _NO_PAPER


def _search(entry: Entry) -> str:
    named = [part for piece in entry.parts.values() for part in (piece.name, piece.key)]
    told = (entry.key, entry.name, entry.idea, entry.citation, entry.paper, entry.about)
    return " ".join((*told, str(entry.year), _head(entry.family), *named)).lower()


def _planned(entry: PlannedEntry) -> Planned:
    return {
        "name": entry.name,
        "cited": linked(entry.paper, entry.url),
        "idea": entry.idea,
        "family": entry.family,
        "family_words": _head(entry.family),
        "search": " ".join((entry.key, entry.name, entry.paper, entry.idea)).lower(),
    }

"""The heads of the compared methods: name, settings in a few words, badge, how far each is.

Knows no method by name, only what settings are usually called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from core.trace import Trace
from viz.compare.entry import Entry
from viz.compare.payload import Method
from viz.numbers import count
from viz.overview import badge
from viz.payload import Badge
from viz.settings import Value, shown

LIVE = frozenset({"waiting", "running"})  # nothing final can be said of these


def methods(entries: Sequence[Entry]) -> list[Method]:
    """Return the heads in the order of choosing; the first is the reference."""
    greedy = any(each.trace and not each.trace.sampling.temperature for each in entries)
    return [
        {
            "run": each.run,
            "key": each.key,
            "name": each.name,
            "note": note,
            "badge": badge(each.trace) if each.trace else _promise(each.lossless, greedy),
            "plain": place == 0,
            "status": each.status,
            "words": each.words,
            "rounds": len(each.trace.rounds) if each.trace else 0,
        }
        for place, (each, note) in enumerate(zip(entries, notes(entries), strict=True))
    ]


def notes(entries: Sequence[Entry]) -> list[str]:
    """Return the settings of each in a few words: its sizes, and what tells it from others of the
    same method.
    """
    return [
        ""
        if each.trace is None
        else _note(each.trace, [o.trace for o in entries if o.trace and o.key == each.key])
        for each in entries
    ]


def names(entries: Sequence[Entry]) -> list[str]:
    """Return what each is called within a sentence: with its settings where a name occurs twice."""
    told = Counter(each.name for each in entries)
    return [
        f"{each.name} ({note})" if note and told[each.name] > 1 else each.name
        for each, note in zip(entries, notes(entries), strict=True)
    ]


def is_lossless(entry: Entry) -> bool:
    """Return what its record says, or what the method says of itself."""
    return entry.trace.lossless if entry.trace else entry.lossless


def listed(values: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"


def _promise(lossless: bool, greedy: bool) -> Badge:
    if not lossless:
        return {"lossless": False, "word": "Lossy", "meaning": "Not the law of plain sampling"}
    same = "Same text as greedy" if greedy else "Same law as plain sampling"
    return {"lossless": True, "word": "Lossless", "meaning": same}


def _note(trace: Trace, same_method: Sequence[Trace]) -> str:
    config = trace.config
    sizes = _sizes(config)
    parts = list(sizes.values())
    for key, value in config.items():
        differs = any(other.config.get(key) != value for other in same_method)
        if key not in sizes and (differs or _decides(key, value)):
            parts.append(f"{_called(trace, key)} {shown(value)}")
    return ", ".join(parts)


def _decides(key: str, value: Value) -> bool:
    return key == "threshold" and value is not None


def _called(trace: Trace, key: str) -> str:
    title = trace.config_names.get(key) or key.replace("_", " ")
    return title[:1].lower() + title[1:]


def _sizes(config: Mapping[str, Value]) -> dict[str, str]:
    """Return by setting how much a round drafts: `4 tokens`, `tree 4 · 2 · 2`, `24 nodes`."""
    found: dict[str, str] = {}
    for key, noun in (("drafts", "draft"), ("length", "token"), ("nodes", "node")):
        value = config.get(key)
        if type(value) is int:
            found[key] = count(value, noun)
    budget, tree = config.get("budget"), config.get("tree")
    if type(budget) is int:
        found["budget"] = count(budget, "node")
    if isinstance(tree, list):
        found["tree"] = f"tree {shown(tree)}"
    elif isinstance(tree, str) and tree.split():
        found["tree"] = count(len(tree.split()), "node")
    return found

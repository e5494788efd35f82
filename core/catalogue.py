"""The parts of methods by name, as a catalogue tells of them: those that anything may be built from
(`core.parts`), and those that only one method can use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.parts import heads, rules, shapes, stops

Kind = Literal["drafter", "shape", "rule", "stop"]
_OF_ONE: Mapping[Kind, Mapping[str, tuple[str, str]]] = {
    "drafter": {
        "skip": (
            "The target, layers skipped",
            "The target itself without some of its layers, on its own keys and values.",
        ),
        "model": ("A second model", "A small language model with the target's tokens."),
        "lookup": ("Copies from the text", "What followed the same words earlier in the text."),
    },
    "shape": {
        "strands": (
            "Strands",
            "Several first tokens from the target's own last law, each continued on its own.",
        )
    },
    "rule": {},
    "stop": {
        "decision": (
            "Decision model",
            "Stop once a small trained model expects no strand to stay.",
        )
    },
}


@dataclass(frozen=True, slots=True)
class Named:
    """A part: `idea` in one sentence."""

    key: str
    name: str
    idea: str


def named(kind: Kind, key: str) -> Named:
    """Return what a part is called; raise KeyError where there is none."""
    if key in _OF_ONE[kind]:
        return Named(key, *_OF_ONE[kind][key])
    part = {"drafter": heads, "shape": shapes, "rule": rules, "stop": stops}[kind]()[key]
    return Named(part.key, part.name, part.idea)

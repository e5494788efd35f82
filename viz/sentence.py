"""Sentences as pieces, so that token text stays data: a string is text, a label is a token."""

from __future__ import annotations

from dataclasses import dataclass

from viz.payload import Label, Run
from viz.text import alone


@dataclass(frozen=True, slots=True)
class Strong:
    """A clause set in bold."""

    text: str


Part = str | Strong | Label


def say(*parts: Part) -> list[Run]:
    """Return the pieces of a sentence; empty strings are left out."""
    runs: list[Run] = []
    for part in parts:
        if isinstance(part, Strong):
            runs.append({"text": part.text, "style": "strong"})
        elif not isinstance(part, str):
            runs.append({"text": named(part), "style": "token"})
        elif part:
            runs.append({"text": part, "style": "text"})
    return runs


def named(label: Label) -> str:
    """Return a token within a sentence, in quotes where it would read as the sentence's marks."""
    text = alone(label)
    return text if any(character.isalnum() for character in text) else f"“{text}”"


def plain(runs: list[Run]) -> str:
    """Return a sentence as text."""
    return "".join(run["text"] for run in runs)

"""A trace as text for a terminal: the overview, then every round. Writes no control sequence.

What a person or a model wrote passes through the same marks as on the page, so that it cannot drive
the terminal either.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from core.trace import Trace
from viz.ledger import darts
from viz.outline import GLYPHS, outline
from viz.overview import overview
from viz.payload import Dart, Label, Overview, Section, StripRound
from viz.reading import OWN, Reading, read, vocabulary
from viz.sentence import plain
from viz.text import Vocabulary, alone, visible
from viz.words import headline

_WIDTH = 100


def render(trace: Trace, rounds: Iterable[int] | None = None, trees: bool = False) -> str:
    """Return the overview and the given rounds, all by default; `trees` adds each draft tree."""
    words = vocabulary(trace)
    parts = [render_overview(trace, words)]
    for index in range(len(trace.rounds)) if rounds is None else rounds:
        parts.append(render_round(trace, index, trees, words))
    return "\n\n".join(parts) + "\n"


def render_overview(trace: Trace, words: Vocabulary | None = None) -> str:
    """Return the sentence on top, the settings, the text and both charts in words."""
    found = overview(trace, words=words)
    badge = found["badge"]
    settings = ", ".join(f"{s['label'].lower()} {s['value']}" for s in found["settings"])
    parts = [
        _wrapped(f"{found['title']} · {found['method_name']}"),
        _wrapped(plain(found["sentence"])),
        _wrapped(f"{found['source']}. {badge['word']}: {_lowered(badge['meaning'])}."),
        _wrapped(f"Settings: {settings}."),
        _text(found),
        *(_charted(found[name]) for name in ("timeline", "acceptance")),
        _wrapped(found["finish"]),
    ]
    return "\n".join(part for part in parts if part)


def render_round(
    trace: Trace, index: int, tree: bool = True, words: Vocabulary | None = None
) -> str:
    """Return one round: its headline, the tokens won, a line per dart and, if asked, the tree."""
    words = words or vocabulary(trace)
    reading = read(trace, index, words)
    lines = [_wrapped(f"Round {reading.round.index}: {headline(reading)}"), f"  {_won(reading)}"]
    rows = darts(reading)
    width = min(24, max((len(alone(row["label"])) for row in rows), default=0))
    lines += [_dart(row, width) for row in rows]
    if tree:
        lines += [f"  {line}" for line in outline(reading)]
    return "\n".join(lines)


def _won(reading: Reading) -> str:
    """Return the tokens that joined the text, the target's own one with its mark."""
    path = reading.round.outcome.accepted
    kept = "".join(_flowing(reading.label(node)) for node in path).strip()
    if reading.own is None:
        return kept or "no token"
    own = _flowing(reading.label(OWN)).strip()
    return f"{kept} {_mark(reading)} {own}".strip()


def _mark(reading: Reading) -> str:
    origin = reading.round.outcome.origin
    return GLYPHS["plain" if origin == "none" else origin]


def _dart(row: Dart, width: int) -> str:
    token = alone(row["label"])[:24].ljust(width)
    state = f"{GLYPHS[row['state']]} {token}"
    numbers = f"{row['numbers']:<22}" + (f"{row['u_text']:<10}" if row["u_text"] else "")
    return f"  {row['number']:>3} {state}  {numbers}{row['verdict']}"


def _text(found: Overview) -> str:
    """Return the text, a bar between rounds."""
    rounds = [_round_text(r) for r in found["strip"]]
    return _wrapped("|".join(rounds).replace("| ", " | ").strip())


def _round_text(r: StripRound) -> str:
    return "".join(_flowing(token["label"]) for token in r["tokens"])


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _flowing(label: Label) -> str:
    return (" " if label["space"] else "") + label["text"]


def _charted(section: Section) -> str:
    told = " ".join(part for part in (section["alt"], section["foot"]) if part)
    return _wrapped(f"{section['head']}: {told}") if told else ""


def _wrapped(text: str) -> str:
    return textwrap.fill(visible(text)["text"], _WIDTH, subsequent_indent="  ")

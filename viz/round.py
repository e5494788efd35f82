"""Everything that the page shows of one round, as one payload."""

from __future__ import annotations

from core.trace import Trace
from viz.inspector import inspector
from viz.layout import lay_out
from viz.ledger import darts, ledger_head, ledger_note
from viz.payload import Label, RoundView
from viz.pictures import pictures
from viz.reading import OWN, Reading, read, text_before
from viz.states import present
from viz.text import Vocabulary, shortened
from viz.tree import depth_heads, tree_nodes
from viz.words import headline, list_note, note


def round_view(trace: Trace, index: int, words: Vocabulary | None = None) -> RoundView:
    """Return round `index` of the trace, from 0; `words` shares labels between rounds."""
    reading = read(trace, index, words)
    layout = lay_out(reading)
    nodes = tree_nodes(reading, layout)
    drawn = pictures(reading)
    return {
        "index": reading.round.index,
        "headline": headline(reading),
        "note": note(reading),
        "list_note": list_note(reading),
        "root": root_label(reading, index),
        "depths": depth_heads(reading),
        "rows": layout.rows,
        "nodes": nodes,
        "states": present(reading),
        "darts": darts(reading),
        "ledger_head": ledger_head(reading),
        "ledger_note": ledger_note(reading),
        "inspectors": [inspector(reading, node["id"]) for node in nodes],
        "focus": focus(reading),
        "picture": drawn[0] if drawn else None,
        "more_pictures": drawn[1:],
    }


def focus(reading: Reading) -> int:
    """Return the node to inspect first: the first one tested, else the target's own token."""
    if reading.round.checks:
        return reading.round.checks[0].node
    return 0 if reading.own is None else OWN


def root_label(reading: Reading, index: int) -> Label:
    """Return the end of the text before the round: its last two tokens."""
    tokens = text_before(reading.trace, index, 4)
    labels = [each.label for each in reading.vocabulary.flow(tokens)][-2:]
    text = "".join((" " if label["space"] else "") + label["text"] for label in labels).strip()
    more = "… " if reading.round.prefix_length > 2 else ""
    return shortened({"text": more + text, "space": False, "special": False, "breaks": 0})

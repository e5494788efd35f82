"""Where several drafters stand at one node, the words say whose draft it is."""

from __future__ import annotations

import re

from tests.merged import recorded
from tests.viz.toy_rounds import readings, shown
from viz.reading import read
from viz.rules import rule
from viz.sentence import plain
from viz.settings import source


def test_each_test_names_the_drafter_whose_law_it_was_against() -> None:
    seen: set[str] = set()
    for made in recorded(1.0):
        reading = read(shown([made], 1.0), 0)
        for check in made.checks:
            source, words = made.nodes.source[check.node], plain(rule(reading, check.node))
            (name,) = re.findall(r"[Tt]he drafter (\w+) g", words)
            tests = sum(other.node == check.node for other in made.checks)
            assert name == source.split("+")[tests - 1]
            seen.add(name)
    assert seen == {"a", "b"}


def test_all_drafters_are_named_above_the_text() -> None:
    told = source(shown([made for made in recorded(1.0) if made.drafted], 1.0))
    assert " drafted by a and b" in told or " drafted by b and a" in told


def test_one_drafter_has_no_name() -> None:
    for reading in readings("specinfer", {"tree": [2, 1]}):
        for check in reading.round.checks:
            assert "drafter" not in plain(rule(reading, check.node))

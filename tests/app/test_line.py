"""The waiting line: order kept, places told, nobody stuck."""

from __future__ import annotations

import pytest

from app.line import Line, LineFullError


def test_the_first_runs_and_the_others_know_their_place() -> None:
    line = Line(at_once=1, waiting=5)
    for ticket in "abc":
        line.join(ticket)
    assert [line.ahead(ticket) for ticket in "abc"] == [0, 1, 2]
    line.leave("b")
    assert [line.ahead(ticket) for ticket in "ac"] == [0, 1]
    line.leave("a")
    assert line.ahead("c") == 0


def test_as_many_run_at_once_as_allowed() -> None:
    line = Line(at_once=2, waiting=5)
    for ticket in "abcd":
        line.join(ticket)
    assert [line.ahead(ticket) for ticket in "abcd"] == [0, 0, 1, 2]


def test_a_full_line_refuses_with_a_sentence_and_takes_the_next_after_one_left() -> None:
    line = Line(at_once=1, waiting=1)
    line.join("a")
    line.join("b")
    with pytest.raises(LineFullError, match="2 runs are in line"):
        line.join("c")
    line.leave("a")
    line.join("c")
    assert line.ahead("c") == 1


def test_leaving_twice_is_no_harm() -> None:
    line = Line(at_once=1, waiting=1)
    line.join("a")
    line.leave("a")
    line.leave("a")
    assert len(line) == 0

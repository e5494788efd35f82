"""Acceptance of rules that throw darts at the whole draft says which of them it leaves out."""

from __future__ import annotations

import re

import pytest

from app.commands.summary import summary_lines
from core.metrics import acceptance_rate
from tests.tree_rounds import toy_trace
from viz.acceptance import acceptance, not_counted

WHOLE = [("block_verification", {"length": 6}), ("dynasd", {"tree": [3, 1, 1], "stop": "never"})]
IN_TURN = [("speculative_sampling", {"length": 6}), ("mcsd", {}), ("spectr", {})]


@pytest.mark.parametrize(("key", "values"), WHOLE)
def test_darts_that_do_not_count_are_counted_in_the_panel_and_on_the_command_line(
    key: str, values: dict[str, object]
) -> None:
    trace = toy_trace(key, values)
    said = not_counted(trace)
    left, made = map(int, re.findall(r"\d+", said))
    thrown = sum(len(r.checks) for r in trace.rounds)
    assert (made, made - left) == (thrown, acceptance_rate(trace).counts[1])
    assert 0 < left < made
    assert acceptance(trace)["foot"].endswith(said)
    lines = summary_lines(trace, 80)
    assert " ".join(lines).endswith(said)
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize(("key", "values"), IN_TURN)
def test_rules_that_go_token_by_token_leave_nothing_out(
    key: str, values: dict[str, object]
) -> None:
    trace = toy_trace(key, values)
    assert not_counted(trace) == ""
    assert "not counted" not in acceptance(trace)["foot"]

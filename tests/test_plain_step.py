"""The time of a plain step is the usual one, and never more than a wider pass took."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.run import _plain_step  # pyright: ignore[reportPrivateUsage]
from core.trace import Round
from tests import sample_traces

ROUND = next(r for r in sample_traces.chain().rounds if r.drafted)


def made(verify: float, plain: float | None = None, reused: int = 0) -> Round:
    cost = replace(ROUND.cost, verify_ms=verify, plain_step_ms=plain, sublayers_reused=reused)
    return replace(ROUND, cost=cost)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([made(40)], None),
        ([made(40, 20)], 20),
        ([made(40, 20), made(40, 22), made(40, 90)], 22),
        ([made(40, 20), made(40, 90)], 20),
        ([made(40, 276), made(69)], 40),
        ([made(30, 276, reused=24)], 50),
        ([made(30, 20, reused=60)], 20),
    ],
)
def test_one_slow_first_pass_is_not_the_usual_time(
    rounds: list[Round], expected: float | None
) -> None:
    assert _plain_step(rounds, 60) == expected

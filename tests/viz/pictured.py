"""What tests of a method's own picture share: a run of the toys, its picture, and parts of a
figure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import pytest
from msgspec.structs import replace

from core.extras import Extras
from core.registry import get
from core.run import Request, Run
from core.trace import Trace
from core.trace_io import dumps, loads
from core.validate import TraceError, validate
from tests.app.toys import toy_engine
from viz.payload import Figure, Picture
from viz.reading import Reading, read

E = TypeVar("E")
Draw = Callable[[Reading], Picture | None]


def run(
    method: str, temperature: float = 0.8, seed: int = 4, tokens: int = 24, **config: object
) -> Trace:
    """Return the trace of a run of the toys, drafted by the second one where there is a choice."""
    drafter = {"drafter": "model"} if "drafter" in get(method).config.model_fields else {}
    request = Request(
        prompt="sky",
        method=get(method),
        config={**drafter, **config},
        temperature=temperature,
        seed=seed,
        max_new_tokens=tokens,
    )
    made = Run(request, toy_engine(), lambda: 0.0, "2026-11-30T00:00:00+00:00")
    for _ in made:
        pass
    return made.trace()


def shown(trace: Trace, draw: Draw, kind: type[E], index: int = 1) -> tuple[Picture, Reading, E]:
    """Return picture, reading and the method's own record of a round that has them."""
    reading = read(trace, index)
    picture = draw(reading)
    assert picture is not None
    (extra,) = (each for each in reading.round.extras if isinstance(each, kind))
    return picture, reading, extra


def figure_of(picture: Picture | None) -> Figure:
    assert picture is not None
    figure = picture["section"]["figure"]
    assert figure is not None
    return figure


def parts(figure: Figure, name: str) -> list[dict[str, object]]:
    """Return the traces of that name."""
    return [trace for trace in figure["data"] if trace.get("name") == name]


def part(figure: Figure, name: str) -> dict[str, object]:
    """Return the one trace of that name."""
    (found,) = parts(figure, name)
    return found


def column(figure: Figure, name: str, key: str = "x") -> list[float]:
    return cast(list[float], part(figure, name)[key])


def with_extras(trace: Trace, extras: Sequence[Extras], index: int = 1) -> Trace:
    """Return the trace with other blocks in one round."""
    rounds = list(trace.rounds)
    rounds[index] = replace(rounds[index], extras=list(extras))
    return replace(trace, rounds=rounds)


def has_none_without_its_block(trace: Trace, draw: Draw) -> bool:
    """Return whether a round of another method has no such picture."""
    return draw(read(with_extras(trace, []), 1)) is None


def assert_kept_and_guarded(trace: Trace, wrong: Sequence[Extras], words: str) -> None:
    """Check that the file gives the record back, and that `wrong` blocks are refused."""
    assert loads(dumps(trace)) == trace
    for block in wrong:
        with pytest.raises(TraceError, match=words):
            validate(with_extras(trace, [block]))


def assert_token_text_is_data(trace: Trace, draw: Draw) -> None:
    """Check that no token is markup, a formula or a colour of the theme."""
    spelled = dict.fromkeys(trace.vocabulary, b"@kept<b>$x$")
    text = repr(figure_of(draw(read(replace(trace, vocabulary=spelled), 1))))
    assert "<b>$" not in text
    assert "@kept<" not in text
    assert "&#64;kept&lt;b&gt;" in text

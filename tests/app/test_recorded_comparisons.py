"""The comparisons that come along: what the page opens with, in little space."""

from __future__ import annotations

from functools import cache

import pytest

from app.comparisons import FOLDER, RecordedComparisons
from app.record_comparisons import COMPARISONS, Recorded, record
from core.compare.comparison import Comparison
from core.compare.files import read
from core.compare.verdict import verdict
from core.compare.waterfall import waterfall
from core.trace import token_ids
from tests.app.toys import toy_engine

MOST_BYTES = 1_500_000  # of all together
FILES = sorted(FOLDER.glob("*.json.gz"))
every = pytest.mark.parametrize("place", range(len(COMPARISONS)), ids=lambda i: COMPARISONS[i].name)


@cache
def recorded(place: int) -> Comparison:
    return read(FILES[place])


def test_they_are_those_that_the_recorder_makes_and_take_little_space() -> None:
    names = [f"{number}-{each.name}.json.gz" for number, each in enumerate(COMPARISONS, start=1)]
    assert [file.name for file in FILES] == names
    assert sum(file.stat().st_size for file in FILES) < MOST_BYTES
    assert len(COMPARISONS) >= 3
    assert list(RecordedComparisons().all) == [each.name for each in COMPARISONS]


@every
def test_each_has_six_methods_or_more_and_one_that_is_lossy(place: int) -> None:
    runs = recorded(place).runs[1:]
    assert len(runs) >= 6
    assert not all(run.lossless for run in runs)


@every
def test_each_was_made_as_the_recorder_says(place: int) -> None:
    wanted, made = COMPARISONS[place], recorded(place)
    plain, *others = made.runs
    assert made.title == wanted.title
    assert plain.prompt.text == wanted.prompt
    assert plain.sampling.temperature == wanted.temperature
    assert plain.sampling.seed == wanted.seed
    assert [run.method for run in others] == [key for key, _ in wanted.wishes]
    for run, (_, config) in zip(others, wanted.wishes, strict=True):
        assert {name: run.config[name] for name in config} == config
    assert all(run.finish_reason in ("length", "eos") for run in made.runs)
    assert max(len(token_ids(run)) for run in made.runs) <= wanted.max_new_tokens


@every
def test_a_lossless_text_differs_by_luck_or_rounding_alone(place: int) -> None:
    plain, *others = recorded(place).runs
    causes = {verdict(run, plain).cause for run in others if run.lossless}
    assert causes <= {None, "near tie", "sampling"}


@every
def test_each_run_has_a_time(place: int) -> None:
    plain, *others = recorded(place).runs
    falls = [waterfall(run, plain) for run in others]
    assert all(fall is not None and fall.total > 0 for fall in falls)


def test_there_is_a_prompt_where_copying_wins() -> None:
    def fastest(made: Comparison) -> str:
        plain, *others = made.runs
        ratios = {
            run.method: (fall.speedup or 0) for run in others if (fall := waterfall(run, plain))
        }
        return max(ratios, key=lambda key: ratios[key])

    best = [fastest(recorded(place)) for place in range(len(COMPARISONS))]
    assert "prompt_lookup" in best
    assert set(best) != {"prompt_lookup"}


def test_the_recorder_makes_a_comparison_of_what_it_is_told() -> None:
    wanted = Recorded("toy", "A toy", "the sky", (("prompt_lookup", {}), ("plain", {})), seed=3)
    made = record(wanted, toy_engine())
    assert [run.method for run in made.runs] == ["plain", "prompt_lookup", "plain"]
    assert {len(token_ids(run)) for run in made.runs} == {48}
    assert made.title == "A toy"
    with pytest.raises(ValueError, match="Multi-candidate"):
        record(Recorded("toy", "A toy", "the sky", (("mcsd", {}),)), toy_engine())

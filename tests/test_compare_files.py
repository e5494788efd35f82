"""Comparison files: what is written is read back, and nothing that a stranger sends does harm."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.compare.comparison import MOST, Comparison
from core.compare.files import LIMITS, check, dumps, loads, read, write
from core.json_files import Limits
from core.trace import Trace
from core.trace_io import dumps as trace_dumps
from core.trace_io import loads as trace_loads
from core.validate import TraceError
from tests.golden.trace_v1 import TRACE
from tests.toy_comparison import toy_comparison
from tests.traces import traces

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
GOLDEN = Path(__file__).parent / "golden"


def sample() -> Trace:
    return toy_comparison().runs[1]


def comparison(*others: Trace, plain: Trace | None = None) -> Comparison:
    runs = [plain or toy_comparison().runs[0], *(others or (sample(),))]
    return Comparison(created="2025-01-31T12:00:00+00:00", title="Two", runs=runs)


def document(made: Comparison | None = None) -> dict[str, Json]:
    return json.loads(gzip.decompress(dumps(made or comparison())))


def refusal(data: bytes | dict[str, Json], limits: Limits = LIMITS) -> str:
    """Return the sentence with which a file is refused."""
    with pytest.raises(TraceError) as caught:
        loads(data if isinstance(data, bytes) else json.dumps(data).encode(), limits)
    return str(caught.value)


def outcome(data: bytes) -> Comparison | str:
    """Return the comparison or the sentence; anything else that is raised fails the test."""
    try:
        return loads(data)
    except TraceError as error:
        return str(error)


def is_sentence(text: str) -> bool:
    return len(text) < 500 and text.endswith(".") and text[0].isupper() and "\n" not in text


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Comparisons whose runs have every kind of block."""
    trace = draw(traces())
    assume(trace.sequences == 1)
    plain = replace(trace, method="plain", method_name="Plain")
    count = draw(st.integers(1, 3))
    others = [replace(trace, title=draw(st.none() | st.text(max_size=5))) for _ in range(count)]
    title = draw(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9))
    return Comparison(created=trace.created, title=title, runs=[plain, *others])


@given(comparisons())
def test_what_is_written_is_read_back(made: Comparison) -> None:
    assert loads(dumps(made)) == made
    assert loads(gzip.decompress(dumps(made))) == made
    assert dumps(loads(dumps(made))) == dumps(made)


@pytest.mark.parametrize("name", ["a.json.gz", "a.json"])
def test_files_are_read_back(tmp_path: Path, name: str) -> None:
    made = comparison()
    write(made, tmp_path / name)
    assert read(tmp_path / name) == made
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_the_name_says_the_format(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"must end with \.json\.gz or \.json"):
        write(comparison(), tmp_path / "a.txt")
    with pytest.raises(TraceError, match="There is no file"):
        read(tmp_path / "a.json")


def test_runs_of_an_older_version_are_brought_up_to_date() -> None:
    old = json.loads(gzip.decompress((GOLDEN / "trace-v1.json.gz").read_bytes()))
    assert old["schema_version"] == 1
    run = replace(TRACE, sequences=1)
    made = comparison(run, plain=replace(run, method="plain"))
    assert (
        loads(json.dumps({**document(made), "runs": [{**old, "method": "plain"}, old]}).encode())
        == made
    )


def altered(what: str) -> Comparison:
    """Return a comparison whose second run has another `what`."""
    trace = sample()
    target = replace(trace.models.target, id="another/model")
    first, *rest = trace.prompt.token_ids
    other = {
        "prompt": replace(trace, prompt=replace(trace.prompt, token_ids=[rest[0], *rest])),
        "target": replace(trace, models=replace(trace.models, target=target)),
        "sampling": replace(trace, sampling=replace(trace.sampling, seed=trace.sampling.seed + 1)),
    }[what]
    assert first != rest[0]
    return comparison(other)


@pytest.mark.parametrize("what", ["prompt", "target", "sampling"])
def test_runs_of_another_prompt_target_or_seed_are_neither_written_nor_read(what: str) -> None:
    made = altered(what)
    with pytest.raises(TraceError, match=f"compared on one {what}"):
        dumps(made)
    packed = [json.loads(gzip.decompress(trace_dumps(run))) for run in made.runs]
    told = refusal({**document(), "runs": packed})
    assert is_sentence(told)
    assert f"compared on one {what}" in told


def test_plain_decoding_comes_first_and_is_not_alone() -> None:
    whole = document()
    plain, other = whole["runs"]
    assert "first run of a comparison is plain decoding" in refusal(
        {**whole, "runs": [other, other]}
    )
    assert "here are 1 runs" in refusal({**whole, "runs": [plain]})
    assert "here are 0 runs" in refusal({**whole, "runs": []})
    assert f"1 to {MOST} methods" in refusal({**whole, "runs": [plain, *[other] * (MOST + 1)]})
    assert len(loads(json.dumps({**whole, "runs": [plain, *[other] * MOST]}).encode()).runs) == 13


def test_a_damaged_run_is_named_with_its_place() -> None:
    whole = document()
    other = whole["runs"][1]
    other["rounds"][1]["index"] = 7
    assert refusal(whole).startswith("Run 1 of the comparison: Round 1, index")
    other["rounds"][1]["index"] = "x"
    told = refusal(whole)
    assert told.startswith("Run 1 of the comparison: The file is no trace of this version: ")
    assert "at rounds[1].index" in told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"comparison_version": 2}, "comparison version 2: a newer Draftscope wrote it"),
        ({"comparison_version": 0}, "comparison version 0; this program reads version 1"),
        ({"comparison_version": -(10**400)}, "comparison version -1000"),
        ({"comparison_version": None}, "no whole number"),
        ({"comparison_version": True}, "no whole number"),
        ({"created": "yesterday"}, "created is no time"),
        ({"created": 3}, "Expected str, got int, at created"),
        ({"title": ["x"]}, "at title"),
        ({"surprise": 1}, "unknown field surprise"),
        ({"runs": None}, "no list of runs"),
        ({"runs": {}}, "no list of runs"),
        ({"runs": [3, 4]}, "Run 0 of the comparison is no trace"),
        ({"runs": [{}, {}]}, "Run 0 of the comparison: This file has no schema_version"),
    ],
)
def test_a_file_with_other_fields_is_refused_in_one_sentence(
    change: dict[str, Json], said: str
) -> None:
    told = refusal({**document(), **change})
    assert is_sentence(told)
    assert said in told


@pytest.mark.parametrize("name", ["comparison_version", "created", "runs"])
def test_no_field_may_be_missing_but_the_title(name: str) -> None:
    whole = document()
    del whole[name]
    assert is_sentence(refusal(whole))
    whole = document()
    del whole["title"]
    assert loads(json.dumps(whole).encode()).title is None


def test_a_trace_is_no_comparison_and_a_comparison_no_trace() -> None:
    assert refusal(trace_dumps(sample())).endswith("it is the trace of one run.")
    with pytest.raises(TraceError, match="it compares several runs"):
        trace_loads(dumps(comparison()))


def test_bombs_depth_and_size_are_refused() -> None:
    assert "200 times its own size" in refusal(gzip.compress(b" " * 20 * 2**20))
    assert "34 levels" in refusal(b"[" * 100_000)
    deep = b'{"comparison_version":1,"created":"","runs":[{"a":' + b"[" * 32 + b"]" * 32 + b"}]}"
    assert "34 levels" in refusal(deep)
    assert "too large" in refusal(b" " * 1001, Limits(file_bytes=1000))
    assert "1000 values" in refusal(b"[" + b"0," * 1000 + b"0]", Limits(values=1000))
    assert "cut short" in refusal(dumps(comparison())[:-9])
    assert "a comparison is one JSON object" in refusal(b"[]")
    assert "twice" in refusal(b'{"comparison_version":1,"comparison_version":1}')


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_only_a_sentence_escapes_from_changed_bytes(seed: int, count: int) -> None:
    random = Random(seed)
    for whole in (_PACKED, gzip.decompress(_PACKED)):
        data = bytearray(whole)
        for _ in range(count):
            data[random.randrange(len(data))] = random.randrange(256)
        found = outcome(bytes(data))
        assert isinstance(found, Comparison) or is_sentence(found)


def test_a_failed_run_is_kept_with_its_sentence() -> None:
    empty = replace(sample(), rounds=[], text="", finish_reason="error", message="No weights.")
    empty = replace(empty, totals=_no_totals(empty))
    made = comparison(sample(), empty)
    assert loads(dumps(made)).runs[2].message == "No weights."


def test_a_comparison_in_memory_has_this_version() -> None:
    with pytest.raises(TraceError, match="says version 9"):
        check(replace(comparison(), comparison_version=9))


def _no_totals(trace: Trace) -> object:
    return type(trace.totals)(**dict.fromkeys(trace.totals.__struct_fields__, 0))


_PACKED = dumps(comparison(replace(sample(), title="x")))

"""Trace files: what is written is read back, and nothing that a stranger sends does harm."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import core.metrics
import core.trace
from core.compare.comparison import MOST, Comparison
from core.consistency import MAX_NODES
from core.consistency_blocks import MAX_ENTRIES
from core.consistency_common import LARGEST
from core.fields import Record
from core.trace import FEW, SCHEMA_VERSION, TOP, Law, Outcome, Trace
from core.trace_io import LIMITS, MIGRATIONS, Limits, dumps, loads, migrate, read, write
from core.trace_schema import schema
from core.validate import MAX_ROUNDS, TraceError, validate
from tests.golden.trace_v1 import TRACE
from tests.traces import random_trace, traces

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

GOLDEN = Path(__file__).parent / "golden"
DOCS = Path(__file__).parents[1] / "docs"


def as_json(trace: Trace) -> bytes:
    return gzip.decompress(dumps(trace))


def document(trace: Trace = TRACE) -> dict[str, Json]:
    return json.loads(as_json(trace))


def refusal(data: bytes, limits: Limits = LIMITS) -> str:
    """Return the sentence with which `data` is refused."""
    with pytest.raises(TraceError) as caught:
        loads(data, limits)
    return str(caught.value)


def outcome(data: bytes) -> Trace | str:
    """Return the trace or the sentence; anything else that is raised fails the test."""
    try:
        return loads(data)
    except TraceError as error:
        return str(error)


def is_sentence(text: str) -> bool:
    return len(text) < 400 and text.endswith(".") and text[0].isupper() and "\n" not in text


class TestRoundTrip:
    @given(traces())
    def test_what_is_written_is_read_back(self, trace: Trace) -> None:
        assert loads(dumps(trace)) == trace
        assert loads(as_json(trace)) == trace

    @given(traces())
    def test_the_same_trace_gives_the_same_bytes(self, trace: Trace) -> None:
        shuffled = dict(reversed(trace.vocabulary.items()))
        assert (
            dumps(replace(trace, vocabulary=shuffled)) == dumps(trace) == dumps(loads(dumps(trace)))
        )

    @pytest.mark.parametrize("name", ["a.json.gz", "a.json"])
    def test_files_are_read_back(self, tmp_path: Path, name: str) -> None:
        write(TRACE, tmp_path / name)
        assert read(tmp_path / name) == TRACE
        assert [file.name for file in tmp_path.iterdir()] == [name]

    def test_plain_json_is_readable_as_such(self, tmp_path: Path) -> None:
        write(TRACE, tmp_path / "a.json")
        assert json.loads((tmp_path / "a.json").read_text())["title"] == "Golden"

    def test_a_byte_order_mark_and_white_space_do_no_harm(self) -> None:
        assert loads(b"\xef\xbb\xbf \n" + json.dumps(document(), indent=1).encode()) == TRACE

    def test_fields_with_a_default_may_be_left_out(self) -> None:
        short = {key: value for key, value in document().items() if key != "title"}
        assert loads(json.dumps(short).encode()) == replace(TRACE, title=None)


class TestWriting:
    def test_an_inconsistent_trace_is_not_written(self, tmp_path: Path) -> None:
        write(TRACE, tmp_path / "a.json.gz")
        with pytest.raises(TraceError, match="totals"):
            write(replace(TRACE, totals=replace(TRACE.totals, emitted=9)), tmp_path / "a.json.gz")
        assert read(tmp_path / "a.json.gz") == TRACE

    def test_a_reader_of_the_old_file_is_not_disturbed(self, tmp_path: Path) -> None:
        write(TRACE, tmp_path / "a.json.gz")
        with (tmp_path / "a.json.gz").open("rb") as old:
            write(replace(TRACE, title="New"), tmp_path / "a.json.gz")
            assert loads(old.read()) == TRACE
        assert read(tmp_path / "a.json.gz").title == "New"

    def test_a_failed_write_leaves_nothing_behind(self, tmp_path: Path) -> None:
        (tmp_path / "a.json.gz").mkdir()
        (tmp_path / "a.json.gz" / "x").touch()
        with pytest.raises(TraceError, match=r"a\.json\.gz cannot be written"):
            write(TRACE, tmp_path / "a.json.gz")
        assert [file.name for file in tmp_path.iterdir()] == ["a.json.gz"]

    def test_missing_folders_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match="No such file"):
            write(TRACE, tmp_path / "none" / "a.json.gz")

    def test_the_name_says_the_format(self, tmp_path: Path) -> None:
        with pytest.raises(TraceError, match=r"must end with \.json\.gz or \.json"):
            write(TRACE, tmp_path / "a.txt")

    @pytest.mark.parametrize("bad", [float("nan"), float("inf")])
    def test_numbers_that_json_lacks_are_refused(self, bad: float) -> None:
        first = TRACE.rounds[0]
        law = replace(first.laws[0], p_rest=bad)
        scored = replace(first.nodes, score=[bad])
        for broken in (
            replace(first, laws=[law]),
            replace(first, nodes=scored),
            replace(first, cost=replace(first.cost, draft_ms=bad)),
            replace(first, scalars=replace(first.scalars, entropy_p=[bad])),
        ):
            with pytest.raises(TraceError, match="Round 0"):
                dumps(replace(TRACE, rounds=[broken, *TRACE.rounds[1:]]))

    def test_text_that_is_no_unicode_is_refused(self) -> None:
        with pytest.raises(TraceError, match="cannot be written as JSON"):
            dumps(replace(TRACE, text="\ud800"))


class TestGolden:
    def test_every_version_has_a_golden_file(self) -> None:
        names = {f"trace-v{version}.json.gz" for version in range(1, SCHEMA_VERSION + 1)}
        assert {file.name for file in GOLDEN.glob("*.gz")} == names

    @pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.gz")), ids=lambda file: file.name)
    def test_golden_files_are_read_for_ever(self, file: Path) -> None:
        assert read(file) == TRACE

    def test_every_older_version_has_a_migration(self) -> None:
        assert set(MIGRATIONS) == set(range(1, SCHEMA_VERSION))


class TestMigration:
    def test_versions_are_crossed_one_by_one(self) -> None:
        def second(old: dict[str, Json]) -> dict[str, Json]:
            return {"schema_version": 2, "name": old["title"]}

        def third(old: dict[str, Json]) -> dict[str, Json]:
            return {"schema_version": 3, "names": [old["name"]]}

        steps = {1: second, 2: third}
        assert migrate({"schema_version": 1, "title": "x"}, steps, 3)["names"] == ["x"]
        assert migrate({"schema_version": 2, "name": "y"}, steps, 3)["names"] == ["y"]
        assert migrate({"schema_version": 3, "names": []}, steps, 3)["names"] == []

    @pytest.mark.parametrize("version", [0, -1, SCHEMA_VERSION + 1, 10**400])
    def test_unknown_versions_are_named_with_those_that_can_be_read(self, version: int) -> None:
        sentence = refusal(json.dumps({"schema_version": version}).encode())
        assert f"version {version}"[:40] in sentence
        assert f"reads versions 1 to {SCHEMA_VERSION}" in sentence

    @pytest.mark.parametrize("version", [None, "1", 1.0, [1], {"a": 1}])
    def test_a_file_says_its_version(self, version: Json) -> None:
        assert "schema_version" in refusal(json.dumps({"schema_version": version}).encode())
        assert "schema_version" in refusal(b"{}")

    def test_a_gap_in_the_migrations_ends_what_can_be_read(self) -> None:
        with pytest.raises(TraceError, match="reads versions 3 to 4"):
            migrate({"schema_version": 2}, {1: dict, 3: dict}, 4)


class TestDamage:
    """Only TraceError escapes, in one sentence."""

    @given(st.integers(0, 2**32), st.integers(1, 8))
    def test_changed_bytes(self, seed: int, count: int) -> None:
        random = Random(seed)
        for whole in (dumps(TRACE), as_json(TRACE)):
            data = bytearray(whole)
            for _ in range(count):
                data[random.randrange(len(data))] = random.randrange(256)
            found = outcome(bytes(data))
            assert isinstance(found, Trace) or is_sentence(found)

    @given(st.integers(0, 2**32))
    def test_spliced_bytes(self, seed: int) -> None:
        random = Random(seed)
        data = as_json(random_trace(random, rounds=2))
        start, length, place = (random.randrange(len(data)) for _ in range(3))
        cut = data[:place] + data[start : start + length % 200] + data[place + length % 7 :]
        found = outcome(cut)
        assert isinstance(found, Trace) or is_sentence(found)

    @given(st.data())
    def test_changed_values(self, data: st.DataObject) -> None:
        """Well-formed JSON with a wrong value somewhere reaches the checks behind the parser."""
        changed = document()
        places = [*_places(changed)]
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        container[key] = data.draw(
            st.sampled_from(
                [None, True, 0, 1, -1, 7, 2**40, 2**60, 0.5, -0.5, 1e300, "", "root", [], [0], {}]
            )
        )
        found = outcome(json.dumps(changed).encode())
        assert isinstance(found, Trace) or is_sentence(found)

    def test_every_truncation_is_refused(self) -> None:
        packed, text = dumps(TRACE), as_json(TRACE)
        for end in range(0, len(packed), 7):
            assert is_sentence(refusal(packed[:end]))
        for end in range(0, len(text), 31):
            assert is_sentence(refusal(text[:end]))

    def test_a_truncation_is_called_so(self) -> None:
        assert "cut short" in refusal(dumps(TRACE)[:-20])

    def test_what_follows_the_gzip_data_is_refused(self) -> None:
        assert "after its gzip data" in refusal(dumps(TRACE) + b"x")
        assert "after its gzip data" in refusal(dumps(TRACE) * 2)

    @pytest.mark.parametrize(
        ("data", "part"),
        [
            (b"", "empty"),
            (b"   ", "no JSON"),
            (b"hello", "no JSON"),
            (b"\x1f\x8b", "cut short"),
            (b"\x1f\x8b\x08\x00" + b"garbage" * 20, "damaged"),
            (b"PK\x03\x04", "no JSON"),
            (b"\xff\xfe{\x00}\x00", "no JSON"),
            (b"[]", "one JSON object"),
            (b"17", "one JSON object"),
            (b'{"schema_version": NaN}', "NaN"),
            (b'{"schema_version": 1, "x": -Infinity}', "Infinity"),
            (b'{"schema_version": 1, "schema_version": 1}', "twice"),
            (b'{"schema_version": 1, "x": "\xff"}', "UTF-8"),
            (b'{"schema_version": 1, "x": 1e999}', "out of range"),
            (b'{"schema_version": 1} {}', "trailing"),
        ],
    )
    def test_other_files_are_refused_in_one_sentence(self, data: bytes, part: str) -> None:
        for sentence in (refusal(data), refusal(gzip.compress(data)) if data else refusal(data)):
            assert is_sentence(sentence)
        assert part in refusal(data)

    def test_a_name_twice_is_found_at_any_depth_and_not_in_strings(self) -> None:
        text = as_json(TRACE).decode()
        for name in ('"title":', '"seed":', '"passed":', '"2":'):
            twice = text.replace(name, f"{name}null,{name}", 1)
            assert "twice" in refusal(twice.encode())
        tricky = replace(TRACE, text='":,"\\": {[\\\\"', title='{"a":1,"a":2}')
        assert loads(dumps(tricky)) == tricky

    def test_missing_files_and_folders_are_named(self, tmp_path: Path) -> None:
        for path in (tmp_path / "none.json", tmp_path):
            with pytest.raises(TraceError, match="There is no file"):
                read(path)


def _places(value: Json) -> list[tuple[dict[str, Json] | list[Json], str | int]]:
    """Return every (container, key) in a document."""
    found: list[tuple[dict[str, Json] | list[Json], str | int]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            found += _places(item)
    return found


class TestLimits:
    def test_large_files_are_refused_unread(self, tmp_path: Path) -> None:
        small = Limits(file_bytes=1000)
        assert "too large" in refusal(b" " * 1001, small)
        (tmp_path / "a.json").write_bytes(b" " * 5000)
        with pytest.raises(TraceError, match="too large"):
            read(tmp_path / "a.json", small)

    def test_the_default_limits_are_those_that_the_documentation_states(self) -> None:
        text = (DOCS / "trace.md").read_text()
        for words in (
            f"{LIMITS.file_bytes // 2**20} MiB on disk",
            f"{LIMITS.inflated_bytes // 2**20} MiB unpacked",
            f"{LIMITS.ratio} times its own size",
            f"{LIMITS.values:,} values",
            f"{LIMITS.depth} levels",
            f"{MAX_ROUNDS:,} rounds",
            f"{MAX_NODES:,} nodes",
            f"beyond {LARGEST:g}".replace("+", ""),
            f"{MAX_ENTRIES:,} entries",
            f"lists {TOP} of each",
            f"{FEW} of each at nodes",
        ):
            assert words in text

    def test_a_gzip_bomb_is_refused_while_it_unpacks(self) -> None:
        bomb = gzip.compress(b" " * 20 * 2**20)
        assert "200 times its own size" in refusal(bomb)
        assert "unpacks to more than 1 MiB" in refusal(
            bomb, Limits(inflated_bytes=2**20, ratio=2**20)
        )

    @pytest.mark.parametrize(
        "text",
        [
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"schema_version":1,"x":' + b"[" * 33 + b"]" * 33 + b"}",
            b'["' + b'\\"' * 2**20 + b'",' + b"[" * 100,
        ],
    )
    def test_deep_nesting_is_refused_before_it_is_parsed(self, text: bytes) -> None:
        assert "32 levels" in refusal(text)

    def test_brackets_in_strings_do_not_nest(self) -> None:
        deep = replace(TRACE, text="[" * 1000 + '\\"' * 1000, title="{" * 1000)
        assert loads(dumps(deep)) == deep

    @pytest.mark.parametrize("shift", range(6))
    def test_escapes_are_followed_across_the_parts_of_a_long_text(self, shift: int) -> None:
        """Strings are skipped in parts of 1 MiB: an escape or a string may cross the seam."""
        padding = 2**20 - len('{"schema_version":1,"x":"') - shift
        text = b'{"schema_version":1,"x":"' + b"a" * padding + rb"\\\"[::\\" + b'","y":[[1]]}'
        assert "unknown field" in refusal(text)

    def test_too_many_values_are_refused_before_they_are_built(self) -> None:
        assert "1000 values" in refusal(b"[" + b"0," * 1000 + b"0]", Limits(values=1000))
        assert "1000 values" in refusal(b"[" + b"[]," * 600 + b"0]", Limits(values=1000))

    @pytest.mark.parametrize("digits", [20, 400, 4000, 5000, 10**6])
    def test_huge_integers_are_refused(self, digits: int) -> None:
        for path in (
            "sampling.seed",
            "rounds.1.drafted",
            "rounds.1.nodes.token.0",
            "config.length",
        ):
            changed = document()
            _put(changed, path, "HUGE")
            text = json.dumps(changed).replace('"HUGE"', "9" * digits)
            assert is_sentence(refusal(text.encode()))

    def test_long_names_and_values_do_not_make_long_sentences(self) -> None:
        changed = document()
        changed["x" * 100_000] = 1
        assert is_sentence(refusal(json.dumps(changed).encode()))
        assert is_sentence(
            refusal(json.dumps(document() | {"finish_reason": "x" * 100_000}).encode())
        )

    @pytest.mark.parametrize(
        "text",
        [
            'b"[" + b"[]," * (20 * 2**20)',
            "b'{\"schema_version\":1,\"x\":[' + b'\"\",' * 9_900_000 + b'0]}'",
            'b\'{"schema_version":1,"x":[\' + b"1.5," * 9_900_000 + b"0]}"',
            'b\'{"schema_version":1,"x":"\' + b\'\\\\"\' * (30 * 2**20)',
            'b\'{"schema_version":1,"x":\' + b"1" * (60 * 2**20) + b"}"',
        ],
    )
    def test_hostile_files_cost_bounded_time_and_memory(self, text: str) -> None:
        """In a process of its own that may use 2 GiB: a file of up to 60 MiB is refused soon."""
        code = f"""
import resource, time
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
from core.trace_io import TraceError, loads
data, begin = {text}, time.process_time()
try:
    loads(data)
except TraceError as error:
    print(time.process_time() - begin)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert run.stderr == ""
        assert float(run.stdout) < 20


def _put(value: Json, path: str, new: Json) -> None:
    """Set the value at a dotted path."""
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in above:
        value = value[key]
    value[last] = new


INCONSISTENT: list[tuple[str, Json, str]] = [
    ("surprise", 1, "unknown field surprise"),
    ("lossless", 1, "Expected bool, got int, at lossless"),
    ("rounds.1.nodes.p.1", 1.5, "at rounds[1].nodes.p[1]"),
    ("rounds.1.checks.0.u", -0.5, "at rounds[1].checks[0].u"),
    ("rounds.1.cost.draft_ms", -1, "at rounds[1].cost.draft_ms"),
    ("vocabulary.x", "", "at key in vocabulary"),
    ("vocabulary.-1", "", "negative token id"),
    ("sequences", 0, "at least 1"),
    ("prompt.token_ids", [], "token_ids"),
    ("prompt.token_ids", [1, 9], "The prompt: token 9 is missing from the vocabulary"),
    ("special", [9], "special: token 9 is missing"),
    ("created", "yesterday", "created"),
    ("finish_reason", "error", "message"),
    ("config.length", 2**63, "config entry length"),
    ("rounds.1.index", 2, "Round 1, index"),
    ("rounds.1.sequence", 1, "Round 1, sequence"),
    ("rounds.1.nodes.token", [], "Round 1, nodes: there are 0 nodes"),
    ("rounds.1.nodes.rank", [0], "Round 1, nodes: rank has 1 entries for 8 nodes"),
    ("rounds.1.nodes.parent.0", 0, "node 0 has parent 0"),
    ("rounds.1.nodes.parent.3", 5, "node 3 has parent 5"),
    ("rounds.1.nodes.parent.3", -1, "node 3 has parent -1"),
    ("rounds.1.nodes.state.2", "root", "node 2 is root"),
    ("rounds.1.nodes.state.0", "accepted", "node 0 is accepted"),
    ("rounds.1.nodes.state.7", "unreached", "its role is probe"),
    ("rounds.1.nodes.state.1", "probe", "its role is draft"),
    ("rounds.1.nodes.state.1", "accepted", "the path has others"),
    ("rounds.1.nodes.state.2", "unreached", "the path has others"),
    ("rounds.1.nodes.count.1", 0, "Round 1, nodes.count"),
    ("rounds.1.nodes.rank.2", 0, "node 2 has rank 0, as has another child of 0"),
    ("rounds.1.nodes.token.1", 99, "nodes.token: token 99 is missing"),
    ("rounds.1.checks.0.node", 77, "tests node 77"),
    ("rounds.1.checks.0.node", 0, "tests node 0"),
    ("rounds.1.checks.0.node", 6, "tests node 6"),
    ("rounds.1.checks.0.node", 7, "tests node 7"),
    ("rounds.1.checks.0.passed", True, "check 0 passed with u 0.5"),
    ("rounds.1.checks.1.u", 0.8, "check 1 passed with u 0.8"),
    ("rounds.1.laws.0.node", 8, "node 8 has two laws or does not exist"),
    ("rounds.1.laws.0.q_rest", None, "q and q_rest"),
    ("rounds.1.laws.0.q_raw", None, "q_raw and q_raw_rest"),
    ("rounds.1.laws.0.p", [0.5, 0.1], "it has 2 entries for 3 tokens"),
    ("rounds.1.laws.0.p.0", 0.99, "adds up to 1.49"),
    ("rounds.1.laws.0.token.0", 3, "a token stands there twice"),
    ("rounds.1.laws.0.token.0", 99, "laws, node 0: token 99 is missing"),
    ("rounds.1.scalars.tv", [], "scalars: tv has 0 entries for 8 nodes"),
    ("rounds.1.residuals.0.after", 3, "node 3 is no child of node 0"),
    ("rounds.1.residuals.0.after", 99, "node 99 is no child of node 0"),
    ("rounds.1.residuals.0.mass.0", 0.9, "adds up to 1.275"),
    ("rounds.1.outcome.accepted", [3], "node 3 does not continue the path"),
    ("rounds.1.outcome.accepted", [6], "node 6 does not continue the path"),
    ("rounds.1.outcome.accepted", [2, 99], "node 99 does not continue the path"),
    ("rounds.1.outcome.accepted", [2], "the path has others"),
    ("rounds.1.outcome.emitted", [4, 5], "differ from the accepted path"),
    ("rounds.1.outcome.final_token", 2, "differ from the accepted path"),
    ("rounds.0.outcome.origin", "bonus", "plain exactly when nothing was drafted"),
    ("rounds.1.outcome.origin", "plain", "plain exactly when nothing was drafted"),
    ("rounds.3.outcome.origin", "bonus", "none exactly without a final_token"),
    ("rounds.0.outcome.final_top.token.0", 99, "outcome.final_top: token 99 is missing"),
    ("rounds.1.drafted", 6, "5 nodes were offered"),
    ("rounds.1.max_depth", 2, "the deepest offered node is at 3"),
    ("rounds.1.judge.score", [], "judge: score has 0 entries for 4 checks"),
    ("rounds.1.judge.features", [], "judge: features has 0 entries for 4 checks"),
    ("rounds.2.prefix_length", 6, "prompt and emitted tokens so far are 5"),
    ("rounds.2.nodes.token.0", 1, "the text so far ends with token 3"),
    ("rounds.2.extras.0.copy_start", 5, "outside the text, 0 to 4"),
    ("rounds.3.extras.0.skipped_mlp.0", 4, "outside 0 to 3"),
    ("rounds.3.extras.0.shared", 5, "at most 4"),
    ("totals.accepted", 6, "totals.accepted says 6, but the rounds add up to 5"),
    ("totals.verify_ms", 200.0, "totals.verify_ms says 200.0"),
]


class TestConsistency:
    @pytest.mark.parametrize(("path", "value", "part"), INCONSISTENT)
    def test_what_does_not_fit_is_named(self, path: str, value: Json, part: str) -> None:
        changed = document()
        _put(changed, path, value)
        sentence = refusal(json.dumps(changed).encode())
        assert part in sentence
        assert is_sentence(sentence)

    @given(traces())
    def test_made_up_traces_are_valid(self, trace: Trace) -> None:
        validate(trace)

    def test_a_fork_may_begin_where_it_left_its_trace(self) -> None:
        rounds = [replace(TRACE.rounds[1], index=0)]
        fork = replace(TRACE, rounds=rounds, totals=core.metrics.totals(rounds))
        with pytest.raises(TraceError, match="prefix_length"):
            validate(fork)
        validate(replace(fork, parent=core.trace.Parent(trace="other", round=0, node=0)))

    def test_a_trace_without_rounds_is_valid(self) -> None:
        validate(replace(TRACE, rounds=[], totals=core.metrics.totals([])))

    def test_sizes_are_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("core.validate.MAX_ROUNDS", 3)
        with pytest.raises(TraceError, match="has 4 rounds; at most 3"):
            validate(TRACE)
        monkeypatch.setattr("core.validate.MAX_ROUNDS", 4)
        monkeypatch.setattr("core.consistency.MAX_NODES", 7)
        with pytest.raises(TraceError, match="Round 1, nodes: there are 8 nodes; 1 to 7"):
            validate(TRACE)

    def test_rounded_times_may_miss_their_sum(self) -> None:
        validate(replace(TRACE, totals=replace(TRACE.totals, verify_ms=100.4)))


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def realistic(rounds: int) -> Trace:
    """Build a trace with 8 drafted nodes a round and 20 to 40 tokens per law, as a real run has."""
    random = Random(1)
    words = {i: f" word{i}".encode() for i in range(4000)}
    made = [_realistic_round(random, i, i + 1, words) for i in range(rounds)]
    return replace(
        TRACE,
        vocabulary=words,
        rounds=made,
        totals=core.metrics.totals(made),
    )


def _realistic_round(
    random: Random, index: int, prefix: int, words: dict[int, bytes]
) -> core.trace.Round:
    size = 9

    def column() -> list[float | None]:
        return [None, *(_six(random.random()) for _ in range(size - 1))]

    def law(node: int) -> Law:
        token = random.sample(range(4000), random.randint(20, 40))
        masses = [[random.paretovariate(0.5) for _ in range(len(token) + 1)] for _ in range(4)]
        p, p_raw, q, q_raw = ([_six(x / sum(mass)) for x in mass] for mass in masses)
        return Law(
            node=node, token=token, p=p[1:], p_raw=p_raw[1:], q=q[1:], q_raw=q_raw[1:],
            p_rest=p[0], p_raw_rest=p_raw[0], q_rest=q[0], q_raw_rest=q_raw[0],
        )  # fmt: skip

    tree = TRACE.rounds[0]
    nodes = replace(
        tree.nodes,
        token=[1, *(random.randrange(4000) for _ in range(size - 1))],
        parent=[-1, 0, 0, 0, 1, 1, 2, 4, 4],
        rank=[0, 0, 1, 2, 0, 1, 0, 0, 1],
        count=[1] * size,
        role=["draft"] * size,
        source=["", *["draft model"] * (size - 1)],
        state=["root", *["rejected"] * 3, *["unreached"] * 5],
        reason=["", *["u>=p/q"] * 3, *["parent_rejected"] * 5],
        **{name: column() for name in ("score", "q", "q_before_siblings", "p", "q_raw", "p_raw")},
    )
    scalars = {name: column() for name in core.trace.Scalars.__struct_fields__[:-2]}
    ranks = {name: [None, *[3] * (size - 1)] for name in core.trace.Scalars.__struct_fields__[-2:]}
    return replace(
        tree,
        index=index,
        prefix_length=prefix,
        nodes=nodes,
        checks=[
            replace(
                TRACE.rounds[1].checks[0], node=n, accept_probability=random.random() / 2, u=0.7
            )
            for n in (1, 2, 3)
        ],
        laws=[law(node) for node in range(size)],
        scalars=core.trace.Scalars(**scalars, **ranks),
        residuals=[replace(TRACE.rounds[1].residuals[0], after=n) for n in (1, 2, 3)],
        outcome=Outcome(accepted=[], final_token=1, origin="correction", emitted=[1]),
        drafted=8,
        max_depth=3,
    )


def test_a_round_of_eight_drafted_tokens_takes_at_most_twelve_kilobytes() -> None:
    many, few = len(dumps(realistic(24))), len(dumps(realistic(4)))
    assert (many - few) / 20 <= 12 * 1024


class TestDocumentation:
    def test_the_committed_schema_is_the_generated_one(self) -> None:
        assert (DOCS / "trace-schema.json").read_text() == schema()

    def test_the_schema_accepts_what_the_reader_accepts(self) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        jsonschema.validate(document(), json.loads(schema()))
        for path, value, _ in INCONSISTENT[:5]:
            changed = document()
            _put(changed, path, value)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(changed, json.loads(schema()))

    @pytest.mark.parametrize(
        "block", [b for b in Record.__subclasses__() if b is not Trace], ids=lambda b: b.__name__
    )
    def test_every_field_of_every_block_is_described(self, block: type[Record]) -> None:
        assert _described(block.__name__) == set(block.__struct_fields__)

    def test_fields_are_described_in_words_and_not_by_their_type(self) -> None:
        rows = re.findall(r"^\| `[^|]*\| (.*) \|$", (DOCS / "trace.md").read_text(), re.M)
        types = re.compile(r"(list\[|Index|Probability|NonNegative|Literal|Drawing|Way|bool$|str$)")
        assert len(rows) > 200
        assert [row for row in rows if types.match(row)] == []

    def test_a_comparison_s_size_is_stated(self) -> None:
        assert Comparison in Record.__subclasses__()
        assert f"1 to {MOST} methods" in (DOCS / "trace.md").read_text()

    def test_every_field_of_the_trace_is_described(self) -> None:
        assert _described("Trace") == set(Trace.__struct_fields__)

    def test_optional_fields_are_marked(self) -> None:
        for block in Record.__subclasses__():
            optional = {
                field.name
                for field in msgspec.structs.fields(block)
                if not field.required and not field.name.endswith("_version")
            }
            assert _starred(block.__name__) == optional, block.__name__

    def test_the_example_runs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        example = re.search(r"```python\n(.*?)```", (DOCS / "trace.md").read_text(), re.DOTALL)
        assert example
        exec(compile(example[1], "docs/trace.md", "exec"), {})
        assert read(tmp_path / "mine.json.gz").text == " cat sat ran"


def _names(block: str) -> list[str]:
    """Return the first cells of the table below the block's heading."""
    section = re.search(
        rf"^### {block}\n(.*?)(?=^##|\Z)", (DOCS / "trace.md").read_text(), re.M | re.S
    )
    assert section, f"docs/trace.md has no section {block}"
    return re.findall(r"^\| (`[^|]*) \|", section[1], re.M)


def _described(block: str) -> set[str]:
    return {name for cell in _names(block) for name in re.findall(r"`(\w+)`", cell)}


def _starred(block: str) -> set[str]:
    return {name for cell in _names(block) for name in re.findall(r"`(\w+)`\*", cell)}

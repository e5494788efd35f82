"""The score writes the text once, and every method's rounds over it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.trace import Trace, token_ids
from tests.compared import changed_at, cut, entry, plain_of, written
from tests.sample_traces import ALL, chain, hostile, relaxed, tree
from tests.traces import traces
from viz.compare.entry import Entry
from viz.compare.payload import Score, Stave
from viz.compare.score import score
from viz.compare.verdict import verdicts
from viz.payload import Label

texts = st.lists(st.integers(0, 5), min_size=1, max_size=24)
sizes = st.lists(st.integers(1, 4), max_size=12)


def scored(entries: Sequence[Entry]) -> Score:
    found = score(entries)
    assert found is not None
    return found


def pair(exact: Sequence[int], own: Sequence[int], cuts: Sequence[int]) -> list[Entry]:
    return [entry(written(exact)), entry(written(own, cuts, lossless=False))]


def read_back(found: Score, stave: Stave) -> list[Label]:
    """Return the labels of a method's text, as the score shows it."""
    instead = {one["column"]: one["label"] for one in stave["instead"]}
    covered = {piece["column"] for capsule in stave["capsules"] for piece in capsule["pieces"]}
    labels = [
        instead.get(column, place["label"] if column in covered else None)
        for column, place in enumerate(found["places"])
    ]
    return [label for label in labels if label is not None]


def labels(trace: Trace) -> list[Label]:
    exact = scored([entry(trace)])
    return [label for place in exact["places"] if (label := place["label"])]


@given(texts, texts, sizes)
def test_every_text_can_be_read_back_from_the_score(
    exact: list[int], own: list[int], cuts: list[int]
) -> None:
    entries = pair(exact, own, cuts)
    found = scored(entries)
    for stave, each in zip(found["staves"], entries, strict=True):
        assert each.trace is not None
        assert read_back(found, stave) == labels(each.trace)


@given(texts, texts, sizes)
def test_a_stave_covers_every_token_once_and_in_order(
    exact: list[int], own: list[int], cuts: list[int]
) -> None:
    entries = pair(exact, own, cuts)
    found = scored(entries)
    for stave, each in zip(found["staves"], entries, strict=True):
        assert each.trace is not None
        pieces = [piece for capsule in stave["capsules"] for piece in capsule["pieces"]]
        assert [piece["place"] for piece in pieces] == list(range(len(token_ids(each.trace))))
        columns = [piece["column"] for piece in pieces]
        assert columns == sorted(set(columns))
        assert all(0 <= column < len(found["places"]) for column in columns)


@given(texts, texts, sizes)
def test_capsules_are_rounds_that_do_not_touch(
    exact: list[int], own: list[int], cuts: list[int]
) -> None:
    entries = pair(exact, own, cuts)
    for stave, each in zip(scored(entries)["staves"], entries, strict=True):
        assert each.trace is not None
        capsules = stave["capsules"]
        assert [len(c["pieces"]) for c in capsules] == [
            len(r.outcome.emitted) for r in each.trace.rounds
        ]
        assert all(a["stop"] <= b["start"] for a, b in pairwise(capsules))
        for capsule in capsules:
            assert capsule["start"] == capsule["pieces"][0]["column"]
            assert capsule["stop"] == capsule["pieces"][-1]["column"] + 1
        first = 0 if len(each.trace.rounds[0].outcome.emitted) == 1 else 1
        assert [c["passes"] for c in capsules] == list(range(first, first + len(capsules)))


@given(texts, texts, sizes)
def test_exact_places_stand_in_order_and_say_where_another_text_differs(
    exact: list[int], own: list[int], cuts: list[int]
) -> None:
    found = scored(pair(exact, own, cuts))
    places = [place["place"] for place in found["places"] if place["place"] is not None]
    assert places == list(range(len(exact)))
    instead = {one["column"] for stave in found["staves"] for one in stave["instead"]}
    assert {column for column, place in enumerate(found["places"]) if place["replaced"]} == {
        column for column in instead if found["places"][column]["place"] is not None
    }
    assert found["staves"][0]["instead"] == []


@given(texts, texts, sizes)
def test_the_first_token_that_differs_is_the_place_of_the_verdict(
    exact: list[int], own: list[int], cuts: list[int]
) -> None:
    entries = pair(exact, own, cuts)
    found, verdict = scored(entries), verdicts(entries)[1]
    instead = found["staves"][1]["instead"]
    assert (verdict["place"] is None) == (not instead) == (exact == own)
    if instead:
        before = found["places"][: instead[0]["column"]]
        assert sum(place["place"] is not None for place in before) == verdict["place"]


def test_a_token_that_only_another_text_has_takes_a_column_of_its_own() -> None:
    found = scored(pair([1, 2, 3, 4], [1, 2, 5, 3, 4], [2]))
    assert [place["place"] for place in found["places"]] == [0, 1, None, 2, 3]
    assert [one["column"] for one in found["staves"][1]["instead"]] == [2]
    assert not any(place["replaced"] for place in found["places"])


def test_texts_with_little_in_common_go_place_by_place() -> None:
    exact, own = [1, 2, 3, 2, 3, 2, 3, 2], [1, 5, 5, 5, 2, 5, 5, 5]
    found = scored(pair(exact, own, [1]))
    assert [place["place"] for place in found["places"]] == list(range(8))
    assert len(found["staves"][1]["instead"]) == 7


def test_a_text_under_way_is_not_said_to_miss_what_it_has_not_come_to() -> None:
    exact = plain_of(chain())
    for rounds in range(len(chain().rounds) + 1):
        growing = entry(cut(chain(), rounds), "running")
        found = scored([entry(exact), growing])
        assert found["staves"][1]["instead"] == []
        assert len(found["places"]) == len(token_ids(exact))


def test_a_text_under_way_is_not_laid_over_what_it_has_not_come_to() -> None:
    own = cut(written([1, 9, 5], lossless=False), 2)
    found = scored([entry(written([1, 2, 3, 4, 9])), entry(own, "running")])
    columns = [p["column"] for c in found["staves"][1]["capsules"] for p in c["pieces"]]
    assert columns == [0, 1]
    assert [one["column"] for one in found["staves"][1]["instead"]] == [1]


def test_kinds_are_those_of_the_rounds() -> None:
    trace = relaxed()
    found = scored([entry(plain_of(trace)), entry(trace)])
    kinds = [piece["kind"] for c in found["staves"][1]["capsules"] for piece in c["pieces"]]
    expected = [
        kind
        for r in trace.rounds
        for kind in (
            *(r.nodes.state[node] for node in r.outcome.accepted),
            *([] if r.outcome.final_token is None else [r.outcome.origin]),
        )
    ]
    assert kinds == expected
    assert "relaxed" in kinds
    shown = [key for key, _ in found["legend"]]
    assert set(shown) - {"covered", "cut"} == {*kinds, "plain"}


def test_the_text_of_lossless_methods_is_called_the_same() -> None:
    same = scored([entry(plain_of(tree())), entry(tree())])
    other = scored([entry(plain_of(tree())), entry(changed_at(tree(), 3))])
    assert same["head"] != other["head"]


@pytest.mark.parametrize("name", ALL)
def test_every_sample_can_be_laid_over_every_text(name: str) -> None:
    trace = ALL[name]()
    for exact in (plain_of(chain()), plain_of(hostile())):
        found = scored([entry(exact), entry(trace), entry(None, "waiting")])
        json.dumps(found, allow_nan=False)
        assert read_back(found, found["staves"][0]) == labels(exact)
        assert found["staves"][2]["capsules"] == []
        columns = [p["column"] for c in found["staves"][1]["capsules"] for p in c["pieces"]]
        assert len(set(columns)) == len(token_ids(trace))


@given(traces(), traces())
def test_any_two_records_make_a_score(exact: Trace, own: Trace) -> None:
    found = score([entry(exact), entry(own)])
    assert (found is None) == (not token_ids(exact))
    json.dumps(found, allow_nan=False)


def test_there_is_no_score_before_plain_decoding_has_written() -> None:
    assert score([]) is None
    assert score([entry(None, "waiting"), entry(chain())]) is None
    assert score([entry(replace(chain(), rounds=[]), "running")]) is None

"""A comparison as one offline file and as text: complete, and without a way out."""

from __future__ import annotations

import base64
import gzip
import json
import re
import unicodedata
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from core.compare.comparison import Comparison
from core.trace import Trace, token_ids
from tests.sample_traces import hostile
from tests.toy_comparison import toy_comparison
from tests.viz.test_packing import unpacked
from viz.compare.export import compare_payload, comparison_html, entries_of
from viz.compare.positions import Positions, positions_of
from viz.compare.terminal import render

MOST_BYTES = 2_600_000  # of a small comparison; the chart library is 1.5 MB of that


def failed(comparison: Comparison) -> Comparison:
    """Return the comparison with a run that could not begin."""
    run = comparison.runs[-1]
    empty = type(run.totals)(**dict.fromkeys(run.totals.__struct_fields__, 0))
    broken = replace(
        run, rounds=[], text="", totals=empty, finish_reason="error", message="No weights: <b>."
    )
    return replace(comparison, runs=[*comparison.runs[:-1], broken])


def unpacked_payload(page: str) -> object:
    found = re.search(r'id="ds-payload">([^<]*)<', page)
    assert found
    return unpacked(json.loads(gzip.decompress(base64.b64decode(found[1]))))[0]


def test_the_file_holds_the_page_s_payload_and_all_positions() -> None:
    comparison = toy_comparison()
    entries = entries_of(comparison)
    found = unpacked_payload(comparison_html(comparison, "Your run"))
    assert found == json.loads(json.dumps(compare_payload(comparison, "Your run")))
    assert isinstance(found, dict)
    whole, positions = found["comparison"], found["positions"]
    assert whole["places"] == positions_of(entries)
    assert len(whole["places"]) == len(token_ids(comparison.runs[0]))
    for number in set(whole["places"]):
        assert positions[number] == json.loads(json.dumps(Positions(entries).at(number)))
    assert len(positions) == 1 + max(whole["places"])
    assert whole["source"].startswith("Your run")
    assert whole["finished"]


def test_the_file_is_small_names_no_host_and_lets_nothing_in() -> None:
    page = comparison_html(replace(toy_comparison(), title='"><script>alert(1)</script>'))
    assert len(page.encode()) < MOST_BYTES
    assert page.count("</script>") == 3
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)
    assert "default-src 'none'" in page
    assert "<script>alert" not in page


def test_a_run_that_failed_is_there_with_its_sentence() -> None:
    found = compare_payload(failed(toy_comparison()))
    assert found["comparison"]["methods"][-1]["status"] == "error"
    assert found["comparison"]["methods"][-1]["words"] == "No weights: <b>."
    assert "No weights: <b>." in render(entries_of(failed(toy_comparison())))


def bad_signs(text: str) -> set[str]:
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}


def other(trace: Trace, places: Sequence[int]) -> Trace:
    """Return a lossy record with the next token of the vocabulary at some places."""
    known = sorted(trace.vocabulary)
    changed = {
        place: known[(known.index(token_ids(trace)[place]) + 1) % len(known)] for place in places
    }
    rounds, at = [], 0
    for each in trace.rounds:
        size = len(each.outcome.emitted)
        emitted = [changed.get(at + i, token) for i, token in enumerate(each.outcome.emitted)]
        rounds.append(replace(each, outcome=replace(each.outcome, emitted=emitted)))
        at += size
    return replace(trace, rounds=rounds, lossless=False, method_name="Other \x1b[31m\u202e")


@pytest.mark.parametrize("place", range(6))
def test_text_for_a_terminal_holds_no_control_character(place: int) -> None:
    """Whatever tokens differ, and whatever a file calls its methods."""
    plain = replace(hostile(), method="plain", method_name="Plain")
    found = Comparison(created=plain.created, runs=[plain, other(plain, [place])])
    text = render(entries_of(found))
    assert "≠ differs from" in text
    assert not bad_signs(text)
    assert "\u202e" not in text


@pytest.mark.parametrize("width", [60, 100, 200])
def test_sentences_keep_to_the_width(width: int) -> None:
    text = render(entries_of(toy_comparison()), width)
    head, _, rest = text.partition("speed-up")
    table_end = rest.index("\n\n")
    for line in (*head.splitlines()[:-1], *rest[table_end:].splitlines()):
        assert len(line) <= width


def test_every_method_has_a_line_under_aligned_heads() -> None:
    text = render(entries_of(toy_comparison()), 120)
    lines = text.splitlines()
    top = next(i for i, line in enumerate(lines) if "speed-up" in line)
    rows = [line for line in lines[top + 1 :] if "×" in line and "  " in line][:4]
    end = lines[top].index("speed-up") + len("speed-up")
    assert len(rows) == 4
    assert all(row[end - 1] == "×" for row in rows)

"""The ledger of block verification: what it draws, and what is said of a token that it decided."""

from __future__ import annotations

from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import BlockExtras
from core.trace import Check, State, Trace
from tests.viz.by_hand import DOT, HITS, THE, WHEN, nodes, round_of, trace_of
from viz.payload import Section
from viz.pictures.block_ledger import draw
from viz.reading import read
from viz.rules import rule
from viz.sentence import plain
from viz.theme import DARK, LIGHT, painted

RATIO = [1.5, 0.5, 0.8, 0.02]
JOINT = [1.0, 0.5, 0.4, 0.008]
LEFT = [0.3, 0.2, 0.1, 0.0]
STAYS = [1.0, 0.2857, 0.1429, 0.008]


def block(darts: list[float], word: bytes = b" hits") -> Trace:
    """Return one round of four tokens that were verified as a block with these darts."""
    hits = [u < h for u, h in zip(darts, STAYS, strict=False)]
    kept = max((place for place, hit in enumerate(hits, start=1) if hit), default=0)
    states: list[State] = ["root", *["accepted"] * kept, *["rejected"] * (4 - kept)]
    q = [0.4, 0.6, 0.5, 0.5]
    p = [r * d for r, d in zip(RATIO, q, strict=True)]
    reasons = [
        "u<h" if hit else "later_stayed" if place < kept else "u>=h"
        for place, hit in enumerate(hits)
    ]
    tree = nodes([DOT, THE, WHEN, THE, HITS], [-1, 0, 1, 2, 3], states, [None, *p], [None, *q])
    checks = [
        Check(
            node=place + 1,
            accept_probability=STAYS[place],
            u=u,
            passed=hits[place],
            p=p[place],
            q=q[place],
            mass_before=None,
        )
        for place, u in enumerate(darts)
    ]
    alone = [u < r for u, r in zip(darts, RATIO, strict=False)]
    extra = BlockExtras(
        node=[1, 2, 3, 4],
        ratio=RATIO,
        joint=JOINT,
        left=LEFT,
        stays=STAYS,
        kept=kept,
        kept_alone=[*alone, False].index(False),
    )
    made = round_of(
        replace(tree, reason=["", *reasons, *[""] * (4 - len(reasons))]),
        checks,
        [],
        list(range(1, kept + 1)),
        HITS,
        "correction",
    )
    whole = trace_of(replace(made, extras=[extra]))
    return replace(whole, vocabulary={**whole.vocabulary, HITS: word})


SAVED = [0.7, 0.9, 0.1, 0.5]  # hit, miss, hit, miss: alone the second one ends it


def section(trace: Trace) -> Section:
    picture = draw(read(trace, 0))
    assert picture is not None
    return picture["section"]


def column(found: Section, name: str, key: str) -> list[float]:
    assert found["figure"] is not None
    trace = next(trace for trace in found["figure"]["data"] if trace["name"] == name)
    return cast(list[float], trace[key])


def shapes(found: Section) -> list[dict[str, object]]:
    assert found["figure"] is not None
    return cast(list[dict[str, object]], found["figure"]["layout"]["shapes"])


def test_both_lines_begin_at_one_and_the_block_s_is_never_below() -> None:
    found = section(block(SAVED))
    joint, alone = column(found, "joint", "x"), column(found, "alone", "x")
    assert joint == [1.0, *JOINT]
    assert alone == pytest.approx([1.0, 1.0, 0.5, 0.4, 0.008])
    assert all(w >= a - 1e-12 for w, a in zip(joint, alone, strict=True))


def test_the_same_darts_end_at_different_places_under_the_two_rules() -> None:
    found = section(block(SAVED))
    marks = {
        kind: list(zip(column(found, kind, "x"), column(found, kind, "y"), strict=True))
        for kind in ("hit", "missed", "open")
    }
    assert marks["hit"] == [(0, 0), (1, 0), (1, -2)]
    assert marks["missed"] == [(0, -1), (1, -1), (1, -3)]
    assert marks["open"] == [(0, -2), (0, -3)]
    bands = [shape for shape in shapes(found) if shape["type"] == "rect"]
    assert [(band["x0"], band["y1"]) for band in bands] == [(-0.42, -0.5), (1 - 0.42, -2.5)]
    stops = [shape for shape in shapes(found) if shape["type"] == "line"]
    assert [stop["y0"] for stop in stops] == [-0.5, -2.5]
    assert "these darts keep 1 alone, 3 as a block" in found["foot"]
    assert "w gives 1.9 and the dashed line 1.9" in found["foot"]


def test_a_block_that_keeps_nothing_has_a_stop_and_no_band() -> None:
    impossible = block([1.0, 0.9, 0.9, 0.9])
    found = section(impossible)
    assert [shape["type"] for shape in shapes(found)] == ["rect", "line", "line"]
    assert "none as a block" in found["foot"]


def test_tokens_whose_dart_was_not_thrown_are_open_in_both_columns() -> None:
    found = section(block(SAVED[:2]))
    opened = list(zip(column(found, "open", "x"), column(found, "open", "y"), strict=True))
    assert opened == [(0, -2), (1, -2), (0, -3), (1, -3)]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_it_in_both_themes_and_token_text_is_no_markup(
    palette: dict[str, str],
) -> None:
    found = section(block(SAVED, b"<b>$x$"))
    assert found["figure"] is not None
    go.Figure(painted(found["figure"], palette))
    assert "<b>$x" not in str(found["figure"])
    assert "&lt;b&gt;" in str(found["figure"])


def test_other_rounds_have_no_ledger() -> None:
    whole = block(SAVED)
    assert draw(read(replace(whole, rounds=[replace(whole.rounds[0], extras=[])]), 0)) is None
    single = replace(
        cast(BlockExtras, whole.rounds[0].extras[0]),
        node=[1],
        ratio=[1.0],
        joint=[1.0],
        left=[0.0],
        stays=[1.0],
    )
    assert draw(read(replace(whole, rounds=[replace(whole.rounds[0], extras=[single])]), 0)) is None


def said(trace: Trace, node: int) -> str:
    return plain(rule(read(trace, 0), node))


def test_every_verdict_names_the_joint_ratio_and_the_dart_that_decided() -> None:
    trace = block(SAVED)
    first, second, third, fourth = (said(trace, node) for node in (1, 2, 3, 4))
    assert first.startswith("Accepted. The draft gave ·The .400, the target .600: p/q is 1.5.")
    assert "joint ratio w is 1, and its dart cannot miss" in first
    assert second.startswith("Accepted, although its own dart missed. The draft gave ·When .600")
    assert "w is .500, and the chance of its dart .286. It fell at .900, beyond by .614." in second
    assert "The dart of ·The, later in the draft, hit, and the last hit decides." in second
    assert third.endswith("It is the last to hit: all before it stays.")
    assert fourth.startswith("Rejected.")
    assert "which is the chance of the last dart" in fourth
    assert "p/q counts" not in fourth
    assert "p / q" not in " ".join((first, second, third, fourth))


def test_a_miss_before_the_end_says_that_none_hit_later() -> None:
    assert said(block([0.7, 0.9, 0.9, 0.9]), 2).endswith("No later dart hit.")


def test_a_token_saved_by_a_dart_that_the_record_lost_says_so() -> None:
    whole = block(SAVED)
    r = whole.rounds[0]
    cut = replace(r, checks=r.checks[:2])
    assert said(replace(whole, rounds=[cut]), 2).endswith("A later dart hit.")

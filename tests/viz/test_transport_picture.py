"""SpecTr's pictures, crossing curves and the map of a plan, and what is said of a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import Extras, KSeqExtras, KSeqNode, TransportExtras, TransportNode
from core.trace import Check, State, Trace
from tests.viz.by_hand import DOT, HITS, THE, WHEN, nodes, round_of, trace_of
from tests.viz.by_hand import LIGHT as SHINE
from viz.payload import Figure, Section
from viz.pictures.transport import draw
from viz.reading import read
from viz.rules import rule
from viz.sentence import plain
from viz.theme import DARK, LIGHT, painted

THEMES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def chosen(
    extra: Extras, kept: bool, reason: str, word: bytes = b" light", chance: float = 0.6864
) -> Trace:
    """Return one round: two candidates for one place, of which the second one decided."""
    states: list[State] = ["root", "rejected", "accepted" if kept else "rejected"]
    tree = nodes([DOT, THE, WHEN], [-1, 0, 0], states, [None, 0.2, 0.3], [None, 0.5, 0.3])
    hit = reason.startswith("u<")
    first = (
        "u>=" + reason.removeprefix("u>=").removeprefix("u<") if "u" in reason[:1] else "u>=plan"
    )
    checks = [
        Check(
            node=node,
            accept_probability=accept,
            u=u,
            passed=u < accept,
            p=p,
            q=q,
            mass_before=None,
        )
        for node, accept, u, p, q in (
            (1, 0.2746, 0.5, 0.2, 0.5),
            (2, chance, 0.1 if hit else 0.9, 0.3, 0.3),
        )
    ]
    made = round_of(
        replace(tree, reason=["", first, reason]),
        checks,
        [],
        [2] if kept else [],
        HITS,
        "bonus" if kept else "correction",
    )
    whole = trace_of(replace(made, extras=[extra]))
    return replace(whole, vocabulary={**whole.vocabulary, SHINE: word})


def crossing(node: int, drafts: int) -> KSeqNode:
    grid = [1.0, 1.5, float(drafts)] if drafts > 1 else [1.0]
    return KSeqNode(
        node=node,
        drafts=drafts,
        rho=1.456776,
        beta=0.543,
        accept=0.791355,
        best=0.86,
        grid=grid,
        reach=[0.91, 0.78, 0.6975][: len(grid)],
        spent=[0.7, 0.8, 0.9][: len(grid)],
    )


def k_seq(*drafts: int) -> KSeqExtras:
    return KSeqExtras(nodes=[crossing(0, count) for count in drafts])


PLAN = TransportNode(
    node=0,
    drafts=2,
    accept=0.86,
    k_seq=0.79,
    best=0.86,
    is_exact=False,
    token=[[THE], [WHEN], [SHINE, DOT], []],
    size=[1, 1, 2000, 3],
    p=[0.2, 0.3, 0.45, 0.05],
    q=[0.5, 0.3, 0.2, 0.0],
    free=2,
    sets=[[0, 1], [0], [2], [1]],
    mass=[0.4, 0.25, 0.2, 0.15],
    drawn=1,
    by_plan=[[0.1, 0.3, 0.0, 0.0], [0.2, 0.0, 0.0, 0.05], [0, 0, 0.2, 0], [0, 0.15, 0, 0]],
    by_k_seq=[[0.2, 0.1, 0.1, 0.0], [0.15, 0.0, 0.1, 0.0], [0.05, 0, 0.15, 0], [0, 0.15, 0, 0]],
)
PLANNED = TransportExtras(nodes=[PLAN])


def section(trace: Trace) -> Section:
    picture = draw(read(trace, 0))
    assert picture is not None
    return picture["section"]


def figure(trace: Trace) -> Figure:
    found = section(trace)["figure"]
    assert found is not None
    return found


def layout_part(found: Figure, name: str) -> list[dict[str, object]]:
    return cast(list[dict[str, object]], found["layout"][name])


@THEMES
@pytest.mark.parametrize("extra", [k_seq(2), k_seq(8, 3, 2), PLANNED], ids=["one", "three", "plan"])
def test_plotly_accepts_every_figure(extra: Extras, palette: dict[str, str]) -> None:
    trace = chosen(extra, True, "u<plan", b"<b>$x$")
    go.Figure(painted(figure(trace), palette))
    assert section(trace)["alt"]
    assert "<b>$" not in str(figure(trace))


def test_curves_are_drawn_where_there_was_a_choice_and_the_exact_factors_are_marked() -> None:
    found = figure(chosen(k_seq(8, 3, 2, 2, 1), True, "u<p/(rho q)"))
    assert [trace["name"] for trace in found["data"]] == ["spent", "reach", "root"] * 3
    regions = [shape for shape in layout_part(found, "shapes") if shape["type"] == "rect"]
    assert [(region["x0"], region["x1"]) for region in regions] == [
        (1.456776, 8),
        (1.456776, 3),
        (1.456776, 2),
    ]
    points = [trace for trace in found["data"] if trace["name"] == "root"]
    assert [(point["x"], point["y"]) for point in points] == [([1.456776], [0.791355])] * 3


def test_the_foot_compares_one_draft_all_and_the_best_rule() -> None:
    foot = section(chosen(k_seq(2), True, "u<p/(rho q)"))["foot"]
    assert "2 drafts together keep a token with chance .791 (ρ* 1.46)" in foot
    assert "one draft alone would with .700, the best rule with .860" in foot


def test_there_is_no_picture_without_a_choice() -> None:
    for extra in (k_seq(1), k_seq(), TransportExtras(nodes=[replace(PLAN, drafts=1)])):
        assert draw(read(chosen(extra, True, "u<plan"), 0)) is None


def shares(found: Figure, axis: str, name: str) -> list[list[float | None]]:
    return next(
        cast(list[list[float | None]], trace["z"])
        for trace in found["data"]
        if trace["name"] == name and trace["xaxis"] == axis
    )


def test_every_row_of_a_map_leads_somewhere_with_certainty() -> None:
    found = figure(chosen(PLANNED, True, "u<plan"))
    for axis in ("x", "x2"):
        both = zip(shares(found, axis, "kept"), shares(found, axis, "written"), strict=True)
        for kept, written in both:
            assert not any(
                k is not None and w is not None for k, w in zip(kept, written, strict=True)
            )
            assert sum(cell or 0.0 for cell in (*kept, *written)) == pytest.approx(1, abs=1e-9)


def test_cells_of_the_set_are_candidates_and_beside_a_free_one_all_are() -> None:
    found = figure(chosen(PLANNED, True, "u<plan"))
    plan, by_k_seq = shares(found, "x", "kept"), shares(found, "x2", "kept")
    assert plan[0] == pytest.approx([0.25, 0.75, None, None])
    assert plan[1] == pytest.approx([0.8, None, None, None])
    assert shares(found, "x", "written")[1] == pytest.approx([None, None, None, 0.2])
    assert by_k_seq[2] == pytest.approx([0.25, None, 0.75, None])
    outlines = layout_part(found, "shapes")
    assert len(outlines) == 2 * sum(map(len, PLAN.sets))


def test_columns_are_named_and_the_round_s_own_set_is_marked() -> None:
    found = figure(chosen(PLANNED, True, "u<plan"))
    axes = cast(dict[str, dict[str, Sequence[str]]], found["layout"])
    assert axes["xaxis2"]["ticktext"] == ["·The", "·When", "·light +2k", "others"]
    assert list(axes["yaxis"]["ticktext"]) == [".400", "<b>▸ .250</b>", ".200", ".150"]
    titles = [part["text"] for part in layout_part(found, "annotations")]
    assert titles == ["Plan, keeps .860", "K-SEQ, keeps .790"]


def test_the_map_shows_the_node_where_the_plan_gains_most() -> None:
    better = replace(PLAN, accept=0.9, k_seq=0.4, best=0.9)
    found = figure(chosen(TransportExtras(nodes=[PLAN, better]), True, "u<plan"))
    assert layout_part(found, "annotations")[0]["text"] == "Plan, keeps .900"


def said(extra: Extras, kept: bool, reason: str, chance: float = 0.6864) -> str:
    return plain(rule(read(chosen(extra, kept, reason, chance=chance), 0), 2))


def test_a_candidate_of_k_seq_is_told_with_its_factor() -> None:
    assert said(k_seq(2), True, "u<p/(rho q)") == (
        "Accepted. The draft gave ·When .300, the target .300. It is one of 2 candidates, so that "
        "p / (ρ q) counts, with ρ 1.46: it may stay with chance .686. The dart fell at .100, "
        "inside it by .586."
    )
    assert "only candidate, so that p / q counts" in said(k_seq(1), False, "u>=p/(rho q)")


def test_a_candidate_of_a_plan_is_told_with_what_the_plan_gives_it() -> None:
    assert said(PLANNED, False, "u>=plan") == (
        "Rejected. The draft gave ·When .300, the target .300. Among the tokens drawn here the "
        "plan lets it stay once the earlier ones missed with chance .686. The dart fell at .900, "
        "beyond it by .214."
    )


def test_a_candidate_without_a_chance_has_no_dart() -> None:
    assert said(PLANNED, False, "u>=plan", 0.0).endswith("the plan gives it no chance.")
    assert said(k_seq(2), False, "u>=p/(rho q)", 0.0).endswith("it may stay with chance 0.")


def test_a_candidate_that_the_target_wrote_after_all_says_so() -> None:
    told = said(PLANNED, True, "target_wrote_it")
    assert told.startswith("Accepted after all.")
    assert told.endswith(
        "Then the target's own token was ·When too: the walk goes on with its drafts."
    )

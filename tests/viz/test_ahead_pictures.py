"""The pictures of Medusa and Hydra say what heads said, what came, and what the tree is worth."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import cast

import plotly.graph_objects as go
import pytest
from msgspec.structs import replace

from core.extras import (
    AccuracyTreeExtras,
    Glance,
    GroundedExtras,
    Hidden,
    LookaheadExtras,
)
from core.trace import Trace
from tests.viz import pictured
from tests.viz.pictured import column, figure_of, part, parts
from viz.chart_tokens import token_text
from viz.payload import Figure
from viz.pictures import accuracy_tree, hydra, medusa
from viz.reading import read
from viz.theme import DARK, LIGHT, painted

medusa_run = partial(pictured.run, "medusa", seed=3, nodes=6)
hydra_run = partial(pictured.run, "hydra", seed=3, nodes=9)
DRAWS = (
    (medusa_run, medusa.draw),
    (medusa_run, accuracy_tree.draw),
    (hydra_run, hydra.draw),
    (hydra_run, accuracy_tree.draw),
)


def notes(figure: Figure) -> list[dict[str, object]]:
    return cast(list[dict[str, object]], figure["layout"]["annotations"])


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(("make", "draw"), DRAWS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_plotly_accepts_it_and_words_come_with_it(
    make: partial[Trace], draw: pictured.Draw, temperature: float, palette: dict[str, str]
) -> None:
    trace = make(temperature)
    for index, r in enumerate(trace.rounds):
        picture = draw(read(trace, index))
        assert (picture is not None) == (r.drafted > 0)
        if picture is not None:
            go.Figure(painted(figure_of(picture), palette))
            assert picture["section"]["foot"]
            assert picture["section"]["alt"].endswith(picture["section"]["foot"])
            assert cast(int, figure_of(picture)["layout"]["height"]) <= 520


@pytest.mark.parametrize(("make", "draw"), DRAWS)
def test_a_round_of_another_method_has_none(make: partial[Trace], draw: pictured.Draw) -> None:
    assert pictured.has_none_without_its_block(make(), draw)


@pytest.mark.parametrize(("make", "draw"), [DRAWS[0], DRAWS[2]])
def test_token_text_is_no_markup_and_no_colour(make: partial[Trace], draw: pictured.Draw) -> None:
    pictured.assert_token_text_is_data(make(), draw)


def test_wrong_records_are_refused() -> None:
    trace = medusa_run()
    _, _, look = pictured.shown(trace, medusa.draw, LookaheadExtras)
    _, _, tree = pictured.shown(trace, accuracy_tree.draw, AccuracyTreeExtras)
    first = look.heads[0]
    wrong = (
        replace(look, heads=[replace(first, q=first.q[1:])]),
        replace(look, heads=[replace(first, token=[first.token[0]] * len(first.token))]),
        replace(look, heads=[replace(first, q=[0.9] * len(first.q))]),
        replace(look, heads=[replace(first, token=[], q=[])]),
    )
    pictured.assert_kept_and_guarded(trace, wrong, "extras, lookahead")
    wrong_trees = (
        replace(tree, value=tree.value[1:]),
        replace(tree, tree_parent=[1, *tree.tree_parent[1:]]),
        replace(tree, tree_rank=[99, *tree.tree_rank[1:]]),
        replace(tree, accuracy=tree.accuracy[:1]),
        replace(
            tree,
            tree_parent=[0, 0, *tree.tree_parent[2:]],
            tree_rank=[0, 0, *tree.tree_rank[2:]],
        ),
    )
    pictured.assert_kept_and_guarded(trace, wrong_trees, "extras, accuracy_tree")


def test_wrong_records_of_hydra_are_refused() -> None:
    trace = hydra_run()
    _, _, extra = pictured.shown(trace, hydra.draw, GroundedExtras)
    first = extra.nodes[0]
    wrong = (
        replace(extra, nodes=[first, first]),
        replace(extra, nodes=[replace(first, node=99)]),
        replace(extra, nodes=[replace(first, q=first.q[1:])]),
    )
    pictured.assert_kept_and_guarded(trace, wrong, "extras, grounded")


class TestLookAhead:
    def trace(self) -> Trace:
        """Return a run whose first round's heads are made up: right third, on top, never."""
        trace = medusa_run(0.0)
        future = [token for r in trace.rounds[1:] for token in r.outcome.emitted]
        others = [token for token in trace.vocabulary if token not in future[:3]][:3]
        right_third = Glance(token=[*others[:2], future[0]], q=[0.5, 0.2, 0.1])
        on_top = Glance(token=[future[1], *others[:2]], q=[0.6, 0.3, 0.05])
        never = Glance(token=others, q=[0.4, 0.3, 0.2])
        extra = LookaheadExtras(heads=[right_third, on_top, never])
        return pictured.with_extras(trace, [extra])

    def test_the_token_that_came_stands_over_each_head(self) -> None:
        trace = self.trace()
        reading = read(trace, 1)
        future = [token for r in trace.rounds[1:] for token in r.outcome.emitted]
        names = [token_text(reading.vocabulary.label(token)) for token in future[:3]]
        over = [each["text"] for each in notes(figure_of(medusa.draw(reading)))[:3]]
        assert over == names

    def test_what_was_right_is_marked_where_it_stands(self) -> None:
        picture = medusa.draw(read(self.trace(), 1))
        figure = figure_of(picture)
        right = part(figure, "right")
        assert (right["x"], right["y"]) == ([0, 1], [2, 0])
        sizes = cast(dict[str, list[float]], right["marker"])["size"]
        assert sizes == pytest.approx([15 * sqrt(0.1), 15 * sqrt(0.6)], abs=0.06)
        assert picture is not None
        foot = picture["section"]["foot"]
        assert foot.startswith("Head 1 had it third; head 2 had it on top.")

    def test_at_the_end_of_the_text_there_is_nothing_to_come(self) -> None:
        trace = medusa_run(0.0)
        last = max(i for i, r in enumerate(trace.rounds) if r.drafted)
        extra = LookaheadExtras(heads=[Glance(token=[1, 2], q=[0.5, 0.2])] * 9)
        figure = figure_of(medusa.draw(read(pictured.with_extras(trace, [extra], last), last)))
        assert [each["text"] for each in notes(figure)].count("not written") >= 5

    def test_grey_is_what_the_target_finds_impossible_after_the_favourites(self) -> None:
        """The root's law is known: column 0 is grey where its p is small. The second column is
        judged after the favourite of the first, where the tree has that node.
        """
        trace = medusa_run(0.8)
        reading = read(trace, 1)
        (extra,) = (e for e in reading.round.extras if isinstance(e, LookaheadExtras))
        figure = figure_of(medusa.draw(reading))
        grey = set(zip(column(figure, "unfit"), column(figure, "unfit", "y"), strict=True))
        favourite = extra.heads[0].token[0]
        after = next(n for n in reading.children[0] if reading.token(n) == favourite)
        for place, node in ((0, 0), (1, after)):
            law = reading.law_of[node]
            p = dict(zip(law.token, law.p_raw, strict=True))
            for row, token in enumerate(extra.heads[place].token):
                right = (place, row) in set(
                    zip(column(figure, "right"), column(figure, "right", "y"), strict=True)
                )
                assert ((place, row) in grey) == (p.get(token, 0.0) < 0.01 and not right)

    def test_halves_that_do_not_fit_are_told(self) -> None:
        trace = medusa_run(0.8)
        reading = read(trace, 1)
        (extra,) = (e for e in reading.round.extras if isinstance(e, LookaheadExtras))
        node = next(n for n in reading.children[0] if reading.token(n) == extra.heads[0].token[0])
        law = reading.law_of[node]
        laws = [replace(each, p_raw=[0.0] * len(each.token)) if each is law else each
                for each in reading.round.laws]  # fmt: skip
        rounds = [replace(r, laws=laws) if i == 1 else r for i, r in enumerate(trace.rounds)]
        picture = medusa.draw(read(replace(trace, rounds=rounds), 1))
        assert picture is not None
        assert "Their favourites do not make one text" in picture["section"]["foot"]
        assert "nearly nothing" in picture["section"]["foot"]


class TestGrowth:
    def test_the_curves_add_up_values_and_what_stayed(self) -> None:
        trace = medusa_run(0.8)
        whole = [i for i, r in enumerate(trace.rounds) if r.drafted == 6]
        picture, _, extra = pictured.shown(trace, accuracy_tree.draw, AccuracyTreeExtras, whole[-1])
        figure = figure_of(picture)
        expected = column(figure, "expected", "y")
        assert expected[0] == 0
        assert expected[-1] == pytest.approx(sum(extra.value), abs=1e-3)
        found = column(figure, "found", "y")
        counted = [
            trace.rounds[i] for i in whole if trace.rounds[i].outcome.final_token is not None
        ]
        mean = sum(len(r.outcome.accepted) for r in counted) / len(counted)
        assert found[-1] == pytest.approx(mean, abs=1e-4)
        assert found == sorted(found)
        assert f"{mean:.2f} did on average" in picture["section"]["foot"]

    def test_circles_show_values_and_the_path_is_the_accepted_one(self) -> None:
        trace = medusa_run(0.8)
        for index, r in enumerate(trace.rounds):
            if r.drafted != 6:
                continue
            picture, _, extra = pictured.shown(trace, accuracy_tree.draw, AccuracyTreeExtras, index)
            nodes = part(figure_of(picture), "nodes")
            marker = cast(dict[str, list[object]], nodes["marker"])
            assert marker["size"][1:] == [round(max(3, 26 * sqrt(v)), 1) for v in extra.value]
            assert marker["color"].count("@accepted") == len(r.outcome.accepted)
            taken = [r.nodes.rank[node] for node in r.outcome.accepted]
            lit = [n for n, c in enumerate(marker["color"][1:]) if c == "@accepted"]
            assert [extra.tree_rank[n] for n in lit] == taken

    def test_it_says_what_the_tree_was_made_from(self) -> None:
        foots = [
            pictured.shown(make(), accuracy_tree.draw, AccuracyTreeExtras)[0]["section"]["foot"]
            for make in (medusa_run, hydra_run)
        ]
        assert "counted at 10 places or more" in foots[0]
        assert "Nobody counted how often these heads are right" in foots[1]


class TestGrounded:
    def made(self) -> tuple[Trace, dict[int, list[int]]]:
        """Return a run with made-up answers: the root's children would all be there, those of the
        next node none.
        """
        trace = hydra_run(0.8)
        reading = read(trace, 1)
        (extra,) = (e for e in reading.round.extras if isinstance(e, GroundedExtras))
        children = {
            h.node: [reading.token(n) for n in reading.children[h.node]] for h in extra.nodes
        }
        root, other = [node for node, found in children.items() if found][:2]
        absent = [t for t in trace.vocabulary if t not in children[other]]
        nodes = [
            Hidden(node=root, token=children[root], q=[0.1] * len(children[root])),
            Hidden(node=other, token=absent[:6], q=[0.1] * 6),
        ]
        made = GroundedExtras(is_hidden=False, nodes=nodes)
        return pictured.with_extras(trace, [made]), {n: children[n] for n in (root, other)}

    def test_what_is_there_only_because_of_the_token_before_is_filled(self) -> None:
        trace, children = self.made()
        figure = figure_of(hydra.draw(read(trace, 1)))
        root, other = (min(5, len(found)) for found in children.values())
        own = len(column(figure, "own")) + len(column(figure, "accepted own"))
        anyway = len(column(figure, "anyway")) + len(column(figure, "accepted anyway"))
        assert (own, anyway) == (other, root)
        assert len(column(figure, "unseen")) == root + other

    def test_the_foot_counts_them(self) -> None:
        trace, children = self.made()
        picture = hydra.draw(read(trace, 1))
        assert picture is not None
        (_, root), (_, other) = children.items()
        whole = len(root) + len(other)
        assert picture["section"]["foot"].startswith(f"{len(other)} of {whole} tokens are")

    def test_hidden_paths_are_told(self) -> None:
        trace = hydra_run(0.8, hide_path=True)
        picture, reading, extra = pictured.shown(trace, hydra.draw, GroundedExtras)
        assert extra.is_hidden
        assert "as blindly as Medusa's" in picture["section"]["foot"]
        assert not [n for name in ("own", "accepted own") for p in parts(figure_of(picture), name)
                    for n in cast(list[float], p["x"])]  # fmt: skip
        assert reading.round.drafted

"""The X-ray's payload: one place per node whatever the tree, and words for what was counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from core.trace import Trace
from tests import sample_traces as samples
from tests.sample_traces import HOSTILE, changed
from viz.lab.trees import NAMES, Node, Tree, Trees
from viz.lab.xray import Xray, xray
from viz.payload import Run

WORDS = {token: f" w{token}".encode() for token in range(8)}
# root: 0 (1: 3, 2: 4), 5 that no tree has; siblings stand by q, the largest first
NODES = (
    Node(0, -1, 0.5, 0.4),
    Node(1, 0, 0.2, 0.3),
    Node(2, 0, 0.6, 0.6),
    Node(3, 1, 0.9, 0.5),
    Node(4, 2, 0.1, 0.2),
    Node(5, -1, 0.3, None),
)


def tree(
    shape: str, nodes: Sequence[int], accepted: Sequence[int] = (), rejected: Sequence[int] = ()
) -> Tree:
    reach = [0.5] * len(nodes)
    return Tree(shape, "An idea.", nodes, reach, accepted, rejected, 6, 1.25, 0.75, 3)


SEEN = Trees(
    budget=5,
    bounds=(4, 64),
    nodes=NODES,
    oracle=(5,),
    trees=(
        tree("dyspec", (0, 1, 3), (0,), (1,)),
        tree("sequoia", (0, 1, 2, 4), (0, 1), (1,)),
        tree("static", (0,)),
    ),
    drafter="skip-12-18",
    is_own=True,
    measured=False,
)


def trace(temperature: float = 0.8) -> Trace:
    made = samples.chain()
    return changed(made, sampling=changed(made.sampling, temperature=temperature))


def view(seen: Trees = SEEN, temperature: float = 0.8, words: dict[int, bytes] = WORDS) -> Xray:
    return xray(trace(temperature), 1, seen, words, frozenset())


def text(runs: list[Run]) -> str:
    return "".join(run["text"] for run in runs)


def test_a_node_stands_where_it_stands_whichever_trees_there_are() -> None:
    whole = view()
    for trees in (SEEN.trees[:1], SEEN.trees[1:], SEEN.trees[::-1]):
        assert view(replace(SEEN, trees=trees))["nodes"] == whole["nodes"]


def test_siblings_stand_in_the_order_of_the_draft_s_liking_and_parents_between_them() -> None:
    found = view()
    row = [node["row"] for node in found["nodes"]]
    assert row[2] < row[1]  # q .6 above q .3
    assert row[0] < row[5]  # what the drafter was not asked about comes last
    assert row[0] == (row[1] + row[2]) / 2
    assert found["root_row"] == (row[0] + row[5]) / 2
    assert [node["depth"] for node in found["nodes"]] == [1, 2, 2, 3, 3, 1]
    assert (found["rows"], found["depth"]) == (3, 3)
    leaves = sorted(row[leaf] for leaf in (3, 4, 5))
    assert leaves == [0, 1, 2]


def test_path_products_multiply_from_the_root_and_end_where_the_drafter_was_not_asked() -> None:
    products = [node["path_q"] for node in view()["nodes"]]
    assert products[:5] == pytest.approx([0.4, 0.12, 0.24, 0.06, 0.048])
    assert products[5] is None


def test_a_token_that_was_kept_at_its_second_try_counts_as_kept() -> None:
    found = view()["trees"]
    assert found[0]["states"] == ["accepted", "rejected", "unreached"]
    assert found[1]["states"] == ["accepted", "accepted", "unreached", "unreached"]
    assert [(one["accepted"], one["wasted"]) for one in found] == [(1, 2), (2, 2), (0, 1)]


def test_the_sentence_holds_both_expectations_and_what_happened() -> None:
    first, second, third = (text(one["words"]) for one in view()["trees"])
    assert "expects 1.25 of its 3 nodes (5 allowed)" in first
    assert "0.75 on average" in first
    assert "accepts 1: ·w0, then the target writes ·w6." in first
    assert "accepts 2: ·w0 ·w1," in second
    assert "accepts none, then" in third


def test_where_the_text_ends_the_target_writes_nothing() -> None:
    over = replace(SEEN.trees[0], final=None)
    told = text(view(replace(SEEN, trees=(over,)))["trees"][0]["words"])
    assert told.endswith("it accepts 1: ·w0, and the text ends.")
    assert "writes" not in told


def test_both_expectations_are_one_quantity_under_two_laws() -> None:
    foot = view()["foot"]
    assert "would accept on average, given this tree, if the target's law were the draft's" in foot
    assert "by the target's own law" in foot


def test_the_cost_is_one_line_of_forwards_width_and_waste() -> None:
    found = view()["trees"]
    assert found[0]["cost"] == "3 draft forwards, 4 tokens wide to verify; 2 of 3 nodes wasted."
    assert found[2]["cost"].endswith("1 of 1 node wasted.")
    assert all(one["cost"] in one["alt"] for one in found)


def test_at_temperature_0_nothing_is_left_to_chance() -> None:
    found = view(temperature=0)
    for one in found["trees"]:
        assert "dice" not in text(one["words"])
        assert "on average" not in text(one["words"])
    assert "dice" in text(view()["trees"][0]["words"])
    assert "no matter of chance" in found["foot"]


def test_what_stands_in_for_the_trace_s_drafter_is_said() -> None:
    assert "has no model behind its drafts" not in view()["note"]
    other = view(replace(SEEN, is_own=False))
    assert f"{trace().method_name} has no model behind its drafts" in other["note"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("skip-12-18", "without layers 12 and 18"),
        ("skip-2-12-18", "without layers 2, 12 and 18"),
        ("skip-3", "without layer 3"),
        ("exit-28", "first 28 layers"),
        ("model", "the draft model"),
    ],
)
def test_the_drafter_is_told_in_words(name: str, words: str) -> None:
    made = trace()
    made = changed(made, models=changed(made.models, draft=None))
    found = xray(made, 1, replace(SEEN, drafter=name), WORDS, frozenset())
    assert words in found["note"]


def test_where_sequoia_s_plan_is_from_is_said() -> None:
    assert "none was measured" in view()["foot"]
    assert "measured with this drafter" in view(replace(SEEN, measured=True))["foot"]
    assert "none" not in view(replace(SEEN, measured=True))["foot"]


def test_hostile_tokens_stay_data() -> None:
    words = dict(enumerate([*HOSTILE, *(b"w" for _ in range(8))][:8]))
    found = json.dumps(view(words=words))
    assert found == json.dumps(json.loads(found))
    labels = [node["label"]["text"] for node in view(words=words)["nodes"]]
    assert any("<" in label for label in labels)


def test_a_character_over_two_tokens_is_shown_where_it_ends() -> None:
    words = {**WORDS, 0: b" \xc3", 2: b"\xa9"}
    labels = [node["label"]["text"] for node in view(words=words)["nodes"]]
    assert labels[2] == "é"


def test_every_shape_has_a_name() -> None:
    assert len(set(NAMES.values())) == len(NAMES) == 6
    assert all(one["name"] == NAMES[one["key"]] for one in view()["trees"])


def test_columns_over_nodes_have_one_length_and_parents_come_first() -> None:
    found = view()
    for one in found["trees"]:
        columns = (one["nodes"], one["states"], one["reach"], one["reach_text"])
        assert all(len(a) == len(b) for a, b in pairwise(columns))
        seen = {-1}
        for node in one["nodes"]:
            assert found["nodes"][node]["parent"] in seen
            seen.add(node)

"""The sentences of the design, from rounds with its numbers, word for word."""

from __future__ import annotations

from msgspec.structs import replace

from core.trace import Judge, Trace
from tests.sample_traces import build
from tests.viz import by_hand
from viz.payload import Inspector, RoundView
from viz.round import round_view
from viz.sentence import plain


def view(trace: Trace) -> RoundView:
    return round_view(trace, 0)


def at(trace: Trace, node: int) -> Inspector:
    return next(found for found in view(trace)["inspectors"] if found["node"] == node)


def rule(trace: Trace, node: int = 1) -> str:
    return plain(at(trace, node)["rule"])


def after(trace: Trace, node: int) -> str:
    return plain(at(trace, node)["after"])


def test_headline_counts_drafted_kept_and_written() -> None:
    trace = by_hand.five_darts()
    assert view(trace)["headline"] == "7 tokens drafted, 2 kept, 1 written by the target."
    r = replace(trace.rounds[0], drafted=33)
    told = view(replace(trace, rounds=[r]))["headline"]
    assert told == "33 tokens drafted, 2 kept, 1 written by the target."


def test_near_miss_is_told_with_four_decimals_and_the_shown_difference() -> None:
    assert rule(by_hand.five_darts()) == (
        "Rejected. The draft gave ·This .2552, the target .0676, so it may stay with chance "
        ".0676 / .2552 ≈ .2647. The dart fell at .2685, beyond it by .0038."
    )


def test_what_remains_and_the_next_dart_are_told_after_a_miss() -> None:
    assert after(by_hand.five_darts(), 1) == (
        "What p has beyond q sums to .349; rescaled to 1 it is the next law. ·When now holds .991 "
        "of it and the draft gives it .640, so dart 2 cannot miss."
    )
    assert after(by_hand.five_darts(), 7) == (
        "What was left beyond q sums to .950; rescaled to 1 it is the next law. Nothing else was "
        "drafted here: the target writes ·hits, which holds .412 of it."
    )


def test_plain_acceptance_has_three_decimals() -> None:
    assert rule(by_hand.one_dart(0.410, 0.16325, 0.20985)) == (
        "Accepted. The draft gave ·The .210, the target .163, so it may stay with chance "
        ".163 / .210 ≈ .778. The dart fell at .410, inside it by .368."
    )


def test_target_that_gives_more_than_the_draft_keeps_whatever_the_dart() -> None:
    assert rule(by_hand.five_darts(), 2) == (
        "Accepted. After the miss the draft gives ·When .640, the target .991, at least as much, "
        "so it stays wherever the dart falls."
    )


def test_token_that_the_target_excludes_cannot_stay() -> None:
    assert rule(by_hand.one_dart(0.4, 0.0, 0.3)) == (
        "Rejected. The draft gave ·The .300, the target nothing, so it cannot stay."
    )


def test_fixed_draft_is_kept_with_the_targets_probability() -> None:
    assert rule(by_hand.one_dart(0.2, 0.412, None)) == (
        "Accepted. The draft offered ·The outright; the target gives it .412, so it may stay with "
        "chance .412. The dart fell at .200, inside it by .212."
    )


def test_greedy_rule_tells_the_gap_of_two_logits() -> None:
    assert rule(by_hand.greedy(1)) == (
        "Accepted. ·The is the target's first choice, 0.92 logits ahead of ·When."
    )
    assert rule(by_hand.greedy(2)) == (
        "Rejected. The target's first choice is ·When; ·The is its second, 0.69 logits behind."
    )
    assert at(by_hand.greedy(1), 1)["board"] is None
    assert view(by_hand.greedy(1))["darts"][0]["greedy"]


def test_relaxed_rule_tells_what_the_exact_rule_would_have_done() -> None:
    judge = Judge(score=[0.83], threshold=[0.5], strict_verdict=[False])
    told = rule(by_hand.one_dart(0.9, 0.1, 0.2, judge))
    assert told.startswith("Relaxed. The draft gave ·The .200, the target .100")
    assert told.endswith(
        "The judge scored it 0.83, above its threshold 0.5. The exact rule would have let it go."
    )


def test_unreached_nodes_name_what_stopped_the_walk() -> None:
    trace = by_hand.five_darts()
    assert rule(trace, 3) == (
        "Not reached: ·When was kept first. The draft gave it .067, the target .062."
    )
    below = build()
    for index, r in enumerate(below.rounds):
        for node, state in enumerate(r.nodes.state):
            if state == "unreached" and r.nodes.state[r.nodes.parent[node]] == "rejected":
                found = round_view(below, index)["inspectors"][node]
                assert ", which it follows, was rejected." in plain(found["rule"])


def test_ledger_rows_as_designed() -> None:
    rows = view(by_hand.five_darts())["darts"]
    assert [row["numbers"] for row in rows] == [
        ".068 / .255 ≈ .265",
        ".991 / .640 > 1",
        ".846 / .453 > 1",
        ".002 / .045 ≈ .042",
        "<.001 / .068",
    ]
    assert [row["u_text"] for row in rows] == ["u .268", "u .820", "u .937", "u .552", "u .328"]
    assert [row["verdict"] for row in rows] == [
        "rejected",
        "accepted",
        "accepted",
        "rejected",
        "rejected",
    ]
    assert view(by_hand.five_darts())["ledger_head"] == "The 5 darts of this round"


def test_dart_line_as_designed() -> None:
    board = at(by_hand.five_darts(), 1)["board"]
    assert board is not None
    assert board["bar_text"] == "q .255, of which p covers .068"
    assert (board["keep_text"], board["u_text"]) == ("p/q .2647", "u .2685")
    assert not board["passed"]


def test_bars_hold_both_laws_and_what_remains_on_one_row() -> None:
    found = at(by_hand.five_darts(), 1)
    rows = [
        (row["label"]["text"] if row["label"] else "all others", row["p_text"], row["q_text"])
        for row in found["bars"]
    ]
    assert rows[:3] == [("When", ".823", ".477"), ("This", ".068", ".255"), ("The", ".062", ".067")]
    assert [row["remains_text"] for row in found["bars"]] == [".991", *["0"] * 6, ".009"]
    assert found["has_residual"]
    assert [row["tested"] for row in found["bars"]].index(True) == 1


def test_bars_of_a_later_sibling_hold_the_numbers_of_its_dart() -> None:
    """The second dart is thrown at what the first left, and q has lost the first sibling."""
    found = at(by_hand.five_darts(), 2)
    tested = next(row for row in found["bars"] if row["tested"])
    assert (tested["p_text"], tested["q_text"]) == (".991", ".640")
    this = next(row for row in found["bars"] if row["label"] and row["label"]["text"] == "This")
    assert (this["p_text"], this["q_text"]) == ("0", "0")


def test_scalars_as_designed() -> None:
    assert at(by_hand.five_darts(), 1)["scalars"] == [
        ("Overlap Σ min(p, q)", ".651"),
        ("Left over", ".349"),
        ("Entropy p at T 1, nats", "1.94"),
        ("Entropy q at T 1, nats", "3.15"),
        ("KL(q‖p), nats", "0.50"),
        ("Target's top in q", "rank 1"),
    ]


def test_titles_and_first_focus() -> None:
    found = view(by_hand.five_darts())
    titles = [inspector["title"] for inspector in found["inspectors"]]
    assert titles == [
        "Text so far",
        "Dart 1",
        "Dart 2",
        "Not reached",
        "Dart 3",
        "Not reached",
        "Dart 4",
        "Dart 5",
        "Correction",
    ]
    assert found["focus"] == 1
    assert found["states"] == ["accepted", "rejected", "unreached", "correction"]
    assert [d["note"] for d in found["depths"][:3]] == [
        "",
        "3 drafted, 2 tested",
        "2 drafted, 1 tested",
    ]


def test_tokens_that_are_marks_are_quoted_in_sentences() -> None:
    assert "“.”" in rule(by_hand.five_darts(), 0)

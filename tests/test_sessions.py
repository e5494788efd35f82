"""A tree scored in one forward over the cache says what plain passes say, path by path without any
cache.

For every shape of model, at the start, in the middle and at the end of the context, round after
round.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.models.base import FINAL
from core.models.hf import HFSession
from core.tree import DraftTree
from tests.drafts import random_tree
from tests.tiny import (
    CONTEXT,
    LAYERED,
    SHAPES,
    VOCABULARY,
    WHOLE,
    slow_logits,
    slow_rows,
    tiny,
    wrapped,
)

TOLERANCE = 1e-5
MODELS = [(shape, attention) for shape in SHAPES for attention in ("sdpa", "eager")]
CHAIN = DraftTree((3, 4, 5, 6), (-1, 0, 1, 2))
FORK = DraftTree((3, 4, 5, 6, 7, 8, 9), (-1, 0, 0, 1, 2, 2, 4))

tokens = st.integers(0, VOCABULARY - 1)
trees = st.builds(
    random_tree,
    st.lists(st.integers(0, 100), min_size=6, max_size=6),
    st.lists(tokens, min_size=1, max_size=7),
)


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=TOLERANCE)


def text_of(length: int) -> list[int]:
    return [(7 * place + place // 5) % VOCABULARY for place in range(length)]


def path_to(tree: DraftTree, choice: int) -> tuple[int, ...]:
    return tree.path(choice % len(tree))


@pytest.mark.parametrize(("shape", "attention"), MODELS)
@settings(max_examples=12)
@given(tree=trees, place=st.sampled_from(["start", "middle", "end"]))
def test_a_tree_scores_as_its_paths_do_anywhere_in_the_context(
    shape: str, attention: str, tree: DraftTree, place: str
) -> None:
    last = CONTEXT - 1 - max(tree.depths)
    text = text_of({"start": 0, "middle": CONTEXT // 2, "end": last}[place])
    model = tiny(shape, attention)
    same(wrapped(model).open(text).score(tree).logits, slow_rows(model, text, tree))


@pytest.mark.parametrize(("shape", "attention"), MODELS)
@settings(max_examples=6)
@given(
    rounds=st.lists(
        st.tuples(trees, st.integers(0, 100), st.lists(tokens, max_size=3)), min_size=2, max_size=4
    )
)
def test_kept_paths_and_fed_tokens_are_the_text_of_the_next_round(
    shape: str, attention: str, rounds: Sequence[tuple[DraftTree, int, list[int]]]
) -> None:
    model = tiny(shape, attention)
    text = text_of(5)
    session = wrapped(model).open(text)
    for tree, choice, fed in rounds:
        same(session.score(tree).logits, slow_rows(model, text, tree))
        path = path_to(tree, choice)
        session.keep(path)
        session.feed(fed)
        text = [*text, *(tree.tokens[node] for node in path), *fed]
        assert session.length == len(text)


@pytest.mark.parametrize(("shape", "attention"), MODELS)
@pytest.mark.parametrize("path", [(0,), (0, 1), (0, 2), (0, 1, 3), (0, 2, 4, 6), (0, 2, 5)])
def test_any_path_can_stay_also_when_its_rows_lie_apart(
    shape: str, attention: str, path: tuple[int, ...]
) -> None:
    model, text = tiny(shape, attention), text_of(9)
    session = wrapped(model).open(text)
    session.score(FORK)
    session.keep(path)
    text += [FORK.tokens[node] for node in path]
    same(session.score(CHAIN).logits, slow_rows(model, text, CHAIN))


@pytest.mark.parametrize(("shape", "attention"), MODELS)
def test_a_tree_scored_level_by_level_is_the_tree_scored_at_once(
    shape: str, attention: str
) -> None:
    model, text = tiny(shape, attention), text_of(9)
    session = wrapped(model).open(text)
    parts: list[Tensor] = []
    for start, end in ((0, 1), (1, 3), (3, 6), (6, 7)):
        level = DraftTree(FORK.tokens[:end], FORK.parents[:end])
        parts.append(session.score(level, start).logits)
    expected = slow_rows(model, text, FORK)
    same(torch.cat(parts), expected)
    same(session.score(FORK).logits, expected)
    session.keep((0, 2, 4))
    text += [FORK.tokens[node] for node in (0, 2, 4)]
    same(session.score(CHAIN).logits, slow_rows(model, text, CHAIN))


@pytest.mark.parametrize(("shape", "attention"), MODELS)
def test_a_chain_scored_node_by_node_is_the_chain_scored_at_once(
    shape: str, attention: str
) -> None:
    model, text = tiny(shape, attention), text_of(4)
    session = wrapped(model).open(text)
    parts = [
        session.score(DraftTree(CHAIN.tokens[: i + 1], CHAIN.parents[: i + 1]), i).logits
        for i in range(4)
    ]
    same(torch.cat(parts), slow_rows(model, text, CHAIN))


@pytest.mark.parametrize(("shape", "attention"), MODELS)
def test_scoring_without_keeping_leaves_no_trace(shape: str, attention: str) -> None:
    model, text = tiny(shape, attention), text_of(9)
    session = wrapped(model).open(text)
    session.score(FORK)
    session.score(DraftTree.root(20))
    assert session.length == len(text)
    same(session.score(CHAIN).logits, slow_rows(model, text, CHAIN))


@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_probes_are_scored_like_any_node(shape: str) -> None:
    model, text = tiny(shape), text_of(9)
    tree = DraftTree(FORK.tokens, FORK.parents, roles=("draft", "draft", *["probe"] * 5))
    same(wrapped(model).open(text).score(tree).logits, slow_rows(model, text, tree))


@pytest.mark.parametrize("shape", LAYERED)
def test_the_cache_grows_past_its_first_rows_and_keeps_what_it_held(shape: str) -> None:
    model = tiny(shape, context=600)
    text = text_of(250)
    session = wrapped(model, 600).open(text)
    for _ in range(4):
        same(session.score(FORK).logits[-2:], slow_rows(model, text, FORK)[-2:])
        session.keep((0, 2, 4, 6))
        text += [FORK.tokens[node] for node in (0, 2, 4, 6)]
    assert session.length > 256
    session.feed(text_of(270))
    text += text_of(270)
    same(session.score(CHAIN).logits, slow_rows(model, text, CHAIN))


@torch.inference_mode()
def slow_states(model_key: tuple[str, str], text: Sequence[int]) -> Sequence[Tensor]:
    """Return transformers' own hidden states (T, D): embedding, after every layer but the last,
    after the norm.
    """
    model = tiny(*model_key)
    states = model(
        torch.tensor([list(text)]), use_cache=False, output_hidden_states=True
    ).hidden_states
    return [state[0] for state in states]


@pytest.mark.parametrize(("shape", "attention"), [m for m in MODELS if m[0] in LAYERED])
def test_tapped_states_are_those_of_a_plain_pass_for_text_and_nodes(
    shape: str, attention: str
) -> None:
    text, layers = text_of(6), 3
    taps = [*range(layers), FINAL]
    session = wrapped(tiny(shape, attention)).open(text)
    first = session.score(FORK, taps=taps)
    assert set(first.features) == set(taps)
    for node in range(len(FORK)):
        path = [FORK.tokens[n] for n in FORK.path(node)]
        expected = slow_states((shape, attention), [*text, *path])
        for tap in taps:
            state = first.features[tap]
            assert len(state) == len(text) + len(FORK)
            same(state[: len(text)], expected[tap][: len(text)])
            same(state[len(text) + node], expected[tap][-1])
    assert first.ran == 2 * layers
    session.keep((0, 2, 4))
    text += [FORK.tokens[n] for n in (0, 2, 4)]
    again = session.score(CHAIN, taps=taps)
    expected = slow_states((shape, attention), [*text, *CHAIN.tokens])
    for tap in taps:
        same(again.features[tap], expected[tap][-len(CHAIN) :])


def test_the_last_layer_can_be_tapped_before_the_norm() -> None:
    model = tiny("llama")
    session = wrapped(model).open(text_of(6))
    scores = session.score(CHAIN, taps=[3, FINAL])
    same(model.model.norm(scores.features[3]).detach(), scores.features[FINAL])


def test_taps_are_kept_only_where_asked_for() -> None:
    assert wrapped(tiny("llama")).open(text_of(3)).score(CHAIN).features == {}
    assert set(wrapped(tiny("llama")).open(text_of(3)).score(CHAIN, taps=[1]).features) == {1}


def test_partial_passes_by_hand_are_the_model_s_own() -> None:
    """`layers` is what drafters with parts of the target call."""
    model, text = tiny("llama"), text_of(8)
    session = wrapped(model).open(text)
    session.score(DraftTree.root(3))
    session.keep((0,))
    assert isinstance(session, HFSession)
    positions = torch.tensor([[len(text) + 1]])
    hidden = model.get_input_embeddings()(torch.tensor([[4]]))
    half = session.layers(0, 2, hidden, positions, None)
    whole = session.layers(2, 3, half, positions, None)
    same(
        model.lm_head(model.model.norm(whole))[0, 0].detach(), slow_logits(model, [*text, 3, 4])[-1]
    )


def test_logits_end_where_the_vocabulary_does_and_padding_rows_are_cut() -> None:
    model = tiny("llama")
    made = wrapped(model)
    card = made.card
    padded = type(made)(
        model,
        type(card)(
            **{f: getattr(card, f) for f in card.__struct_fields__} | {"vocabulary_size": 20}
        ),
    )
    assert padded.open([1]).score(CHAIN).logits.shape == (4, 20)


def test_the_last_place_of_the_context_can_be_scored_and_the_next_one_not() -> None:
    for shape in (*LAYERED, *WHOLE):
        model = tiny(shape)
        session = wrapped(model).open(text_of(CONTEXT - 1))
        same(
            session.score(DraftTree.root(1)).logits[0],
            slow_logits(model, [*text_of(CONTEXT - 1), 1])[-1],
        )
        with pytest.raises(ValueError, match=f"context of {CONTEXT} tokens"):
            session.score(DraftTree.root(1).extended([0], [2]))


def test_nodes_whose_parents_were_not_scored_are_refused() -> None:
    session = wrapped(tiny("llama")).open(text_of(3))
    with pytest.raises(ValueError, match="nodes before 2 were not scored yet"):
        session.score(CHAIN, 2)
    session.score(DraftTree.root(3))
    with pytest.raises(ValueError, match="nodes before 2 were not scored yet"):
        session.score(CHAIN, 2)


@pytest.mark.parametrize("path", [(1,), (0, 9), (0, -1)])
def test_paths_that_do_not_begin_at_the_root_or_were_not_scored_are_refused(
    path: tuple[int, ...],
) -> None:
    session = wrapped(tiny("llama")).open(text_of(3))
    session.score(CHAIN)
    with pytest.raises(ValueError, match="begins at the root and holds scored nodes"):
        session.keep(path)


def test_an_empty_path_leaves_the_text_as_it_was() -> None:
    session = wrapped(tiny("llama")).open(text_of(3))
    before = session.score(CHAIN).logits
    session.keep(())
    assert session.length == 3
    torch.testing.assert_close(session.score(CHAIN).logits, before, rtol=0, atol=1e-5)


def test_text_is_fed_between_rounds_only() -> None:
    session = wrapped(tiny("llama")).open(text_of(3))
    session.score(CHAIN)
    with pytest.raises(ValueError, match="keep the accepted path before feeding"):
        session.feed([1])


def test_parts_of_a_model_that_only_runs_whole_are_refused_in_words() -> None:
    session = wrapped(tiny("opt")).open(text_of(3))
    assert isinstance(session, HFSession)
    with pytest.raises(ValueError, match="Models of type opt run whole here"):
        session.layers(0, 1, torch.zeros((1, 1, 16)), torch.zeros((1, 1)), None)
    with pytest.raises(ValueError, match="Models of type opt run whole here"):
        session.score(CHAIN, taps=[1])

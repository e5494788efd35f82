"""Parts of the target draft as the papers say, and what the verify call takes over from them
changes nothing.

Reference of a part: the whole model reads the text, then the part runs the drafted tokens one by
one over those keys and values, in transformers' own cache.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.models.base import FINAL
from core.models.hf import HFSession
from core.models.views import View, ViewSession
from core.tree import DraftTree
from tests.drafts import random_tree
from tests.tiny import CONTEXT, LAYERED, slow_logits, slow_part, slow_rows, tiny, wrapped

LAYERS = 3
VIEWS = {
    "exit after the first layer": View(exit_layer=1),
    "exit after the second layer": View(exit_layer=2),
    "exit after the last layer": View(exit_layer=LAYERS),
    "the first layer skipped": View((0,), (0,)),
    "the second layer skipped": View((1,), (1,)),
    "two layers skipped": View((1, 2), (1, 2)),
    "attention skipped": View((1,), ()),
    "an MLP skipped": View((), (2,)),
    "nothing skipped": View(),
}
CASES = [("llama", "sdpa", name) for name in VIEWS] + [("gpt2", "eager", name) for name in VIEWS]
CASES += [
    (shape, attention, name)
    for shape in LAYERED
    for attention in ("sdpa", "eager")
    for name in ("exit after the second layer", "the second layer skipped")
    if (shape, attention, name) not in CASES
]
FORK = DraftTree((3, 4, 5, 6, 7, 8, 9), (-1, 0, 0, 1, 2, 2, 4))
LEVELS = ((0, 1), (1, 3), (3, 6), (6, 7))


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def text_of(length: int) -> list[int]:
    return [(7 * place + place // 5) % 23 for place in range(length)]


def opened(shape: str, attention: str, text: Sequence[int]) -> HFSession:
    """Return a session whose text is in the cache, as after the prompt pass."""
    session = wrapped(tiny(shape, attention)).open(text[:-1])
    session.score(DraftTree.root(text[-1]))
    session.keep((0,))
    return session


def drafted(
    view: ViewSession, tree: DraftTree, levels: Sequence[tuple[int, int]] = LEVELS
) -> Tensor:
    """Return the view's logits, level by level."""
    parts = [
        view.score(DraftTree(tree.tokens[:end], tree.parents[:end]), start) for start, end in levels
    ]
    return torch.cat([part.logits for part in parts])


@pytest.mark.parametrize(("shape", "attention", "name"), CASES)
def test_a_view_drafts_as_its_part_does_on_the_whole_model_s_keys(
    shape: str, attention: str, name: str
) -> None:
    model, text, view = tiny(shape, attention), text_of(9), VIEWS[name]
    ours = drafted(view.open(opened(shape, attention, text)), FORK)
    for node in range(len(FORK)):
        path = [FORK.tokens[n] for n in FORK.path(node)]
        same(ours[node], slow_part(model, text, path, view.plan(LAYERS)))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("shape", LAYERED)
def test_an_early_exit_is_the_model_cut_off_there(shape: str, layers: int) -> None:
    model, text = tiny(shape), text_of(9)
    short = copy.deepcopy(model)
    body = short.transformer if shape == "gpt2" else short.model
    if shape == "gpt2":
        body.h = body.h[:layers]
    else:
        body.layers = body.layers[:layers]
    short.config.num_hidden_layers = layers
    ours = drafted(View(exit_layer=layers).open(opened(shape, "sdpa", text)), FORK)
    same(ours, slow_rows(short, text, FORK))


@pytest.mark.parametrize("shape", LAYERED)
def test_the_first_drafted_token_is_that_of_a_model_without_the_layer_where_the_text_is_one_token(
    shape: str,
) -> None:
    """With a text of one token before the root, skipping the last layer touches no key that is read
    again.
    """
    model, text = tiny(shape), text_of(1)
    short = copy.deepcopy(model)
    if shape == "gpt2":
        short.transformer.h = short.transformer.h[:2]
    else:
        short.model.layers = short.model.layers[:2]
    short.config.num_hidden_layers = 2
    view = View((2,), (2,)).open(opened(shape, "sdpa", text))
    same(view.score(DraftTree.root(5)).logits[0], slow_logits(short, [*text, 5])[-1])


@pytest.mark.parametrize("takes_over", [True, False])
@pytest.mark.parametrize(("shape", "attention", "name"), CASES)
def test_verifying_after_a_view_drafted_is_the_full_pass_round_after_round(
    shape: str, attention: str, name: str, takes_over: bool
) -> None:
    model, text, view = tiny(shape, attention), text_of(9), VIEWS[name]
    target = opened(shape, attention, text)
    part = view.open(target)
    for levels, path in (
        (LEVELS, (0, 2, 4, 6)),
        (LEVELS[:2], (0, 1)),
        (LEVELS[:1], (0,)),
        (LEVELS[:3], (0, 2, 5)),
    ):
        drafted(part, FORK, levels)  # the later levels were drafted, but not scored by the view
        resume = part.resume() if takes_over else None
        same(target.score(FORK, resume=resume).logits, slow_rows(model, text, FORK))
        target.keep(path)
        part.keep(path)
        text += [FORK.tokens[node] for node in path]


@settings(max_examples=15)
@given(
    parents=st.lists(st.integers(0, 99), min_size=6, max_size=6),
    tokens=st.lists(st.integers(0, 22), min_size=1, max_size=7),
    scored=st.integers(1, 7),
    exit_layer=st.integers(1, LAYERS),
)
def test_any_part_of_a_tree_that_was_drafted_can_be_taken_over(
    parents: list[int], tokens: list[int], scored: int, exit_layer: int
) -> None:
    tree = random_tree(parents, tokens)
    target = opened("llama", "sdpa", text_of(9))
    part = View(exit_layer=exit_layer).open(target)
    drafted(part, tree, [(0, min(scored, len(tree)))])
    ours = target.score(tree, resume=part.resume(), taps=[exit_layer, FINAL])
    same(ours.logits, slow_rows(tiny("llama"), text_of(9), tree))
    assert len(ours.features[FINAL]) == len(tree)


def test_a_draft_that_was_thrown_away_leaves_nothing_to_take_over() -> None:
    """A drafter may begin again at the root before the target verifies anything."""
    target = opened("llama", "sdpa", text_of(9))
    part = View(exit_layer=2).open(target)
    drafted(part, FORK)
    other = DraftTree((11, 12, 13), (-1, 0, 1))
    drafted(part, other, [(0, 1), (1, 3)])
    ours = target.score(other, resume=part.resume())
    same(ours.logits, slow_rows(tiny("llama"), text_of(9), other))


def test_sublayers_are_counted_as_run_or_as_taken_over() -> None:
    target = opened("llama", "sdpa", text_of(5))
    part = View((1,), (1, 2)).open(target)
    chain = DraftTree((3, 4), (-1, 0))
    assert part.score(chain).ran == 3
    scores = target.score(chain, resume=part.resume())
    assert (scores.ran, scores.reused) == (4, 2)
    plain = target.score(chain)
    assert (plain.ran, plain.reused) == (6, 0)


def test_a_view_says_which_layers_it_leaves_out() -> None:
    target = opened("llama", "sdpa", text_of(5))
    skip, leave = View((1,), (1, 2)).open(target).extras(), View(exit_layer=2).open(target).extras()
    assert (skip.skipped_attention, skip.skipped_mlp, skip.exit_layer, skip.shared) == (
        [1],
        [1, 2],
        None,
        1,
    )
    assert (leave.skipped_attention, leave.skipped_mlp, leave.exit_layer, leave.shared) == (
        [2],
        [2],
        2,
        2,
    )
    assert skip.total == leave.total == LAYERS


def test_a_view_can_draft_up_to_the_last_place_of_the_context() -> None:
    text = text_of(CONTEXT - 2)
    part = View(exit_layer=2).open(opened("llama", "sdpa", text))
    assert part.score(DraftTree((3, 4), (-1, 0))).logits.shape == (2, 23)
    with pytest.raises(ValueError, match="context of"):
        part.score(DraftTree((3, 4, 5), (-1, 0, 1)))


def test_a_view_does_not_read_the_text_for_the_target() -> None:
    """Text that only a part has run would lack keys in the layers left out."""
    target = wrapped(tiny("llama")).open(text_of(5))
    with pytest.raises(ValueError, match="through the whole model"):
        View(exit_layer=2).open(target).score(DraftTree.root(3))
    same(
        target.score(DraftTree.root(3)).logits,
        slow_rows(tiny("llama"), text_of(5), DraftTree.root(3)),
    )


def test_states_that_a_pass_does_not_compute_cannot_be_tapped() -> None:
    target = opened("llama", "sdpa", text_of(5))
    part = View(exit_layer=2).open(target)
    part.score(DraftTree.root(3))
    with pytest.raises(ValueError, match="no states before"):
        target.score(DraftTree.root(3), taps=[1], resume=part.resume())


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (View((3,), ()), "Layer 3 cannot be skipped: the target has layers 0 to 2."),
        (View((), (-1,)), "Layer -1 cannot be skipped: the target has layers 0 to 2."),
        (View(exit_layer=0), "Exit layer is 0; it may be 1 to 3."),
        (View(exit_layer=4), "Exit layer is 4; it may be 1 to 3."),
    ],
)
def test_layers_that_are_not_there_are_refused_in_one_sentence(view: View, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as caught:
        view.open(opened("llama", "sdpa", text_of(3)))
    assert str(caught.value) == sentence


def test_models_that_run_whole_have_no_views() -> None:
    with pytest.raises(ValueError, match="choose a second model as drafter"):
        View(exit_layer=1).open(wrapped(tiny("opt")).open(text_of(3)))

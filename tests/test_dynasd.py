"""DynaSD as released: lossy by what the sheet says, to the digit; strands, roots and the stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from core.decode import Decoder, decode, start, step
from core.dice import SeededDice
from core.drafters.source import Source
from core.drafters.strands import StrandDrafter
from core.heads.decision import DecisionModel, file_of, find_decision, read_decision
from core.laws import Law
from core.models.base import FINAL, Scores
from core.models.toy import ToyModel, tabulated
from core.registry import Models, get
from core.shapes.base import Grown
from core.shapes.decision import DecisionStop
from core.shapes.levels import Levels
from core.tree import Draft, DraftTree, Sampling
from core.verify.base import Context
from core.verify.longest import LongestStrand
from tests import exact
from tests.exactness import AMPLE, unrecorded
from tests.sheet import distance
from tests.tiny import tiny, wrapped

Row = Sequence[float]


def texts(target: ToyModel, draft: ToyModel, widths: tuple[int, ...], law: Law, most: int):
    """Return the exact law of what the prompt pass and one round write, up to `most` tokens."""

    def run(dice: exact.EnumeratedDice) -> tuple[int, ...]:
        drafter = StrandDrafter(
            Source(lambda text, _: draft.open(text), "toy"), Levels(widths), roots=widths[0]
        )
        state = start(
            [0], target, Decoder(drafter, LongestStrand()), law, AMPLE, recorder=unrecorded
        )

        step([state], dice, lambda: 0.0)
        assert state.tokens == [0]  # the law of the prompt is kept, no token drawn from it
        step([state], dice, lambda: 0.0)
        return tuple(state.tokens[1 : 1 + most])

    return exact.law(run)


@pytest.mark.parametrize(
    ("p", "q", "expected", "drift"),
    [
        ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5), (0.46625, 0.31575, 0.218), 0.03375),
        ((0.7, 0.2, 0.1), (0.4, 0.3, 0.3), (0.606083, 0.260667, 0.13325), 0.0939),
    ],
)
def test_the_first_token_drifts_as_the_sheet_says(
    p: Row, q: Row, expected: Row, drift: float
) -> None:
    target, draft = ToyModel(lambda _: p, 3), ToyModel(lambda _: q, 3)
    texts_ = texts(target, draft, (2, 1), Law(1), 1)
    found = [texts_[(token,)] for token in range(3)]
    assert found == pytest.approx(expected, abs=1e-6)
    assert distance(found, p) == pytest.approx(drift, abs=5e-5)


def test_a_strand_that_is_easier_to_continue_wins_too_often() -> None:
    """The context example of the sheet: the joint law of two tokens, short texts completed by p."""
    target = ToyModel(tabulated({(0, 0): (0.5, 0.5), (0, 1): (0.9, 0.1)}, (0.7, 0.3)), 2)
    draft = ToyModel(tabulated({(0, 0): (0.95, 0.05), (0, 1): (0.9, 0.1)}, (0.5, 0.5)), 2)
    joint = {(a, b): 0.0 for a in range(2) for b in range(2)}
    for text, probability in texts(target, draft, (2, 1), Law(1), 2).items():
        if len(text) == 2:
            joint[text] += probability
            continue
        for token, share in enumerate(target.law((0, *text)).tolist()):
            joint[(*text, token)] += probability * share
    expected = {(0, 0): 0.35, (0, 1): 0.035, (1, 0): 0.5535, (1, 1): 0.0615}
    assert joint == pytest.approx(expected, abs=1e-12)


def test_at_temperature_zero_a_longer_strand_beats_the_favourite() -> None:
    target = ToyModel(tabulated({(0,): (0.6, 0.4), (0, 0): (0.9, 0.1)}, (0.1, 0.9)), 2)
    draft = ToyModel(tabulated({(0, 0): (0.1, 0.9)}, (0.1, 0.9)), 2)
    (text,) = texts(target, draft, (2, 1), Law(0), 2)
    assert text == (1, 1)  # plain greedy decoding writes 0


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((1,), (0.5, 0.3, 0.2)),  # nothing kept: p as it is, though a test failed
        ((1, 3), (1.0, 0.0, 0.0)),  # kept up to a failed test: (p - q)+
        ((1, 3, 5), (0.5, 0.3, 0.2)),  # kept to the end
    ],
)
def test_the_next_roots_come_from_the_row_that_the_sheet_says(
    path: tuple[int, ...], expected: Row
) -> None:
    tree = DraftTree.root(0).extended([0, 0, 1, 2, 3], [0, 1, 2, 2, 1])
    p = torch.tensor([[0.5, 0.3, 0.2]] * 6, dtype=torch.float64)
    q = torch.tensor([[0.2, 0.3, 0.5]] * 6, dtype=torch.float64)
    draft = Draft(tree, Sampling.DISTINCT, q=q, rows={node: node for node in range(6)})
    table = LongestStrand().prepare(draft, Scores(p.log()), Context((0,), Law(1)))
    assert table.final_law(path[-1]).tolist() == pytest.approx(expected, abs=1e-12)


def test_with_one_root_and_the_target_as_drafter_nothing_is_lost() -> None:
    laws = tabulated({(0,): (0.6, 0.4), (0, 0): (0.9, 0.1)}, (0.3, 0.7))
    target, draft = ToyModel(laws, 2), ToyModel(laws, 2)
    found = texts(target, draft, (1, 1), Law(1), 2)
    expected = {(0, 0): 0.54, (0, 1): 0.06, (1, 0): 0.12, (1, 1): 0.28}
    assert {k: pytest.approx(v, abs=1e-12) for k, v in expected.items()} == found


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("drafter", ["skip", "model"])
def test_a_run_on_a_real_cache_goes_on_from_the_strand_that_won(
    temperature: float, drafter: str
) -> None:
    target, second = wrapped(tiny("llama")), wrapped(tiny("llama", layers=1, seed=1))
    values = {"drafter": drafter, "skip_layers": [1], "stop": "never", "tree": [3, 2, 1]}
    decoder = get("dynasd").build(values, Models(target, second))
    state = start([1, 2, 3], target, decoder, Law(temperature), 17)
    rounds = list(decode(state, SeededDice(1), lambda: 0.0))
    assert rounds[0].outcome.emitted == []
    assert len(state.tokens) == 20
    for r in rounds[1:]:
        assert r.outcome.emitted
        roots = [n for n, parent in enumerate(r.nodes.parent) if parent == 0]
        assert not set(roots) & {check.node for check in r.checks}
        kept = set(r.outcome.accepted)
        assert len(kept & set(roots)) == (r.drafted > 0)
    state.session.feed([])
    assert state.session.length in (len(state.tokens), len(state.tokens) - 1)


def test_the_committed_cache_is_that_of_the_text() -> None:
    target = wrapped(tiny("llama"))
    values = {"drafter": "skip", "skip_layers": [1], "stop": "never", "tree": [2, 1]}
    state = start([1, 2, 3], target, get("dynasd").build(values, Models(target)), Law(1), 9)
    rounds = decode(state, SeededDice(5), lambda: 0.0)
    for _ in range(3):
        next(rounds)
    fresh = target.open(state.tokens[:-1]).score(DraftTree.root(state.tokens[-1])).logits
    ours = state.session.score(DraftTree.root(state.tokens[-1])).logits
    torch.testing.assert_close(ours, fresh, rtol=0, atol=1e-5)


def graded(*scores: float) -> DecisionModel:
    """Return a model over one-hot hidden states that gives these scores."""
    model = DecisionModel(len(scores))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        first, second, last = model.layers[0], model.layers[2], model.layers[4]
        for i, value in enumerate(scores):
            first.weight[i, i] = 1
            second.weight[i, i] = 1
            last.weight[0, i] = torch.tensor(value).logit()
    return model.eval().requires_grad_(False)


def strands() -> Grown:
    """Return two roots with a child each; the rows' hidden states are one-hot."""
    tree = DraftTree.root(0).extended([0, 0], [1, 2]).extended([1, 2], [1, 1])
    rows = torch.full((3, 3), 1 / 3)
    return Grown(tree, rows, rows.log(), {0: 0, 1: 1, 2: 2}, [3, 4], 9, {FINAL: torch.eye(3)})


def test_drafting_goes_on_while_one_strand_is_believed_in() -> None:
    assert DecisionStop(graded(0.5, 0.1, 0.6), 0.4)(strands()) is None
    stop = DecisionStop(graded(0.9, 0.1, 0.3), 0.4)(strands())
    assert stop is not None
    assert (stop.reason, stop.threshold) == ("decision", 0.4)
    assert stop.value == pytest.approx(0.3, abs=1e-5)


def test_every_token_below_the_roots_has_its_score_in_the_record() -> None:
    (extra,) = DecisionStop(graded(0.9, 0.1, 0.3), 0.4).extras(strands())
    assert extra.score[:3] == [None, None, None]
    assert extra.score[3:] == pytest.approx([0.1, 0.3], abs=1e-5)


@pytest.mark.parametrize(
    ("width", "sizes"),
    [(576, (576, 512, 256, 1)), (768, (768, 512, 256, 1)), (2048, (2048, 1024, 512, 1))],
)
def test_the_decision_model_has_the_sizes_of_the_released_code(
    width: int, sizes: tuple[int, ...]
) -> None:
    weights = [layer.weight for layer in DecisionModel(width).layers[::2]]
    assert (width, *(weight.shape[0] for weight in weights)) == sizes
    assert DecisionModel(width)(torch.zeros(3, width)).shape == (3,)


def test_without_a_trained_model_the_method_says_what_to_do(tmp_path: Path) -> None:
    card = wrapped(tiny("llama")).card
    with pytest.raises(ValueError, match=r"python -m core\.train decision"):
        find_decision(card, "skip-1", tmp_path)


def test_a_saved_model_is_read_back_and_others_are_refused(tmp_path: Path) -> None:
    card, model = wrapped(tiny("llama")).card, DecisionModel(5)
    file = file_of(card, "skip-1", tmp_path)
    save_file({k: v.contiguous() for k, v in model.state_dict().items()}, file)
    hidden = torch.randn((4, 5))
    torch.testing.assert_close(find_decision(card, "skip-1", tmp_path)(hidden), model(hidden))
    save_file({"layers.0.weight": torch.zeros(3, 5)}, file)
    with pytest.raises(ValueError, match="other shapes"):
        read_decision(file)
    file.write_bytes(b"no tensors")
    with pytest.raises(ValueError, match="damaged"):
        read_decision(file)

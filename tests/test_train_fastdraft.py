"""FastDraft's trainer: two stages on the shared loop, and a model that drafts what it learnt."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.heads.target import Shape, TargetWeights
from core.laws import Law
from core.models.base import FINAL
from core.models.hf import HFModel
from core.models.trimmed import Size, head_of, read_trimmed
from core.shapes.levels import Levels
from core.trace import ModelCard
from core.train import fastdraft
from core.train.card import Subject, card
from core.train.data import Features, Text
from core.train.fastdraft import (
    Alignment,
    DraftTask,
    Pretraining,
    begun,
    chained,
    projected,
    states,
)
from core.train.loop import train
from core.train.overlap import overlap, target_law
from core.train.report import Plan, per_pass
from core.train.unrolled import rows
from core.verify.base import Context

TOKENS = 12
SIZE = Size(hidden=8, layers=1, heads=2, inner=16, context=64)
PLAN = Plan(epochs=30, minutes=5.0, rate=2e-2)


def target() -> TargetWeights:
    """Return a target whose state is the token that comes, so that its laws are sharp."""
    weights = torch.eye(TOKENS)
    shape = Shape(TOKENS, 2, 1, 6, 8, 1e-5, 10000.0)
    return TargetWeights("toy/target", shape, 2, TOKENS, weights, 8 * weights, lambda kept: kept)


def following(token: int) -> int:
    return (5 * token + 3) % TOKENS


def text(first: int, length: int = 9) -> Text:
    """Return a text of which every token follows from the one before, and states that know it."""
    tokens = [first]
    while len(tokens) <= length:
        tokens.append(following(tokens[-1]))
    known = target().embedding[tokens[1:]].bfloat16()
    return Text(torch.tensor(tokens[:length]), 3, first % 2 == 0, {FINAL: known})


def features() -> Features:
    texts = [text(first, length) for first in range(TOKENS) for length in (7, 9, 11)]
    counts = torch.ones(TOKENS, dtype=torch.long)
    return Features((FINAL,), texts, texts[::5], target(), counts, frozenset({0}))


def options(**changes: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    fastdraft.add_parser(parser)
    words = "--hidden 8 --layers 1 --heads 2 --inner 16 --vocabulary 12 --batch 8 --rate 0.02"
    made = parser.parse_args([*words.split(), "--pretraining-epochs", "30"])
    made.pretraining_rate, made.epochs = 0.02, 2
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def task(
    kind: type[DraftTask] = Pretraining, vocabulary: int = TOKENS, project: bool = False
) -> DraftTask:
    torch.manual_seed(0)
    model = begun(SIZE, features(), vocabulary, project)
    if kind is Alignment:
        return Alignment(model, SIZE, features(), 8, None)  # type: ignore[arg-type]
    return Pretraining(model, SIZE, features(), 8)


@pytest.mark.parametrize("project", [False, True], ids=["random", "projected"])
@pytest.mark.parametrize("kind", [Pretraining, Alignment])
def test_a_stage_learns_what_follows(kind: type[DraftTask], project: bool, tmp_path: Path) -> None:
    report = train(task(kind, project=project), features(), PLAN, tmp_path)
    assert report.epochs[0].held_out > 3 * report.held_out
    assert report.held_out < 0.2
    assert all(right == tried > 0 for right, tried in report.accepted)
    assert per_pass(report.accepted) == 1 + fastdraft.DEPTH


def test_what_is_saved_drafts_what_was_learnt(tmp_path: Path) -> None:
    made = task()
    train(made, features(), PLAN, tmp_path / "run")
    made.save(tmp_path / "draft")
    model = read_trimmed(tmp_path / "draft", "toy", TOKENS, torch.float32, torch.device("cpu"))
    card = ModelCard(
        id="draft",
        dtype="float32",
        device="cpu",
        parameters=1,
        layers=1,
        vocabulary_size=TOKENS,
        context=64,
    )
    drafting = HFModel(model, card)
    drafter = ModelDrafter(lambda begin, _: drafting.open(begin), Levels((1,) * 4), "model")
    drafter.begin([1, 8, 7], drafting.open())
    draft = drafter.propose(Context((1, 8, 7), Law(0)), 4, SeededDice(0))
    expected = [7]
    while len(expected) < 5:
        expected.append(following(expected[-1]))
    assert list(draft.tree.tokens) == expected


def test_pretraining_reads_every_place_and_alignment_the_answers_only() -> None:
    batch = rows([text(1, 9), text(4, 7)])
    for kind, counted in ((Pretraining, 8 + 6), (Alignment, 6 + 4)):
        made = task(kind)
        read: list[Tensor] = []
        rows_of = head_of(made.model).rows
        head_of(made.model).rows = Spy(rows_of, read)  # type: ignore[method-assign,assignment]
        made.loss(batch)
        assert [len(hidden) for hidden in read] == [counted]


def test_the_losses_are_those_of_their_definitions() -> None:
    one = text(2, 8)
    batch, known = rows([one]), target()
    first = task()
    logits = head_of(first.model).rows(states(first.model, batch.tokens))[0, :-1]
    laws = (one.states[FINAL][:-1].float() @ known.head.T).softmax(-1)
    soft = -(laws * logits.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(first.loss(batch), soft)
    second = task(Alignment)
    logits = head_of(second.model).rows(states(second.model, batch.tokens))[0, 2:-1]
    torch.testing.assert_close(second.loss(batch), F.cross_entropy(logits, one.tokens[3:]))


def test_a_token_that_the_model_cannot_name_is_no_lesson_and_never_right(tmp_path: Path) -> None:
    made = task(Alignment, vocabulary=4)
    assert len(made.vocabulary) == 4
    report = train(made, features(), PLAN, tmp_path)
    named = set(made.vocabulary.ids.tolist())
    greedy = [t for t in features().held if t.greedy]
    can = sum(int(token) in named for t in greedy for token in t.tokens[t.answer + 1 :])
    right, tried = report.accepted[0]
    assert right <= can < tried


@dataclass
class Spy:
    """Calls through, and remembers what was read."""

    call: Callable[[Tensor], Tensor]
    seen: list[Tensor]

    def __call__(self, hidden: Tensor) -> Tensor:
        self.seen.append(hidden)
        return self.call(hidden)


def slow_chains(right: Sequence[bool], places: Sequence[bool], depth: int) -> list[list[int]]:
    found = [[0, 0] for _ in range(depth)]
    for begin, starts in enumerate(places):
        for step in range(depth):
            at = begin + step
            if not starts or at >= len(right) or not places[at]:
                break
            found[step][1] += 1
            if not right[at]:
                break
            found[step][0] += 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_chains_are_counted_as_one_by_one(seed: int) -> None:
    chance = torch.Generator().manual_seed(seed)
    length = 3 + seed % 7
    begin, end = sorted(torch.randint(0, length + 1, (2,), generator=chance).tolist())
    places = torch.zeros((1, length), dtype=torch.bool)
    places[0, begin:end] = True
    right = (torch.rand((1, length), generator=chance) < 0.7) & places
    slow = slow_chains(right[0].tolist(), places[0].tolist(), 4)
    assert chained(right, places, 4) == [tuple(pair) for pair in slow]


def test_a_projected_embedding_keeps_what_is_alike_alike() -> None:
    weights = torch.randn((TOKENS, 10), generator=torch.Generator().manual_seed(1))
    known = replace(target(), embedding=weights)
    narrow = projected(known, 4)
    assert projected(known, 99).shape == (TOKENS, 10)
    assert narrow.shape == (TOKENS, 4)
    sizes = narrow.square().mean(1).sqrt()
    torch.testing.assert_close(sizes, torch.full((TOKENS,), fastdraft.STD))
    whole = known.embedding - known.embedding.mean(0)
    axes = torch.linalg.svd(whole, full_matrices=False).Vh[:4]
    plain = whole @ axes.T
    plain = plain / plain.std(0)
    plain = fastdraft.STD * plain / plain.square().mean(1, keepdim=True).sqrt()
    for axis in plain.T:  # an axis has no sign
        assert min((axis.abs() - other.abs()).abs().max() for other in narrow.T) < 1e-5


def test_both_stages_run_from_the_command_and_go_on_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fastdraft, "run_folder", lambda kind, options: tmp_path / "run")
    wanted, known = options(), features()
    torch.manual_seed(0)
    made = fastdraft._make(known, wanted)
    assert isinstance(made, Alignment)
    steps = made.pretrained.steps
    assert steps > 0
    train(made, known, Plan(epochs=2, rate=0.002), tmp_path / "run")
    again = fastdraft._make(known, wanted)
    assert isinstance(again, Alignment)
    assert again.pretrained.steps == steps  # what was pretrained is not trained again
    measured = fastdraft._measured(made, known)
    assert "Σ min(p, q)" in measured["per token at temperature 1"]
    assert "tokens per pass" in measured["after pretraining alone"]
    assert "cross-entropy" in fastdraft._details(wanted)["alignment"]


@torch.no_grad()
def test_the_overlap_is_the_mean_of_the_smaller_of_both_laws() -> None:
    made, known = task(), target()
    texts = [text(1, 9), text(5, 7)]
    for heat in (1.0, 0.6):
        found = overlap(made.model, texts, known, heat, most=1000)
        sums: list[float] = []
        for each in texts:
            hidden = states(made.model, each.tokens[None])[0]
            for place in range(each.answer, len(each.tokens)):
                p = target_law(known, each.states[FINAL][place], heat)
                q = (head_of(made.model)(hidden[place][None])[0] / heat).softmax(-1)
                sums.append(float(torch.minimum(p, q).sum()))
        assert found.places == len(sums)
        assert found.mean == pytest.approx(sum(sums) / len(sums), abs=1e-5)


def test_the_card_takes_what_was_measured(tmp_path: Path) -> None:
    report = train(task(), features(), Plan(epochs=1, rate=0.01), tmp_path)
    subject = Subject("FastDraft", "a paper", "a command", {"shape": "small"})
    assert "| shape | small |" in card(subject, report, features())

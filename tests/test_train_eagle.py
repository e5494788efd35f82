"""Trainers of heads over pairs: what they unroll is what drafting runs, and what they learn is
accepted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from core.decode import Decoder, start, step
from core.dice import SeededDice
from core.drafters.model import ModelDrafter
from core.heads.base import Head
from core.heads.eagle import TAPS, EagleHead, eagle, read_eagle
from core.heads.eagle3 import Eagle3Head, eagle3
from core.heads.eagle3_files import read_eagle3
from core.heads.pairs import Pairs
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.base import FINAL
from core.models.toy import ToyModel
from core.shapes.levels import Levels
from core.train.chains import DEPTH, ChainTask, Recipe
from core.train.data import Features, Text
from core.train.eagle import EagleTask
from core.train.eagle3 import Eagle3Task
from core.train.loop import train
from core.train.report import Plan
from core.train.unrolled import Laws, batches, rows, unrolled
from core.verify.rejection import RecursiveRejection
from tests.slow_eagle import Row, SlowHead
from tests.toy_heads import LAYERS, shaken, some_rows, toy_target

SIZE = 7
LAYERS_READ = (2, 3, 4)
KINDS = pytest.mark.parametrize("kind", ["eagle", "eagle3"])


def following(text: Sequence[int]) -> int:
    """Return the one token that can follow."""
    return (3 * text[-1] + 1) % SIZE


def law(text: tuple[int, ...]) -> list[float]:
    return [float(token == following(text)) for token in range(SIZE)]


def written(begin: Sequence[int], length: int) -> list[int]:
    text = list(begin)
    while len(text) < length:
        text.append(following(text))
    return text


def toy_text(begin: Sequence[int], answer: int, length: int) -> Text:
    """Return a text whose states are its laws, as a toy's are."""
    tokens = written(begin, length)
    states = torch.tensor([law(tuple(tokens[: n + 1])) for n in range(length)])
    taps = (FINAL, *LAYERS_READ)
    return Text(torch.tensor(tokens), answer, True, dict.fromkeys(taps, states.bfloat16()))


def toy_features(target: TargetWeights | None = None) -> Features:
    texts = [
        toy_text([a, b, c], 3, 9 + (a + b + c) % 7)
        for a in range(SIZE)
        for b in range(SIZE)
        for c in range(0, SIZE, 2)
    ]
    counts = torch.ones(SIZE, dtype=torch.long)
    target = target or sharp_target()
    return Features((FINAL,), texts[::2], texts[1::8], target, counts, frozenset())


def hidden_stride() -> Features:
    """Return texts that count on by a stride which only the target's states tell."""
    found: list[Text] = []
    for begin in range(SIZE):
        for stride in range(1, SIZE):
            tokens = torch.tensor([(begin + stride * n) % SIZE for n in range(10)])
            after = torch.eye(SIZE)[(tokens + stride) % SIZE].bfloat16()
            told = torch.eye(SIZE)[stride].expand(10, -1).bfloat16()
            states = {FINAL: after, **dict.fromkeys(LAYERS_READ, told)}
            found.append(Text(tokens, 3, True, states))
    return replace(toy_features(), training=[*found[::2], *found[1::2]], held=found[::3])


def sharp_target() -> TargetWeights:
    """Return a toy target whose head reads the token off a law of one token."""
    target = toy_target(SIZE)
    return replace(
        target,
        shape=replace(target.shape, head_dim=4, inner=32),
        head=8 * torch.eye(SIZE, dtype=torch.float64),
        embedding=torch.eye(SIZE, dtype=torch.float64),
    )


def random_head(kind: str, target: TargetWeights) -> Pairs:
    vocabulary = DraftVocabulary.of(torch.arange(1, SIZE), SIZE)
    if kind == "eagle":
        module = EagleHead(target.shape)
        shaken(module, 8, 0.4)
        return eagle(module, target, vocabulary)
    module3 = Eagle3Head(target.shape)
    shaken(module3, 8, 0.6)
    return eagle3(module3, some_rows(SIZE - 1, SIZE, 9), LAYERS_READ, target, vocabulary)


def random_texts() -> list[Text]:
    chance = torch.Generator().manual_seed(3)
    found: list[Text] = []
    for length, answer in ((9, 3), (6, 2), (12, 5), (4, 1), (3, 1)):
        tokens = torch.randint(SIZE, (length,), generator=chance)
        states = {
            tap: torch.randn((length, SIZE), generator=chance).bfloat16()
            for tap in (FINAL, *LAYERS_READ)
        }
        found.append(Text(tokens, answer, True, states))
    return found


def true_features(slow: SlowHead, head: Pairs, text: Text) -> list[Row]:
    states = [text.states[tap].double().numpy() for tap in head.taps]
    return [slow.fused([each[place] for each in states]) for place in range(len(text.tokens))]


@KINDS
def test_unrolled_chains_are_the_drafts_that_would_be_made(kind: str) -> None:
    """The training-time test's mask against a slow loop, chain by chain and step by step."""
    head, steps, compared = random_head(kind, toy_target(SIZE)), 4, 0
    slow, texts = SlowHead(head), random_texts()
    batch = rows(texts)
    features = head.head.fuse([batch.states[tap].double() for tap in head.taps])
    embedded = head.embedding[batch.tokens]
    for i, outputs in enumerate(unrolled(head.head, features, embedded, batch.first, steps)):
        counted = batch.counts(i)
        assert outputs.shape[:2] == counted.shape == batch.drafted(i).shape
        for place, chain in counted.nonzero().tolist():
            text, begin = texts[place], batch.first + chain
            tokens, true = text.tokens.tolist(), true_features(slow, head, text)
            known = slow.read(true[: begin + 1], tokens[1 : begin + 2])
            expected = slow.draft(known, tokens[begin + 2 : begin + 2 + i])
            torch.testing.assert_close(
                outputs[place, chain], torch.tensor(expected), rtol=1e-4, atol=1e-4
            )
            assert text.answer <= begin + 1
            assert int(batch.drafted(i)[place, chain]) == tokens[begin + 2 + i]
            state = batch.true(i)[place, chain]
            assert torch.equal(state, text.states[FINAL][begin + 1 + i])
            compared += 1
    chains = sum(len(t.tokens) - 1 - t.answer - i for t in texts for i in range(steps))
    short = sum(max(0, i - (len(t.tokens) - 1 - t.answer)) for t in texts for i in range(steps))
    assert compared == chains + short


def test_laws_are_those_of_the_target_over_the_draft_vocabulary() -> None:
    texts = random_texts()
    batch, weight = rows(texts), some_rows(4, SIZE, 1).float()
    laws = Laws(batch, weight)
    for i in range(3):
        counted = batch.counts(i)
        expected = (batch.true(i)[counted].float() @ weight.T).softmax(-1)
        torch.testing.assert_close(laws.at(i, counted), expected)


def test_an_epoch_holds_every_text_once_in_an_order_of_its_seed() -> None:
    features = toy_features()

    def told(seed: int) -> list[list[list[int]]]:
        return [
            [batch.tokens.tolist(), batch.lengths.tolist()]
            for batch in batches(features.training, 4, seed)
        ]

    assert told(1) == told(1)
    assert told(1) != told(2)
    seen = sum(len(lengths) for _, lengths in told(1))
    assert seen == len(features.training)
    few = [toy_text([1, 2, 3], 3, 4), toy_text([1, 2, 3], 3, 5)]
    assert [len(batch.lengths) for batch in batches(few, 4, 0)] == [1]


def task_of(kind: str, features: Features, steps: int, size: int = SIZE) -> ChainTask:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(1)
        if kind == "eagle":
            return EagleTask(features, size, Recipe(8, steps))
        return Eagle3Task(features, size, Recipe(8, steps), LAYERS_READ)


@KINDS
def test_acceptance_is_that_of_greedy_chains_counted_one_by_one(kind: str) -> None:
    features = toy_features()
    task = task_of(kind, features, 1, SIZE - 1)
    optimizer = torch.optim.Adam(task.module.parameters(), 1e-2)
    for batch in task.batches(features.training, 0):
        optimizer.zero_grad()
        task.loss(batch).backward()
        optimizer.step()
    head = ready(task)
    slow = SlowHead(head)
    counts = [[0, 0] for _ in range(DEPTH)]
    texts = features.held[:3]
    for text in texts:
        tokens, true = text.tokens.tolist(), true_features(slow, head, text)
        for root in range(text.answer, len(tokens) - 1):
            known, drafted = slow.read(true[:root], tokens[1 : root + 1]), list[int]()
            for depth, expected in enumerate(tokens[root + 1 : root + 1 + DEPTH]):
                token = int(slow.logits(slow.draft(known, drafted)).argmax())
                counts[depth][1] += 1
                counts[depth][0] += token == expected
                drafted.append(token)
                if token != expected:
                    break
    assert task.accepted(texts) == [tuple(each) for each in counts]
    assert counts[1][1] > 0


def ready(task: ChainTask) -> Pairs:
    if isinstance(task, Eagle3Task):
        module = deepcopy(task.module)
        assert isinstance(module.head, Eagle3Head)
        weights = module.lm_head.weight
        return eagle3(module.head, weights, LAYERS_READ, task.target, task.vocabulary)
    assert isinstance(task, EagleTask)
    return eagle(deepcopy(task.module), task.target, task.vocabulary)


def trained(
    kind: str, steps: int, epochs: int, folder: Path, features: Features
) -> tuple[ChainTask, list[float]]:
    task = task_of(kind, features, steps)
    plan = Plan(epochs=epochs, minutes=10, rate=1e-2, clip=1.0)
    report = train(task, features, plan, folder)
    assert report.epochs[-1].training < 0.5 * report.epochs[0].training
    return task, [right / max(1, tried) for right, tried in report.accepted]


@pytest.mark.parametrize(("kind", "steps"), [("eagle", 1), ("eagle3", 4)])
def test_a_head_trained_to_perfection_is_accepted_fully(
    kind: str, steps: int, tmp_path: Path
) -> None:
    """From the trainer through its files to real rounds: one place off, and none would be."""
    task, shares = trained(kind, steps, 20, tmp_path / "run", toy_features())
    print(shares)
    assert shares[0] == 1
    task.save(tmp_path / "head")
    read = read_eagle if kind == "eagle" else read_eagle3
    head = read(tmp_path / "head", task.target)
    depth = 1 if shares[1] < 1 else 4
    assert drafts(head, depth) == depth


def drafts(head: Head, depth: int) -> float:
    """Return how many tokens of a chain a round accepts, over texts of the toy."""
    accepted, drafted = 0, 0
    target = ToyModel(law, SIZE)
    for first in range(SIZE):
        drafter = ModelDrafter(head.open, Levels((1,) * depth), "head", taps=head.taps)
        decoder = Decoder(drafter, RecursiveRejection())
        state = start([first, 3, 5], target, decoder, Law(0), 16)
        while state.finished is None:
            for made in step([state], SeededDice(0), lambda: 0.0):
                if made.drafted == depth:
                    accepted += len(made.outcome.accepted)
                    drafted += 1
    assert drafted > 10
    return accepted / drafted


def test_without_the_training_time_test_eagle3_collapses_after_its_first_token(
    tmp_path: Path,
) -> None:
    features = hidden_stride()
    _, off = trained("eagle3", 1, 50, tmp_path / "off", features)
    _, on = trained("eagle3", 3, 50, tmp_path / "on", features)
    print(off, on)
    assert off[0] > 0.9
    assert on[1] > off[1] + 0.3


def test_settings_that_readers_would_misread_are_refused() -> None:
    features = toy_features()
    with pytest.raises(ValueError, match="take for"):
        Eagle3Task(features, SIZE, Recipe(), (1, 2, 2))
    with pytest.raises(ValueError, match=f"0 to {LAYERS}"):
        Eagle3Task(features, SIZE, Recipe(), (2, 3, 9))


def test_a_head_trained_without_the_next_token_is_told_apart(tmp_path: Path) -> None:
    features = toy_features()
    task = EagleTask(features, SIZE, Recipe(), next_token=False)
    tokens = torch.tensor([[3, 1, 2]])
    assert task.fed(tokens).tolist() == [[3, 3, 1]]
    task.save(tmp_path)
    with pytest.raises(ValueError, match="without the next token"):
        read_eagle(tmp_path, features.target)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["next_token"] is False


def test_noise_takes_part_in_training_only() -> None:
    features = toy_features()
    task = EagleTask(features, SIZE, Recipe())
    batch = next(task.batches(features.training, 0))

    def loss(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return task.loss(batch)

    with torch.random.fork_rng(devices=()):
        assert loss(1) == loss(1)
        assert loss(1) != loss(2)
        task.module.eval()
        assert loss(1) == loss(2)
    assert task.taps == TAPS

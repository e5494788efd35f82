"""Trimmed draft vocabularies: rows that are left out are never multiplied, those that stay say what
they said before, and the text is the target's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from core.decode import decode, start
from core.dice import SeededDice
from core.drafters.source import Follower
from core.drafters.trim import (
    Trim,
    TrimmedSession,
    head_size,
    model_size,
    named,
    trimmed_view,
    view_size,
)
from core.extras import TrimExtras
from core.heads.frequencies import Frequencies, frequencies_file, read_frequencies
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import Law
from core.models.base import FINAL, Session
from core.models.hf import HFModel
from core.models.toy import ToyModel, hashed
from core.models.trimmed import Size as SmallSize
from core.models.trimmed import built
from core.models.views import View
from core.registry import Models, get, methods
from core.trace import Round
from core.tree import DraftTree
from tests.exactness import TOLERANCE, error
from tests.tiny import VOCABULARY, slow_logits, slow_part, slow_rows, tiny, wrapped
from tests.tiny_heads import BUILDERS, tiny_heads
from tests.toy_heads import toy_heads
from tests.toys import WORLDS

TEXT = [5, 9, 2, 7, 5]
IDS = [0, 3, 4, 8, 11, 12, 19]
SOME = DraftVocabulary.of(torch.tensor(IDS), VOCABULARY)
FORK = DraftTree((3, 4, 5, 6, 7), (-1, 0, 0, 1, 2))
TAPS = (FINAL, 1, 2, 3)


def counts() -> Frequencies:
    """Return counts whose most frequent tokens are IDS, in falling order; 0 is special."""
    found = torch.zeros(VOCABULARY, dtype=torch.long)
    found[IDS] = torch.arange(len(IDS), 0, -1) * 10
    return Frequencies(found, frozenset({0}))


def opened(model: HFModel) -> Session:
    session = model.open(TEXT[:-1])
    session.score(DraftTree.root(TEXT[-1]))
    session.keep((0,))
    return session


def outside(logits: Tensor, ids: Sequence[int] = tuple(IDS)) -> bool:
    """Return whether all tokens but these are impossible."""
    mask = torch.ones(VOCABULARY, dtype=torch.bool)
    mask[list(ids)] = False
    return bool(logits[:, mask].isneginf().all())


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("view", [View(exit_layer=2), View((1,), (1,)), View((), (2,))], ids=repr)
@pytest.mark.parametrize("shape", ["llama", "gpt2", "qwen3"])
def test_a_view_says_of_its_tokens_what_the_whole_head_said(shape: str, view: View) -> None:
    model = wrapped(tiny(shape))
    session = trimmed_view(view, opened(model), SOME)
    output = model.model.get_output_embeddings()
    calls: list[int] = []
    handle = output.register_forward_hook(lambda *_: calls.append(1))
    try:
        parts = [
            session.score(FORK.pruned(depth), start) for depth, start in ((0, 0), (1, 1), (2, 3))
        ]
    finally:
        handle.remove()
    assert not calls
    logits = torch.cat([part.logits for part in parts])
    assert outside(logits)
    for node in range(len(FORK)):
        path = [FORK.tokens[n] for n in FORK.path(node)]
        same(logits[node, IDS], slow_part(model.model, TEXT, path, view.plan(3))[IDS])


@pytest.mark.parametrize("shape", ["llama", "gpt2", "opt"])
def test_a_second_model_says_of_its_tokens_what_the_whole_head_said(shape: str) -> None:
    model = wrapped(tiny(shape))
    session = TrimmedSession(model.open(TEXT), SOME)
    calls: list[int] = []
    handle = model.model.get_output_embeddings().register_forward_hook(lambda *_: calls.append(1))
    try:
        first = session.score(FORK.pruned(0)).logits
        logits = torch.cat([first, session.score(FORK, 1).logits])
    finally:
        handle.remove()
    assert bool(calls) == (shape == "opt")  # which only runs whole
    assert outside(logits)
    same(logits[:, IDS], slow_rows(model.model, TEXT, FORK)[:, IDS])
    assert session.length == len(TEXT)
    session.keep((0, 1))
    session.feed([2])
    assert session.length == len(TEXT) + 3
    same(
        session.score(DraftTree.root(9)).logits[0, IDS],
        slow_logits(model.model, [*TEXT, 3, 4, 2, 9])[-1, IDS],
    )


def test_a_small_model_that_names_some_tokens_anyway_names_those_of_both() -> None:
    own = DraftVocabulary.of(torch.arange(0, VOCABULARY, 2), VOCABULARY)
    torch.manual_seed(0)
    small = built(SmallSize(hidden=8, layers=1, heads=2, inner=12, context=48), own)
    for parameter in small.parameters():
        torch.nn.init.normal_(parameter, 0, 0.5)
    model = wrapped(small.eval())
    assert named(model) is own
    left = Trim(SOME, counts()).within(named(model))
    both = [0, 4, 8, 12]
    assert left.vocabulary.ids.tolist() == both
    logits = TrimmedSession(model.open(TEXT), left.vocabulary).score(FORK).logits
    assert outside(logits, both)
    same(logits[:, both], model.open(TEXT).score(FORK).logits[:, both])


def test_a_drafter_that_finds_none_of_its_tokens_possible_draws_any_of_them() -> None:
    toy = ToyModel(lambda _: [0.0, 1.0, 0.0], 3)
    session = TrimmedSession(toy.open([0]), DraftVocabulary.of(torch.tensor([0, 2]), 3))
    logits = session.score(DraftTree.root(1)).logits
    assert logits.softmax(-1).tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_head_says_of_the_tokens_of_both_what_it_said(kind: str) -> None:
    model = tiny("llama", layers=6)
    target = wrapped(model)
    head = BUILDERS[kind](TargetWeights.of(target))
    trimmed = head.trimmed(SOME)
    both = sorted(set(IDS) & set(head.vocabulary.ids.tolist()))
    assert trimmed.vocabulary.ids.tolist() == both
    assert trimmed.parameters == head.parameters > 0
    assert trimmed.taps == head.taps
    with torch.inference_mode():
        out = model.model(torch.tensor([TEXT]), output_hidden_states=True).hidden_states
    states = {FINAL: out[-1][0], **{tap: out[tap][0] for tap in range(6)}}
    found: list[Tensor] = []
    for each in (head, trimmed):
        session = each.open(TEXT, opened(target))
        assert isinstance(session, Follower)
        session.learn({tap: states[tap] for tap in head.taps}, [*TEXT[1:], 3])
        found.append(session.score(FORK).logits)
    assert outside(found[1], both)
    same(found[1][:, both], found[0][:, both])


def test_a_head_that_names_none_of_the_most_frequent_tokens_is_refused() -> None:
    target = TargetWeights.of(wrapped(tiny("llama", layers=6)))
    head = BUILDERS["kangaroo"](target)  # even tokens
    odd = DraftVocabulary.of(torch.tensor([1, 3]), VOCABULARY)
    with pytest.raises(ValueError, match=r"none of the most frequent tokens: keep more\."):
        head.trimmed(odd)


DRAFTERS: dict[str, Mapping[str, object]] = {
    "skip": {"drafter": "skip", "skip_layers": [1]},
    "exit": {"drafter": "exit", "exit_layer": 3},
    "model": {"drafter": "model"},
    **{kind: {"drafter": kind} for kind in BUILDERS},
}


def run(
    key: str, values: Mapping[str, object], temperature: float = 0.0, new: int = 22
) -> tuple[list[int], list[Round]]:
    target, second = wrapped(tiny("llama", layers=6)), wrapped(tiny("llama", layers=1, seed=1))
    models = Models(target, second, heads=tiny_heads(target), counts=counts)
    state = start(TEXT, target, get(key).build(values, models), Law(temperature), new)
    rounds = list(decode(state, SeededDice(1), lambda: 0.0))
    return state.tokens, rounds


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("key", ["vocabtrim", "rsd", "opt_tree"])
def test_a_greedy_text_is_the_target_s_own_whatever_drafts(key: str, drafter: str) -> None:
    length = {"length": 2} if key == "vocabtrim" else {"tree": [2, 1]} if key == "rsd" else {}
    settings = {**DRAFTERS[drafter], **length, "draft_vocabulary": 7}
    if drafter in ("medusa", "hydra") and key == "opt_tree":
        settings |= {"depth": 2} if "depth" in get(key).config.model_fields else {}
    written, rounds = run(key, settings)
    text = list(TEXT)
    while len(text) < len(written):
        text.append(int(slow_logits(tiny("llama", layers=6), text)[-1].argmax()))
    assert written == text
    drafted = {token for made in rounds for token in made.nodes.token[1:]}
    assert drafted
    assert drafted <= set(IDS)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_record_says_what_the_target_had_outside(temperature: float) -> None:
    law = Law(temperature)
    values = {**DRAFTERS["model"], "draft_vocabulary": 7}
    written, rounds = run("vocabtrim", values, temperature, 40)
    blocks = 0
    tokens = list(TEXT)
    assert written[: len(TEXT)] == TEXT
    for made in rounds:
        found = [extra for extra in made.extras if isinstance(extra, TrimExtras)]
        assert bool(found) == bool(made.drafted)
        for block in found:
            assert block.node == [0, *made.outcome.accepted]
            assert block.outside == [token not in IDS for token in made.outcome.emitted]
            assert not any(block.outside[: len(made.outcome.accepted)])  # a draft is never outside
            path = [made.nodes.token[node] for node in block.node[1:]]
            for depth, lost in enumerate(block.lost):
                text = [*tokens, *path[:depth]]
                p = law(slow_logits(tiny("llama", layers=6), text)[-1:])[0]
                assert lost == pytest.approx(1 - float(p[IDS].sum()), abs=1e-4)
                assert temperature or lost in (0, 1)
            blocks += 1
        tokens += made.outcome.emitted
    assert blocks > 5


def test_the_record_holds_the_counts_and_the_sizes() -> None:
    _, rounds = run("vocabtrim", {**DRAFTERS["exit"], "draft_vocabulary": 4})
    block = next(e for made in rounds for e in made.extras if isinstance(e, TrimExtras))
    assert (block.kept, block.size, block.counted) == (4, VOCABULARY, 280)
    assert block.covered == pytest.approx((70 + 60 + 50 + 40) / 280)
    assert block.rank[0] == 1
    assert block.rank[-1] == VOCABULARY
    assert 4 in block.rank
    for rank, count, share in zip(block.rank, block.count, block.share, strict=True):
        assert count == max(0, 80 - 10 * rank)
        assert share == pytest.approx(sum(max(0, 80 - 10 * r) for r in range(1, rank + 1)) / 280)
    layer = sum(p.numel() for p in tiny("llama", layers=6).model.layers[0].parameters())
    assert (block.rest, block.row) == (3 * layer, 16)
    assert block.target == wrapped(tiny("llama", layers=6)).card.parameters


def test_sizes_are_those_of_what_a_draft_step_reads() -> None:
    model = wrapped(tiny("gpt2"))
    layer = model.model.transformer.h[1]
    attention = sum(p.numel() for p in layer.attn.parameters())
    every = sum(p.numel() for n, p in model.model.named_parameters() if ".h." in n)
    assert view_size(View(), model).rest == every
    assert view_size(View((1,), ()), model).rest == every - attention
    head = model.model.get_output_embeddings().weight.numel()
    assert model_size(model).rest == model.card.parameters - head
    target = wrapped(tiny("llama", layers=6))
    kangaroo = BUILDERS["kangaroo"](TargetWeights.of(target))
    early = view_size(View(exit_layer=1), target).rest
    assert head_size(kangaroo, target).rest == kangaroo.parameters + early
    assert view_size(View(exit_layer=1), ToyModel(hashed(3, 1), 3)).rest == 0


def test_more_tokens_than_there_are_is_all_and_fewer_than_must_be_is_refused() -> None:
    assert Trim.of(counts(), 2**16).vocabulary.is_whole
    always = Frequencies(counts().counts, frozenset({0, 20, 21}))
    kept = Trim.of(always, 4).vocabulary.ids.tolist()
    assert kept == [0, 3, 20, 21]
    with pytest.raises(ValueError, match=r"has 3 to 23 tokens, not 2\."):
        Trim.of(always, 2)


@pytest.mark.parametrize(
    "key", [m.key for m in methods().values() if "draft_vocabulary" in m.config.model_fields]
)
def test_without_counts_every_method_says_so_in_a_sentence(key: str) -> None:
    target = wrapped(tiny("llama", layers=6))
    models = Models(target, target, heads=tiny_heads(target))
    drafter = {"drafter": "model"} if "drafter" in get(key).config.model_fields else {}
    with pytest.raises(ValueError, match=r"^Nothing was counted for this target.*\.$"):
        get(key).build({**get(key).toy, **drafter, "draft_vocabulary": 7}, models)


def test_a_trimmed_drafter_is_another_one_to_what_was_measured_but_for_its_own_states() -> None:
    config = get("sequoia").configure({"skip_layers": [2, 4], "draft_vocabulary": 512})
    assert (config.own_name, config.drafter_name) == ("skip-2-4", "skip-2-4-top512")
    assert get("sequoia").configure({"skip_layers": [2, 4]}).drafter_name == "skip-2-4"
    assert get("kangaroo").configure({"draft_vocabulary": 256}).drafter_name == "kangaroo-top256"


def test_drafters_that_are_merged_all_lose_the_same_tokens() -> None:
    values = {"construction": "merge", "others": ["exit-3"], "draft_vocabulary": 7, "length": 2}
    _, rounds = run("specinfer", {**values, "drafter": "skip", "skip_layers": [1]})
    drafted = {token for made in rounds for token in made.nodes.token[1:]}
    assert drafted <= set(IDS)
    sources = {s for made in rounds for name in made.nodes.source[1:] for s in name.split("+")}
    assert sources == {"skip-1", "exit-3"}
    assert all(
        sum(isinstance(extra, TrimExtras) for extra in made.extras) == bool(made.drafted)
        for made in rounds
    )


@pytest.mark.parametrize("drafter", ["model", *BUILDERS])
@pytest.mark.parametrize("law", [Law(0), Law(0.7, top_k=2), Law(1)], ids=["0", "0.7", "1"])
def test_chance_enumerated_the_text_has_the_target_s_law(drafter: str, law: Law) -> None:
    values = {"drafter": drafter, "length": 2, "draft_vocabulary": 2}
    toy = WORLDS["different laws"](3)
    assert error(lambda models: get("vocabtrim").build(values, models), toy, law, 1) < TOLERANCE
    assert set(toy_heads(3)("kangaroo").vocabulary.ids.tolist()) == {1, 2}


def test_counts_come_back_as_written(tmp_path: Path) -> None:
    file = frequencies_file("org/Some-Model (Q4)", tmp_path)
    assert file.name == "frequencies-some-model.safetensors"
    counts().write(file)
    found = read_frequencies("org/Some-Model (Q4)", VOCABULARY, tmp_path)
    assert torch.equal(found.counts, counts().counts)
    assert found.always == {0}


def test_counts_that_are_missing_or_another_vocabulary_s_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^Nothing was counted for tiny, so .* core\.train corpus\.$"
    ):
        read_frequencies("tiny", VOCABULARY, tmp_path)
    counts().write(frequencies_file("tiny", tmp_path))
    with pytest.raises(ValueError, match=r"holds no counts of 99 tokens\.$"):
        read_frequencies("tiny", 99, tmp_path)
    frequencies_file("tiny", tmp_path).write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"is no safetensors file\.$"):
        read_frequencies("tiny", VOCABULARY, tmp_path)

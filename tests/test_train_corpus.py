"""The corpus: whole shards, the same for the same seed, whole topics held out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

from core.heads.frequencies import Frequencies, frequencies_file, read_frequencies
from core.train import corpus
from core.train.corpus import good, write
from core.train.openings import OPENINGS, TOPICS, Opening, openings
from core.train.shards import Example, read_corpus, read_shard, summary, tally
from tests.train_teacher import END, SIZE, USER, teacher


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few turns per shard, and short ones."""
    monkeypatch.setattr(corpus, "SHARD", 24)
    monkeypatch.setattr(corpus, "SLOTS", 24)
    monkeypatch.setattr(corpus, "TURN", 32)
    monkeypatch.setattr(corpus, "ANSWER", 12)


def tokens_of(examples: list[Example]) -> int:
    return sum(len(example.answer) for example in examples)


def written(folder: Path, seed: int = 0, tokens: int = 200) -> list[Example]:
    write(teacher(), folder, tokens, seed)
    return read_corpus(folder)


def test_a_seed_gives_one_corpus_of_at_least_the_tokens_asked_for(tmp_path: Path) -> None:
    one, same, other = (
        written(tmp_path / name, seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert one == same
    assert one != other
    shards = sorted((tmp_path / "a").glob("*.json"))
    assert tokens_of(one) >= 200 > tokens_of(one) - tokens_of(read_shard(shards[-1]))
    assert len(shards) > 1


def test_a_stopped_run_goes_on_to_the_same_corpus(tmp_path: Path) -> None:
    whole = written(tmp_path)
    shards = sorted(tmp_path.glob("*.json"))
    for shard in shards[1:]:
        shard.unlink()
    (tmp_path / "0001.new").write_bytes(b"[{")  # it was killed while it wrote
    kept = shards[0].stat().st_mtime_ns
    assert written(tmp_path) == whole
    assert shards[0].stat().st_mtime_ns == kept


def test_more_tokens_later_begin_with_the_same_ones(tmp_path: Path) -> None:
    few, more = written(tmp_path / "few", tokens=100), written(tmp_path / "more", tokens=250)
    assert more[: len(few)] == few
    assert len(more) > len(few)
    assert written(tmp_path / "few", tokens=250) == more


def test_texts_are_prompts_with_answers_half_of_them_greedy(tmp_path: Path) -> None:
    found = written(tmp_path)
    text = teacher().text
    for example in found:
        assert example.prompt == text.encode(example.request, True)
        assert 1 <= len(example.answer) <= 12
        assert END not in example.answer[:-1]
        assert len(example.answer) == 12 or example.answer[-1] == END
        assert USER not in example.prompt[1:]
    heats = Counter(example.temperature for example in found)
    assert set(heats) == {0.0, 0.7}
    assert abs(heats[0.0] - heats[0.7]) <= len(list(tmp_path.glob("*.json")))
    requests = [" ".join(w for w in example.request.lower().split()) for example in found]
    assert len(set(requests)) == len(requests)


def test_held_out_topics_are_never_trained_on(tmp_path: Path) -> None:
    found = written(tmp_path, tokens=400)
    held = {example.topic for example in found if example.held_out}
    trained = {example.topic for example in found if not example.held_out}
    assert held
    assert trained
    assert not held & trained
    assert tally(found, SIZE).sum() == sum(len(e.answer) for e in found if e.topic in trained)


def test_an_eighth_of_the_topics_is_held_out_and_every_kind_is_asked_of_all() -> None:
    every = openings(0)
    assert len({opening.text for opening in every}) == len(every)
    assert len(every) == len(TOPICS) * sum(map(len, OPENINGS.values()))
    held = {opening.topic for opening in every if opening.held_out}
    assert len(held) == len(TOPICS) // 8
    assert {opening.kind for opening in every if opening.held_out} == set(OPENINGS)
    assert [opening.held_out for opening in every] == [o.topic in held for o in every]
    assert sorted(openings(0), key=str) == sorted(openings(1), key=str)
    assert openings(0) == every != openings(1)


def test_what_no_person_would_write_and_doubles_are_left_out() -> None:
    opening = Opening("list", "bees", "List")
    texts = {
        "List five facts about bees ": True,
        "list FIVE facts about bees!": False,  # the same but for case and signs
        "List 7 facts about 12 bees": True,
        "List 9 facts about 15 bees": False,  # the same but for numbers
        "List facts please": False,  # too short
        "List List List List facts List": False,  # words again and again
        "List five facts about \ufffd wasps": False,
        "List five facts about <|user|> wasps": False,
        "List five facts\x07 about old wasps": False,
        "List five facts\nabout good wasps": True,
        "List what is known already": False,
    }
    found = list(good([(opening, text) for text in texts], {"list what is known already"}))
    assert found == [(opening, text.strip()) for text, kept in texts.items() if kept]


def test_a_shard_that_brings_nothing_new_ends_it(tmp_path: Path) -> None:
    endless = teacher()
    endless = replace(endless, text=replace(endless.text, ends=frozenset()))  # no turn is whole
    with pytest.raises(ValueError, match="brought nothing new"):
        write(endless, tmp_path, 10**9, 0)


@pytest.mark.parametrize("content", [b"", b"[", b'[{"kind": 1}]', b"{}"])
def test_a_damaged_shard_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "0000.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"0000\.json is damaged"):
        read_shard(file)


def test_no_corpus_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"core\.train corpus"):
        read_corpus(tmp_path)


def test_the_summary_counts_and_its_digest_covers_every_token(tmp_path: Path) -> None:
    found = written(tmp_path)
    told = summary(found, "toy/words", 0)
    held = [example for example in found if example.held_out]
    assert told.examples == len(found)
    assert told.held_out == len(held)
    assert told.answer_tokens == tokens_of(found)
    assert told.held_out_tokens == tokens_of(held)
    assert told.distinct == int((tally(found, SIZE) > 0).sum())
    last = msgspec.structs.replace(found[-1], answer=[*found[-1].answer[:-1], 9])
    assert summary([*found[:-1], last], "toy/words", 0).digest != told.digest
    assert summary(found, "toy/words", 0) == told


def test_counts_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    counts = torch.randint(0, 900, (50,), generator=torch.Generator().manual_seed(0))
    made = Frequencies(counts, frozenset({1, 40}))
    made.write(frequencies_file("org/Some-Model (Q4)", tmp_path))
    assert (tmp_path / "frequencies-some-model.safetensors").is_file()
    found = read_frequencies("org/Some-Model (Q4)", 50, tmp_path)
    assert torch.equal(found.counts, counts)
    assert found.always == made.always
    assert torch.equal(found.vocabulary(7).ids, made.vocabulary(7).ids)
    with pytest.raises(ValueError, match="51 tokens"):
        read_frequencies("org/Some-Model (Q4)", 51, tmp_path)
    with pytest.raises(ValueError, match=r"core\.train corpus"):
        read_frequencies("org/other", 50, tmp_path)

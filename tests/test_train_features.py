"""Features: what the trainers read is what the target made of every text alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch

from core.heads.target import TargetWeights
from core.models.base import FINAL
from core.models.lean import LeanLlama
from core.train import features
from core.train.data import DTYPE, all_tokens, read_features, states_file
from core.train.features import shard_states, text_states, write
from core.train.shards import Example
from tests.tiny import VOCABULARY, tiny, wrapped

TAPS = (FINAL, 0, 1, 3)


def examples(count: int = 6, seed: int = 0) -> list[Example]:
    chance = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, VOCABULARY, (count, 14), generator=chance).tolist()
    return [
        Example(
            kind="list",
            topic="bees",
            held_out=i % 3 == 2,
            temperature=0.7 * (i % 2),
            request="",
            prompt=row[: 2 + i % 4],
            answer=row[5 : 8 + i],
        )
        for i, row in enumerate(rows)
    ]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus-tiny-1-0"
    folder.mkdir()
    for number in range(2):
        shard = msgspec.json.encode(examples(seed=number))
        (folder / f"000{number}.json").write_bytes(shard)
    return folder


def target() -> TargetWeights:
    return TargetWeights.of(wrapped(tiny("llama")))


def shards(corpus: Path) -> list[Path]:
    return sorted(corpus.glob("*.json"))


def test_states_of_texts_end_to_end_are_those_of_each_text_alone() -> None:
    model = tiny("llama")
    texts = [[3, 1, 4, 1, 5], [9], [2, 6, 5], [3, 5, 8, 9, 7, 9, 3, 2]]
    found = text_states(LeanLlama(model), texts, TAPS)
    first = 0
    for text in texts:
        with torch.inference_mode():
            states = model(torch.tensor([text]), output_hidden_states=True).hidden_states
        rows = slice(first, first + len(text))
        for tap in TAPS[1:3]:
            torch.testing.assert_close(found[tap][rows], states[tap][0])
        torch.testing.assert_close(found[FINAL][rows], states[-1][0])  # transformers norms the last
        first += len(text)
    torch.testing.assert_close(LeanLlama(model).norm(found[3]), found[FINAL])


def test_a_pass_runs_no_layer_beyond_the_last_tap() -> None:
    class Cut(LeanLlama):
        def transform(self, layer: int, hidden: torch.Tensor) -> torch.Tensor:
            assert layer < 1
            return super().transform(layer, hidden)

    assert set(text_states(Cut(tiny("llama")), [[1, 2]], (1, 0))) == {0, 1}


@pytest.mark.parametrize("rows", [1, 11, 1000])
def test_how_many_texts_share_a_pass_changes_nothing(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = LeanLlama(tiny("llama"))
    whole = shard_states(model, examples(), TAPS)
    monkeypatch.setattr(features, "ROWS", rows)
    for tap, states in shard_states(model, examples(), TAPS).items():
        assert states.dtype == DTYPE
        torch.testing.assert_close(states.float(), whole[tap].float(), atol=0.02, rtol=0.02)


def test_trainers_read_the_texts_with_their_states(corpus: Path) -> None:
    write(LeanLlama(tiny("llama")), shards(corpus), TAPS)
    made = read_features(corpus, target(), frozenset({7}), (3, FINAL))
    assert made.taps == (FINAL, 3)
    every = [example for number in range(2) for example in examples(seed=number)]
    for held_out in (False, True):
        asked = [example for example in every if example.held_out == held_out]
        texts = made.texts(held_out)
        assert len(texts) == len(asked)
        for text, example in zip(texts, asked, strict=True):
            assert text.tokens.tolist() == [*example.prompt, *example.answer]
            assert text.answer == len(example.prompt)
            assert text.greedy == (example.temperature == 0)
            true = text_states(LeanLlama(tiny("llama")), [text.tokens.tolist()], (FINAL, 3))
            assert set(text.states) == {FINAL, 3}
            for tap, states in text.states.items():
                torch.testing.assert_close(states, true[tap].to(DTYPE), atol=0.02, rtol=0.02)
    trained = [token for example in every if not example.held_out for token in example.answer]
    assert made.counts.tolist() == torch.bincount(torch.tensor(trained), minlength=23).tolist()


def test_states_are_views_of_the_file_not_copies(corpus: Path) -> None:
    write(LeanLlama(tiny("llama")), shards(corpus)[:1], (2,))
    texts = read_features(corpus, target(), frozenset(), (2,), shards=1).texts(False)
    places = {text.states[2].untyped_storage().data_ptr() for text in texts}
    assert len(places) == 1


def test_a_stopped_run_makes_what_is_missing_and_nothing_else(corpus: Path) -> None:
    model = LeanLlama(tiny("llama"))
    write(model, shards(corpus), TAPS)
    files = [states_file(shard, tap) for shard in shards(corpus) for tap in TAPS]
    content = [file.read_bytes() for file in files]
    times = [file.stat().st_mtime_ns for file in files]
    files[2].unlink()
    files[2].with_suffix(".new").write_bytes(b"half")  # it was killed while it wrote
    write(model, shards(corpus), TAPS)
    assert [file.read_bytes() for file in files] == content
    changed = [i for i, file in enumerate(files) if file.stat().st_mtime_ns != times[i]]
    assert changed == [2]


def test_another_tap_later_leaves_the_others_alone(corpus: Path) -> None:
    model = LeanLlama(tiny("llama"))
    write(model, shards(corpus), (1,))
    before = states_file(shards(corpus)[0], 1).stat().st_mtime_ns
    write(model, shards(corpus), (1, 2))
    assert states_file(shards(corpus)[0], 1).stat().st_mtime_ns == before
    assert read_features(corpus, target(), frozenset(), (1, 2)).taps == (1, 2)


@pytest.mark.parametrize("tap", [4, -2])
def test_a_tap_that_the_model_has_not_is_one_sentence(corpus: Path, tap: int) -> None:
    with pytest.raises(ValueError, match="0 to 3, and -1"):
        write(LeanLlama(tiny("llama")), shards(corpus), [tap])


def test_missing_features_say_how_they_are_made(corpus: Path) -> None:
    write(LeanLlama(tiny("llama")), shards(corpus)[:1], (1,))
    with pytest.raises(ValueError, match=r"0001-layer1.*core\.train features --taps 1"):
        read_features(corpus, target(), frozenset(), (1,))
    assert read_features(corpus, target(), frozenset(), (1,), shards=1).training
    with pytest.raises(ValueError, match="has 2 shards"):
        read_features(corpus, target(), frozenset(), (1,), shards=3)


def test_features_of_another_corpus_are_refused(corpus: Path) -> None:
    write(LeanLlama(tiny("llama")), shards(corpus), (FINAL,))
    changed = examples(seed=0)
    changed[1].answer[0] = (changed[1].answer[0] + 1) % VOCABULARY
    shards(corpus)[0].write_bytes(msgspec.json.encode(changed))
    with pytest.raises(ValueError, match="another corpus"):
        read_features(corpus, target(), frozenset(), (FINAL,))
    shards(corpus)[0].write_bytes(msgspec.json.encode(changed[:-1]))
    with pytest.raises(ValueError, match="holds no states of"):
        read_features(corpus, target(), frozenset(), (FINAL,))


def test_tokens_lie_as_the_states_do() -> None:
    assert all_tokens(examples(2)).tolist() == [
        token for example in examples(2) for token in (*example.prompt, *example.answer)
    ]

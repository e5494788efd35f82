"""Loading: ready and frozen, or refused with one sentence. Nothing random, pickled or executed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM

from core.models import loading, placement
from core.models.errors import ModelError
from core.models.loading import LoadOptions, check_same_vocabulary, load
from core.models.vocabulary import Vocabulary
from tests import saved_models as made

PLAIN = LoadOptions(device="cpu", dtype="float32", local_files_only=True)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.save(tmp_path_factory.mktemp("models") / "tiny-llama", made.llama(320))


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "tiny-llama"))


def edit(file: Path, **changes: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def refusal(folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load(str(folder), PLAIN)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(folder.parent) not in sentence
    return sentence


def test_a_loaded_model_is_ready_frozen_and_described(saved: Path) -> None:
    loaded = load(str(saved), PLAIN)
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.model.config._attn_implementation == "sdpa"
    card = loaded.card
    assert (card.id, card.dtype, card.device) == ("tiny-llama", "float32", "cpu")
    assert (card.layers, card.vocabulary_size, card.context) == (2, 320, 64)
    assert card.parameters == sum(p.numel() for p in made.llama(320).parameters())
    assert card.revision is not None
    assert card.revision.startswith("sha256:")


def test_the_weights_are_those_of_the_file(saved: Path) -> None:
    loaded = load(str(saved), PLAIN)
    expected = made.llama(320).state_dict()
    assert all(
        torch.equal(value, expected[key]) for key, value in loaded.model.state_dict().items()
    )


def test_a_family_with_other_names_for_its_shape_is_described_alike(tmp_path: Path) -> None:
    card = load(str(made.save(tmp_path / "m", made.gpt2(320))), PLAIN).card
    assert (card.layers, card.vocabulary_size, card.context) == (2, 320, 32)


def test_format_and_attention_can_be_chosen(saved: Path) -> None:
    loaded = load(str(saved), LoadOptions("cpu", "bfloat16", "eager"))
    assert loaded.card.dtype == "bfloat16"
    assert loaded.model.config._attn_implementation == "eager"


def test_a_family_without_the_fused_kernel_runs_on_the_plain_one(tmp_path: Path) -> None:
    loaded = load(str(made.save(tmp_path / "m", made.gemma2(320))), PLAIN)
    assert loaded.model.config._attn_implementation == "eager"


def test_padding_rows_are_not_tokens(tmp_path: Path) -> None:
    assert load(str(made.save(tmp_path / "m", made.llama(384))), PLAIN).card.vocabulary_size == 320


def test_all_ids_that_end_a_text_are_known(folder: Path) -> None:
    edit(folder / "generation_config.json", eos_token_id=[7, 8])
    assert load(str(folder), PLAIN).eos == {7, 8, made.byte_level().eos_token_id}
    edit(folder / "generation_config.json", eos_token_id=9)
    assert load(str(folder), PLAIN).eos == {9, made.byte_level().eos_token_id}


def test_progress_is_told_and_can_cancel(saved: Path) -> None:
    told: list[str] = []
    load(str(saved), PLAIN, lambda done, total, sentence: told.append(sentence))
    assert told == ["Loading tiny-llama"]

    def cancel(done: int, total: int, sentence: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(str(saved), PLAIN, cancel)


# what is refused


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no folder"):
        load(str(tmp_path / "none"), PLAIN)


def test_pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert refusal(folder) == (
        "tiny-llama holds pytorch_model.bin, a pickle that could run code: "
        "only safetensors and GGUF files are read."
    )


def test_a_distributed_checkpoint(folder: Path) -> None:
    (folder / ".metadata").write_bytes(b"\x80\x04.")
    assert "pickles" in refusal(folder)


def test_an_adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "a/b"}')
    assert "is an adapter" in refusal(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert f"holds no {name}" in refusal(folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: os.truncate(file, file.stat().st_size - 100),
        lambda file: os.truncate(file, 20),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"\xff" * 64),
        lambda file: file.write_bytes((4).to_bytes(8, "little") + b"[1]\xff"),
        lambda file: file.write_bytes((16).to_bytes(8, "little") + b'{"a":{"b":"c"}} '),
    ],
    ids=["cut", "cut header", "empty", "noise", "no json", "other json"],
)
def test_damaged_weights(folder: Path, damage: Callable[[Path], object]) -> None:
    damage(folder / "model.safetensors")
    assert refusal(folder).startswith("model.safetensors is damaged")


def test_weights_that_are_not_all_there(folder: Path) -> None:
    file = folder / "model.safetensors"
    tensors = load_file(file)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, file, {"format": "pt"})
    assert refusal(folder) == ("tiny-llama is damaged: its files do not hold all of its weights.")


def test_weights_of_another_shape(folder: Path) -> None:
    edit(folder / "config.json", hidden_size=32)
    assert refusal(folder).startswith("tiny-llama cannot be loaded: ")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"model_type": 1}', "\ud83d"])
def test_a_damaged_config(folder: Path, content: str) -> None:
    (folder / "config.json").write_bytes(content.encode(errors="surrogatepass"))
    assert refusal(folder).startswith("config.json of tiny-llama is damaged")


@pytest.mark.parametrize(
    "change", [{"num_hidden_layers": "two"}, {"hidden_act": "nobody"}, {"head_dim": -1}]
)
def test_a_config_that_makes_no_model(folder: Path, change: dict[str, object]) -> None:
    edit(folder / "config.json", **change)
    assert refusal(folder).startswith("tiny-llama cannot be loaded: ")


@pytest.mark.parametrize("name", ["num_hidden_layers", "n_layer"])
def test_more_layers_than_any_memory_holds(folder: Path, name: str) -> None:
    edit(folder / "config.json", **{name: 10**12})
    assert refusal(folder) == "tiny-llama is damaged: it states more layers than it holds."


def test_a_type_that_nobody_knows(folder: Path) -> None:
    edit(folder / "config.json", model_type="nobody")
    assert refusal(folder) == (
        "tiny-llama is of type 'nobody', which cannot be built here: "
        "choose a model of a type that transformers knows."
    )


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "a\\b.safetensors"])
def test_an_index_that_points_out_of_its_folder(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder.parent / "secret.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
    assert "not a file beside it" in refusal(folder)


def test_an_index_whose_file_is_missing(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert refusal(folder) == (
        "tiny-llama is incomplete: model-00001-of-00002.safetensors is missing."
    )


def test_code_that_comes_with_a_model_does_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    auto = {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}
    edit(folder / "config.json", model_type="evil", auto_map=auto)
    assert "without running the code that it brings" in refusal(folder)
    edit(folder / "config.json", model_type="llama", auto_map=auto)
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.T", "evil.T"]})
    load(str(folder), PLAIN)
    assert not (tmp_path / "ran").exists()


def test_a_model_that_is_no_causal_one(tmp_path: Path) -> None:
    bert = BertForMaskedLM(
        BertConfig(
            vocab_size=320,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
    )
    folder = made.save(tmp_path / "tiny-bert", bert)
    assert refusal(folder) == (
        "tiny-bert is a BertForMaskedLM, not a causal language model such as LlamaForCausalLM."
    )


def test_a_model_without_tokenizer(folder: Path) -> None:
    for file in folder.glob("*token*"):
        file.unlink()
    assert "has no tokenizer" in refusal(folder)


def test_a_model_larger_than_the_memory(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "free_memory", lambda device: 1000)
    assert "choose a smaller model or a shorter number format" in refusal(saved)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_memory_that_runs_out_while_loading(
    saved: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(loading, "_read", fail)
    assert refusal(saved) == "The memory is too small for tiny-llama: choose a smaller model."


@pytest.mark.parametrize(
    "content", [None, b"", b"PK\x03\x04", b"GGUF", b"GGUF\x03\x00\x00\x00junk"]
)
def test_a_gguf_file_that_is_none(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "tiny.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match=r"There is no file|is not a GGUF|tiny cannot be loaded"):
        load(str(file), PLAIN)


def test_a_gguf_file_gives_the_weights_and_the_tokens_it_was_made_of(tmp_path: Path) -> None:
    model, tokenizer = made.llama(320), made.byte_level()
    file = made.gguf(tmp_path / "tiny.gguf", model, tokenizer)
    loaded = load(str(file), PLAIN)
    found = loaded.model.state_dict()
    assert all(torch.equal(found[name], value) for name, value in model.state_dict().items())
    assert (loaded.card.id, loaded.card.layers, loaded.card.vocabulary_size) == ("tiny", 2, 320)
    assert loaded.vocabulary.tokens == Vocabulary(tokenizer).tokens  # none that is not scored
    pieces = [loaded.vocabulary.bytes(token) for token in loaded.tokenizer.encode("a\n\n12")]
    assert pieces[-2:] == [b"1", b"2"]
    assert b"".join(pieces) == b"a\n\n12"


# two models, one vocabulary


def test_two_sizes_of_one_family_share_their_real_tokens(tmp_path: Path, saved: Path) -> None:
    target = load(str(made.save(tmp_path / "big", made.llama(384))), PLAIN)
    assert check_same_vocabulary(target, load(str(saved), PLAIN)) == 320


def test_two_vocabularies_are_refused_before_the_first_token(tmp_path: Path, saved: Path) -> None:
    other = made.byte_level()
    other.add_tokens(["<tool>"])
    target = load(str(made.save(tmp_path / "big", made.llama(321), other)), PLAIN)
    with pytest.raises(ModelError, match="Token 320 is '<tool>' in the target and missing in the"):
        check_same_vocabulary(target, load(str(saved), PLAIN))


def test_tokens_beyond_a_models_rows_are_none_of_its_own(tmp_path: Path, saved: Path) -> None:
    target, draft = load(str(saved), PLAIN), made.save(tmp_path / "short", made.llama(300))
    with pytest.raises(ModelError, match=r"Token 300 is .* in the target and missing in the draft"):
        check_same_vocabulary(target, load(str(draft), PLAIN))
    other = made.byte_level()
    other.add_tokens(["<never trained>"])
    draft = made.save(tmp_path / "more", made.llama(320), other)
    assert check_same_vocabulary(target, load(str(draft), PLAIN)) == 320

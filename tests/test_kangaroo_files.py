"""Kangaroo's checkpoints: the published layout and ours are read as written; what is wrong in one
is a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.heads.kangaroo import KIND, Adapter, Kangaroo, read_kangaroo, write_kangaroo
from core.heads.shelf import Shelf, shipped
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.parts import heads
from tests.tiny import VOCABULARY, tiny, wrapped
from tests.toy_heads import shaken

LAYERS = 27  # a thirteenth of them is 2
Change = Callable[[dict[str, Tensor]], object]
CONFIG: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "num_hidden_layers": 1,
    "rms_norm_eps": 1e-6,
    "rope_theta": 500_000.0,
    "vocab_size": VOCABULARY,
}


def target(layers: int = LAYERS) -> TargetWeights:
    return TargetWeights.of(wrapped(tiny("llama", layers=layers)))


def tensors() -> dict[str, Tensor]:
    adapter = Adapter(target().shape)
    shaken(adapter, 5, 0.5)
    return dict(adapter.state_dict())


def published(
    folder: Path, change: Change = lambda t: None, zipped: bool = True, **config: object
) -> Path:
    folder.mkdir(exist_ok=True)
    found = tensors()
    change(found)
    if zipped:
        torch.save(found, folder / "pytorch_model.bin")
    else:
        save_file(found, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({**CONFIG, **config}), encoding="utf-8")
    return folder


def same(head: Kangaroo, found: dict[str, Tensor]) -> None:
    assert head.adapter.state_dict().keys() == found.keys()
    for name, tensor in head.adapter.state_dict().items():
        torch.testing.assert_close(tensor, found[name].float(), rtol=0, atol=0)


@pytest.mark.parametrize("zipped", [True, False])
def test_the_published_layout_is_read(zipped: bool, tmp_path: Path) -> None:
    """Copies of the target's own tensors, and what old programs saved beside, are left alone."""

    def more(found: dict[str, Tensor]) -> None:
        found["embed_tokens.weight"] = torch.ones(4, 4)
        found["lm_head.weight"] = torch.ones(4, 4)
        found["layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(2)

    head = read_kangaroo(published(tmp_path / "a", more, zipped), target())
    same(head, tensors())
    assert head.exit_layer == 2
    assert head.vocabulary.is_whole
    assert head.adapter.shape.theta == 10_000
    torch.testing.assert_close(head.rows, target().head)


@pytest.mark.parametrize(("layers", "exit_layer"), [(3, 1), (13, 1), (32, 2), (40, 3)])
def test_a_published_exit_is_after_a_thirteenth_of_the_layers(
    layers: int, exit_layer: int, tmp_path: Path
) -> None:
    assert read_kangaroo(published(tmp_path / "a"), target(layers)).exit_layer == exit_layer


@pytest.mark.parametrize("trimmed", [True, False])
def test_ours_comes_back_as_written(trimmed: bool, tmp_path: Path) -> None:
    adapter = Adapter(target().shape)
    shaken(adapter, 6, 0.5)
    vocabulary = DraftVocabulary.whole(VOCABULARY)
    if trimmed:
        vocabulary = DraftVocabulary.of(torch.tensor([1, 4, 9, 22]), VOCABULARY)
    write_kangaroo(tmp_path, adapter, 5, vocabulary, "tiny")
    head = read_kangaroo(tmp_path, target())
    same(head, {name: tensor.bfloat16() for name, tensor in adapter.state_dict().items()})
    assert head.exit_layer == 5
    assert head.taps == (5,)
    assert head.vocabulary.ids.tolist() == vocabulary.ids.tolist()
    assert head.adapter.shape == target().shape
    torch.testing.assert_close(head.rows, target().head[vocabulary.ids])


WRONG: dict[str, tuple[Change, dict[str, object], str]] = {
    "a norm is missing": (lambda t: t.pop("norm.weight"), {}, "it has no norm.weight"),
    "no attention": (
        lambda t: [t.pop(f"layers.0.self_attn.{x}_proj.weight") for x in "qkvo"],
        {},
        r"it has no layers\.0\.self_attn\.q_proj\.weight",
    ),
    "one name too many": (
        lambda t: t.update({"layers.0.mlp.up_proj.weight": torch.ones(2, 2)}),
        {},
        r"does not know: layers\.0\.mlp\.up_proj\.weight",
    ),
    "another shape": (
        lambda t: t.update({"layers.0.self_attn.o_proj.weight": torch.ones(8, 16)}),
        {},
        r"does not fit tiny: layers\.0\.self_attn\.o_proj\.weight has 8 x 16, and 16 x 16",
    ),
    "other heads than the config says": (
        lambda t: None,
        {"num_attention_heads": 8},
        r"q_proj\.weight has 16 x 16, and 32 x 16 are needed",
    ),
    "another width": (lambda t: None, {"hidden_size": 32}, "its features have 32 numbers"),
    "two layers": (lambda t: None, {"num_hidden_layers": 2}, "heads of one layer are read"),
    "no numbers": (
        lambda t: t.update({"norm.weight": torch.full((16,), torch.nan)}),
        {},
        "does not hold finite numbers",
    ),
    "an exit behind the last layer": (
        lambda t: None,
        {"exit_layer": LAYERS},
        f"reads layer {LAYERS}; tiny has exits 1 to {LAYERS - 1}",
    ),
    "no exit": (lambda t: None, {"exit_layer": 0}, "exit_layer 0; it should be a whole number"),
    "an exit in words": (lambda t: None, {"exit_layer": "2"}, "exit_layer '2'; it should be"),
    "tokens in disorder": (
        lambda t: t.update({"token_map": torch.tensor([3, 1])}),
        {},
        "ascending order",
    ),
    "tokens that the target lacks": (
        lambda t: t.update({"token_map": torch.tensor([3, VOCABULARY])}),
        {},
        "the target's 23 only",
    ),
    "a map that is no map": (
        lambda t: t.update({"token_map": torch.tensor([0.5])}),
        {},
        "does not hold whole numbers",
    ),
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_sentence(case: str, zipped: bool, tmp_path: Path) -> None:
    change, config, sentence = WRONG[case]
    folder = published(tmp_path / "a", change, zipped, **config)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_kangaroo(folder, target())
    assert "\n" not in str(caught.value)


def test_the_project_s_own_is_found_by_its_name_and_one_that_is_missing_is_said(
    tmp_path: Path,
) -> None:
    model = wrapped(tiny("llama", layers=LAYERS))
    with pytest.raises(ValueError, match=r"No Kangaroo adapter was trained for tiny: name"):
        Shelf(model, tmp_path)(KIND)
    published(shipped(KIND, model.card, tmp_path))
    assert isinstance(Shelf(model, tmp_path)(KIND), Kangaroo)
    assert KIND in heads()

"""Checkpoints of Medusa and Hydra that are wrong are one sentence each; ours come back as written;
what was measured lies beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from core.heads.accuracy import FILE, Accuracy, read_accuracy, write_accuracy
from core.heads.files import read_tensors
from core.heads.hydra import HydraBlocks
from core.heads.hydra_layouts import read_hydra, write_hydra
from core.heads.medusa import MedusaBlocks
from core.heads.medusa_layouts import read_medusa, write_medusa
from core.heads.shelf import Shelf, shipped
from core.heads.target import TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.parts import heads
from tests import ahead_checkpoints as made
from tests.tiny import tiny, wrapped
from tests.toy_heads import shaken

Change = Callable[[dict[str, Tensor]], object]

MEASURED = Accuracy(tried=[9, 8, 7], hits=[[4, 2], [3, 1], [1, 0]])


def target() -> TargetWeights:
    return TargetWeights.of(wrapped(tiny("llama")))


def changed(checkpoint: made.Checkpoint, change: Change, **config: object) -> made.Checkpoint:
    tensors = dict(checkpoint.tensors)
    change(tensors)
    return replace(checkpoint, tensors=tensors, config={**checkpoint.config, **config})


def nothing(tensors: dict[str, Tensor]) -> None:
    """Change nothing."""


MEDUSA: dict[str, tuple[Change, str]] = {
    "a bias is missing": (lambda t: t.pop("1.0.linear.bias"), r"it has no 1\.0\.linear\.bias\."),
    "a head is missing": (
        lambda t: [t.pop(n) for n in list(t) if n.startswith("1.")],
        r"it has no 1\.0\.linear\.weight, 1\.0\.linear\.bias\.",
    ),
    "a reader is missing": (lambda t: t.pop("2.1.weight"), r"it has no 2\.1\.weight\."),
    "one name too many": (
        lambda t: t.update({"0.7.weight": torch.ones(2)}),
        r"does not know: 0\.7\.weight\.",
    ),
    "another width": (
        lambda t: t.update({"0.0.linear.weight": torch.ones(8, 8)}),
        r"does not fit tiny: 0\.0\.linear\.weight has 8 x 8, and 16 x 16 are needed",
    ),
    "another vocabulary": (
        lambda t: t.update({"0.1.weight": torch.ones(99, 16)}),
        r"does not fit tiny: 0\.1\.weight has 99 x 16, and 23 x 16 are needed",
    ),
    "too many heads": (
        lambda t: t.update({"99.0.linear.weight": torch.ones(16, 16)}),
        "names 100 heads of 1 blocks; 16 of 16 are allowed",
    ),
    "no heads at all": (lambda t: t.clear() or t.update(a=torch.ones(1)), "holds no Medusa heads"),
    "tokens twice": (
        lambda t: t.update(token_map=torch.tensor([3, 3])),
        "lists tokens in ascending order, each once",
    ),
    "a token outside": (lambda t: t.update(token_map=torch.tensor([3, 23])), "23 only"),
}
HYDRA: dict[str, tuple[Change, str]] = {
    "no residual": (
        lambda t: t.pop("hydra_mlp.2.0.res_connection.bias"),
        r"it has no hydra_mlp\.2\.0\.res_connection\.bias\.",
    ),
    "no bias of a reader": (
        lambda t: t.pop("hydra_lm_head.1.bias"),
        r"it has no hydra_lm_head\.1\.bias\.",
    ),
    "heads that see no path": (
        lambda t: t.update({"hydra_mlp.0.0.linear.weight": torch.ones(16, 16)}),
        r"hydra_mlp\.0\.0\.linear\.weight has 16 x 16, and 16 x 32 are needed",
    ),
    "uneven heads": (lambda t: t.pop("hydra_mlp.1.1.linear.weight"), "has heads of 1, 2 blocks"),
    "one name too many": (
        lambda t: t.update({"hydra_mlp.0.1.extra": torch.ones(2)}),
        r"does not know: hydra_mlp\.0\.1\.extra\.",
    ),
    "no heads at all": (lambda t: t.clear() or t.update(a=torch.ones(1)), "holds no Hydra heads"),
}


@pytest.mark.parametrize("case", MEDUSA)
def test_what_is_wrong_with_medusa_s_files_is_one_sentence(case: str, tmp_path: Path) -> None:
    change, sentence = MEDUSA[case]
    folder = changed(made.medusa_heads(tiny("llama")), change).write(tmp_path / "head")
    with pytest.raises(ValueError, match=sentence) as caught:
        read_medusa(folder, target())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", HYDRA)
def test_what_is_wrong_with_hydra_s_files_is_one_sentence(case: str, tmp_path: Path) -> None:
    change, sentence = HYDRA[case]
    folder = changed(made.hydra_heads(tiny("llama")), change).write(tmp_path / "head")
    with pytest.raises(ValueError, match=sentence) as caught:
        read_hydra(folder, target())
    assert "\n" not in str(caught.value)


def test_a_cut_vocabulary_needs_its_map(tmp_path: Path) -> None:
    cut = changed(made.medusa_vllm(tiny("llama")), nothing, truncated_vocab_size=7)
    with pytest.raises(ValueError, match=r"names 7 of 23 tokens, and has no token_map"):
        read_medusa(cut.write(tmp_path / "head"), target())


@pytest.mark.parametrize("kind", ["cross-attn", "eagle-attn"])
def test_other_heads_of_hydra_s_code_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    other = changed(made.hydra_heads(tiny("llama")), nothing, hydra_head_arch=kind)
    with pytest.raises(ValueError, match=f"heads of the kind {kind}; those that are read are mlp"):
        read_hydra(other.write(tmp_path / "head"), target())


def test_a_prefix_layer_of_another_model_does_not_fit(tmp_path: Path) -> None:
    name = "prefix_embeding_layer.layers.0.self_attn.k_proj.weight"
    other = changed(
        made.hydra_heads(tiny("llama"), prefix=True), lambda t: t.update({name: torch.ones(16, 16)})
    )
    with pytest.raises(ValueError, match="has 16 x 16, and 8 x 16 are needed"):
        read_hydra(other.write(tmp_path / "head"), target())


@pytest.mark.parametrize("tokens", [23, 9])
def test_ours_come_back_as_written(tokens: int, tmp_path: Path) -> None:
    vocabulary = DraftVocabulary.of(torch.arange(23)[-tokens:], 23)
    medusa, hydra = MedusaBlocks(16, 4, 2), HydraBlocks(16, 4, 2)
    for module in (medusa, hydra):
        shaken(module, 1)
        for parameter in module.parameters():
            parameter.data = parameter.bfloat16().float()
    write_medusa(tmp_path / "medusa", medusa, vocabulary, "tiny")
    write_hydra(tmp_path / "hydra", hydra, vocabulary, "tiny")
    for read, module in ((read_medusa, medusa), (read_hydra, hydra)):
        folder = tmp_path / ("medusa" if module is medusa else "hydra")
        stored = read_tensors(folder / "model.safetensors", 2**20)
        assert all(t.dtype == torch.bfloat16 for n, t in stored.items() if n != "token_map")
        found = read(folder, target())
        assert found.ahead == 4
        assert torch.equal(found.vocabulary.ids, vocabulary.ids)
        theirs = found.module.state_dict()
        assert theirs.keys() == module.state_dict().keys()
        assert all(torch.equal(theirs[name], t) for name, t in module.state_dict().items())


def test_what_was_measured_lies_beside_the_weights(tmp_path: Path) -> None:
    folder = made.medusa_heads(tiny("llama")).write(tmp_path / "head")
    assert read_medusa(folder, target()).accuracy is None
    write_accuracy(MEASURED, folder)
    assert read_medusa(folder, target()).accuracy == MEASURED
    assert MEASURED.table == [[4 / 9, 2 / 9], [3 / 8, 1 / 8], [1 / 7, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is damaged"),
        ('{"tried":[1,1,1],"hits":[[1],[1],[-1]]}', "is damaged"),
        ('{"tried":[1,1,1],"hits":[[1],[1],[1]],"more":1}', "is damaged"),
        ('{"tried":[1,1],"hits":[[1],[1]]}', "does not speak of its 3 heads"),
        ('{"tried":[1,1,1],"hits":[[1],[1],[2]]}', "right too often"),
        ('{"tried":[1,1,0],"hits":[[1],[1],[0]]}', "right too often"),
        (" " * 2**20 + "{}", "larger than 1 MB"),
    ],
)
def test_a_damaged_measurement_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_accuracy(tmp_path, 3)


@pytest.mark.parametrize("kind", ["medusa", "hydra"])
def test_the_shelf_finds_them(kind: str, tmp_path: Path) -> None:
    model = wrapped(tiny("llama"))
    shelf = Shelf(model, tmp_path)
    with pytest.raises(ValueError, match=f"train one with python -m core.train {kind}"):
        shelf(kind)
    checkpoint = made.medusa_heads if kind == "medusa" else made.hydra_heads
    checkpoint(tiny("llama")).write(shipped(kind, model.card, tmp_path))
    assert shelf(kind).taps == (-1,)
    assert heads()[kind].name == f"{kind.title()} heads"

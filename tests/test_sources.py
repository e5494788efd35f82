"""Names of models: what each form means, and what a hosted demo refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.models.errors import ModelError
from core.models.sources import (
    SMOLLM2,
    Default,
    Folder,
    Gguf,
    Hub,
    Source,
    allowed_models,
    parse_source,
)

SPACE = {"SPACE_ID": "someone/draftscope"}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("", Default()),
        (" default ", Default()),
        ("Qwen/Qwen2.5-0.5B-Instruct", Hub("Qwen/Qwen2.5-0.5B-Instruct")),
        ("a/b\n", Hub("a/b")),
        ("a/b@main", Hub("a/b", "main")),
        ("a/b@refs/pr/1", Hub("a/b", "refs/pr/1")),
        ("./model", Folder(Path("model"))),
        ("../model", Folder(Path("../model"))),
        ("/srv/model", Folder(Path("/srv/model"))),
        ("~/model", Folder(Path("~/model").expanduser())),
        ("model.gguf", Gguf(Path("model.gguf"))),
        ("/srv/Model.GGUF", Gguf(Path("/srv/Model.GGUF"))),
    ],
)
def test_the_form_of_a_name_decides_what_it_is(text: str, source: Source) -> None:
    assert parse_source(text, {}) == source


@pytest.mark.parametrize(
    "text",
    [
        "gpt2",
        "a/b/c",
        "a//b",
        "a/../b",
        "a/b@../../etc",
        "a/..",
        "-a/b",
        "a/b.git",
        "https://huggingface.co/a/b",
        "a/b c",
        "a/b\x00",
        "a/" + "b" * 97,
        "a" * 5000,
        "a/b; rm -rf",
        "a/b@",
    ],
)
def test_other_forms_are_refused_with_the_allowed_ones(text: str) -> None:
    with pytest.raises(ModelError, match="write a hub id such as") as caught:
        parse_source(text, {})
    assert len(str(caught.value)) < 300


def test_a_folder_of_the_same_name_does_not_shadow_a_hub_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert parse_source("a/b", {}) == Hub("a/b")


@pytest.mark.parametrize("text", ["a/b", "./model", "/etc", "x.gguf", f"{SMOLLM2[0]}@refs/pr/9"])
def test_a_space_refuses_what_is_not_listed(text: str) -> None:
    with pytest.raises(ModelError, match="This hosted demo runs HuggingFaceTB/SmolLM2-135M"):
        parse_source(text, SPACE)
    parse_source(text, {})


def test_a_space_runs_the_default_and_the_listed_models() -> None:
    assert parse_source("", SPACE) == Default()
    assert [parse_source(name, SPACE) for name in SMOLLM2] == [Hub(name) for name in SMOLLM2]


def test_a_space_can_list_other_models() -> None:
    space = SPACE | {"DRAFTSCOPE_MODELS": " a/b , c/d,"}
    assert allowed_models(space) == ("a/b", "c/d")
    assert parse_source("c/d", space) == Hub("c/d")
    with pytest.raises(ModelError, match="runs a/b, c/d"):
        parse_source(SMOLLM2[0], space)


def test_a_list_does_not_bind_a_local_run() -> None:
    assert allowed_models({"DRAFTSCOPE_MODELS": "a/b"}) is None
    assert parse_source("c/d", {"DRAFTSCOPE_MODELS": "a/b"}) == Hub("c/d")

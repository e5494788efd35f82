"""What the README says of methods, files and commands is what there is."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from app.cards import FILE, described, in_json, methods_json
from app.readme import README, method_table, with_table
from core.decode import decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.registry import Method, Models, methods
from core.trace import Trace

ROOT = README.parent
TEXT = README.read_text()


def test_the_table_of_methods_is_the_registry() -> None:
    assert with_table(TEXT) == TEXT, "run python -m app.readme"


def test_the_catalogue_s_file_is_the_registry() -> None:
    assert FILE.read_text("utf-8") == in_json(described()), "run python -m app.readme"


def test_table_catalogue_and_registry_have_the_same_methods() -> None:
    table = re.findall(r"^\| [^|]+ \| `(\w+)` \|", method_table(), re.M)
    shown = [
        card["key"] for family in json.loads(methods_json())["families"] for card in family["cards"]
    ]
    assert table == list(methods())
    assert sorted(shown) == sorted(methods())


def test_every_place_it_names_exists_and_no_top_folder_is_missing() -> None:
    block = TEXT.split("## What is where")[1].split("```")[1]
    named = [line.split()[0] for line in block.strip().splitlines()]
    assert all((ROOT / place).exists() for place in named)
    tops = {place.split("/")[0] for place in named}
    folders = {path.parent.name for path in ROOT.glob("*/*.py")} | {"assets", "docs"}
    assert folders - {".venv"} <= tops


def test_every_link_into_the_project_leads_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)
    assert links
    assert all((ROOT / link).exists() for link in links)


def test_the_space_is_made_with_the_pinned_gradio() -> None:
    pin = re.search(r"^gradio\[mcp\]==(\S+)$", Path(ROOT / "requirements.txt").read_text(), re.M)
    front = re.search(r"^sdk_version: (\S+)$", TEXT, re.M)
    assert pin is not None
    assert front is not None
    assert pin[1] == front[1]


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", TEXT, re.S)


def test_its_python_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = [block for block in blocks() if "trace_io" in block]
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert isinstance(names["trace"], Trace)


def test_the_method_that_it_shows_is_a_method_that_decodes(tmp_path: Path) -> None:
    (recipe,) = [block for block in blocks() if "@method(" in block]
    file = tmp_path / "your_method.py"
    file.write_text(recipe)
    spec = spec_from_file_location("your_method", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["your_method"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["your_method"]
    made = module.build
    assert isinstance(made, Method)
    assert made.idea == "Your method: the idea in one sentence."
    toy = ToyModel(hashed(4, 1), 4)
    decoder = made.build(made.toy, Models(toy, toy))
    state = start([0, 1], toy, decoder, Law(1), 9)
    assert any(r.drafted for r in decode(state, SeededDice(0), lambda: 0.0))


def test_the_targets_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.M))
    assert {"run", "test", "setup", "bench"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)

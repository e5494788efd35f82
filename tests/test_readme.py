"""What the README says of methods, files and commands is what there is."""

from __future__ import annotations

import re
from pathlib import Path

from app.readme import README, with_table

ROOT = README.parent
TEXT = README.read_text()


def test_the_table_of_methods_is_the_registry() -> None:
    assert with_table(TEXT) == TEXT, "run python -m app.readme"


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


def test_the_targets_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:^|`)make ([a-z]+)", TEXT, re.M))
    assert {"run", "test", "setup", "bench"} <= targets
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)

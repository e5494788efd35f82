"""What was measured is found again for its pair and temperature, and no file can do harm."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.dice import Dice, SeededDice
from core.drafters.model import ModelDrafter
from core.extras import SequoiaExtras
from core.laws import Law
from core.measure import __main__ as command
from core.measure import count as counting
from core.measure.acceptance import Ranks, places, wide
from core.measure.arguments import parser
from core.measure.times import measure
from core.measured import (
    SHIPPED,
    Acceptance,
    MeasuredError,
    Times,
    drafter_key,
    file_name,
    find,
    read,
    write,
)
from core.models.toy import ToyModel, hashed
from core.registry import Models, get
from core.trace import ModelCard
from core.verify.base import Context
from tests import exact
from tests.sheet import P, Q, constant

WHEEL = "SmolLM2-135M-Instruct (Q4_1)"
HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"
ONE = Acceptance(
    target="toy",
    revision=None,
    drafter="exit-28",
    temperature=1.0,
    accepted=[70, 12, 8],
    rejected=10,
    prompts=4,
    seed=0,
    created="2026-11-30T00:00:00+00:00",
)
TIMES = Times(
    widths=[1, 2, 4], verify_ms=[50.0, 52.0, 60.0], draft_ms=25.0, processor="toy", threads=1
)


def card(name: str, revision: str | None = None) -> ModelCard:
    return replace(ToyModel(hashed(3, 1), 3).card, id=name, revision=revision)


def saved(found: Acceptance, folder: Path) -> Path:
    path = folder / file_name(found.target, found.drafter, found.temperature)
    write(found, path)
    return path


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    for found in (ONE, replace(ONE, times=TIMES), replace(ONE, accepted=[1, 0], rejected=0)):
        path = saved(found, tmp_path / "new" / "folder")
        assert read(path) == found
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]  # nothing is left
    assert ONE.vector == (0.7, 0.12, 0.08)
    assert TIMES.relative == {1: 1.0, 2: 1.04, 4: 1.2}
    assert TIMES.step == 0.5


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(ONE, tmp_path)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MeasuredError, match=r"cannot be written: No space left on device\.$"):
        write(replace(ONE, rejected=99), path)
    assert read(path) == ONE
    assert list(tmp_path.iterdir()) == [path]


def test_the_nearest_temperature_is_found_and_greedy_stands_alone(tmp_path: Path) -> None:
    own, shipped = tmp_path / "own", tmp_path / "shipped"
    for temperature in (0.0, 0.7, 1.0):
        saved(replace(ONE, temperature=temperature), shipped)

    def at(temperature: float) -> float:
        found = find(card("toy"), "exit-28", temperature, (own, shipped))
        assert found is not None
        return found.acceptance.temperature

    assert [at(t) for t in (0, 0.01, 0.8, 0.9, 1.0, 2.0)] == [0, 0.7, 0.7, 1, 1, 1]
    (shipped / file_name("toy", "exit-28", 0)).unlink()
    assert find(card("toy"), "exit-28", 0, (own, shipped)) is None
    assert find(card("toy"), "exit-2", 1, (own, shipped)) is None
    assert find(card("other"), "exit-28", 1, (own, shipped)) is None
    assert find(card("toy"), "exit-28", 1, (own, tmp_path / "missing")) is None


def test_what_a_user_measured_goes_first(tmp_path: Path) -> None:
    own, shipped = tmp_path / "own", tmp_path / "shipped"
    saved(ONE, shipped)
    found = find(card("toy"), "exit-28", 1, (own, shipped))
    assert found is not None
    assert found.is_shipped
    saved(replace(ONE, rejected=55), own)
    found = find(card("toy"), "exit-28", 1, (own, shipped))
    assert found is not None
    assert not found.is_shipped
    assert found.acceptance.rejected == 55


def test_other_weights_of_one_name_are_told_apart(tmp_path: Path) -> None:
    saved(replace(ONE, target=WHEEL, revision="sha256:1"), tmp_path)
    for name, revision, same in ((WHEEL, "sha256:1", True), (WHEEL, "2", False), (HUB, "3", False)):
        found = find(card(name, revision), "exit-28", 1, (tmp_path, tmp_path))
        assert found is not None
        assert found.is_same is same


def test_a_second_model_is_named_in_the_key() -> None:
    assert drafter_key("skip-12-18", None) == "skip-12-18"
    assert drafter_key("model", card("me/Tiny Model")) == "model-tiny"
    assert (
        file_name(HUB, "skip-12-18", 0.7) == "acceptance-smollm2-135m-instruct-skip-12-18-t0.7.json"
    )
    assert file_name("../../etc/passwd", "exit-28", 0) == "acceptance-passwd-exit-28-t0.json"
    assert len(file_name("x" * 5000, "skip-" + "1-" * 300, 1)) < 200


def damaged(**changes: object) -> bytes:
    document = json.loads(json.dumps({**json.loads(encoded(ONE)), **changes}))
    return json.dumps({name: value for name, value in document.items() if value != "gone"}).encode()


def encoded(found: Acceptance) -> bytes:
    import msgspec

    return msgspec.json.encode(found)


BAD: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"\x80\x04\x95 pickled",
    "cut short": encoded(ONE)[:-20],
    "not UTF-8": encoded(ONE).replace(b"toy", b"\xff\xfe!"),
    "a list": b"[]",
    "too large": b" " * 70_000 + encoded(ONE),
    "too deep": b"[" * 50_000,
    "deep inside": damaged()[:-1] + b', "times": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "unknown field": damaged(command="rm"),
    "missing field": damaged(accepted="gone"),
    "other version": damaged(version=2),
    "a text for a count": damaged(rejected="10"),
    "a fraction for a count": damaged(rejected=1.5),
    "a negative count": damaged(accepted=[-1, 2]),
    "a huge count": damaged(rejected=10**30),
    "too many places": damaged(accepted=[1] * 65),
    "no place": damaged(accepted=[]),
    "nothing counted": damaged(accepted=[0, 0], rejected=0),
    "infinite": encoded(ONE).replace(b'"temperature":1.0', b'"temperature":1e999'),
    "NaN": encoded(ONE).replace(b'"temperature":1.0', b'"temperature":NaN'),
    "temperature out of range": damaged(temperature=3.0),
    "another target": damaged(target="other"),
    "another drafter": damaged(drafter="skip-1"),
    "another temperature": damaged(temperature=0.7),
    "a long name": damaged(target="toy " + "x" * 2000),
    "times without widths": encoded(replace(ONE, times=replace(TIMES, verify_ms=[1.0]))),
    "falling widths": encoded(replace(ONE, times=replace(TIMES, widths=[1, 4, 2]))),
    "widths from two": encoded(replace(ONE, times=replace(TIMES, widths=[2, 4, 8]))),
    "no time": encoded(replace(ONE, times=replace(TIMES, draft_ms=0.0))),
}


@pytest.mark.parametrize("data", BAD.values(), ids=list(BAD))
def test_a_damaged_or_hostile_file_gives_one_sentence(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / file_name("toy", "exit-28", 1)
    path.write_bytes(data)
    with pytest.raises(MeasuredError) as caught:
        find(card("toy"), "exit-28", 1, (tmp_path, tmp_path))
    words = str(caught.value)
    assert words.startswith(f"{path.name} holds no usable measurement: ")
    assert words.endswith("measure again with `python -m core.measure acceptance`.")
    assert len(words) < 500
    assert "\n" not in words


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / file_name("toy", "exit-28", 1)
    path.mkdir()
    with pytest.raises(MeasuredError, match="it is no file"):
        read(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(MeasuredError, match="it is no file"):
        read(path)


def test_wrong_numbers_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / file_name("toy", "exit-28", 1)
    for wrong in (replace(ONE, drafter="skip-1"), replace(ONE, accepted=[0], rejected=0)):
        with pytest.raises(MeasuredError, match="is not written"):
            write(wrong, path)
    assert not path.exists()


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("drafter", ["skip-12-18", "exit-28"])
@pytest.mark.parametrize("target", [WHEEL, HUB])
def test_the_default_model_comes_measured(target: str, drafter: str, temperature: float) -> None:
    found = find(card(target), drafter, temperature, (SHIPPED, SHIPPED))
    assert found is not None
    numbers = found.acceptance
    assert numbers.temperature == temperature
    assert numbers.counted >= 400
    assert numbers.times is None  # times belong to one machine
    assert 0.4 < numbers.vector[0] < 1


def test_every_shipped_file_is_sound() -> None:
    assert {path.name for path in SHIPPED.iterdir()} == {
        file_name(WHEEL, drafter, temperature)
        for drafter in ("skip-12-18", "exit-28")
        for temperature in (0.0, 0.7, 1.0)
    }
    for path in SHIPPED.iterdir():
        read(path)


def plan_of(values: dict[str, object], temperature: float, models: Models) -> SequoiaExtras:
    drafter = get("sequoia").build({"drafter": "model", **values}, models).drafter
    drafter.begin((0, 1, 2), models.target.open((0, 1)))
    context = Context((0, 1, 2), Law(temperature))
    (extras,) = drafter.propose(context, 20, SeededDice(0)).extras
    assert isinstance(extras, SequoiaExtras)
    return extras


def test_the_method_plans_for_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path))
    models = Models(ToyModel(hashed(4, 1), 4), ToyModel(hashed(4, 2), 4))
    own = replace(ONE, drafter="model-toy", temperature=0.5)
    saved(own, tmp_path / "measured")
    found = plan_of({"budget": 6, "depth": 6}, 0.8, models)
    assert found.origin == "measured"
    assert (found.temperature, found.counted, found.is_same) == (0.5, 100, True)
    assert found.acceptance == [0.7, 0.12, 0.08]
    assert len(found.tree_parent) == 6
    assert found.speedup is None
    assert plan_of({}, 0.0, models).origin == "published"  # greedy was not measured
    assert not plan_of({"draft_temperature": 0.6}, 0.8, models).is_same
    saved(replace(own, times=TIMES), tmp_path / "measured")
    for temperature in (0.5, 0.8, 1.2):  # times fit any temperature
        saved(replace(own, temperature=1.2), tmp_path / "measured")
        assert plan_of({}, temperature, models).speedup is not None
    (tmp_path / "measured" / file_name("toy", "model-toy", 1.2)).unlink()
    fitted = plan_of({"budget": 6, "depth": 6}, 0.8, models)
    # two levels of four nodes; two nodes give 1.7 / (1.04 + 2 / 2), which is less
    assert fitted.tree_parent == [0, 0, 0]
    assert fitted.speedup == pytest.approx(1.9 / (1.2 + 2 * 0.5), abs=1e-5)
    assert len(plan_of({"budget": 6, "depth": 6, "fit": False}, 0.8, models).tree_parent) == 6
    (tmp_path / "measured" / file_name("toy", "model-toy", 0.5)).write_text("{}")
    with pytest.raises(MeasuredError, match="holds no usable measurement"):
        plan_of({}, 0.8, models)


def test_the_places_have_the_chances_of_the_sheet() -> None:
    """Fixture F1 without replacement: child 1, 2, 3 stays with .7, .12, .18."""
    toy = constant(P["F1"], Q["F1"])

    def run(dice: Dice) -> int | None:
        target, draft = toy.models()
        drafter = ModelDrafter(lambda prompt, _: draft.open(prompt), wide(3), "toy")
        return next(places(toy.prompt, target, drafter, Law(1), 3, frozenset(), dice))

    assert exact.distance(exact.law(run), {0: 0.7, 1: 0.12, 2: 0.18}) < 1e-12


def test_ranks_count_places_and_misses() -> None:
    assert Ranks.of([0, 0, 2, None, 0], 3) == Ranks((3, 0, 1), 1)


def test_times_are_medians_of_the_clock() -> None:
    model, ticks = ToyModel(hashed(3, 1), 3), iter(range(1000))

    def clock() -> float:
        return next(ticks) / 100

    costs = measure(model.open((0, 1)), model.open((0, 1)), 2, clock, (1, 2, 4), repeats=3)
    assert costs.verify_ms == pytest.approx((10.0, 10.0, 10.0))
    assert costs.draft_ms == pytest.approx(10.0)


@pytest.fixture
def toy_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., object]:
    from tests.app.toys import toy_engine as made

    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(command, "load_engine", lambda *_names, **_options: made())
    return made


def test_the_command_measures_and_says_where(
    toy_engine: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "acceptance --drafter model --draft x --prompts 2 --tokens 12 --children 5 --times"
    assert command.main([*words.split(), "--folder", str(tmp_path / "new")]) == 0
    out, progress = capsys.readouterr()
    (path,) = (tmp_path / "new").iterdir()
    counted, planned, costs, wrote = out.splitlines()
    assert "nodes: child 1, 2 ... stays with" in counted
    assert planned.startswith("Sequoia's best tree of 16 nodes: ")
    assert costs.startswith("ms for so many tokens: 1: ")
    assert wrote == f"wrote {path}"
    assert "2 of 2 prompts" in progress
    found = read(path)
    assert found.drafter == "model-toy"
    assert len(found.accepted) == 5
    assert found.counted >= 6
    assert found.times is not None
    assert found.times.widths[0] == 1


FEW = ["acceptance", "--drafter", "model", "--draft", "x", "--tokens", "8", "--children", "4"]


def measured(folder: Path, *words: str) -> tuple[list[int], int]:
    """Return what the command counts, in a folder of its own."""
    assert command.main([*FEW, *words, "--folder", str(folder)]) == 0
    found = read(next(folder.iterdir()))
    return found.accepted, found.rejected


def test_a_command_that_was_stopped_goes_on_where_it_was(
    toy_engine: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "one cache"))
    whole = measured(tmp_path / "whole", "--prompts", "4")
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "another cache"))
    asked: list[int] = []

    def stopping(*given: object) -> object:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return places(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as context:
        context.setattr(counting, "places", stopping)
        assert command.main([*FEW, "--prompts", "4", "--folder", str(tmp_path)]) == 130
    assert "Stopped; give the same command again to go on." in capsys.readouterr().err
    assert measured(tmp_path / "rest", "--prompts", "4") == whole
    told = capsys.readouterr().err
    assert "2 of 4 prompts were counted before" in told
    assert "4 of 4 prompts" in told
    asked[:] = [1] * 9  # nothing is counted again
    with monkeypatch.context() as context:
        context.setattr(counting, "places", stopping)
        assert measured(tmp_path / "again", "--prompts", "4") == whole
    assert len(asked) == 9


def test_more_prompts_begin_with_those_that_were_counted(
    toy_engine: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(tmp_path / "few", "--prompts", "2")
    capsys.readouterr()
    more = measured(tmp_path / "more", "--prompts", "3")
    assert "2 of 3 prompts were counted before" in capsys.readouterr().err
    assert sum(more[0]) + more[1] > 0
    for other in (["--seed", "1"], ["--temperature", "0.5"], ["--children", "5"]):
        folder = tmp_path / other[0]
        assert command.main([*FEW, "--prompts", "1", *other, "--folder", str(folder)]) == 0
        assert "before" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", [b"", b"{", b'{"places": [9]}', b'{"places": ["a"]}', b"\xff", b'{"x": 1}']
)
def test_a_damaged_count_is_made_again(
    toy_engine: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    monkeypatch.setenv("DRAFTSCOPE_CACHE", str(tmp_path / "cache"))
    whole = measured(tmp_path / "whole", "--prompts", "2")
    (folder,) = (tmp_path / "cache" / "measuring").iterdir()
    (folder / "0001.json").write_bytes(damage)
    assert measured(tmp_path / "again", "--prompts", "2") == whole


@pytest.mark.parametrize("temperature", ["0", "0.7"])
def test_the_command_takes_the_temperature(
    toy_engine: object, tmp_path: Path, temperature: str
) -> None:
    words = ["--prompts", "1", "--temperature", temperature]
    assert command.main([*FEW, *words, "--folder", str(tmp_path / "new")]) == 0
    assert read(next((tmp_path / "new").iterdir())).temperature == float(temperature)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--temperature 7", "Temperature is 7; it may be 0 to 2."),
        ("--drafter skip", "This target cannot draft with its own layers"),
        ("--drafter model --draft x --folder /proc/no", "cannot be written"),
        ("--drafter skip --draft x", "A second model drafts with --drafter model"),
        ("--drafter exit --exit-layer 0", "Exit layer is 0: it should be at least 1."),
    ],
)
def test_the_command_tells_what_is_wrong_in_one_sentence(
    toy_engine: object, capsys: pytest.CaptureFixture[str], words: str, told: str
) -> None:
    few = ["--prompts", "1", "--tokens", "4"]
    assert command.main(["acceptance", *words.split(), *few]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert told in error


def test_the_page_names_every_option_and_no_other() -> None:
    page = (SHIPPED.parents[1] / "docs" / "measuring.md").read_text("utf-8")
    table = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    (kinds,) = (a.choices for a in parser()._actions if isinstance(a.choices, dict))
    usage = kinds["acceptance"].format_usage() + kinds["tune"].format_usage()
    named, known = (set(re.findall(r"--[a-z][a-z-]*", text)) for text in (table, usage))
    assert named == known
    for call in re.findall(r"^python -m core\.measure (.*)$", page, re.MULTILINE):
        parser().parse_args(call.split())


@pytest.mark.parametrize("words", ["--children 0", "--children x", "--prompts 161", "--tokens 1"])
def test_counts_out_of_range_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["acceptance", *words.split()])
    assert "allowed are" in capsys.readouterr().err

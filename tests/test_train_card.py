"""The card and the plot of a training: every number with its counts, and nothing that breaks."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.train.card import CARD, PLOT, Subject, card, write_card
from core.train.loop import train
from core.train.plot import plot, thinned, ticks
from core.train.report import Epoch, Plan, StepLine
from tests.train_toys import ToyTask, features

SUBJECT = Subject(
    "Toy head", "Nobody 2026", "python -m core.train toy --seed 0", {"loss": "cross-entropy"}, "So."
)


def test_the_card_tells_what_was_made_and_how_well_it_does(tmp_path: Path) -> None:
    made = features()
    report = train(ToyTask.made(), made, Plan(epochs=4, rate=3e-2), tmp_path)
    write_card(tmp_path / "out", SUBJECT, report, made, tmp_path / "log.jsonl")
    text = (tmp_path / "out" / CARD).read_text(encoding="utf-8")
    assert text == card(SUBJECT, report, made)
    for depth, (right, tried) in enumerate(report.accepted, 1):
        assert f"| {depth} | {right / tried:.3f} | {right} of {tried} | " in text
    for told in (
        "license: apache-2.0",
        "# Toy head for toy/target",
        "python -m core.train toy --seed 0",
        "| loss | cross-entropy |",
        "| parameters trained | 77 |",
        "24 texts with 144 answer tokens to train on, 8 texts with 48 answer tokens on topics",
        "rate 0.03",
        f"{report.steps} steps",
        f"epoch {report.best + 1} of 4 is kept",
        f"{report.held_out:.4f} held out",
        "as this program loads it. So.",
        f"]({PLOT})",
    ):
        assert told in text
    assert text.count("| loss |") == 1
    assert (tmp_path / "out" / PLOT).stat().st_size < 20_000


def step(number: int, loss: float) -> StepLine:
    return StepLine(number, loss, 1e-3, 1.0, float(number))


def epoch(number: int, *accepted: tuple[int, int], loss: float = 1.0) -> Epoch:
    return Epoch(loss, loss + 0.1, accepted, 100 * number, 10.0 * number)


@pytest.mark.parametrize(
    ("steps", "epochs"),
    [
        ([], [epoch(1)]),
        ([step(1, 2.0)], [epoch(1, (0, 0))]),
        ([step(i, 1.0) for i in range(1, 300)], [epoch(i, (3, 9), (1, 3)) for i in (1, 2, 3)]),
        (
            [step(i, 9 / i) for i in range(1, 9000)],
            [epoch(i, *((9 - d, 10) for d in range(9)), loss=1 / i) for i in range(1, 41)],
        ),
    ],
)
def test_a_plot_is_whole_small_and_inside_its_frame(
    steps: list[StepLine], epochs: list[Epoch]
) -> None:
    drawn = plot(steps, epochs)
    assert len(drawn) < 40_000
    assert "nan" not in drawn
    assert "inf" not in drawn
    root = ElementTree.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for mark in root.iter():
        places = [
            *((float(mark.attrib[x]), 0.0) for x in ("x", "cx", "x1", "x2") if x in mark.attrib),
            *((0.0, float(mark.attrib[y])) for y in ("y", "cy", "y1", "y2") if y in mark.attrib),
            *(tuple(map(float, p.split(","))) for p in mark.attrib.get("points", "").split()),
        ]
        assert all(0 <= x <= width and 0 <= y <= height for x, y in places)


def test_labels_of_close_curves_stand_apart() -> None:
    root = ElementTree.fromstring(plot([], [epoch(1, (50, 100), (51, 100), (52, 100))]))
    places = [
        float(mark.attrib["y"]) for mark in root.iter() if (mark.text or "").startswith("token")
    ]
    assert len(places) == 3
    assert min(b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False)) >= 13


def test_thinning_keeps_the_mean_and_few_curves_as_they_are() -> None:
    points = [(float(i), float(i % 7)) for i in range(1000)]
    few = thinned(points)
    assert len(few) <= 160
    assert thinned(points[:100]) == points[:100]
    assert thinned([]) == []
    assert math.fsum(y for _, y in thinned(points[:960])) / 160 == pytest.approx(
        math.fsum(y for _, y in points[:960]) / 960
    )


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.93, 4.21), (-0.02, 0.019), (5.0, 5.0), (0.0, 90_000.0)]
)
def test_ticks_are_round_and_within(low: float, high: float) -> None:
    found = ticks(low, high)
    assert len(found) <= 7
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)
    assert len(found) >= 3 or high == low

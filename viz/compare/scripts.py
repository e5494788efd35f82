"""The scripts and the style of the Compare page, which only it and its offline file load."""

from __future__ import annotations

from viz.replay import ASSETS

COMPARE_SCRIPTS = (
    "compare_marks",
    "compare_dumbbell",
    "compare_cells",
    "compare_table",
    "compare_systems",
    "compare_score_parts",
    "compare_score",
    "compare_trees",
    "compare_map",
    "compare_position",
    "compare_race_model",
    "compare_race_figure",
    "compare_race_stage",
    "compare_player",
    "compare_dials",
    "compare_race",
    "compare_waterfalls",
    "compare_page",
)  # after those of `viz.replay`, in the order in which they need each other


def compare_script() -> str:
    """Return the scripts that the Compare page needs beside those of every page."""
    return "\n".join((ASSETS / "js" / f"{name}.js").read_text("utf-8") for name in COMPARE_SCRIPTS)


def compare_style() -> str:
    """Return the style sheet of the Compare page, to follow that of every page."""
    return (ASSETS / "compare.css").read_text("utf-8")

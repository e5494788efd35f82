"""One HTML file with the drawings of a comparison and nothing around them."""

from __future__ import annotations

import json

from viz.compare.payload import Comparison, Position
from viz.compare.scripts import compare_script, compare_style
from viz.replay import chart_library, page_script, page_style

BOOT = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const D = window.Draftscope;
const root = document.querySelector(".ds");
D.wear(root);
const [comparison, position] = [read("comparison"), read("position")];
const api = {
  selection: read("selection"),
  choose(method, place) {
    api.selection = { method, place };
    api.chosen = api.selection;
    drawings.forEach((drawing) => drawing.select(api.selection));
  },
  plotly: Promise.resolve(window.Plotly),
};
const host = (name) => document.getElementById(name);
const drawings = [
  D.compareTable(host("table"), comparison, api),
  D.compareScore(host("score"), comparison, api),
  D.comparePosition(host("position-part"), position, comparison, api),
  D.compareRace(host("race"), comparison, api),
  D.compareWaterfalls(host("falls"), comparison, api),
];
const update = (next, here) =>
  drawings.forEach((one, place) => (place === 2 ? one.update(here, next) : one.update(next)));
window.sheet = { api, drawings, comparison, position, update };
"""
PARTS = ("table", "score", "position-part", "race", "falls")


def sheet_html(comparison: Comparison, position: Position, method: int = 1, place: int = 14) -> str:
    """Return the page; its state is `window.sheet`."""
    parts = "".join(
        f'<section id="{name}" style="margin-top:44px;min-width:0"></section>' for name in PARTS
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Compare</title>
<style>{page_style()}\n{compare_style()}
.ds .sheet-body {{ padding: 0 40px 40px }}
@media (max-width: 700px) {{ .ds .sheet-body {{ padding: 0 16px 40px }} }}</style>
</head>
<body style="margin:0"><main class="ds"><div class="sheet-body">{parts}</div></main>
{_data("comparison", comparison)}{_data("position", position)}
{_data("selection", {"method": method, "place": place})}
<script>{chart_library()}</script>
<script>{page_script()}\n{compare_script()}</script>
<script>{BOOT}</script>
</body></html>"""


def _data(name: str, value: object) -> str:
    text = json.dumps(value).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'

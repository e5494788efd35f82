"""FastDraft: what the size of a draft model is worth. Acceptance, cost and speed-up over the size,
with this run's own point, and the drafts of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from viz.chart_tokens import note
from viz.draft_size import PUBLISHED, SMALLEST, DraftSize, Published, draft_size, sizes
from viz.figure import Axes, layout
from viz.numbers import count, probability
from viz.payload import Figure, Picture
from viz.reading import Reading

ORDER = 20
_HEIGHT = 300
_EDGES = (34, 14, 14, 44)
_TICKS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_TASKS = ("summaries", "stories", "instructions", "code")
_LEAST, _SPARE = 1.25, 1.12  # end of the axis; room above the highest point
_DECIMALS = 2


def draw(reading: Reading) -> Picture | None:
    """Return the picture of a run in which a smaller second model drafted chains."""
    found = draft_size(reading.trace) if reading.round.drafted else None
    if found is None:
        return None
    words = _told(found)
    return {
        "section": {
            "head": "What the size of the draft model is worth",
            "note": "Filled dots: this run. The curves are a model through them: acceptance β is "
            "a power of the size, the cost c of a draft step grows in line with it, and drafts of "
            f"{count(found.length, 'token')} then win E[τ] / (γ c + v). Hollow: the "
            "paper's drafts, on four tasks at temperature 0.6. Drag β and c.",
            "figure": _figure(found),
            "foot": words,
            "legend": [],
            "alt": words,
        },
        "html": "",
        "dials": {
            "size": found.size,
            "beta": found.beta,
            "c": found.c,
            "v": found.v,
            "length": found.length,
        },
    }


def times(value: float) -> str:
    """Return a speed-up as the picture writes it."""
    return f"{value:.2f}"


def _told(found: DraftSize) -> str:
    here = found.speedup_at(found.size)
    cost = (
        f"a draft step costs {probability(found.c, _DECIMALS)} plain steps and a check "
        f"{times(found.v)}"
        if found.is_timed
        else "no plain step was timed, so that c is the share of parameters and v is 1"
    )
    return (
        f"This run kept {probability(found.beta, _DECIMALS)} of the tokens tested "
        f"({found.kept:,} of {found.tested:,}); {cost}. At {_share(found.size)} of the target's "
        f"parameters that models to {times(here)} times plain decoding; {_best(found)}."
    )


def _best(found: DraftSize) -> str:
    best = max(sizes(), key=found.speedup_at)
    gain = found.speedup_at(best)
    if gain <= 1:
        return "in this model no size beats it"
    return f"the model's best size is {_share(best)}, with {times(gain)}"


def _share(size: float) -> str:
    percent = 100 * size
    return f"{percent:.0f} %" if percent >= 2 else f"{percent:.1f} %"


def _figure(found: DraftSize) -> Figure:
    at = sizes()
    x = [round(log10(size), 4) for size in at]
    gains = [found.speedup_at(size) for size in at]
    top = max(_LEAST, _SPARE * max(*gains, found.speedup_at(found.size)))
    return {
        "data": [
            _curve("acceptance", x, [found.beta_at(size) for size in at], "@law", 1.4),
            _curve("cost", x, [found.cost_at(size) for size in at], "@mute", 1.4, "4px,3px"),
            _curve("speed-up", x, gains, "@accepted", 2.6),
            *(_paper(each) for each in PUBLISHED),
            _points("measured", found, hollow=True),
            _points("chosen", found, hollow=False),
        ],
        "layout": _layout(found, top),
    }


def _curve(
    name: str, x: Sequence[float], y: Sequence[float], colour: str, width: float, dash: str = ""
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": [round(value, 4) for value in y],
        "line": {"color": colour, "width": width, **({"dash": dash} if dash else {})},
        "hoverinfo": "skip",
    }


def _paper(draft: Published) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "published",
        "x": [round(log10(draft.size), 4)] * len(draft.acceptance),
        "y": list(draft.acceptance),
        "marker": {
            "size": 7,
            "color": "@paper",
            "opacity": 1,
            "line": {"width": 1.4, "color": "@mute"},
        },
        "hoverinfo": "text",
        "hovertext": [
            f"{draft.name}, {task}: {probability(beta, 3)} accepted"
            for task, beta in zip(_TASKS, draft.acceptance, strict=True)
        ],
    }


def _points(name: str, found: DraftSize, hollow: bool) -> dict[str, object]:
    """Return β, c and the speed-up at this run's size."""
    heights = [found.beta, found.c, found.speedup_at(found.size)]
    colours = ["@law", "@mute", "@accepted"]
    words = ["accepted per token", "cost of a draft step", "times plain decoding, modelled"]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [round(log10(found.size), 4)] * len(heights),
        "y": [round(height, 4) for height in heights],
        "marker": {
            "size": 12 if hollow else 7,
            "opacity": 1,
            "color": ["@paper"] * len(heights) if hollow else colours,
            "line": {"width": 1.2 if hollow else 0, "color": colours},
        },
        "hoverinfo": "text",
        "hovertext": [
            f"this run: {times(height)} {said}" for height, said in zip(heights, words, strict=True)
        ],
        "cliponaxis": False,
    }


def _layout(found: DraftSize, top: float) -> dict[str, object]:
    axes: Axes = {
        "xaxis": {
            "range": [log10(SMALLEST), 0.03],
            "tickvals": [round(log10(size), 4) for size in _TICKS],
            "ticktext": [f"{100 * size:g} %" for size in _TICKS],
            "ticklabeloverflow": "allow",
            "ticklabelstandoff": 5,
        },
        "yaxis": {
            "range": [0, top],
            "tickvals": [0, 0.5, 1, 1.5, 2, 3],
            "ticktext": ["0", ".5", "1", "1.5", "2", "3"],
            "showgrid": True,
            "gridcolor": "@hair",
        },
    }
    found_layout = layout(_HEIGHT, _EDGES, axes)
    return found_layout | {"annotations": [*_names(found), *_papers(), _plain(), _axis()]}


def _names(found: DraftSize) -> list[dict[str, object]]:
    """Return the curves' names with their numbers, at this run's size."""
    x = log10(found.size)
    beside: dict[str, object] = {"xshift": 10, "borderpad": 0}
    gain = found.speedup_at(found.size)
    below: dict[str, object] = beside | {"yanchor": "top", "yshift": -3}
    above: dict[str, object] = beside | {"yanchor": "bottom", "yshift": 3}
    beta = f"acceptance β {probability(found.beta, _DECIMALS)}"
    return [
        note(x, found.beta, beta, "@law") | below | {"name": "acceptance"},
        note(x, found.c, f"cost c {probability(found.c, _DECIMALS)}")
        | above
        | {"name": "cost", "xanchor": "right", "align": "right", "xshift": -10},
        note(x, gain, f"{times(gain)} times plain", "@accepted", bold=True)
        | above
        | {"name": "speed-up"},
    ]


def _papers() -> list[dict[str, object]]:
    """Return the names of the paper's drafts, on either side of their points."""
    phi, llama = PUBLISHED
    left: dict[str, object] = {"xanchor": "right", "align": "right", "xshift": -8}
    return [
        note(log10(phi.size), max(phi.acceptance), "Phi-3-mini") | left,
        note(log10(llama.size), max(llama.acceptance), "Llama 8B") | {"xshift": 8},
    ]


def _plain() -> dict[str, object]:
    return note(log10(SMALLEST), 1, "plain decoding") | {"yanchor": "bottom", "xshift": 4}


def _axis() -> dict[str, object]:
    return note(1, 0, "draft model's parameters, as a share of the target's") | {
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "top",
        "yshift": -26,
    }

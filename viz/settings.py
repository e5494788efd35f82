"""How the run was set up, as short values, and what drafted. Knows no method by name."""

from __future__ import annotations

from collections.abc import Sequence

from core.extras import LayersExtras, LookupExtras
from core.trace import ModelCard, Trace
from viz.numbers import count
from viz.payload import Setting

Value = str | int | float | bool | None | list[int | float | str]


def settings(trace: Trace) -> list[Setting]:
    """Return the method's own settings, then those of sampling and of the models."""
    s = trace.sampling
    models = [("Target", short_name(trace.models.target))]
    if trace.models.draft:
        models.append(("Draft model", short_name(trace.models.draft)))
    names = trace.config_names
    found = [
        (names.get(key) or _title(key), shown(value))
        for key, value in trace.config.items()
        if value is not None
    ]
    found += [
        ("Temperature", f"{s.temperature:g}"),
        ("Top-k", f"{s.top_k:,}" if s.top_k else "off"),
        ("Top-p", f"{s.top_p:g}"),
        ("Seed", str(s.seed)),
        ("New tokens", f"{s.max_new_tokens:,}"),
        *models,
    ]
    return [{"label": label, "value": value} for label, value in found]


def shown(value: Value) -> str:
    """Return one value of a configuration; a list of whole numbers as `3 · 2 · 2 · 1`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return (" · " if all(isinstance(v, int) for v in value) else ", ").join(
            map(str, value)
        ) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def source(trace: Trace, origin: str = "") -> str:
    """Return where the trace comes from, and which model drafted for which."""
    where = f"{trace.models.target.dtype} on {trace.models.target.device}"
    parts = [origin, f"{short_name(trace.models.target)}{_drafted_by(trace)}", where]
    return " · ".join(part for part in parts if part)


def short_name(card: ModelCard) -> str:
    """Return the model's name without its owner."""
    return card.id.rstrip("/").rsplit("/", 1)[-1]


def _drafted_by(trace: Trace) -> str:
    sources = (source for r in trace.rounds for source in r.nodes.source if source)
    names = list(dict.fromkeys(name for source in sources for name in source.split("+")))
    if len(names) > 1:
        return f" drafted by {_listed(names)}"
    if trace.models.draft:
        return f" drafted by {short_name(trace.models.draft)}"
    extras = [extra for r in trace.rounds for extra in r.extras]
    layers = next((extra for extra in extras if isinstance(extra, LayersExtras)), None)
    if layers:
        return f" drafted by itself{_part(layers)}"
    if any(isinstance(extra, LookupExtras) for extra in extras):
        return ", drafts copied from the text"
    return "" if any(r.drafted for r in trace.rounds) else ", nothing drafted"


def _part(layers: LayersExtras) -> str:
    if layers.exit_layer is not None:
        return f", leaving after {count(layers.exit_layer, 'layer')} of {layers.total}"
    attention, mlp = layers.skipped_attention, layers.skipped_mlp
    if attention == mlp and attention:
        return f" with layer{'s' if len(attention) > 1 else ''} {_listed(attention)} skipped"
    skipped = len(attention) + len(mlp)
    return f" with {skipped} of {2 * layers.total} sublayers skipped" if skipped else ""


def _listed(values: Sequence[int | str]) -> str:
    names = [str(value) for value in values]
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _title(key: str) -> str:
    return key.replace("_", " ").capitalize()

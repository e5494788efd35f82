"""The sizes of a published head's own decoder layer, read from its config.json as of a Llama-shaped
model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from core.heads.checkpoint import CONFIG, Checkpoint
from core.heads.target import Shape, TargetWeights

_EPS, _THETA = 1e-6, 10000.0  # where a config does not say
_STRETCHED = ("linear", "llama3")


def layer_shape(settings: Checkpoint, target: TargetWeights) -> Shape:
    """Return the sizes that `settings` give. Raises ValueError with one sentence where they are not
    those of one layer beside this target.
    """
    name, own = settings.name, target.shape
    hidden = settings.whole("hidden_size", own.hidden, 1)
    if hidden != own.hidden:
        raise ValueError(
            f"{name} does not fit {settings.target}: its features have {hidden:,} numbers, and the "
            f"target's states have {own.hidden:,}."
        )
    layers = settings.whole("num_hidden_layers", 1)
    if layers != 1:
        raise ValueError(f"{name} has {layers:,} layers; heads of one layer are read.")
    act = settings.text("hidden_act", "silu")
    if act != "silu":
        raise ValueError(f"{name} uses {act}; heads whose MLP uses silu are read.")
    heads = settings.whole("num_attention_heads", own.heads, 1, 2**16)
    groups = settings.whole("num_key_value_heads", heads, 1, heads)
    head_dim = settings.whole("head_dim", hidden // heads, 2, 2**16)
    if heads % groups or head_dim % 2:
        raise ValueError(
            f"{CONFIG} of {name} has {heads} heads, {groups} of them for keys, {head_dim} wide: "
            "heads fall into equal groups and have an even width."
        )
    inner = settings.whole("intermediate_size", own.inner, 1)
    theta = _theta(settings)
    eps = settings.number("rms_norm_eps", _EPS)
    turns = _frequencies(settings, theta, head_dim)
    return Shape(hidden, heads, groups, head_dim, inner, eps, theta, turns)


def _theta(settings: Checkpoint) -> float:
    given = _rope(settings, "rope_parameters").get("rope_theta")
    theta = given if isinstance(given, (int, float)) else settings.number("rope_theta", _THETA)
    if not 1 <= theta <= 1e12:
        raise ValueError(f"{CONFIG} of {settings.name} has rope_theta {theta:g}; 1 to 1e12 is fit.")
    return float(theta)


def _rope(settings: Checkpoint, key: str) -> Mapping[str, object]:
    found = settings.part(key)
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def _frequencies(settings: Checkpoint, theta: float, head_dim: int) -> tuple[float, ...]:
    """Return the frequencies of stretched positions; nothing where they are not stretched."""
    scaling = _rope(settings, "rope_scaling") or _rope(settings, "rope_parameters")
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return ()
    if kind not in _STRETCHED:
        raise ValueError(
            f"{settings.name} stretches positions as {str(kind)[:20]!r}; "
            f"{' and '.join(_STRETCHED)} are read."
        )
    numbers = Checkpoint(settings.name, settings.target, scaling, {})
    plain = [theta ** -(i / head_dim) for i in range(0, head_dim, 2)]
    factor = numbers.number("factor", 1.0)
    if not factor >= 1:
        raise ValueError(f"{CONFIG} of {settings.name} has a factor {factor:g}; 1 or more is fit.")
    if kind == "linear":
        return tuple(turn / factor for turn in plain)
    return tuple(_by_parts(turn, factor, numbers) for turn in plain)


def _by_parts(turn: float, factor: float, numbers: Checkpoint) -> float:
    """Return a frequency as Llama 3.1 stretches it: slow ones by the factor, fast ones not."""
    low, high = numbers.number("low_freq_factor", 1.0), numbers.number("high_freq_factor", 4.0)
    turns = numbers.whole("original_max_position_embeddings", 8192, 1) * turn / (2 * math.pi)
    share = (turns - low) / (high - low) if high > low else float(turns >= high)
    share = min(1.0, max(0.0, share))
    return turn * (share + (1 - share) / factor)

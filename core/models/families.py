"""Which models are run layer by layer, and by which code. Any other causal model is run whole, as
long as it can score a tree at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from transformers import PreTrainedModel

from core.models.anatomy import Anatomy, GPT2Like, LlamaLike
from core.models.lean import LeanLlama, is_lean

_LLAMA_LIKE = {"llama", "mistral", "qwen2", "qwen3"}
_BY_ROW = {"bloom", "mpt", "gpt_neo", "openai-gpt", "xlnet"}  # take a token's place from its row
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
_ATTENTION = {FULL, SLIDING, CHUNKED}


def check(model: PreTrainedModel) -> None:
    """Raise ValueError unless the model sees a token by position and mask alone, over cached keys.

    Only then can siblings share one forward.
    """
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ())
    stateful = bool(getattr(model, "_is_stateful", False)) or not kinds <= _ATTENTION
    if stateful or config.model_type in _BY_ROW or getattr(config, "alibi", False):
        raise ValueError(
            f"Models of type {config.model_type} cannot score a draft tree: every layer must be "
            "attention with a mask and positions that can be given."
        )


@dataclass(frozen=True, slots=True)
class Window:
    """How far layers of one kind see: `size` tokens back, or within chunks of `size` tokens."""

    size: int
    chunked: bool = False

    def sees(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return bool (T, K): whether tokens at places `rows` (T,) see those at `columns` (K,)."""
        if self.chunked:
            return rows[:, None] // self.size == columns[None, :] // self.size
        return rows[:, None] - columns[None, :] < self.size


def windows(model: PreTrainedModel) -> dict[str, Window]:
    """Return the attention windows of a model by kind of layer, those without one left out."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or (SLIDING, CHUNKED))
    sizes = {
        SLIDING: getattr(config, "sliding_window", None),
        CHUNKED: getattr(config, "attention_chunk_size", None),
    }
    return {
        kind: Window(size, kind == CHUNKED)
        for kind, size in sizes.items()
        if size and kind in kinds
    }


def layer_kinds(model: PreTrainedModel) -> tuple[str, ...]:
    """Return the kind of every layer; empty where all are alike."""
    return tuple(getattr(model.config.get_text_config(), "layer_types", None) or ())


def anatomy(model: PreTrainedModel) -> Anatomy | None:
    """Return the model in pieces, or None when its family is only run whole."""
    if any(parameter.device.type == "meta" for parameter in model.parameters()):
        return None  # weights that accelerate moves in and out need the model's own hooks
    if model.config.model_type in _LLAMA_LIKE:
        lean = is_lean(model) and not windows(model)
        return LeanLlama(model) if lean else LlamaLike(model)
    return GPT2Like(model) if model.config.model_type == "gpt2" else None

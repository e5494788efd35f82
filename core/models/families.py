"""Which models are run layer by layer, and by which code. Any other causal model is run whole, as
long as it can score a tree at all.
"""

from __future__ import annotations

from transformers import PreTrainedModel

from core.models.anatomy import Anatomy, GPT2Like, LlamaLike
from core.models.lean import LeanLlama, is_lean

_LLAMA_LIKE = {"llama", "mistral", "qwen2", "qwen3"}
_BY_ROW = {"bloom", "mpt", "gpt_neo", "openai-gpt", "xlnet"}  # take a token's place from its row
_ATTENTION = {"full_attention", "sliding_attention", "chunked_attention"}


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


def reach(model: PreTrainedModel, context: int) -> int:
    """Return how much of `context` every layer sees: attention windows are not applied here."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ("sliding_attention", "chunked_attention"))
    windows = {
        "sliding_attention": getattr(config, "sliding_window", None),
        "chunked_attention": getattr(config, "attention_chunk_size", None),
    }
    return min([context, *(size for kind, size in windows.items() if size and kind in kinds)])


def anatomy(model: PreTrainedModel) -> Anatomy | None:
    """Return the model in pieces, or None when its family is only run whole."""
    if any(parameter.device.type == "meta" for parameter in model.parameters()):
        return None  # weights that accelerate moves in and out need the model's own hooks
    if model.config.model_type in _LLAMA_LIKE:
        return LeanLlama(model) if is_lean(model) else LlamaLike(model)
    return GPT2Like(model) if model.config.model_type == "gpt2" else None

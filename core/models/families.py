"""Which models are run layer by layer, and by which code. Any other causal model is run whole."""

from __future__ import annotations

from transformers import PreTrainedModel

from core.models.anatomy import Anatomy, GPT2Like, LlamaLike
from core.models.lean import LeanLlama, is_lean

_LLAMA_LIKE = {"llama", "mistral", "qwen2", "qwen3"}


def anatomy(model: PreTrainedModel) -> Anatomy | None:
    """Return the model in pieces, or None when its family is only run whole."""
    if any(parameter.device.type == "meta" for parameter in model.parameters()):
        return None  # weights that accelerate moves in and out need the model's own hooks
    if model.config.model_type in _LLAMA_LIKE:
        return LeanLlama(model) if is_lean(model) else LlamaLike(model)
    return GPT2Like(model) if model.config.model_type == "gpt2" else None

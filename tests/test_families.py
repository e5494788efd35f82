"""Models of other families score trees rightly, or say in one sentence that they cannot."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from core.models.families import anatomy
from core.tree import DraftTree
from tests.tiny import slow_rows, wrapped

FORK = DraftTree((3, 4, 5, 6, 7, 8), (-1, 0, 0, 1, 2, 2))
TEXT = [1, 2, 3, 4, 5, 6, 7]
CONTEXT = 32
Settings = Mapping[str, object]

COMMON: Settings = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": CONTEXT,
    "initializer_range": 0.2,
}
HEADS: Settings = {**COMMON, "head_dim": 4}
GPT: Settings = {
    "n_embd": 16,
    "n_head": 4,
    "n_layer": 2,
    "n_positions": CONTEXT,
    "initializer_range": 0.2,
}
WHOLE: Mapping[str, Settings] = {
    "gemma": HEADS,
    "gemma3_text": HEADS,
    "phi3": COMMON,
    "mixtral": {**COMMON, "num_local_experts": 2},
    "stablelm": COMMON,
    "olmo2": COMMON,
    "cohere": COMMON,
    "granite": COMMON,
    "starcoder2": COMMON,
    "smollm3": COMMON,
    "glm4": HEADS,
    "gptj": {**GPT, "rotary_dim": 4},
    "gpt_bigcode": GPT,
    "gemma2": {**HEADS, "attention": "eager"},
}
WINDOWS: Mapping[str, Settings] = {
    "mistral": {**HEADS, "sliding_window": 12},
    "qwen2": {**COMMON, "sliding_window": 12, "use_sliding_window": True, "max_window_layers": 1},
    "qwen3": {**HEADS, "sliding_window": 12, "use_sliding_window": True, "max_window_layers": 1},
    "gemma3_text": {
        **HEADS,
        "sliding_window": 12,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "cohere2": {**COMMON, "sliding_window": 12},
    "phi3": {**COMMON, "sliding_window": 12},
    "llama4_text": {**HEADS, "num_local_experts": 2, "attention_chunk_size": 12},
}
REFUSED: Mapping[str, Settings] = {
    "mamba": {"hidden_size": 16, "num_hidden_layers": 1, "state_size": 4},
    "rwkv": {"hidden_size": 16, "num_hidden_layers": 2, "attention_hidden_size": 16},
    "recurrent_gemma": COMMON,
    "lfm2": {**COMMON, "layer_types": ["conv", "full_attention"]},
    "bloom": {"hidden_size": 16, "n_head": 4, "n_layer": 1},
    "mpt": {"d_model": 16, "n_heads": 4, "n_layers": 1},
    "falcon": {"hidden_size": 16, "num_attention_heads": 4, "num_hidden_layers": 1, "alibi": True},
}


def made(family: str, settings: Settings) -> PreTrainedModel:
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    own = {key: value for key, value in settings.items() if key != "attention"}
    config = AutoConfig.for_model(family, vocab_size=23, **(special | own))
    torch.manual_seed(0)
    attention = settings.get("attention")
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()


@pytest.mark.parametrize("family", WHOLE)
def test_families_that_nobody_took_apart_score_a_tree_as_its_paths(family: str) -> None:
    model = made(family, WHOLE[family])
    assert anatomy(model) is None
    session, text = wrapped(model, CONTEXT).open(TEXT), list(TEXT)
    for _ in range(2):
        expected = slow_rows(model, text, FORK)
        torch.testing.assert_close(session.score(FORK).logits, expected, rtol=0, atol=1e-5)
        session.keep((0, 2, 5))
        text += [3, 5, 8]


@pytest.mark.parametrize("family", WINDOWS)
def test_the_context_ends_where_an_attention_window_would_begin_to_slide(family: str) -> None:
    model = made(family, WINDOWS[family])
    session, text = wrapped(model, CONTEXT).open(TEXT), list(TEXT)
    assert session.context == 12
    for width in (3, 2):  # nodes at places 7 to 9, then 10 and 11
        chain = DraftTree((3, 4, 5)[:width], (-1, 0, 1)[:width])
        expected = slow_rows(model, text, chain)
        torch.testing.assert_close(session.score(chain).logits, expected, rtol=0, atol=1e-5)
        session.keep(range(width))
        text += chain.tokens
    with pytest.raises(ValueError, match="context of 12 tokens"):
        session.score(DraftTree.root(3))


@pytest.mark.parametrize("family", ["mistral", "qwen2", "qwen3"])
def test_a_window_that_is_switched_off_or_wider_than_the_context_shortens_nothing(
    family: str,
) -> None:
    wide = {**WINDOWS[family], "sliding_window": 4096}
    assert wrapped(made(family, wide), CONTEXT).open().context == CONTEXT
    off = {**WINDOWS[family], "sliding_window": None, "use_sliding_window": False}
    assert wrapped(made(family, off), CONTEXT).open().context == CONTEXT


@pytest.mark.filterwarnings("ignore")  # transformers warns of slow paths
@pytest.mark.parametrize("family", REFUSED)
def test_models_that_cannot_score_a_tree_say_so(family: str) -> None:
    with pytest.raises(
        ValueError, match=f"Models of type {family} cannot score a draft tree"
    ) as caught:
        wrapped(made(family, REFUSED[family]), CONTEXT)
    assert "\n" not in str(caught.value)

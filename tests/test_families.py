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
def test_a_tree_is_scored_as_its_paths_where_an_attention_window_slides(family: str) -> None:
    model = made(family, WINDOWS[family])
    session, text = wrapped(model, CONTEXT).open(TEXT), list(TEXT)
    assert session.context == CONTEXT
    for _ in range(6):  # from 7 tokens to 25, past a window or chunk of 12 twice
        expected = slow_rows(model, text, FORK)
        torch.testing.assert_close(session.score(FORK).logits, expected, rtol=0, atol=1e-5)
        session.keep((0, 2, 5))
        text += [3, 5, 8]


@pytest.mark.parametrize("family", WINDOWS)
def test_a_prompt_longer_than_the_window_is_read_in_one_pass(family: str) -> None:
    model, text = made(family, WINDOWS[family]), [1 + i % 20 for i in range(17)]
    session, root = wrapped(model, CONTEXT).open(text), DraftTree.root(3)
    expected = slow_rows(model, text, root)
    torch.testing.assert_close(session.score(root).logits, expected, rtol=0, atol=1e-5)
    session.keep((0,))
    expected = slow_rows(model, [*text, 3], root)
    torch.testing.assert_close(session.score(root).logits, expected, rtol=0, atol=1e-5)


def test_the_window_matters_to_the_numbers_above() -> None:
    """Otherwise the tests of windows would pass without any."""
    text = [1 + i % 20 for i in range(17)]
    narrow = made("mistral", WINDOWS["mistral"])
    wide = made("mistral", {**WINDOWS["mistral"], "sliding_window": None})
    rows = [slow_rows(model, text, DraftTree.root(3)) for model in (narrow, wide)]
    assert not torch.allclose(*rows, atol=1e-3)


@pytest.mark.filterwarnings("ignore")  # transformers warns of slow paths
@pytest.mark.parametrize("family", REFUSED)
def test_models_that_cannot_score_a_tree_say_so(family: str) -> None:
    with pytest.raises(
        ValueError, match=f"Models of type {family} cannot score a draft tree"
    ) as caught:
        wrapped(made(family, REFUSED[family]), CONTEXT)
    assert "\n" not in str(caught.value)

"""Random models and trained-in-a-blink tokenizers, saved as people's models are. No network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFWriter
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers import models as kinds
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

LINES = (
    "the cat sat on the mat, and the dog sat beside the cat",
    "naïve café, übermäßig; more than a few words are wanted to learn from",
    "1 2 3 4 5\n\n6 while tokens that nobody needs stay out",
)
TEMPLATE = (
    "{% for m in messages %}"
    "{% if m['role'] == 'tool' %}{{ raise_exception('No tools') }}{% endif %}"
    "<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant: {% endif %}"
)


def byte_level(size: int = 320, template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """GPT-2's kind: any text is bytes."""
    inner = Tokenizer(kinds.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.train_from_iterator(
        LINES,
        trainers.BpeTrainer(
            vocab_size=size,
            show_progress=False,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", chat_template=template
    )


def sentencepiece(with_prefix: bool) -> PreTrainedTokenizerFast:
    """Llama 2's kind: spaces are U+2581, what is unknown falls back to byte tokens."""
    bytes_ = [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    words = [(piece, -2.0) for piece in ("▁", "▁the", "▁cat", "sat", "é", "a", "t", "▁▁")]
    inner = Tokenizer(
        kinds.Unigram([("<unk>", 0.0), *bytes_, *words], unk_id=0, byte_fallback=True)
    )
    steps = [normalizers.Replace(" ", "▁")]
    inner.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), *steps] if with_prefix else steps
    )
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")


def metaspace() -> PreTrainedTokenizerFast:
    """Unigram with a Metaspace pre-tokenizer and decoder."""
    inner = Tokenizer(kinds.Unigram([("<unk>", 0.0), ("▁", -2.0), *[(c, -3.0) for c in "abcdeé"]]))
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    inner.decoder = decoders.Metaspace(prepend_scheme="never")
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>")


def word_piece() -> PreTrainedTokenizerFast:
    """BERT's kind: ## continues a word."""
    inner = Tokenizer(
        kinds.WordPiece({"[UNK]": 0, "play": 1, "##ing": 2, "now": 3}, unk_token="[UNK]")
    )
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")


def word_end() -> PreTrainedTokenizerFast:
    """GPT-1's kind: a word's last piece carries </w>."""
    inner = Tokenizer(
        kinds.BPE(
            {"l": 0, "o": 1, "w</w>": 2, "lo": 3, "low</w>": 4, "w": 5},
            [("l", "o"), ("lo", "w</w>")],
            end_of_word_suffix="</w>",
        )
    )
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.decoder = decoders.BPEDecoder()
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def with_start_token(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Let the tokenizer begin every text with its start token, as Llama's does."""
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.convert_tokens_to_ids("<s>"))]
    )
    return tokenizer


def llama(rows: int) -> PreTrainedModel:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=rows,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=64,
        )
    )


def gemma2(rows: int) -> PreTrainedModel:
    """A family without the fused attention kernel."""
    torch.manual_seed(0)
    return Gemma2ForCausalLM(
        Gemma2Config(
            vocab_size=rows,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=64,
            sliding_window=16,
        )
    )


def gpt2(rows: int) -> PreTrainedModel:
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=rows, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    )


def save(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast | None = None
) -> Path:
    """Save a model as its author would."""
    model.save_pretrained(folder)
    (byte_level() if tokenizer is None else tokenizer).save_pretrained(folder)
    return folder


def gguf(file: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Path:
    """Write a Llama as llama.cpp's converter would, in float32, with the SmolLM rule for words."""
    config, weights = model.config, {k: v.numpy() for k, v in model.state_dict().items()}
    writer = GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    inner = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(sorted(inner["vocab"], key=inner["vocab"].get))
    writer.add_token_types([3, 3] + [1] * (len(inner["vocab"]) - 2))
    writer.add_token_merges([" ".join(pair) for pair in inner["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, value in weights.items():
        part = name.split(".")[-2]
        short = _GGUF_NAMES[part]
        if name.startswith("model.layers."):
            short = f"blk.{name.split('.')[2]}.{short}"
        writer.add_tensor(f"{short}.weight", _interleaved(value, heads.get(part)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


_GGUF_NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}


def _interleaved(weight: np.ndarray, heads: int | None) -> np.ndarray:
    """Order the rows of queries and keys as GGUF does: both halves of a head take turns."""
    if heads is None:
        return weight
    halves = weight.reshape(heads, 2, -1, weight.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(weight.shape)

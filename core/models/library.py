"""What we ask of transformers, with the types that it leaves open. Imports no transformers itself.

`cast` a tokenizer or an Auto class to these once, where it enters; everything behind is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import torch
    from transformers import GgufConfig, PreTrainedConfig, PreTrainedModel


class AddedToken(Protocol):
    """A token that is cut out of a text before anything else is."""

    @property
    def special(self) -> bool: ...


class Tokenizer(Protocol):
    """Text to token ids and back."""

    @property
    def chat_template(self) -> str | dict[str, str] | None: ...
    @property
    def bos_token_id(self) -> int | None: ...
    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def all_special_ids(self) -> Sequence[int]: ...
    @property
    def added_tokens_decoder(self) -> Mapping[int, AddedToken]: ...
    @property
    def model_max_length(self) -> int | float: ...

    def get_vocab(self) -> dict[str, int]: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, token_ids: Sequence[int]) -> str: ...
    def convert_tokens_to_string(self, tokens: list[str]) -> str: ...
    def save_pretrained(self, save_directory: PathLike[str]) -> object: ...
    def apply_chat_template(
        self, conversation: list[dict[str, str]], *, add_generation_prompt: bool, return_dict: bool
    ) -> list[int]: ...


class TextConfig(Protocol):
    """The shape of a language model; models of several kinds of input hold one inside."""

    @property
    def num_hidden_layers(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...


class Config(Protocol):
    def get_text_config(self) -> TextConfig: ...


class Generation(Protocol):
    @property
    def eos_token_id(self) -> int | list[int] | None: ...


class Saveable(Protocol):
    def save_pretrained(self, save_directory: PathLike[str]) -> object: ...


class Configs(Protocol):
    def from_pretrained(
        self, folder: PathLike[str], *, local_files_only: bool, trust_remote_code: bool
    ) -> PreTrainedConfig: ...


class Tokenizers(Protocol):
    def from_pretrained(
        self,
        folder: PathLike[str],
        *,
        gguf_file: str | None = None,
        local_files_only: bool,
        trust_remote_code: bool,
    ) -> Tokenizer: ...


class SafetensorsModels(Protocol):
    def from_pretrained(
        self,
        folder: PathLike[str],
        *,
        config: PreTrainedConfig,
        dtype: torch.dtype,
        attn_implementation: str,
        device_map: str | dict[str, torch.device] | None,
        max_memory: dict[int, int] | None,
        use_safetensors: Literal[True],
        local_files_only: bool,
        trust_remote_code: bool,
        output_loading_info: Literal[True],
    ) -> tuple[PreTrainedModel, Mapping[str, Sequence[object]]]: ...


class GgufModels(Protocol):
    def from_pretrained(
        self,
        folder: PathLike[str],
        *,
        gguf_file: str,
        quantization_config: GgufConfig,
        dtype: torch.dtype,
        attn_implementation: str,
        local_files_only: bool,
    ) -> PreTrainedModel: ...

"""What each command is given, typed: the names that `app.commands.arguments` declares."""

from __future__ import annotations

from argparse import Namespace
from typing import Literal


class MethodsArguments(Namespace):
    json: bool


class DecodeArguments(Namespace):
    """What every command that decodes is given."""

    set: list[tuple[str, str]]
    temperature: float
    top_k: int
    top_p: float
    seed: int
    max_new_tokens: int
    stop: list[str]
    chat: bool
    model: str
    draft: str | None
    dtype: str
    device: str
    threads: str
    json: bool


class RunArguments(DecodeArguments):
    method: str
    prompt: str
    out: str | None


class CompareArguments(DecodeArguments):
    methods: str
    prompt: str
    out: str | None


class BenchArguments(DecodeArguments):
    file: str
    methods: str
    limit: int | None


class ShowArguments(Namespace):
    trace: str
    round: int | None
    json: bool


class ExportArguments(Namespace):
    trace: str
    out: str
    table: Literal["rounds", "nodes", "darts"] | None


class CheckArguments(Namespace):
    trace: str


class ServeArguments(Namespace):
    port: int | None

"""What the catalogue is given: methods as the registry describes them, those that are planned, and
the last measurement. Plain data that JSON holds; knows no registry and no benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Piece(Struct, frozen=True):
    """A part of a method."""

    key: str
    name: str
    idea: str


class Reported(Struct, frozen=True):
    """A number from the method's own paper."""

    number: str
    counts: str
    on: str


class Setting(Struct, frozen=True):
    """`written` as the command line takes it: `length=4`."""

    written: str
    words: str


class Entry(Struct, frozen=True, kw_only=True):
    """One method. `parts` by kind: drafter, shape, stop, rule; a kind that it has none of is left
    out.
    """

    key: str
    name: str
    idea: str
    citation: str
    about: str  # the rest of what its file says
    paper: str
    url: str
    year: int
    family: str
    lossless: bool
    trained: str
    parts: Mapping[str, Piece]
    any_drafter: bool  # a setting puts another in its place
    reported: list[Reported]
    settings: list[Setting]


class PlannedEntry(Struct, frozen=True):
    """One method that is not there yet."""

    key: str
    name: str
    paper: str
    url: str
    family: str
    idea: str


class Entries(Struct, frozen=True):
    """All methods, oldest first, and those to come; `families` in the order of the survey."""

    families: list[str]
    methods: list[Entry]
    planned: list[PlannedEntry]


class Ratio(Struct, frozen=True):
    """The median of a ratio with its 95 % interval."""

    median: float
    low: float
    high: float


class Measured(Struct, frozen=True):
    """One method at one temperature; `plain_over`: plain's time over its own."""

    method: str
    temperature: float
    plain_over: Ratio
    tokens_per_pass: float
    draft: float  # share of the time


class Model(Struct, frozen=True):
    id: str
    dtype: str
    device: str


class Machine(Struct, frozen=True):
    processor: str
    threads: int


class Measurement(Struct, frozen=True):
    """A run of `python -m benchmarks.methods --out`. `left_out`: method -> why."""

    date: str
    model: Model
    machine: Machine
    prompts: int
    tokens: int
    void: bool
    methods: list[Measured]
    left_out: Mapping[str, str]

"""What the Compare page gets: the contract between the Python views and the JavaScript that places
them.

Python decides what is said (words, numbers as text, order, rows, states), JavaScript decides
pixels. `method` is a place in `methods`, which keeps the order in which they were chosen; `place`
counts the tokens of the answer from 0. Token text is data, never markup.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from viz.payload import Badge, Kind, Label, NodeState, Run

Status = Literal["waiting", "running", "done", "cancelled", "error"]
Best = Literal["", "best", "worst"]


class Method(TypedDict):
    """One compared method. Its mark and hue follow from its place: plain decoding has the bar."""

    run: str  # name of its trace on this server; empty before its first round
    key: str  # registry key
    name: str
    note: str  # what its settings are, in a few words: "8 tokens", "24 nodes"
    badge: Badge
    plain: bool  # the reference
    status: Status
    words: str  # one sentence: what went wrong, or how far it is
    rounds: int


class Verdict(TypedDict):
    """`sign`: "=" | "≠" | "" (the reference, or nothing to say yet)."""

    sign: str
    head: str  # identical | differs from 10 on | reference
    line: list[Run]  # 33 of 33 tokens | "and" -> ",", gap 0.21 logits, lossy rule
    place: int | None  # of the first difference


class Column(TypedDict):
    key: str
    label: str
    definition: str  # shown on hover and to screen readers
    falls: bool  # a smaller number is better


class Cell(TypedDict):
    text: str
    value: float | None  # to sort by; None sorts last
    best: Best


class Row(TypedDict):
    method: int
    verdict: Verdict
    delivered: float | None  # speed-up by the clock, over plain decoding of this comparison
    delivered_text: str
    promised: float | None  # tokens per target pass
    promised_text: str
    cells: list[Cell]  # one per column


class Table(TypedDict):
    """Rows by time, the fastest first; `axis`: the largest number of the dumbbells, rounded up."""

    columns: list[Column]
    rows: list[Row]
    axis: int
    note: str


class Place(TypedDict):
    """A column of the score. `place` None: a column that only another text has."""

    place: int | None
    label: Label | None
    replaced: bool  # some method wrote something else here


class Piece(TypedDict):
    """What stands in one column of a capsule."""

    column: int
    kind: Kind
    place: int  # in this method's own text


class Capsule(TypedDict):
    """A round: columns `start` to `stop`, without the last. `title` says it in words."""

    round: int
    start: int
    stop: int
    pieces: list[Piece]
    passes: int  # target passes up to and with this round
    title: str


class Written(TypedDict):
    """What a lossy text has in this column instead of the exact token; label None: nothing."""

    column: int
    label: Label | None


class Stave(TypedDict):
    method: int
    capsules: list[Capsule]
    instead: list[Written]


class Score(TypedDict):
    """Columns are the aligned texts; the first stave is plain decoding's where it is there."""

    head: str
    note: str
    places: list[Place]
    staves: list[Stave]
    legend: list[tuple[str, str]]  # (glyph key, words)


class Dot(TypedDict):
    """A node of a small tree: column of the answer, row from the top, state."""

    place: int
    row: float
    state: NodeState
    parent: int  # index of its parent among the dots, -1 for the first


class SmallTree(TypedDict):
    """The round of one method that wrote a place."""

    method: int
    round: int | None  # None: the text is shorter
    head: str  # round 5
    dots: list[Dot]
    rows: int
    caption: str  # 24 drafted, 4 kept, 1 corrected
    alt: str


class Line(TypedDict):
    """One method at a station; `node` None: the target's own token."""

    method: int
    node: int | None
    state: NodeState


class Station(TypedDict):
    parent: int  # index among the stations, -1: it begins here
    place: int
    row: int
    label: Label
    lines: list[Line]


class Note(TypedDict):
    """A remark beside a row of the map, said of one method or of all (None)."""

    row: int
    method: int | None
    line: list[Run]


class Map(TypedDict):
    """All drafts that cover a place, on one map. `first` to `last`: places of its columns."""

    first: int
    last: int
    labels: list[Label | None]  # the exact text, one per column
    rows: int
    stations: list[Station]
    folded: list[tuple[int, int]]  # (method, stations left out)
    notes: list[Note]
    alt: str


class Position(TypedDict):
    """What every method had on the table at a place. The same for all places of the same rounds."""

    head: str  # Position 14: what each method had on the table
    first: int  # places of the shared axis of the small trees
    last: int
    trees: list[SmallTree]
    map: Map


class Leg(TypedDict):
    """A round of the race, in milliseconds, after the prompt pass."""

    draft: float
    verify: float
    rest: float
    tokens: int
    forwards: int  # of the drafter
    passes: int  # of the target
    width: int  # tokens that the target scored


class Lane(TypedDict):
    """`method` None: one that is shown in grey, by its name alone."""

    method: int | None
    name: str
    legs: list[Leg]
    tokens: int  # of all legs
    begin: int  # tokens before the first leg: those of the prompt pass
    draft_cost: float | None  # a drafter's forward in plain passes, as measured


class Race(TypedDict):
    """`plain_ms`: a plain pass; `draft`, `wide`, `batch`: where the sliders begin. A pass over n
    tokens of each of b texts costs max(1, n b wide / wide_at) plain passes. A round costs `passes`
    times that for n = `width`, and `forwards` times draft x draft_cost times that for n = 1.
    """

    head: str
    note: str
    lanes: list[Lane]
    plain_ms: float
    draft: float  # the factor on every lane's own draft cost: 1
    wide: float
    wide_at: int
    batch: int


class Bar(TypedDict):
    label: str
    start: float  # ms
    stop: float
    text: str  # 1,267 | -722 | +48
    kind: Literal["plain", "saved", "cost", "total"]
    wasted: float  # share of the bar that was spent on tokens thrown away


class Waterfall(TypedDict):
    method: int
    head: str  # 599 ms
    bars: list[Bar]
    sentence: list[Run]


class Comparison(TypedDict):
    """All of a comparison but the positions, which are asked for by place."""

    id: str
    title: str
    prompt: str
    source: str  # the line below: model, temperature, seed, machine, date
    finding: list[Run]
    note: str
    methods: list[Method]
    table: Table
    score: Score | None  # None until plain decoding has written something
    places: list[int]  # per place of the exact text, which of the positions shows it
    race: Race | None
    waterfalls: list[Waterfall]
    waterfall_head: str
    waterfall_note: str
    axis_ms: float  # of all waterfalls
    finished: bool

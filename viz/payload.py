"""What the browser gets: the contract between the Python views and the JavaScript that places them.

Python decides everything that is said (words, numbers as text, order, rows, states); JavaScript
decides pixels, since only the browser can measure type. Everything here is JSON. Token text is
data: it is never markup on either side.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Kind = Literal["accepted", "correction", "bonus", "plain", "relaxed"]
NodeState = Literal[
    "root",
    "accepted",
    "relaxed",
    "rejected",
    "unreached",
    "pruned",
    "probe",
    "correction",
    "bonus",
    "plain",
]


class Run(TypedDict):
    """A piece of a sentence: `token` is token text (set in bold sans), `strong` a bold clause."""

    text: str
    style: Literal["text", "token", "strong"]


class Label(TypedDict):
    """One token as shown: `text` has no leading space, and what cannot be seen has a mark."""

    text: str
    space: bool  # begins with a space: a gap in the strip, a mute dot where the token stands alone
    special: bool  # a control token: shown as a pill
    breaks: int  # line breaks in it: the strip shows the mark, then breaks


class StripToken(TypedDict):
    label: Label
    text: str  # exactly what the token adds to the text, for copying
    kind: Kind
    node: int | None  # node of this round's tree; None for the target's own token
    position: int  # text position, counted over prompt and answer
    joined: bool  # a character runs on into the next token, which shows it: the text may be empty


class StripRound(TypedDict):
    index: int
    tokens: list[StripToken]
    rejected: list[Label]  # tested and thrown away, in the order tried


class Scrub(TypedDict):
    accepted: int
    end: Literal["correction", "bonus", "plain", "none"]


class Figure(TypedDict):
    """What `plotly.graph_objects.Figure` accepts, but colours are theme keys like `@accepted`."""

    data: list[dict[str, object]]
    layout: dict[str, object]


class Section(TypedDict):
    """A titled chart: `head`, one line how to read it, the figure, a line below it."""

    head: str
    note: str
    figure: Figure | None
    foot: str
    legend: list[tuple[str, str]]  # (glyph key, words)
    alt: str  # the same in words, for screen readers


class Setting(TypedDict):
    label: str
    value: str


class Badge(TypedDict):
    lossless: bool
    word: str  # Lossless | Lossy
    meaning: str  # Same law as plain sampling | Same text as greedy | ...


class Hard(TypedDict):
    """A token that the drafter was sure of, and the target was not."""

    label: Label
    round: int
    node: int
    numbers: str  # draft .657, target .002


class Overview(TypedDict):
    """All of a trace that is not one round."""

    id: str
    title: str
    method: str  # registry key
    method_name: str
    badge: Badge
    sentence: list[Run]
    source: str  # the line below the sentence
    prompt: str
    settings: list[Setting]
    strip: list[StripRound]
    scrub: list[Scrub]
    timeline: Section
    acceptance: Section
    hardest: list[Hard]
    hardest_note: str  # what the list holds, and what its numbers are
    finish: str  # one sentence on why the text ended
    finished: bool  # nothing more will come: true of all that is stored, however it ended
    rounds: int


class TreeNode(TypedDict):
    id: int  # node of the trace; -1 for the target's own token
    parent: int
    depth: int
    row: float  # 0 = first row; one row per leaf, a parent midway between first and last child
    label: Label
    state: NodeState
    tested: bool  # has a ring
    dart: int | None  # number of its check in the round, from 1
    p: float | None  # disc area
    q: float | None  # edge width, earlier siblings not removed; None: no law
    p_text: str
    q_text: str
    path: bool  # on the accepted path (the band), the target's own token included
    words: str  # one sentence for screen readers and the hover title


class Depth(TypedDict):
    """A column head of the tree; entry 0 stands over the root."""

    head: str  # Text so far | Depth 2
    note: str  # 6 drafted, 1 tested


class Dart(TypedDict):
    """One row of the ledger."""

    number: int
    node: int
    label: Label
    state: NodeState
    accept: float  # accept probability, 0 to 1
    u: float
    numbers: str  # .068 / .255 = .265
    u_text: str
    verdict: str
    greedy: bool  # no luck involved: draw no wedge


class Board(TypedDict):
    """The dart line of the inspector."""

    q: float  # 1 for a fixed draft
    covered: float  # the part of q that the target covers
    keep: float  # accept probability
    u: float
    passed: bool
    bar_text: str  # q .255, of which p covers .068
    keep_text: str  # p/q .2647
    u_text: str  # u .2685


class Bar(TypedDict):
    label: Label | None  # None: all others
    p: float
    q: float | None
    p_text: str
    q_text: str
    tested: bool
    remains: float | None  # what remains after the miss
    remains_text: str


class Inspector(TypedDict):
    """All that is known at one node: the test of its token, then the laws it was drawn from."""

    node: int
    title: str  # Dart 1 | Not reached | Correction | Text so far
    label: Label
    state: NodeState
    rule: list[Run]
    board: Board | None
    bars: list[Bar]
    has_q: bool
    has_residual: bool
    after: list[Run]
    scalars: list[tuple[str, str]]


class FilmFrame(TypedDict):
    """The head of a frame: what was thrown, and at which law."""

    head: str  # Dart 2 · .420, its chance | The target writes
    note: str  # at what remains
    entropy: str  # of that law: 1.83, or 1.83 to 2.10 where small tokens are not listed


class FilmCell(TypedDict):
    share: float  # of the frame's law, 0 to 1
    text: str
    left: bool  # a share of what remains, not of p
    tried: NodeState | None  # the token of the frame: tried there, or written by the target


class FilmRow(TypedDict):
    label: Label
    cells: list[FilmCell]  # one per frame


class Film(TypedDict):
    """What became of the target's law at one node, frame by frame."""

    after: Label
    frames: list[FilmFrame]
    rows: list[FilmRow]


class Dials(TypedDict):
    """What the page's sliders over a model of draft sizes begin with (`viz.draft_size`)."""

    size: float  # of the draft, in targets
    beta: float
    c: float
    v: float
    length: int


class Picture(TypedDict):
    """The method's own picture: a section with a figure, rows of frames, or spans of text."""

    section: Section
    html: str  # safe HTML built and escaped in viz, or empty
    films: NotRequired[list[Film]]
    dials: NotRequired[Dials]
    aside: NotRequired[bool]  # says more of the run than of the round: for the narrow column


class RoundView(TypedDict):
    index: int
    headline: str  # 33 tokens drafted, 2 kept, 1 written by the target.
    note: str  # how to read the tree
    list_note: str  # how to read the same as a list, on phones
    root: Label  # the text before, shortened
    depths: list[Depth]
    rows: int
    nodes: list[TreeNode]
    states: list[NodeState]  # present in this round: the legend shows these only
    darts: list[Dart]
    ledger_head: str
    ledger_note: str
    inspectors: list[Inspector]  # by node id, the target's own token (-1) last
    focus: int  # node to inspect first
    picture: Picture | None
    more_pictures: NotRequired[list[Picture]]  # further pictures, below the first

"""A comparison made by hand: plain decoding and three methods on one text of 33 tokens.

The numbers are invented; what they are made of agrees: rounds, capsules, passes and lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viz.compare.payload import (
    Bar,
    Capsule,
    Cell,
    Column,
    Comparison,
    Dot,
    Lane,
    Leg,
    Line,
    Map,
    Method,
    Note,
    Piece,
    Place,
    Position,
    Race,
    Row,
    Score,
    SmallTree,
    Station,
    Stave,
    Table,
    Verdict,
    Waterfall,
    Written,
)
from viz.payload import Badge, Kind, Label, NodeState, Run

TEXT = [
    *("The", " river", " rises", " in", " the", " hills", " north", " of", " Ard", "en", " and"),
    *(" passes", " three", " mills", " before", " it", " reaches", " the", " sea", " at", " Port"),
    *(" Sel", "by", ".", " It", " is", " ", "8", "4", " kilometres", " long", ".", "<end>"),
]
KINDS: dict[str, Kind] = {
    "a": "accepted",
    "c": "correction",
    "b": "bonus",
    "p": "plain",
    "r": "relaxed",
}
PINNED = 14


@dataclass(frozen=True, slots=True)
class Made:
    """A method as letters per round; the times of each, and forwards of its drafter."""

    key: str
    name: str
    note: str
    rounds: str
    draft_ms: float
    verify_ms: float
    forwards: int = 0
    width: int = 1
    instead: tuple[tuple[int, str], ...] = ()


PLAIN = Made("plain", "Plain", "", "p " * 33, 0, 38.3)
LOOKUP = Made(
    "lookup",
    "Prompt lookup",
    "8 tokens",
    "p aaaaaaaab c c aac p p aaaaaac p p p aaac p p",
    0.3,
    42.5,
    0,
    9,
)
EAGLE = Made(
    "eagle2",
    "EAGLE-2",
    "24 nodes",
    "aaac aaaab aac ac aaaac aaac aac aaab aab",
    25,
    63.8,
    6,
    25,
)
JUDGE = Made(
    "judge",
    "Judge decoding",
    "10 tokens, threshold .50",
    "aaaac aaaaaraac raaaaac aac aaaac aaab",
    112,
    50.3,
    10,
    11,
    ((10, ","), (14, ","), (15, " and")),
)
MADE = (PLAIN, LOOKUP, EAGLE, JUDGE)
OTHERS = (("REST", 731.0), ("Medusa", 876.0), ("Lookahead", 1010.0), ("Layer skip", 1102.0))


def label(text: str) -> Label:
    """Return a token as the page shows it."""
    if text == "<end>":
        return Label(text="end", space=False, special=True, breaks=0)
    bare = text.removeprefix(" ")
    return Label(text=bare or "␣", space=text != bare and bare != "", special=False, breaks=0)


def words(text: str) -> list[Run]:
    return [Run(text=text, style="text")]


def comparison(text: Sequence[str] = TEXT, made: Sequence[Made] = MADE) -> Comparison:
    """Return the comparison of methods whose rounds cover `text`."""
    return Comparison(
        id="made",
        title="Compare",
        prompt="Shorten, then say how long it is.",
        source="SmolLM2-360M, greedy, seed 7",
        finding=[
            Run(text="Of three drafters, the one accepted most finishes last.", style="strong"),
            Run(
                text=" Judge decoding wins 5.5 tokens per target pass, prompt lookup 2.4, yet "
                "lookup is done after 599 ms and judge decoding after 974.",
                style="text",
            ),
        ],
        note="The dotted gap between promised and delivered is the price of drafting and of wider"
        " target passes.",
        methods=[method(each) for each in made],
        table=table(made),
        score=score(text, made),
        places=[0 for _ in text],
        race=race(made),
        waterfalls=[waterfall(place, each) for place, each in enumerate(made) if each is not PLAIN],
        waterfall_head="Why accepting more can be slower",
        waterfall_note="From plain decoding’s time to this method’s, in ms. Hatched: the share "
        "spent on tokens that were thrown away.",
        axis_ms=1267.0,
        finished=True,
    )


def method(made: Made) -> Method:
    lossless = not made.instead
    return Method(
        run=made.key,
        key=made.key,
        name=made.name,
        note=made.note,
        badge=Badge(
            lossless=lossless,
            word="Lossless" if lossless else "Lossy",
            meaning="Same text as greedy" if lossless else "Other text than greedy",
        ),
        plain=made is PLAIN,
        status="done",
        words="",
        rounds=len(made.rounds.split()),
    )


# -- the table --
COLUMNS = (
    ("time", "time", "Milliseconds after the prompt pass, by the clock.", True),
    ("passes", "target passes", "Forward passes of the target model.", True),
    ("forwards", "draft passes", "Forward passes of the drafter.", True),
    ("drafted", "tokens drafted", "Tokens that were offered to the target.", False),
    ("accepted", "of these accepted", "Share of the offered tokens that stayed.", False),
    ("wasted", "thrown away", "Offered tokens that did not stay.", True),
)
NUMBERS: dict[str, tuple[float | None, ...]] = {
    "plain": (1267, 33, None, None, None, None),
    "lookup": (599, 14, 6, 48, 0.40, 29),
    "eagle2": (800, 9, 54, 216, 0.11, 192),
    "judge": (974, 6, 60, 60, 0.45, 33),
}
DUMBBELLS = {
    "plain": (1.0, 1.0),
    "lookup": (2.12, 2.36),
    "eagle2": (1.58, 3.67),
    "judge": (1.30, 5.5),
}
VERDICTS: dict[str, Verdict] = {
    "plain": Verdict(
        sign="", head="reference", line=words("what the target writes alone"), place=None
    ),
    "judge": Verdict(
        sign="≠",
        head="differs from 10 on",
        line=[
            Run(text="·and", style="token"),
            Run(text=" → ", style="text"),
            Run(text=",", style="token"),
            Run(text=", gap 0.21 logits, lossy rule", style="text"),
        ],
        place=10,
    ),
}
SAME = Verdict(sign="=", head="identical", line=words("33 of 33 tokens"), place=None)


def table(made: Sequence[Made]) -> Table:
    order = sorted(range(len(made)), key=lambda place: NUMBERS[made[place].key][0] or 0)
    return Table(
        columns=[
            Column(key=key, label=name, definition=meaning, falls=falls)
            for key, name, meaning, falls in COLUMNS
        ],
        rows=[row(place, made[place].key) for place in order],
        axis=6,
        note="Sorted by time.",
    )


def row(place: int, key: str) -> Row:
    delivered, promised = DUMBBELLS[key]
    return Row(
        method=place,
        verdict=VERDICTS.get(key, SAME),
        delivered=delivered,
        delivered_text=f"{delivered:.2f}×",
        promised=promised,
        promised_text=f"{promised:.2f}",
        cells=[cell(index, value) for index, value in enumerate(NUMBERS[key])],
    )


def cell(index: int, value: float | None) -> Cell:
    if value is None:
        return Cell(text="–", value=None, best="")
    column = [numbers[index] for numbers in NUMBERS.values() if numbers[index] is not None]
    good, bad = (min, max) if COLUMNS[index][3] else (max, min)
    best = "best" if value == good(filter(None, column)) else ""
    best = best or ("worst" if value == bad(filter(None, column)) else "")
    ends = {"time": f"{value:,.0f} ms", "accepted": f"{value:.0%}"}
    text = ends.get(COLUMNS[index][0], f"{value:,.0f}")
    return Cell(text=text, value=value, best=best if COLUMNS[index][0] in SCORED else "")


SCORED = ("time", "passes", "accepted")


# -- the score --
def score(text: Sequence[str], made: Sequence[Made]) -> Score:
    replaced = {place for each in made for place, _ in each.instead}
    return Score(
        head="The same text, cut into rounds",
        note="Read it like a score: one column per text position, one stave per method. "
        "A capsule is a round, that is one target pass.",
        places=[
            Place(place=place, label=label(token), replaced=place in replaced)
            for place, token in enumerate(text)
        ],
        staves=[stave(place, each) for place, each in enumerate(made)],
        legend=[
            ("accepted", "drafted and accepted"),
            ("correction", "the target’s own token, after a rejection"),
            ("bonus", "the target’s own token, the whole draft stood"),
            ("plain", "the target’s own token, nothing was drafted"),
            ("relaxed", "accepted by the judge only"),
            ("covered", "the round that covers the pinned token"),
            ("cut", "round goes on in the next line"),
        ],
    )


def stave(place: int, made: Made) -> Stave:
    start = 0
    capsules: list[Capsule] = []
    for index, letters in enumerate(made.rounds.split()):
        stop = start + len(letters)
        pieces = [
            Piece(column=start + at, kind=KINDS[letter], place=start + at)
            for at, letter in enumerate(letters)
        ]
        capsules.append(
            Capsule(
                round=index,
                start=start,
                stop=stop,
                pieces=pieces,
                passes=index + 1,
                title=f"Round {index}: {len(letters)} tokens",
            )
        )
        start = stop
    instead = [Written(column=column, label=label(token)) for column, token in made.instead]
    return Stave(method=place, capsules=capsules, instead=instead)


# -- the position --
def position() -> Position:
    return Position(
        head=f"Position {PINNED}: what each method had on the table",
        first=12,
        last=23,
        trees=[
            tree(0, "round 14", [[(14, "plain", 0.0)]], 1, "1 position computed, 1 kept"),
            tree(
                1,
                "round 4",
                [
                    [*steps("accepted", 12, 14), (14, "rejected", 0), *steps("unreached", 15, 20)],
                    [(14, "correction", 1)],
                ],
                2,
                "8 drafted, 2 kept, 1 corrected",
                {1: 1},
            ),
            eagle_tree(),
            tree(
                3,
                "round 2",
                [
                    [
                        (14, "relaxed", 0),
                        *steps("accepted", 15, 20),
                        (20, "rejected", 0),
                        *steps("unreached", 21, 24),
                    ],
                    [(20, "correction", 1)],
                ],
                2,
                "10 drafted, 6 kept (1 relaxed), 1 corrected",
                {1: 5},
            ),
        ],
        map=line_map(),
    )


Step = tuple[int, NodeState, float]


def steps(state: NodeState, start: int, stop: int) -> list[Step]:
    return [(place, state, 0) for place in range(start, stop)]


def tree(
    place: int,
    head: str,
    branches: Sequence[Sequence[Step]],
    rows: int,
    caption: str,
    roots: dict[int, int] | None = None,
) -> SmallTree:
    """Return a tree of branches; `roots`: by branch, the dot from which it starts."""
    dots: list[Dot] = []
    for number, branch in enumerate(branches):
        parent = (roots or {}).get(number, -1)
        for at, state, height in branch:
            dots.append(Dot(place=at, row=height, state=state, parent=parent))
            parent = len(dots) - 1
    return SmallTree(
        method=place,
        round=int(head.split()[1]),
        head=head,
        dots=dots,
        rows=rows,
        caption=caption,
        alt=f"{MADE[place].name}, {head}: {caption}",
    )


def eagle_tree() -> SmallTree:
    faint: NodeState = "unreached"
    branches: list[list[Step]] = [
        [(14, "accepted", 1), (15, "accepted", 1), (16, "accepted", 1), (17, "accepted", 1)],
        [(18, "correction", 0)],
        [(18, "rejected", 1), (19, faint, 1)],
        [(18, "rejected", 2)],
        [(15, faint, 0), (16, faint, 0), (17, faint, 0)],
        [(17, faint, 3), (18, faint, 3)],
        [(16, faint, 4), (17, faint, 4), (18, faint, 4)],
        [(16, faint, 5)],
        [(14, faint, 6), (15, faint, 6), (16, faint, 6), (17, faint, 6)],
        [(15, faint, 7), (16, faint, 7)],
        [(14, faint, 8), (15, faint, 8)],
    ]
    roots = {1: 3, 2: 3, 3: 3, 4: 0, 5: 2, 6: 1, 7: 1, 9: 17}
    return tree(2, "round 4", branches, 9, "24 drafted, 4 kept, 1 corrected", roots)


def station(
    parent: int, place: int, height: int, text: str, *lines: tuple[int, int | None, NodeState]
) -> Station:
    return Station(
        parent=parent,
        place=place,
        row=height,
        label=label(text),
        lines=[Line(method=method, node=node, state=state) for method, node, state in lines],
    )


def line_map() -> Map:
    stations = [
        station(-1, 12, 1, " three", (1, 1, "accepted")),
        station(0, 13, 1, " mills", (1, 2, "accepted")),
        station(
            1, 14, 1, " before", (0, None, "plain"), (1, None, "correction"), (2, 1, "accepted")
        ),
        station(2, 15, 1, " it", (2, 2, "accepted")),
        station(3, 16, 1, " reaches", (2, 3, "accepted")),
        station(4, 17, 1, " the", (2, 4, "accepted")),
        station(5, 18, 1, " coast", (2, 5, "rejected")),
        station(5, 18, 2, " ocean", (2, 6, "rejected")),
        station(5, 18, 3, " sea", (2, None, "correction")),
        station(6, 19, 1, " at", (2, 7, "unreached")),
        station(2, 15, 0, " reaching", (2, 8, "unreached")),
        station(10, 16, 0, " the", (2, 9, "unreached")),
        station(11, 17, 0, " coast", (2, 10, "unreached")),
        station(4, 17, 4, " its", (2, 11, "unreached")),
        station(13, 18, 4, " mouth", (2, 12, "unreached")),
        station(3, 16, 5, " meets", (2, 13, "unreached")),
        station(15, 17, 5, " the", (2, 14, "unreached")),
        station(16, 18, 5, " sea", (2, 15, "unreached")),
        station(3, 16, 6, " enters", (2, 16, "unreached")),
        station(1, 14, 7, ",", (1, 3, "rejected"), (2, 17, "unreached"), (3, 1, "relaxed")),
    ]
    last = len(stations) - 1
    shared = (" and", " reaches", " the", " sea", " at")
    for at, text in enumerate(shared):
        lines: list[tuple[int, int | None, NodeState]] = [(1, 4 + at, "unreached")]
        if at < 3:
            lines.append((2, 18 + at, "unreached"))
        lines.append((3, 2 + at, "accepted"))
        stations.append(station(last, 15 + at, 7, text, *lines))
        last = len(stations) - 1
    for at, (text, state) in enumerate(
        [(" Ard", "rejected"), ("en", "unreached"), (" after", "unreached"), (" 84", "unreached")]
    ):
        stations.append(station(last, 20 + at, 7, text, (3, 7 + at, state)))  # pyright: ignore
        last = len(stations) - 1
    comma = 19
    stations.append(station(comma, 15, 8, " before", (2, 21, "unreached")))
    stations.append(station(len(stations) - 1, 16, 8, " it", (2, 22, "unreached")))
    stations.append(station(-1, 14, 9, " and", (2, 23, "unreached")))
    stations.append(station(len(stations) - 1, 15, 9, " reaches", (2, 24, "unreached")))
    return Map(
        first=12,
        last=23,
        labels=[label(text) for text in TEXT[12:24]],
        rows=10,
        stations=stations,
        folded=[(2, 12)],
        notes=[
            Note(
                row=1,
                method=2,
                line=words(
                    "Here the target wrote “sea”: EAGLE-2 had only “coast” and “ocean”, so its"
                )
                + words(" round ends at 18."),
            ),
            Note(
                row=5,
                method=3,
                line=words(
                    "One comma decides: lookup and judge drafted the same six tokens. Lookup"
                )
                + words(" stops at 14, the judge walks on to 20."),
            ),
        ],
        alt="Prompt lookup and Judge decoding share six drafted tokens from 14 on.",
    )


# -- the race --
def race(made: Sequence[Made]) -> Race:
    order = sorted(range(len(made)), key=lambda place: NUMBERS[made[place].key][0] or 0)
    lanes = [lane(place, made[place]) for place in order]
    return Race(
        head="The race",
        note="Thin bar: drafting. Block: target pass, with the tokens it won. Grey: other recorded"
        " methods, up to twelve lanes.",
        lanes=lanes + [other(name, total) for name, total in OTHERS],
        plain_ms=38.4,
        draft=1.0,
        wide=1.6,
        wide_at=25,
        batch=1,
    )


def lane(place: int, made: Made) -> Lane:
    rounds = made.rounds.split()
    return Lane(
        method=place,
        name=made.name,
        legs=[leg(made, len(letters)) for letters in rounds],
        tokens=sum(map(len, rounds)),
        begin=0,
        draft_cost=made.draft_ms / made.forwards / 38.4 if made.forwards else None,
    )


def leg(made: Made, tokens: int) -> Leg:
    return Leg(
        draft=made.draft_ms,
        verify=made.verify_ms,
        rest=0.1,
        tokens=tokens,
        forwards=made.forwards,
        passes=1,
        width=made.width,
    )


def other(name: str, total: float) -> Lane:
    each = total / 11
    step = Leg(draft=each * 0.2, verify=each * 0.8, rest=0, tokens=3, forwards=2, passes=1, width=9)
    return Lane(method=None, name=name, legs=[step] * 11, tokens=33, begin=0, draft_cost=0.1)


# -- the waterfalls --
STEPS: dict[str, tuple[tuple[float, float, float, float], float, str]] = {
    "lookup": ((-722, 48, 4, 2), 0.60, "Drafts for free: the 19 passes it saves are all profit."),
    "eagle2": ((-912, 207, 221, 17), 0.89, "Saves five passes more, then pays 376 ms more."),
    "judge": ((-1026, 60, 672, 1), 0.55, "Saves most passes of all. Its drafter is a whole model."),
}
NAMES = ("fewer target passes", "each pass is wider", "drafting", "accept and record")


def waterfall(place: int, made: Made) -> Waterfall:
    steps, wasted, sentence = STEPS[made.key]
    at = 1267.0
    bars = [Bar(label="plain decoding", start=0, stop=at, text="1,267", kind="plain", wasted=0)]
    for name, step in zip(NAMES, steps, strict=True):
        kind = "saved" if step < 0 else "cost"
        share = wasted if name in ("each pass is wider", "drafting") else 0
        sign = "−" if step < 0 else "+"
        text = f"{sign}{abs(step):,.0f}"
        bars.append(Bar(label=name, start=at, stop=at + step, text=text, kind=kind, wasted=share))
        at += step
    text = f"{at:,.0f} = {1267 / at:.2f}×"
    bars.append(Bar(label="this method", start=0, stop=at, text=text, kind="total", wasted=0))
    return Waterfall(method=place, head=f"{at:,.0f} ms", bars=bars, sentence=words(sentence))

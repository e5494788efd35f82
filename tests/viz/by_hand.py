"""Rounds built by hand, with the numbers of the sentences that the page must be able to say."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import convert
from msgspec.structs import replace

from core.trace import (
    Check,
    Judge,
    Law,
    Nodes,
    Origin,
    Outcome,
    Residual,
    Round,
    Scalars,
    State,
    Top,
    Trace,
)
from tests.sample_traces import chain

WORDS = [
    ".", " This", " When", " The", " It", " However", " In", " Sun", " sunlight", " light", " has",
    " travels", " hits", " atmosphere",
]  # fmt: skip
DOT, THIS, WHEN, THE, IT, HOWEVER, IN, SUN, SUNLIGHT, LIGHT, HAS, TRAVELS, HITS, ATMOSPHERE = range(
    14
)


def check(node: int, u: float, p: float | None, q: float | None) -> Check:
    """Return the test of the usual rule; `q` None is a fixed draft."""
    chance = min(1.0, (p or 0.0) / (1.0 if q is None else q))
    return Check(
        node=node, accept_probability=chance, u=u, passed=u < chance, p=p, q=q, mass_before=1.0
    )


def law(node: int, rows: Sequence[tuple[int, float, float]], has_q: bool = True) -> Law:
    tokens, p, q = [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    p_rest, q_rest = max(0.0, 1 - sum(p)), max(0.0, 1 - sum(q))
    return Law(
        node=node,
        token=tokens,
        p=p,
        p_raw=p,
        q=q if has_q else None,
        q_raw=q if has_q else None,
        p_rest=p_rest,
        p_raw_rest=p_rest,
        q_rest=q_rest if has_q else None,
        q_raw_rest=q_rest if has_q else None,
    )


def scalars(size: int, known: dict[str, list[float | None]] | None = None) -> Scalars:
    """Return columns of None, but those given."""
    columns = dict.fromkeys(Scalars.__struct_fields__, [None] * size)
    return convert({**columns, **(known or {})}, Scalars)


def nodes(
    token: list[int],
    parent: list[int],
    state: list[State],
    p: list[float | None],
    q: list[float | None],
) -> Nodes:
    size = len(token)
    rank = [sum(parent[j] == parent[i] for j in range(i)) for i in range(size)]
    return Nodes(
        token=token,
        parent=parent,
        rank=rank,
        count=[1] * size,
        role=["draft"] * size,
        source=[""] * size,
        score=[None] * size,
        q=q,
        q_before_siblings=q,
        p=p,
        q_raw=q,
        p_raw=p,
        state=state,
        reason=[""] * size,
    )


def trace_of(r: Round, temperature: float = 0.7) -> Trace:
    """Return a trace whose only round is `r`."""
    whole = chain()
    return replace(
        whole,
        rounds=[r],
        vocabulary={i: word.encode() for i, word in enumerate(WORDS)},
        special=[],
        prompt=replace(whole.prompt, token_ids=[ATMOSPHERE, DOT]),
        sampling=replace(whole.sampling, temperature=temperature),
    )


def round_of(
    tree: Nodes,
    checks: list[Check],
    laws: list[Law],
    accepted: list[int],
    final: int | None,
    origin: Origin,
    numbers: Scalars | None = None,
    residuals: Sequence[Residual] = (),
    final_top: Top | None = None,
    judge: Judge | None = None,
) -> Round:
    emitted = [tree.token[node] for node in accepted] + ([] if final is None else [final])
    drafted = sum(role == "draft" for role in tree.role) - 1
    return Round(
        index=8,
        prefix_length=40,
        nodes=tree,
        checks=checks,
        laws=laws,
        scalars=numbers or scalars(len(tree.token)),
        residuals=list(residuals),
        outcome=Outcome(
            accepted=accepted,
            final_token=final,
            origin=origin,
            emitted=emitted,
            final_top=final_top,
        ),
        drafted=drafted,
        max_depth=1,
        judge=judge,
        cost=chain().rounds[1].cost,
    )


def five_darts() -> Trace:
    """The round of the design: ` This` misses by .0038, ` When` cannot miss, two misses follow."""
    tree = nodes(
        token=[DOT, THIS, WHEN, THE, SUNLIGHT, LIGHT, HAS, TRAVELS],
        parent=[-1, 0, 0, 0, 2, 2, 4, 4],
        state=[
            "root",
            "rejected",
            "accepted",
            "unreached",
            "accepted",
            "unreached",
            "rejected",
            "rejected",
        ],
        p=[None, 0.06756, 0.823, 0.062, 0.846, 0.1, 0.0019, 0.006],
        q=[None, 0.25522, 0.477, 0.067, 0.453, 0.2, 0.0452, 0.065],
    )
    tree = replace(tree, q=[None, 0.25522, 0.640, 0.2, 0.453, 0.3, 0.0452, 0.068])
    root = [
        (WHEN, 0.823, 0.477),
        (THIS, 0.06756, 0.25522),
        (THE, 0.062, 0.067),
        (IT, 0.007, 0.036),
        (HOWEVER, 0.004, 0.033),
        (IN, 0.005, 0.025),
        (SUN, 0.001, 0.023),
    ]
    return trace_of(
        round_of(
            tree,
            checks=[
                check(1, 0.26848, 0.06756, 0.25522),
                check(2, 0.820, 0.991, 0.640),
                check(4, 0.937, 0.846, 0.453),
                check(6, 0.552, 0.0019, 0.0452),
                check(7, 0.328, 0.00001, 0.068),
            ],
            laws=[law(0, root)],
            accepted=[2, 4],
            final=HITS,
            origin="correction",
            numbers=scalars(
                8,
                {
                    "overlap": [0.651, *[None] * 7],
                    "tv": [0.349, *[None] * 7],
                    "entropy_p": [1.94, *[None] * 7],
                    "entropy_q": [3.15, *[None] * 7],
                    "kl_qp": [0.5, *[None] * 7],
                    "target_rank_in_q": [1, *[None] * 7],
                },
            ),
            residuals=[
                Residual(node=0, after=1, left=0.349, token=[WHEN], mass=[0.991], rest=0.009),
                Residual(node=4, after=6, left=0.9, token=[HITS], mass=[0.4], rest=0.6),
                Residual(node=4, after=7, left=0.95, token=[HITS], mass=[0.412], rest=0.588),
            ],
            final_top=Top(token=[HITS], mass=[0.412], rest=0.588),
        )
    )


def one_dart(u: float, p: float | None, q: float | None, judge: Judge | None = None) -> Trace:
    """One drafted token, tested once; with a judge it stays although the dart missed."""
    tested = check(1, u, p, q)
    state: State = "accepted" if tested.passed else "relaxed" if judge else "rejected"
    kept = [] if state == "rejected" else [1]
    tree = nodes([DOT, THE], [-1, 0], ["root", state], [None, p], [None, q])
    return trace_of(
        round_of(tree, [tested], [], kept, HITS, "bonus" if kept else "correction", judge=judge)
    )


def greedy(rank: int) -> Trace:
    """One drafted token at temperature 0, which is the target's choice number `rank`."""
    favourites = (
        [(WHEN, 0.5, 0.2), (THE, 0.25, 0.6)] if rank > 1 else [(THE, 0.5, 0.6), (WHEN, 0.2, 0.1)]
    )
    p = 0.25 if rank > 1 else 0.5
    chance = float(rank == 1)
    tested = Check(
        node=1,
        accept_probability=chance,
        u=0.3,
        passed=rank == 1,
        p=chance,
        q=None,
        mass_before=1.0,
    )
    tree = nodes(
        [DOT, THE],
        [-1, 0],
        ["root", "accepted" if rank == 1 else "rejected"],
        [None, p],
        [None, 0.6],
    )
    numbers = scalars(
        2, {"top2_gap": [0.92, None], "rank_in_p": [None, rank], "p_max": [0.5, None]}
    )
    kept = [1] if rank == 1 else []
    origin: Origin = "bonus" if kept else "correction"
    r = round_of(tree, [tested], [law(0, favourites)], kept, WHEN, origin, numbers)
    return trace_of(r, temperature=0.0)

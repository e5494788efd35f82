"""What `trace-v1.json.gz` holds, in the structs of today.

The file is as the first version wrote it and never changes. When the structs do, this value changes
with them, and the migration must lead from the one to the other.
"""

from core.extras import LayersExtras, LookupExtras
from core.trace import (
    Check,
    Cost,
    Environment,
    Judge,
    Law,
    Message,
    ModelCard,
    Models,
    Nodes,
    Outcome,
    Prompt,
    Residual,
    Round,
    Sampling,
    Scalars,
    State,
    Stop,
    Top,
    Totals,
    Trace,
)


def _cost(draft_forwards: int, width: int, draft: float, verify: float, accept: float) -> Cost:
    return Cost(
        draft_forwards=draft_forwards,
        target_forwards=1,
        target_tokens=width,
        sublayers_run=8,
        sublayers_reused=0,
        draft_ms=draft,
        verify_ms=verify,
        accept_ms=accept,
        record_ms=0.5,
        plain_step_ms=20.0,
    )


def _scalars(size: int, overlap: list[float | None]) -> Scalars:
    blank: list[None] = [None] * size
    return Scalars(
        entropy_p=[1.25] * size,
        entropy_q=[*blank],
        h3=[0.5] * size,
        p_max=[0.75] * size,
        top2_gap=[2.0] * size,
        p_eos=[1e-7] * size,
        overlap=overlap,
        tv=[None if x is None else round(1 - x, 6) for x in overlap],
        kl_qp=[*blank],
        kl_pq=[*blank],
        rank_in_p=[None, *[1] * (size - 1)],
        target_rank_in_q=[*blank],
    )


def _chain(tokens: list[int], states: list[State], reasons: list[str], source: str) -> Nodes:
    size = len(tokens)
    return Nodes(
        token=tokens,
        parent=list(range(-1, size - 1)),
        rank=[0] * size,
        count=[1] * size,
        role=["draft"] * size,
        source=["", *[source] * (size - 1)],
        score=[None] * size,
        q=[None] * size,
        q_before_siblings=[None] * size,
        p=[None, *[0.9] * (size - 1)],
        q_raw=[None] * size,
        p_raw=[None, *[0.8] * (size - 1)],
        state=states,
        reason=reasons,
    )


def _check(node: int, chance: float, u: float) -> Check:
    return Check(
        node=node,
        accept_probability=chance,
        u=u,
        passed=u < chance,
        p=None,
        q=None,
        mass_before=1.0,
    )


PROMPT_PASS = Round(
    index=0,
    prefix_length=1,
    nodes=_chain([1], ["root"], [""], ""),
    checks=[],
    laws=[Law(node=0, token=[2, 3], p=[0.75, 0.25], p_raw=[0.7, 0.2], p_rest=0.0, p_raw_rest=0.1)],
    scalars=_scalars(1, [None]),
    residuals=[],
    outcome=Outcome(
        accepted=[],
        final_token=2,
        origin="plain",
        emitted=[2],
        final_top=Top(token=[2, 3], mass=[0.75, 0.25], rest=0.0),
    ),
    drafted=0,
    max_depth=0,
    cost=_cost(0, 1, 0.0, 40.0, 0.0),
)

TREE = Round(
    index=1,
    prefix_length=2,
    nodes=Nodes(
        token=[2, 3, 4, 5, 1, 0, 3, 2],
        parent=[-1, 0, 0, 2, 3, 1, 2, 0],
        rank=[0, 0, 1, 0, 0, 0, 1, 2],
        count=[1, 2, 1, 1, 1, 1, 1, 1],
        role=["draft", "draft", "draft", "draft", "draft", "draft", "draft", "probe"],
        source=["", "draft", "draft", "draft", "draft", "draft", "draft", "window"],
        score=[None, 0.4, 0.25, 0.2, 0.1, 0.05, 0.01, None],
        q=[None, 0.4, 0.5, 0.8, 0.5, 0.125, 0.04, None],
        q_before_siblings=[None, 0.4, 0.25, 0.8, 0.5, 0.125, 0.04, None],
        p=[None, 0.1, 0.2, 0.4, 0.15, 0.5, 0.1, None],
        q_raw=[None, 0.4, 0.25, 0.8, 0.5, 0.125, 0.04, None],
        p_raw=[None, 0.1, 0.2, 0.4, 0.15, 0.5, 0.1, None],
        state=[
            "root",
            "rejected",
            "accepted",
            "relaxed",
            "rejected",
            "unreached",
            "pruned",
            "probe",
        ],
        reason=["", "u>=p/q", "u<p/q", "judge", "u>=p/q", "parent_rejected", "budget", ""],
    ),
    checks=[_check(1, 0.25, 0.5), _check(2, 0.8, 0.125), _check(3, 0.9, 0.25), _check(4, 0.3, 0.6)],
    laws=[
        Law(
            node=0,
            token=[2, 3, 4],
            p=[0.5, 0.1, 0.2],
            p_raw=[0.5, 0.1, 0.2],
            q=[0.25, 0.4, 0.25],
            q_raw=[0.25, 0.4, 0.25],
            p_rest=0.2,
            p_raw_rest=0.2,
            q_rest=0.1,
            q_raw_rest=0.1,
        )
    ],
    scalars=_scalars(8, [0.6, None, 0.5, 0.25, None, None, None, None]),
    residuals=[Residual(node=0, after=1, left=0.4, token=[2], mass=[0.625], rest=0.375)],
    outcome=Outcome(accepted=[2, 3], final_token=3, origin="correction", emitted=[4, 5, 3]),
    stop=Stop(reason="entropy", value=0.83, threshold=0.6),
    drafted=5,
    max_depth=3,
    judge=Judge(
        score=[None, 0.9, 0.7, 0.1],
        threshold=[0.5, 0.5, 0.5, 0.5],
        strict_verdict=[False, True, False, False],
        features=[[0.0, -1.5], [1.0, 2.0], [1.0, 0.5], [0.0, 0.0]],
    ),
    cost=_cost(3, 8, 5.0, 20.0, 1.0),
)

LOOKUP = Round(
    index=2,
    prefix_length=5,
    nodes=_chain([3, 1, 2], ["root", "accepted", "accepted"], ["", "u<p", "u<p"], "lookup"),
    checks=[_check(1, 0.9, 0.75), _check(2, 0.9, 0.0)],
    laws=[],
    scalars=_scalars(3, [None, None, None]),
    residuals=[],
    outcome=Outcome(accepted=[1, 2], final_token=3, origin="bonus", emitted=[1, 2, 3]),
    stop=Stop(reason="end of match"),
    drafted=2,
    max_depth=2,
    cost=_cost(0, 3, 1.0, 20.0, 1.0),
    extras=[LookupExtras(ngram=2, match_start=0, copy_start=2, copy_length=2)],
)

ENDED = Round(
    index=3,
    prefix_length=8,
    nodes=_chain(
        [3, 0, 1, 2],
        ["root", "accepted", "unreached", "unreached"],
        ["", "u<p", "text_ended", "parent_unreached"],
        "layers",
    ),
    checks=[_check(1, 0.9, 0.5)],
    laws=[],
    scalars=_scalars(4, [0.9, None, None, None]),
    residuals=[],
    outcome=Outcome(accepted=[1], final_token=None, origin="none", emitted=[0]),
    drafted=3,
    max_depth=3,
    cost=_cost(3, 4, 2.0, 20.0, 0.0),
    extras=[
        LayersExtras(total=4, skipped_attention=[1, 2], skipped_mlp=[2], exit_layer=None, shared=1)
    ],
)

TRACE = Trace(
    created="2025-01-31T12:00:00+00:00",
    draftscope_version="0.1.0",
    title="Golden",
    method="toy",
    method_name="Toy drafting",
    lossless=False,
    config={"length": 3, "threshold": 0.6, "judge": True, "file": None, "ranks": [1, 2.5, "x"]},
    sampling=Sampling(temperature=0.7, top_k=40, top_p=0.9, seed=-7, max_new_tokens=16),
    models=Models(
        target=ModelCard(
            id="toy/target",
            revision="0123abcd",
            dtype="float32",
            device="cpu",
            parameters=1000,
            layers=4,
            vocabulary_size=6,
            context=64,
        ),
        draft=ModelCard(
            id="toy/draft",
            dtype="float32",
            device="cpu",
            parameters=100,
            layers=1,
            vocabulary_size=6,
            context=64,
        ),
    ),
    environment=Environment(
        torch="2.0", transformers="5.0", python="3.11", processor="A processor", threads=2
    ),
    prompt=Prompt(text="the", messages=[Message(role="user", content="the")], token_ids=[1]),
    vocabulary={0: b"<end>", 1: b" the", 2: b" cat", 3: b" sat", 4: b"\xe2\x98", 5: b"\x83"},
    special=[0],
    rounds=[PROMPT_PASS, TREE, LOOKUP, ENDED],
    text=" cat☃ sat the cat sat",
    finish_reason="eos",
    totals=Totals(
        rounds=4,
        emitted=8,
        drafted=10,
        accepted=5,
        tested=7,
        draft_forwards=6,
        target_forwards=4,
        draft_ms=8.0,
        verify_ms=100.0,
        accept_ms=2.0,
        record_ms=2.0,
    ),
    plain_step_ms=20.0,
)

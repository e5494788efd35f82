"""Runs to compare, made from a sample: any text cut into rounds of any size and pace."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from core.trace import Origin, Round, Trace, token_ids
from tests.sample_traces import chain
from viz.compare.entry import Entry
from viz.compare.payload import Status


def entry(trace: Trace | None, status: Status = "done", name: str = "", key: str = "") -> Entry:
    """Return a method with this record, named as the record says."""
    if trace is None:
        return Entry(key or "none", name or "None", True, status)
    key, name = key or trace.method, name or trace.method_name
    return Entry(key, name, trace.lossless, status, "run", "", trace)


def plain_of(trace: Trace) -> Trace:
    """Return the same text, decoded token by token by a target whose two likeliest tokens are half
    a logit apart.
    """
    rounds = list[Round]()
    begin = len(trace.prompt.token_ids)
    pattern = trace.rounds[0]
    for place, token in enumerate(token_ids(trace)):
        made = _of_size(pattern, 1, place, begin + place, [token], "plain")
        cost = replace(
            pattern.cost,
            draft_forwards=0,
            target_forwards=1,
            target_tokens=1,
            draft_ms=0.0,
            verify_ms=20.0,
            accept_ms=0.5,
            record_ms=0.25,
        )
        rounds.append(replace(made, cost=cost))
    return replace(trace, method="plain", method_name="Plain", lossless=True, rounds=rounds)


def written(
    tokens: Sequence[int],
    sizes: Sequence[int] = (),
    *,
    draft_ms: float = 0.0,
    verify_ms: float = 20.0,
    record_ms: float = 0.0,
    rejected: int = 0,
    name: str = "Written",
    temperature: float = 0.0,
    lossless: bool = True,
) -> Trace:
    """Return a record of a greedy text as rounds of `sizes` tokens, what is left one by one. Each
    round drafts all of its tokens but the last, and `rejected` more; the first round, where it has
    one token, is the prompt pass.
    """
    pattern, rounds, start = chain().rounds[0], list[Round](), 0
    begin = len(chain().prompt.token_ids)
    for size in (*sizes, *[1] * len(tokens)):
        part = list(tokens[start : start + size])
        if not part:
            break
        extra = rejected if rounds or len(part) > 1 else 0
        origin: Origin = "correction" if extra else "bonus" if len(part) > 1 else "plain"
        made = _of_size(pattern, len(part), len(rounds), begin + start, part, origin, extra)
        cost = replace(
            pattern.cost,
            draft_forwards=made.drafted,
            target_forwards=1,
            target_tokens=made.drafted + 1,
            draft_ms=draft_ms,
            verify_ms=verify_ms,
            accept_ms=0.0,
            record_ms=record_ms,
        )
        rounds.append(replace(made, cost=cost))
        start += len(part)
    return replace(
        chain(),
        method=name.lower().replace(" ", "_"),
        method_name=name,
        lossless=lossless,
        config={},
        sampling=replace(chain().sampling, temperature=temperature),
        rounds=rounds,
        finish_reason="length",
    )


def changed_at(trace: Trace, place: int) -> Trace:
    """Return a record whose text has another token at one place."""
    rounds, start = list(trace.rounds), 0
    for index, made in enumerate(rounds):
        emitted = list(made.outcome.emitted)
        if start <= place < start + len(emitted):
            emitted[place - start] += 1
            rounds[index] = replace(made, outcome=replace(made.outcome, emitted=emitted))
        start += len(emitted)
    return replace(trace, rounds=rounds)


def cut(trace: Trace, rounds: int) -> Trace:
    """Return what a run has after some rounds."""
    return replace(trace, rounds=trace.rounds[:rounds], finish_reason="cancelled")


def _of_size(
    pattern: Round,
    size: int,
    index: int,
    prefix_length: int,
    emitted: list[int],
    origin: Origin,
    rejected: int = 0,
) -> Round:
    """Return a round that writes `emitted`: a chain, all of it kept but its last `rejected`."""
    drafted = size - 1 + rejected
    nodes, scalars = pattern.nodes, pattern.scalars
    return replace(
        pattern,
        index=index,
        prefix_length=prefix_length,
        nodes=replace(
            nodes,
            **{
                column: [getattr(nodes, column)[0]] * (drafted + 1)
                for column in nodes.__struct_fields__
            }
            | {
                "token": [nodes.token[0], *emitted[:-1], *[0] * rejected],
                "parent": list(range(-1, drafted)),
                "state": ["root", *["accepted"] * (size - 1), *["rejected"] * rejected],
            },
        ),
        checks=[],
        residuals=[],
        laws=[],
        scalars=replace(
            scalars,
            **{column: [None] * (drafted + 1) for column in scalars.__struct_fields__}
            | {"top2_gap": [0.5] * (drafted + 1)},
        ),
        outcome=replace(
            pattern.outcome,
            accepted=list(range(1, size)),
            final_token=emitted[-1],
            emitted=emitted,
            origin=origin,
        ),
        drafted=drafted,
        max_depth=drafted,
    )

"""The whole laws at one node of a recorded round, from the models that made the trace.

One pass of the target over the text before the round and the chain of nodes down to the one asked
for; another of the drafter that method and settings name. What a trace keeps is the top of both
laws; here is all of them, with how far they are from what was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from core.drafters.choice import DrafterConfig
from core.drafters.ranking import RankingConfig
from core.drafters.source import Source
from core.host import floats, int_rows
from core.laws import RAW, Law
from core.registry import get
from core.run import Engine
from core.trace import ModelCard, Trace
from core.tree import DraftTree

CLOSE = 1e-3  # how far rescored probabilities may be from the recorded ones
NAMED = 64  # tokens of each law that are spelled


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the laws compare with the tokens whose probability the trace holds: how many there are,
    and the largest difference of p, and of q where both have one.
    """

    tokens: int
    p: float
    q: float | None

    @property
    def is_close(self) -> bool:
        return max(self.p, self.q or 0.0) <= CLOSE


@dataclass(frozen=True, slots=True)
class Laws:
    """The laws p and q (V,) of what follows one node, on the host; q is None for a method whose
    drafts have no law.

    `models`: the cards that were asked, target first. `agreement`: None where the round kept no law
    of this node. `named`: the likeliest tokens of either law, with their bytes.
    """

    p: Tensor
    q: Tensor | None
    models: tuple[ModelCard, ...]
    agreement: Agreement | None
    named: dict[int, bytes]
    special: frozenset[int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: the text before a round, its last token left out, and the chain of tokens from
    there to a node.
    """

    text: Sequence[int]
    chain: Sequence[int]


def rescore(engine: Engine, trace: Trace, index: int, node: int, law: Law | None = None) -> Laws:
    """Return the laws that follow `node` of round `index`; `law` replaces the run's own.

    Raises ValueError with one sentence where there is no such round or node, the trace's models are
    not those of `engine`, or the text does not fit into them.
    """
    spot = place(trace, index, node)
    models = asked(engine, trace)
    check_tokens(spot, models)
    target, draft = _logits(engine, spot, _source(engine, trace, index, node))
    used = law or law_of(trace)
    p = used(target)[0].cpu()
    q = None if draft is None else _draft_law(trace, law)(draft)[0].cpu()
    named = _likeliest(p, q)
    return Laws(
        p,
        q,
        models,
        _agreement(trace, index, node, p, q, used),
        {token: engine.text.spell(token) for token in named},
        engine.text.special & named,
    )


def place(trace: Trace, index: int, node: int) -> Place:
    """Return where a node of a trace stands. Raises ValueError where there is none."""
    rounds = trace.rounds
    if not 0 <= index < len(rounds):
        raise ValueError(f"Round {index} does not exist; the trace has {len(rounds)}, from 0.")
    here = rounds[index]
    size = len(here.nodes.token)
    if not 0 <= node < size:
        raise ValueError(f"Node {node} does not exist; round {index} has {size}, from 0.")
    before = [r for r in rounds[:index] if r.sequence == here.sequence]
    text = [*trace.prompt.token_ids, *(t for r in before for t in r.outcome.emitted)]
    if not text or text[-1] != here.nodes.token[0]:
        raise ValueError(f"Round {index} does not go on where the text before it ends.")
    path = [node]
    while path[-1]:
        path.append(here.nodes.parent[path[-1]])
    return Place(text[:-1], [here.nodes.token[each] for each in reversed(path)])


def asked(engine: Engine, trace: Trace) -> tuple[ModelCard, ...]:
    """Return the cards of the loaded models that stand for those of the trace, target first.

    A model counts as the same by its name and vocabulary: the number format, the machine, and
    whether its weights came from the hub or from a file may differ. Raises ValueError otherwise.
    """
    loaded = [engine.target.card]
    wanted = [trace.models.target]
    if trace.models.draft is not None:
        if engine.draft is None:
            raise ValueError(
                f"The trace was made with {trace.models.draft.id} as draft model, and none is "
                "loaded: name it."
            )
        loaded.append(engine.draft.card)
        wanted.append(trace.models.draft)
    for card, made in zip(loaded, wanted, strict=True):
        if _name(card) != _name(made) or card.vocabulary_size != made.vocabulary_size:
            raise ValueError(
                f"The trace was made with {made.id}, and {card.id} is loaded: its laws would be "
                "others. Name the trace's model."
            )
    return tuple(loaded)


def _name(card: ModelCard) -> str:
    """Return a model's name without owner and quantisation."""
    return card.id.rpartition("/")[2].partition(" (")[0].lower()


def check_tokens(spot: Place, models: Sequence[ModelCard]) -> None:
    most = max([*spot.text, *spot.chain])
    for card in models:
        if most >= card.vocabulary_size:
            raise ValueError(
                f"The trace holds token {most:,}; {card.id} has {card.vocabulary_size:,}."
            )
        length = len(spot.text) + len(spot.chain)
        if length > card.context:
            raise ValueError(
                f"The text has {length:,} tokens up to this node; the context of {card.id} holds "
                f"{card.context:,}."
            )


def _logits(engine: Engine, spot: Place, source: Source | None) -> tuple[Tensor, Tensor | None]:
    """Return logits (1, V) of the target after the node, and of the drafter where there is one."""
    chain = DraftTree(tuple(spot.chain), tuple(range(-1, len(spot.chain) - 1)))
    session = engine.target.open(spot.text)
    scores = session.score(chain, 0, source.taps if source else ())
    session.keep([])  # the text stays, as a part of the target that drafts finds it
    target = scores.logits[-1:]
    if source is None:
        return target, None
    drafter = source.opened(spot.text, spot.chain[0], session, scores.features)
    return target, drafter.score(chain).logits[-1:].to(target.device)


def _source(engine: Engine, trace: Trace, index: int, node: int) -> Source | None:
    """Return what the first draft after a node came from; None for a method without draft laws."""
    config = get(trace.method).configure(trace.config)
    if not isinstance(config, DrafterConfig):
        return None
    nodes = trace.rounds[index].nodes
    names = (n for p, n in zip(nodes.parent, nodes.source, strict=True) if p == node)
    return config.source_named(next(names, ""), engine.models)


def law_of(trace: Trace) -> Law:
    sampling = trace.sampling
    return Law(sampling.temperature, sampling.top_k, sampling.top_p)


def _draft_law(trace: Trace, law: Law | None) -> Law:
    """Return the drafter's law: the target's, at the drafter's own temperature where it has one."""
    if law is not None:
        return law
    config = get(trace.method).configure(trace.config)
    if isinstance(config, RankingConfig):
        return replace(law_of(trace), temperature=config.temperature)
    own = config.draft_temperature if isinstance(config, DrafterConfig) else None
    return law_of(trace) if own is None else replace(law_of(trace), temperature=own)


def _likeliest(p: Tensor, q: Tensor | None) -> frozenset[int]:
    laws = [p] if q is None else [p, q]
    tops = torch.cat([law.topk(min(NAMED, len(law))).indices for law in laws])
    return frozenset(token for row in int_rows(tops[None]) for token in row)


def _agreement(
    trace: Trace, index: int, node: int, p: Tensor, q: Tensor | None, law: Law
) -> Agreement | None:
    kept = next((known for known in trace.rounds[index].laws if known.node == node), None)
    if kept is None or not kept.token or law not in (law_of(trace), RAW):
        return None
    is_run = law == law_of(trace)
    mine, own = (kept.p, kept.q) if is_run else (kept.p_raw, kept.q_raw)

    def apart(law: Tensor, recorded: Sequence[float]) -> float:
        return float(np.abs(np.array(floats(law[kept.token])) - np.array(recorded)).max())

    most = None if q is None or own is None else apart(q, own)
    return Agreement(len(kept.token), apart(p, mine), most)

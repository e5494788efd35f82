"""The record of one decoded text: the contract between core, viz and app, and the file format.

Plain data only. This module knows no torch, no model, no tokenizer and no disk; it imports in
milliseconds. Probabilities are floats in [0, 1]; `None` stands where a number does not exist (no
drafter law for a looked-up token, say), never NaN. Lists inside a block that describe nodes all
have the same length: node 0 is the last committed token, parents precede children.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Literal

from msgspec import Meta

from core.extras import Extras
from core.fields import Index, Milliseconds, NonNegative, Probability, Record

SCHEMA_VERSION = 2
TOP = 20  # how many tokens of each law a round keeps
FEW = 8  # and of each law at a node that the walk did not come to

State = Literal["root", "accepted", "relaxed", "rejected", "unreached", "pruned", "probe"]
Role = Literal["draft", "probe"]
Origin = Literal["bonus", "correction", "plain", "none"]
FinishReason = Literal["length", "eos", "stop", "context", "cancelled", "error"]


class Nodes(Record, frozen=True, kw_only=True):
    """The draft tree in columns, one entry per node; node 0 is the last committed token."""

    token: list[Index]
    parent: list[Annotated[int, Meta(ge=-1)]]  # -1 for node 0 only
    rank: list[Index]  # place among the siblings, in the order tried
    count: list[Index]  # drafts that share the node (drawing with replacement)
    role: list[Role]
    source: list[str]  # which drafter, head, exit layer or datastore proposed it
    score: list[float | None]  # the policy's own value
    q: list[Probability | None]  # law it was drawn from, earlier siblings removed
    q_before_siblings: list[Probability | None]
    # target law in use (after temperature, top-k, top-p), of the token given its parent
    p: list[Probability | None]
    q_raw: list[Probability | None]  # temperature 1, unfiltered
    p_raw: list[Probability | None]
    state: list[State]
    reason: list[str]  # short key: see `core.verify` for those in use


class Check(Record, frozen=True, kw_only=True):
    """One accept test, in the order made: the token stays when `u < accept_probability`."""

    node: Index
    accept_probability: Probability
    u: Probability
    passed: bool
    # numerator: what the target still gives the token at this moment (residual law)
    p: Probability | None
    # denominator: what the draft gave it, earlier siblings removed; None for fixed drafts
    q: Probability | None
    mass_before: Probability | None  # share of the target's law not yet spent on rejected siblings


class Law(Record, frozen=True, kw_only=True):
    """Top tokens of both laws that follow `node`, as the union of both top-20 sets; `*_rest` is the
    mass of all others.
    """

    node: Index
    token: list[Index]
    p: list[Probability]
    p_raw: list[Probability]
    q: list[Probability] | None = None
    q_raw: list[Probability] | None = None
    p_rest: Probability
    p_raw_rest: Probability
    q_rest: Probability | None = None
    q_raw_rest: Probability | None = None


class Scalars(Record, frozen=True, kw_only=True):
    """Numbers of the full laws that follow each node, before any truncation. Entropies and
    divergences in nats.

    Entropies, `h3`, `p_max`, `top2_gap` and `p_eos` belong to the raw laws (temperature 1);
    `overlap`, `tv`, `kl_qp`, `kl_pq` compare the laws in use. A divergence without common support
    is None.
    """

    entropy_p: list[float | None]
    entropy_q: list[float | None]
    h3: list[float | None]  # -sum p ln p over the three largest
    p_max: list[Probability | None]
    top2_gap: list[float | None]  # logits
    p_eos: list[Probability | None]
    overlap: list[Probability | None]  # sum of min(p, q)
    tv: list[Probability | None]
    kl_qp: list[float | None]
    kl_pq: list[float | None]
    # 1 = the target's favourite; of the node's own token, given its parent (raw laws)
    rank_in_p: list[Index | None]
    # rank in q of the target's favourite after this node (raw laws)
    target_rank_in_q: list[Index | None]


class Residual(Record, frozen=True, kw_only=True):
    """What remains of the target's law after `node` once child `after` was rejected: the law of
    what comes next.
    """

    node: Index
    after: Index
    left: Probability  # mass before rescaling to one, as a share of the law before this rejection
    token: list[Index]
    mass: list[Probability]
    rest: Probability


class Top(Record, frozen=True, kw_only=True):
    """The largest entries of one law."""

    token: list[Index]
    mass: list[Probability]
    rest: Probability


class Outcome(Record, frozen=True, kw_only=True):
    accepted: list[Index]  # nodes kept, parents first, node 0 not included
    final_token: Index | None
    # bonus: the whole draft stood; correction: after a rejection; plain: nothing was drafted
    origin: Origin
    emitted: list[Index]  # token ids that joined the text, in order
    final_top: Top | None = None  # law of the final token


class Stop(Record, frozen=True, kw_only=True):
    """Why drafting ended: `reason` with the value that met the threshold, where there is one."""

    reason: str
    value: float | None = None
    threshold: float | None = None


class Judge(Record, frozen=True, kw_only=True):
    """Relaxed rules, per check: the judge's score, its threshold, and what the exact rule would
    have said.
    """

    score: list[float | None]
    threshold: list[float | None]
    strict_verdict: list[bool]
    features: list[list[float]] | None = None


class Cost(Record, frozen=True, kw_only=True):
    """Work and wall time of one round. Times in milliseconds."""

    draft_forwards: Index
    target_forwards: Index
    target_tokens: Index  # width of the verify call
    sublayers_run: Index  # attention and MLP sublayers x forward calls, drafting and verifying
    sublayers_reused: Index  # those the verify call took over from drafting
    draft_ms: Milliseconds
    verify_ms: Milliseconds
    accept_ms: Milliseconds
    record_ms: Milliseconds
    plain_step_ms: Milliseconds | None = None


class Round(Record, frozen=True, kw_only=True):
    index: Index
    sequence: Index = 0
    prefix_length: Index  # tokens of text before this round, node 0 included
    nodes: Nodes
    checks: list[Check]
    laws: list[Law]
    scalars: Scalars
    residuals: list[Residual]
    outcome: Outcome
    stop: Stop | None = None
    drafted: Index  # draft nodes offered, node 0 and probes not counted
    max_depth: Index
    judge: Judge | None = None
    cost: Cost
    extras: list[Extras] = []


class ModelCard(Record, frozen=True, kw_only=True):
    id: str
    revision: str | None = None  # hub revision or file hash
    dtype: str
    device: str
    parameters: Index
    layers: Index
    vocabulary_size: Index
    context: Index


class Models(Record, frozen=True, kw_only=True):
    target: ModelCard
    draft: ModelCard | None = None


class Sampling(Record, frozen=True, kw_only=True):
    temperature: NonNegative
    top_k: Index  # 0 = off
    top_p: Probability  # 1 = off
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    max_new_tokens: Index


class Environment(Record, frozen=True, kw_only=True):
    torch: str
    transformers: str
    python: str
    processor: str
    threads: Index


class Message(Record, frozen=True, kw_only=True):
    role: str
    content: str


class Prompt(Record, frozen=True, kw_only=True):
    text: str  # as the person wrote it
    messages: list[Message] | None = None  # when a chat template was applied
    token_ids: list[Index]


class Parent(Record, frozen=True, kw_only=True):
    """Where a fork left its trace."""

    trace: str
    round: Index
    node: Index


class Totals(Record, frozen=True, kw_only=True):
    """Raw counts over all rounds; every metric is a function of these and of the rounds
    (`core.metrics`).
    """

    rounds: Index
    emitted: Index
    drafted: Index
    accepted: Index
    tested: Index
    draft_forwards: Index
    target_forwards: Index
    draft_ms: Milliseconds
    verify_ms: Milliseconds
    accept_ms: Milliseconds
    record_ms: Milliseconds


class Trace(Record, frozen=True, kw_only=True):
    """One prompt decoded by one method, every round of it."""

    schema_version: Index = SCHEMA_VERSION
    created: str  # UTC, ISO 8601
    draftscope_version: str
    title: str | None = None
    method: str
    method_name: str
    lossless: bool
    config: dict[str, str | int | float | bool | list[int | float | str] | None]
    config_names: dict[str, str] = {}  # what a page calls the settings
    sampling: Sampling
    models: Models
    environment: Environment
    prompt: Prompt
    sequences: Index = 1
    vocabulary: dict[int, bytes]  # exact bytes of every token id that occurs in the trace
    special: list[Index] = []  # ids above that are control tokens
    rounds: list[Round]
    text: str
    finish_reason: FinishReason
    message: str | None = None  # one sentence, with finish_reason "error"
    totals: Totals
    # median time of one plain step, measured in the same run
    plain_step_ms: Milliseconds | None = None
    parent: Parent | None = None

    def _repr_html_(self) -> str:
        """Return the offline replay for a notebook cell.

        The one arrow that points up: notebooks look for this method on the object. It is
        late-bound, so that core still stands alone.
        """
        return importlib.import_module("viz.replay").notebook_html(self)


def token_ids(trace: Trace) -> list[int]:
    """Return the generated token ids, in order."""
    return [token for r in trace.rounds for token in r.outcome.emitted]

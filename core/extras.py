"""What single methods add to a round's record, one block per family, so that each method's own
picture can be drawn from the trace alone.

Columns that describe the nodes of a tree count as the round's nodes do, those not offered included.
A field called `token` holds token ids, however nested, and no other field does: the trace's
vocabulary is collected from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import asdict

from core.fields import Cosine, Index, NonNegative, Probability, Record


class LookupExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="lookup"):
    """Prompt lookup: the n-gram at the end of the text and where it was found; positions count all
    tokens of the text.
    """

    ngram: Index  # tokens matched, 0 when nothing was found
    match_start: Index | None
    copy_start: Index | None  # first copied position
    copy_length: Index


class LayersExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="layers"):
    """Drafting with a part of the target: which of its layers ran."""

    total: Index
    skipped_attention: list[Index]
    skipped_mlp: list[Index]
    exit_layer: Index | None  # layers run before the early exit
    shared: Index  # first layers whose keys, values and states the verify call takes over


class SvipExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="svip"):
    """SVIP: drafting stops once sqrt(scale x entropy) of a drafted token's law exceeds
    `threshold`.
    """

    scale: NonNegative
    threshold: NonNegative


class DySpecExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="dyspec"):
    """DySpec: which slots were filled, in order, and which stayed open, the best first.

    A slot is a place for one more child of `parent`, at `rank` among its children; its value was
    known before its token was drawn. `forward`: forwards of the drafter made before it was filled.
    `threshold`: least value of a filled slot (threshold variant), or None (heap variant).
    """

    budget: Index
    threshold: Probability | None
    node: list[Index]
    parent: list[Index]
    rank: list[Index]
    value: list[Probability]
    forward: list[Index]
    open_parent: list[Index]
    open_rank: list[Index]
    open_value: list[Probability]


class SequoiaExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="sequoia"):
    """Sequoia: the tree made ahead, and the acceptance that it was made for.

    `acceptance`: chance that child number 1, 2 ... of a node is the one that stays. `origin` says
    where it is from; `counted` nodes were observed for it, at `temperature`. `expected`: tokens of
    a round, the target's own included, if the acceptance holds; `speedup` over plain decoding where
    times were measured. `tree_parent`, `tree_rank`: the tree's nodes 1, 2 ...; 0 is its root.
    """

    acceptance: list[Probability]
    origin: Literal["measured", "shipped", "published", "given"]
    measured_for: str | None  # target and drafter, where it was measured
    is_same: bool  # measured with these very weights
    temperature: NonNegative | None
    counted: Index
    expected: NonNegative
    speedup: NonNegative | None
    tree_parent: list[Index]
    tree_rank: list[Index]


class DecisionExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="decision"):
    """DynaSD: what the decision model gave the law that each node was drawn from; drafting goes on
    while one of a level is above `threshold`.
    """

    score: list[Probability | None]  # per node, None for the roots
    threshold: Probability


Drawing = Literal["likeliest", "distinct", "independent"]


class LevelsExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="levels"):
    """Candidates per node, level by level: MCSD's k-config, SpecInfer's expansion config.

    `widths`: what was asked for; a level has fewer where support or text ran out. `drawing`: how
    siblings came about.
    """

    widths: list[Index]
    drawing: Drawing


class TypicalExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="typical"):
    """Typical acceptance: a token passes above min(epsilon, delta exp(-H)), H the entropy of the
    law that it was to follow.
    """

    epsilon: Probability
    delta: Probability
    entropy: list[NonNegative | None]  # nats, of the law in use after each node with children
    passed: list[bool | None]  # per node, whether its token does; None for the root and probes


class StaticExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="static"):
    """A tree given ahead: per node its ranks from the root down, as the draft filled them.

    `planned`: nodes of the tree as given; fewer are drafted near the end of a text.
    """

    planned: Index
    ranks: list[list[Index]]


class PoolExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="pool"):
    """EAGLE-2: the candidates of every step in the order seen, without the least of those that were
    neither kept nor expanded.

    `sizes`: all candidates by step; step 0 holds the root's. `parent`: place in these columns,
    None below the root. `score`: product of confidences from the root down. `frontier`: expanded
    next. `node`: node of the round where kept, at most `most` of them.
    """

    width: Index  # candidates per expanded node, and size of a frontier
    most: Index
    sizes: list[Index]
    token: list[Index]
    parent: list[Index | None]
    step: list[Index]
    score: list[Probability]
    frontier: list[bool]
    node: list[Index | None]


class OptLayer(Record, frozen=True, kw_only=True):
    """The best candidates of one draft step, largest product first; `parent` is a place in the
    layer before, `node` that of the round where kept.
    """

    token: list[Index]
    parent: list[Index | None]
    value: list[Probability]
    node: list[Index | None]


class OptTreeExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="opt_tree"):
    """OPT-Tree: E(A), the sum of the `budget` largest products, after each draft step, and the
    candidates of each. Drafting ends once a step adds no more than `threshold`.

    With `lags` a step is judged one step late, and the last layer is made in vain: it has no E(A).
    """

    budget: Index
    threshold: NonNegative
    lags: bool
    expected: list[NonNegative]
    layers: list[OptLayer]


class Duel(Record, frozen=True, kw_only=True):
    """Two drafts that met: `held` stays selected when `u` < `chance`. u is None where it was
    sure.
    """

    held: Index
    new: Index
    chance: Probability
    u: Probability | None


class Pick(Record, frozen=True, kw_only=True):
    """The selection among the drafts at `node`: from nodes `candidates`, in the order drawn with
    repeats, to the node `selected`. The first `used` of them took part.

    `token` with three laws: target `p`, draft `q` (None for fixed children), and `picked`, the law
    of the token selected. `chance` is for pairs of the `free` first of these tokens: 1st and 2nd,
    1st and 3rd ..., 2nd and 3rd ...; the chance that the former is selected. `overlap` of p and
    picked; `best`: the largest acceptance of any rule for as many drafts.
    """

    node: Index
    candidates: list[Index]
    selected: Index
    used: Index
    duels: list[Duel]
    free: Index
    chance: list[Probability]
    token: list[Index]
    p: list[Probability]
    picked: list[Probability]
    q: list[Probability] | None
    p_rest: Probability
    picked_rest: Probability
    q_rest: Probability | None
    overlap: Probability
    best: Probability


class SelectionExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="selection"):
    """Canonical decomposition: the nodes visited that had several drafts, in the order visited."""

    scheme: Literal["linear", "importance"]
    picks: list[Pick]


class BlockExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="block"):
    """Block verification: the ledger of one draft, a row per drafted token, in order.

    `ratio` p/q of the token alone; `joint` w, the capped product of the ratios; `left` S, the mass
    of (w p - q)+ after the token; `stays` h, the chance of its coin. `kept` tokens stayed;
    `kept_alone`: how many the rule that decides token by token keeps with the same coins.
    """

    node: list[Index]
    ratio: list[NonNegative]
    joint: list[Probability]
    left: list[Probability]
    stays: list[Probability]
    kept: Index
    kept_alone: Index


class Rung(Record, frozen=True, kw_only=True):
    """What a rule accepts of the drafts: `name` is that of `core.bounds.ladder`; `margin` is
    how far the value may be off where it is an estimate.
    """

    name: str
    value: Probability
    margin: Probability | None


Way = Literal["independent", "distinct", "top_and_one"]


class PrefixWay(Record, frozen=True, kw_only=True):
    """A way of drafting along a line of tokens: `inside` is Q(H), the chance that all drafts lie in
    H, per prefix. At entry `widest` it is above p(H) by 1 - `optimum`, which no rule can keep.
    """

    way: Way
    inside: list[Probability]
    widest: Index
    optimum: Probability


class PrefixLine(Record, frozen=True, kw_only=True):
    """Prefixes H of tokens in order of rising p / q, the fixed ones first where there are any:
    `mass` is q(H), `target` p(H). The widest tokens lie from `begin` to `end` of `mass`.
    """

    mass: list[Probability]
    target: list[Probability]
    token: list[Index]
    begin: list[Probability]
    end: list[Probability]
    ways: list[PrefixWay]


class PrefixNode(Record, frozen=True, kw_only=True):
    """What could be kept at `node`, for as many `drafts` as it has; `fixed` of them were not
    drawn. One node of a round has the ladder, and lines of all ways; the others have at least the
    way in which their drafts were made.
    """

    node: Index
    drafts: Index
    fixed: Index
    lines: list[PrefixLine]
    rungs: list[Rung]


class PrefixExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="prefix"):
    """Optimal acceptance at the nodes visited, in the order visited."""

    nodes: list[PrefixNode]


class KSeqNode(Record, frozen=True, kw_only=True):
    """K-SEQ at one node: `drafts` candidates, each kept with chance min(1, p / (rho q)).

    One takes `beta`, all of them `accept`; no rule could keep more than `best`. Over the factors
    `grid`: `reach` is what they would take, `spent` what they may; the two meet at `rho`.
    """

    node: Index
    drafts: Index
    rho: NonNegative
    beta: Probability
    accept: Probability
    best: Probability
    grid: list[NonNegative]
    reach: list[Probability]
    spent: list[NonNegative]


class KSeqExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="k_seq"):
    """SpecTr's K-SEQ: the nodes at which drawn candidates were tried, in the order visited."""

    nodes: list[KSeqNode]


class TransportNode(Record, frozen=True, kw_only=True):
    """Optimal transport at one node with `drafts` candidates: which sets of them lead to which
    output, under the plan and under K-SEQ.

    They keep a candidate with chance `accept` and `k_seq`; no rule could with more than `best`,
    which the plan reaches where it `is_exact`. A column is one token, or `size` tokens of which the
    first are named; `p`, `q` are its masses. Column `free` holds the tokens with p >= K q, the last
    column all others. A row is a set of columns, drawn with chance `mass`, the likeliest first;
    `drawn` is this round's own. Cells are the chance of row and output together.
    """

    node: Index
    drafts: Index
    accept: Probability
    k_seq: Probability
    best: Probability
    is_exact: bool
    token: list[list[Index]]
    size: list[Index]
    p: list[Probability]
    q: list[Probability]
    free: Index | None
    sets: list[list[Index]]
    mass: list[Probability]
    drawn: Index
    by_plan: list[list[Probability]]
    by_k_seq: list[list[Probability]]


class TransportExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="transport"):
    """SpecTr's optimal transport: the nodes at which drawn candidates were tried, in order."""

    nodes: list[TransportNode]


FeatureHead = Literal["eagle", "eagle3"]


class FeatureExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="features"):
    """EAGLE and its kind: how far the features that the head made itself are from the target's,
    which came with the verify call.

    `head` is its key. `taps`: layers of the target, of `layers`, whose inputs its features are made
    of; none: the state after the last norm. `settled`: pairs of the text that ran with true
    features before this draft. Per scored `node`: `cosine` of what the head handed on for it to the
    true feature, and `length` of the former in units of the latter.
    """

    head: FeatureHead
    taps: list[Index]
    layers: Index
    settled: Index
    node: list[Index]
    cosine: list[Cosine]
    length: list[NonNegative]


class TrimExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="trim"):
    """A trimmed draft vocabulary: the drafter names `kept` of `size` tokens, which make up
    `covered` of the `counted` ones that the target wrote.

    Along the tokens by falling frequency, at place `rank` (from 1): the `count` of the token there,
    and the `share` of all that was counted up to it. The drafter has `rest` parameters and `row`
    more for each token that it names, the target has `target`; 0 where nobody knows. At each
    visited `node` the target's law gives `lost` to tokens outside; `outside`: which of the emitted
    tokens are.
    """

    kept: Index
    size: Index
    counted: Index
    covered: Probability
    rank: list[Index]
    count: list[Index]
    share: list[Probability]
    rest: Index
    row: Index
    target: Index
    node: list[Index]
    lost: list[Probability]
    outside: list[bool]


class AdapterExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="adapter"):
    """Kangaroo: what ran while drafting. The early layers, `exit_layer` of `layers`, and the
    adapter ran on each `node`; `taken`: tokens of the text that the adapter took in with them.
    """

    layers: Index
    exit_layer: Index
    taken: Index
    node: list[Index]


class Glance(Record, frozen=True, kw_only=True):
    """What one head said of its place, the likeliest first; shares at temperature 1."""

    token: list[Index]
    q: list[Probability]


class LookaheadExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="lookahead"):
    """Medusa: what each head guessed from the last state alone. The first speaks of the token after
    the root, the next of the one after that; none knows what another one said.
    """

    heads: list[Glance]


class Hidden(Record, frozen=True, kw_only=True):
    """What a head would have said after `node` had it not seen the node's token, the likeliest
    first.
    """

    node: Index
    token: list[Index]
    q: list[Probability]


class GroundedExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="grounded"):
    """Hydra: the nodes whose children were drafted, in the order in which their heads ran.

    `is_hidden`: the heads were run without the tokens of the path, to see what these are worth.
    """

    is_hidden: bool
    nodes: list[Hidden]


class AccuracyTreeExtras(Record, frozen=True, kw_only=True, tag_field="kind", tag="accuracy_tree"):
    """Medusa and Hydra: the tree made ahead, and how often each candidate was right that it was
    made from. `accuracy`: by head and candidate; of at least `counted` places where it was
    measured.

    `tree_parent`, `tree_rank`, `value`: the tree's nodes 1, 2 ... in the order in which they were
    added; 0 is the root. A value is the product of the accuracies along the path.
    """

    origin: Literal["measured", "published"]
    counted: Index
    accuracy: list[list[Probability]]
    tree_parent: list[Index]
    tree_rank: list[Index]
    value: list[Probability]


Extras = (
    LookaheadExtras
    | AdapterExtras
    | TrimExtras
    | GroundedExtras
    | AccuracyTreeExtras
    | TransportExtras
    | KSeqExtras
    | BlockExtras
    | PrefixExtras
    | StaticExtras
    | FeatureExtras
    | PoolExtras
    | OptTreeExtras
    | LookupExtras
    | LayersExtras
    | SelectionExtras
    | SvipExtras
    | DecisionExtras
    | DySpecExtras
    | SequoiaExtras
    | LevelsExtras
    | TypicalExtras
)


def tokens_of(block: object) -> Iterator[int]:
    """Yield every token id that a block, or a list of blocks, names."""
    if isinstance(block, Struct):
        for name, part in asdict(block).items():
            yield from _ids(part) if name == "token" else tokens_of(part)
    elif isinstance(block, (list, tuple)):
        for part in cast(Sequence[object], block):
            yield from tokens_of(part)


def _ids(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in cast(Sequence[object], value):
            yield from _ids(part)

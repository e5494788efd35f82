"""Made-up method blocks, valid in every part: one maker for every member of `core.extras.Extras`.

A block is made for a round that exists already, since its columns name the round's nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import get_args

from core.extras import (
    AccuracyTreeExtras,
    AdapterExtras,
    BlockExtras,
    DecisionExtras,
    Drawing,
    Duel,
    DySpecExtras,
    Extras,
    FeatureExtras,
    Glance,
    GroundedExtras,
    Hidden,
    KSeqExtras,
    KSeqNode,
    LayersExtras,
    LevelsExtras,
    LookaheadExtras,
    LookupExtras,
    OptLayer,
    OptTreeExtras,
    Pick,
    PoolExtras,
    PrefixExtras,
    PrefixLine,
    PrefixNode,
    PrefixWay,
    Rung,
    SelectionExtras,
    SequoiaExtras,
    StaticExtras,
    SvipExtras,
    TransportExtras,
    TransportNode,
    TrimExtras,
    TypicalExtras,
    Way,
)
from core.trace import Nodes
from tests.luck import Luck

RUNGS = (
    "one/standard",
    *(f"independent/{rule}" for rule in ("naive", "recursive", "k_seq", "optimum")),
    *(f"distinct/{rule}" for rule in ("naive", "recursive", "optimum")),
    *(f"top_and_one/{rule}" for rule in ("naive", "recursive", "optimum")),
    "deterministic/one_hot",
)


@dataclass(frozen=True)
class Place:
    """A round that wants a block: its nodes, its deepest offered node, the tokens before it, the
    path that was accepted and how many tokens it wrote.
    """

    luck: Luck
    nodes: Nodes
    max_depth: int
    prefix_length: int
    accepted: Sequence[int]
    emitted: int

    @property
    def size(self) -> int:
        return len(self.nodes.token)

    def children(self, node: int) -> list[int]:
        return [child for child, parent in enumerate(self.nodes.parent) if parent == node]

    def depth(self, node: int) -> int:
        return 0 if node == 0 else 1 + self.depth(self.nodes.parent[node])

    def some(self) -> list[int]:
        """Return a few of the nodes, in order."""
        count = self.luck.whole(1, min(3, self.size))
        return sorted(self.luck.random.sample(range(self.size), count))


def lookup(place: Place) -> LookupExtras:
    luck, end = place.luck, place.prefix_length
    if luck.flip():
        return LookupExtras(ngram=0, match_start=None, copy_start=None, copy_length=0)
    ngram, start = luck.whole(1, min(3, end)), luck.whole(0, end - 1)
    return LookupExtras(
        ngram=ngram,
        match_start=luck.whole(0, end - ngram),
        copy_start=start,
        copy_length=luck.whole(0, end - start),
    )


def layers(place: Place) -> LayersExtras:
    luck, total = place.luck, place.luck.whole(1, 8)
    attention, mlp = ([n for n in range(total) if luck.random.random() < 0.3] for _ in range(2))
    return LayersExtras(
        total=total,
        skipped_attention=attention,
        skipped_mlp=attention if luck.flip() else mlp,
        exit_layer=luck.maybe(luck.whole(0, total)),
        shared=luck.whole(0, total),
    )


def features(place: Place) -> FeatureExtras:
    luck, total, some = place.luck, place.luck.whole(4, 8), place.some()
    return FeatureExtras(
        head=luck.one_of(["eagle", "eagle3"]),
        taps=luck.one_of([[], [1, total // 2, total]]),
        layers=total,
        settled=luck.whole(0, place.prefix_length),
        node=some,
        cosine=[luck.one_of([-1.0, 0.0, 1.0, luck.number()]) for _ in some],
        length=[3 * luck.number() for _ in some],
    )


def adapter(place: Place) -> AdapterExtras:
    luck, total = place.luck, place.luck.whole(2, 8)
    return AdapterExtras(
        layers=total,
        exit_layer=luck.whole(1, total - 1),
        taken=luck.whole(0, place.prefix_length),
        node=place.some(),
    )


def trim(place: Place) -> TrimExtras:
    luck, size = place.luck, place.luck.whole(8, 5000)
    rank = sorted({1, size, *(luck.whole(1, size) for _ in range(6))})
    count = sorted((luck.whole(0, 900) for _ in rank), reverse=True)
    node = [0, *place.accepted]
    return TrimExtras(
        kept=luck.whole(1, size),
        size=size,
        counted=sum(count),
        covered=luck.number(),
        rank=rank,
        count=count,
        share=sorted(luck.numbers(len(rank))),
        rest=luck.whole(0, 10**8),
        row=luck.whole(0, 2000),
        target=luck.whole(0, 10**9),
        node=node,
        lost=luck.numbers(len(node)),
        outside=[luck.flip() for _ in range(place.emitted)],
    )


def _likely(luck: Luck, most: int) -> tuple[list[int], list[float]]:
    count = luck.whole(1, most)
    return luck.distinct(count), sorted(luck.mass(count)[0], reverse=True)


def lookahead(place: Place) -> LookaheadExtras:
    made = [_likely(place.luck, 5) for _ in range(place.luck.whole(1, 5))]
    return LookaheadExtras(heads=[Glance(token=tokens, q=q) for tokens, q in made])


def grounded(place: Place) -> GroundedExtras:
    made = [(node, *_likely(place.luck, 5)) for node in place.some()]
    return GroundedExtras(
        is_hidden=place.luck.flip(),
        nodes=[Hidden(node=node, token=tokens, q=q) for node, tokens, q in made],
    )


def accuracy_tree(place: Place) -> AccuracyTreeExtras:
    luck, size = place.luck, place.luck.whole(1, 9)
    parents = [luck.whole(0, node) for node in range(size)]
    ranks = [parents[:node].count(parent) for node, parent in enumerate(parents)]
    return AccuracyTreeExtras(
        origin=luck.one_of(["measured", "published"]),
        counted=luck.whole(0, 10_000),
        accuracy=[luck.falling(max(ranks) + 1) for _ in range(size)],
        tree_parent=parents,
        tree_rank=ranks,
        value=luck.falling(size),
    )


def svip(place: Place) -> SvipExtras:
    return SvipExtras(scale=4 * place.luck.number(), threshold=4 * place.luck.number())


def dyspec(place: Place) -> DySpecExtras:
    luck, nodes = place.luck, place.nodes
    filled, left = list(range(1, place.size)), luck.whole(0, 7)
    return DySpecExtras(
        budget=luck.whole(max(1, len(filled)), 20),
        threshold=luck.maybe(luck.number()),
        node=filled,
        parent=nodes.parent[1:],
        rank=nodes.rank[1:],
        value=luck.falling(len(filled)),
        forward=sorted(luck.whole(1, 4) for _ in filled),
        open_parent=[luck.whole(0, place.size - 1) for _ in range(left)],
        open_rank=[luck.whole(0, 3) for _ in range(left)],
        open_value=luck.falling(left),
    )


def sequoia(place: Place) -> SequoiaExtras:
    luck, size = place.luck, place.luck.whole(1, 9)
    parents = [luck.whole(0, node) for node in range(size)]
    ranks = [parents[:node].count(parent) for node, parent in enumerate(parents)]
    shares, _ = luck.mass(max(ranks) + luck.whole(1, 3))
    return SequoiaExtras(
        acceptance=sorted(shares, reverse=True),
        origin=luck.one_of(["measured", "shipped", "published", "given"]),
        measured_for=luck.maybe("toy/target, toy/draft"),
        is_same=luck.flip(),
        temperature=luck.maybe(luck.number()),
        counted=luck.whole(0, 10_000),
        expected=1 + 5 * luck.number(),
        speedup=luck.maybe(2 * luck.number()),
        tree_parent=parents,
        tree_rank=ranks,
    )


def decision(place: Place) -> DecisionExtras:
    return DecisionExtras(score=place.luck.column(place.size), threshold=place.luck.number())


def levels(place: Place) -> LevelsExtras:
    count = max(1, place.max_depth) + place.luck.whole(0, 2)
    widths = [place.luck.whole(1, 4) for _ in range(count)]
    return LevelsExtras(widths=widths, drawing=place.luck.one_of(get_args(Drawing)))


def typical(place: Place) -> TypicalExtras:
    luck, size = place.luck, place.size
    return TypicalExtras(
        epsilon=luck.number(),
        delta=luck.number(),
        entropy=[luck.maybe(10 * luck.number()) for _ in range(size)],
        passed=[luck.maybe(luck.flip()) for _ in range(size)],
    )


def static(place: Place) -> StaticExtras:
    ranks: list[list[int]] = [[]]
    for parent, rank in zip(place.nodes.parent[1:], place.nodes.rank[1:], strict=True):
        ranks.append([*ranks[parent], rank])
    return StaticExtras(planned=place.size - 1 + place.luck.whole(0, 9), ranks=ranks)


@dataclass(frozen=True)
class _Candidate:
    """A token for one depth: its parent's node, and its own where it was kept."""

    token: int
    parent: int
    node: int | None


def _candidates(place: Place, depth: int) -> list[_Candidate]:
    """Return the round's nodes at a depth among others that were not kept, in any order."""
    kept = [node for node in range(1, place.size) if place.depth(node) == depth]
    above = [node for node in range(place.size) if place.depth(node) == depth - 1]
    found = [_Candidate(place.nodes.token[n], place.nodes.parent[n], n) for n in kept]
    for token in place.luck.tokens(place.luck.whole(0, 4)):
        found.append(_Candidate(token, place.luck.one_of(above), None))
    place.luck.random.shuffle(found)
    return found


def _steps(place: Place) -> list[list[_Candidate]]:
    deepest = max(place.depth(node) for node in range(place.size))
    found = [_candidates(place, depth) for depth in range(1, deepest + 2)]
    return [found[0] or [_Candidate(0, 0, None)], *filter(None, found[1:])]


def pool(place: Place) -> PoolExtras:
    steps = _steps(place)
    flat = [(step, each) for step, some in enumerate(steps) for each in some]
    at = {each.node: i for i, (_, each) in enumerate(flat) if each.node is not None}
    return PoolExtras(
        width=place.luck.whole(1, 4),
        most=place.size - 1 + place.luck.whole(0, 3),
        sizes=[len(some) + place.luck.whole(0, 100) for some in steps],
        token=[each.token for _, each in flat],
        parent=[at.get(each.parent) for _, each in flat],
        step=[step for step, _ in flat],
        score=place.luck.numbers(len(flat)),
        frontier=[place.luck.flip() for _ in flat],
        node=[each.node for _, each in flat],
    )


def opt_tree(place: Place) -> OptTreeExtras:
    luck, steps = place.luck, _steps(place)
    made, at = list[OptLayer](), dict[int, int]()
    for step, some in enumerate(steps):
        layer = OptLayer(
            token=[each.token for each in some],
            parent=[at[each.parent] if step else None for each in some],
            value=luck.falling(len(some)),
            node=[each.node for each in some],
        )
        made.append(layer)
        at = {each.node: i for i, each in enumerate(some) if each.node is not None}
    lags = luck.flip() and len(made) > 1
    budget = place.size + luck.whole(0, 9)
    return OptTreeExtras(
        budget=budget,
        threshold=luck.number(),
        lags=lags,
        expected=sorted(1 + (budget - 1) * luck.number() for _ in made[lags:]),
        layers=made,
    )


def selection(place: Place) -> SelectionExtras:
    parents = sorted({parent for parent in place.nodes.parent if parent >= 0})
    return SelectionExtras(
        scheme=place.luck.one_of(["linear", "importance"]),
        picks=[_pick(place, node) for node in parents],
    )


def _pick(place: Place, node: int) -> Pick:
    luck, children = place.luck, place.children(node)
    candidates = [luck.one_of(children) for _ in range(luck.whole(1, 4))]
    drafted = [place.nodes.token[child] for child in candidates]
    token = list(dict.fromkeys([*drafted, *luck.distinct(4)]))
    free = luck.whole(0, min(4, len(token)))
    p, picked, q = (luck.mass(len(token)) for _ in range(3))
    has_q = luck.flip()
    return Pick(
        node=node,
        candidates=candidates,
        selected=luck.one_of(candidates),
        used=luck.whole(1, len(candidates)),
        duels=[
            Duel(held=held, new=new, chance=luck.number(), u=luck.maybe(luck.number()))
            for held, new in pairwise(candidates)
        ],
        free=free,
        chance=[luck.number() for _ in combinations(range(free), 2)],
        token=token,
        p=p[0],
        picked=picked[0],
        q=q[0] if has_q else None,
        p_rest=p[1],
        picked_rest=picked[1],
        q_rest=q[1] if has_q else None,
        overlap=luck.number(),
        best=luck.number(),
    )


def block(place: Place) -> BlockExtras:
    luck, path, below = place.luck, list[int](), place.children(0)
    while below:
        path.append(luck.one_of(below))
        below = place.children(path[-1])
    size = len(path)
    return BlockExtras(
        node=path,
        ratio=[luck.one_of([0.0, 1.0, 250.0, luck.random.random()]) for _ in path],
        joint=luck.falling(size),
        left=luck.numbers(size),
        stays=luck.numbers(size),
        kept=luck.whole(0, size),
        kept_alone=luck.whole(0, size),
    )


def prefix(place: Place) -> PrefixExtras:
    return PrefixExtras(nodes=[_bounds(place, node) for node in place.some()])


def _bounds(place: Place, node: int) -> PrefixNode:
    luck, drafts = place.luck, place.luck.whole(1, 4)
    rungs = [Rung(name=n, value=luck.number(), margin=luck.maybe(0.001)) for n in RUNGS]
    lines, is_drawn = [_line(luck, ["top_and_one"])], luck.flip()
    if is_drawn:
        lines.insert(0, _line(luck, ["independent", "distinct"]))
    return PrefixNode(
        node=node,
        drafts=drafts,
        fixed=luck.whole(0, drafts),
        lines=lines,
        rungs=rungs if is_drawn else [],
    )


def _line(luck: Luck, ways: list[Way]) -> PrefixLine:
    size, tokens = luck.whole(1, 6), luck.distinct(luck.whole(0, 4))
    target, edges = sorted(luck.numbers(size)), sorted(luck.numbers(len(tokens) + 1))
    return PrefixLine(
        mass=sorted(luck.numbers(size)),
        target=target,
        token=tokens,
        begin=edges[:-1],
        end=edges[1:],
        ways=[_way(luck, way, target) for way in ways],
    )


def _way(luck: Luck, way: Way, target: list[float]) -> PrefixWay:
    inside, widest = [min(1.0, p + luck.number()) for p in target], luck.whole(0, len(target) - 1)
    lost = inside[widest] - target[widest]
    return PrefixWay(way=way, inside=inside, widest=widest, optimum=1 - lost)


def k_seq(place: Place) -> KSeqExtras:
    return KSeqExtras(nodes=[_crossing(place, node) for node in place.some()])


def _crossing(place: Place, node: int) -> KSeqNode:
    luck, drafts, size = place.luck, place.luck.whole(1, 4), place.luck.whole(1, 6)
    return KSeqNode(
        node=node,
        drafts=drafts,
        rho=1 + (drafts - 1) * luck.number(),
        beta=luck.number(),
        accept=luck.number(),
        best=luck.number(),
        grid=sorted(1 + (drafts - 1) * luck.number() for _ in range(size)),
        reach=luck.falling(size),
        spent=[drafts * luck.number() for _ in range(size)],
    )


def transport(place: Place) -> TransportExtras:
    return TransportExtras(nodes=[_coupling(place, node) for node in place.some()])


def _coupling(place: Place, node: int) -> TransportNode:
    luck, columns, rows = place.luck, place.luck.whole(1, 4), place.luck.whole(1, 5)
    mass, _ = luck.mass(rows)
    named = [luck.distinct(luck.whole(1, 3)) for _ in range(columns)]
    (p, p_rest), (q, q_rest) = luck.mass(columns), luck.mass(columns)
    return TransportNode(
        node=node,
        drafts=luck.whole(1, 4),
        accept=luck.number(),
        k_seq=luck.number(),
        best=luck.number(),
        is_exact=luck.flip(),
        token=[*named, []],
        size=[len(some) + luck.one_of([0, 0, 5, 50_000]) for some in [*named, []]],
        p=[*p, p_rest],
        q=[*q, q_rest],
        free=luck.maybe(luck.whole(0, columns - 1)),
        sets=[
            sorted(luck.random.sample(range(columns), luck.whole(0, columns))) for _ in range(rows)
        ],
        mass=mass,
        drawn=luck.whole(0, rows - 1),
        by_plan=[_cells(luck, share, columns + 1) for share in mass],
        by_k_seq=[_cells(luck, share, columns + 1) for share in mass],
    )


def _cells(luck: Luck, share: float, count: int) -> list[float]:
    parts, rest = luck.mass(count - 1)
    return [round(share * part, 4) for part in (*parts, rest)]


MAKERS: Mapping[type[Extras], Callable[[Place], Extras]] = {
    AccuracyTreeExtras: accuracy_tree,
    AdapterExtras: adapter,
    BlockExtras: block,
    DecisionExtras: decision,
    DySpecExtras: dyspec,
    FeatureExtras: features,
    GroundedExtras: grounded,
    KSeqExtras: k_seq,
    LayersExtras: layers,
    LevelsExtras: levels,
    LookaheadExtras: lookahead,
    LookupExtras: lookup,
    OptTreeExtras: opt_tree,
    PoolExtras: pool,
    PrefixExtras: prefix,
    SelectionExtras: selection,
    SequoiaExtras: sequoia,
    StaticExtras: static,
    SvipExtras: svip,
    TransportExtras: transport,
    TrimExtras: trim,
    TypicalExtras: typical,
}

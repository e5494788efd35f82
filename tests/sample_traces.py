"""Consistent traces without a model: made-up laws, decoded by the real rule on plain lists.

Laws depend on the last token only, p and q are related but not equal, and every number of a trace
is the one that decided. Knows no torch.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from msgspec.structs import replace as changed

from core.extras import Extras, LayersExtras, LookupExtras
from core.metrics import totals
from core.trace import (
    TOP,
    Check,
    Cost,
    Environment,
    Law,
    ModelCard,
    Models,
    Nodes,
    Origin,
    Outcome,
    Prompt,
    Residual,
    Round,
    Sampling,
    Scalars,
    State,
    Stop,
    Top,
    Trace,
)
from tests.luck import Luck
from tests.made_blocks import MAKERS, Place

Drawing = Literal["distinct", "independent", "fixed", "lookup"]

WORDS = (
    b" the, sky, is, blue, because, of, a, process, called, Ray,leigh, scattering,.,'s, which"
    b", occurs, when, sunlight, passes, through, Earth, atmosphere, When, hits, molecules, it, gets"
    b", absorbed, by, in, and, light, This, The, It, However, In, Sun, shorter, waves, are, more"
    b", than, red, eye, sees, so, day, long"
).split(b",")
HOSTILE: tuple[bytes, ...] = (
    b"<script>alert(1)</script>",
    b" <b>bold</b>",
    b'" onmouseover="alert(1)',
    b"</p>",
    b" &amp;",
    b"$x^2$",
    b" \\frac{1}{2}",
    b"%{x}",
    b"<br>",
    b"${alert(1)}",
)
ODD: tuple[bytes, ...] = (
    b"\n",
    b"\n\n",
    b"\t",
    b"    ",
    b" ",
    b"",
    b"\r\n",
    "\u202e".encode(),
    "\u200b".encode(),
    b"\x00",
    b"\xff",
    "🌍".encode()[:2],
    "🌍".encode()[2:],
    "é".encode()[:1],
    "é".encode()[1:],
    " 日本".encode(),
    "日本語".encode()[:4],
    "日本語".encode()[4:],
    b"x" * 300,
)
END = b"<|im_end|>"


@dataclass(frozen=True)
class World:
    """Two laws over a small vocabulary; the last id ends the text, unless nothing does."""

    pieces: tuple[bytes, ...] = (*WORDS, b",", END)
    temperature: float = 0.7
    agreement: float = 2.0  # larger: q is closer to p
    seed: int = 7
    endless: bool = False
    _logits: dict[tuple[str, int], list[float]] = field(
        default_factory=dict[tuple[str, int], list[float]], compare=False
    )

    @property
    def size(self) -> int:
        return len(self.pieces)

    def logits(self, side: str, last: int) -> list[float]:
        key = (side, last)
        if key not in self._logits:
            luck = random.Random(f"{self.seed} {side} {last}")
            if side == "p":
                found = [luck.gauss(0, 2.2) for _ in range(self.size)]
            else:
                target = self.logits("p", last)
                found = [x + luck.gauss(0, 2.2 / self.agreement) for x in target]
            self._logits[key] = found
        return self._logits[key]

    def raw(self, side: str, last: int) -> list[float]:
        return softmax(self.logits(side, last))

    def law(self, side: str, last: int) -> list[float]:
        logits = self.logits(side, last)
        if self.temperature == 0:
            best = logits.index(max(logits))
            return [float(token == best) for token in range(self.size)]
        return softmax([x / self.temperature for x in logits])


def softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    weights = [math.exp(x - top) for x in logits]
    total = math.fsum(weights)
    return [w / total for w in weights]


def rescaled(weights: Sequence[float]) -> list[float]:
    total = math.fsum(weights)
    return [w / total for w in weights]


@dataclass(frozen=True)
class Recipe:
    """How to draft: `branching` children at each depth; extras are made by `drawing`."""

    branching: tuple[int, ...] = (1, 1, 1, 1)
    drawing: Drawing = "distinct"
    rounds: int = 14
    draft_ms: float = 92.0
    verify_ms: float = 129.0
    plain_step_ms: float | None = 63.0
    layers: bool = False
    skip_every: int = 0  # every n-th round drafts nothing
    relaxed_above: float | None = None  # keep a rejected token when p is above: a lossy rule


class _Round:
    """Builds one round from a root."""

    def __init__(
        self, world: World, recipe: Recipe, index: int, text: list[int], luck: random.Random
    ) -> None:
        self.world, self.recipe, self.index, self.text, self.luck = world, recipe, index, text, luck
        self.token, self.parent, self.rank = [text[-1]], [-1], [0]
        self.q: list[float | None] = [None]
        self.q_first: list[float | None] = [None]
        self.extras: list[Extras] = []
        idle = index == 0 or (recipe.skip_every and index % recipe.skip_every == 0)
        if not idle:
            self.grow()

    def grow(self) -> None:
        if self.recipe.drawing == "lookup":
            self.copy()
            return
        level = [0]
        for width in self.recipe.branching:
            level = [child for node in level for child in self.children(node, width)]

    def children(self, node: int, width: int) -> list[int]:
        law = self.world.law("q", self.token[node])
        left, made = list(law), list[int]()
        for rank in range(width):
            if math.fsum(left) <= 0:
                break
            shown = rescaled(left)
            if self.recipe.drawing == "fixed":
                raw = self.world.raw("q", self.token[node])
                order = sorted(range(self.world.size), key=lambda t: -raw[t])
                token = order[rank]
            else:
                token = self.luck.choices(range(self.world.size), shown)[0]
                if token in [self.token[n] for n in made]:
                    continue
            made.append(self.add(node, token, len(made), shown[token], law[token]))
            if self.recipe.drawing == "distinct":
                left[token] = 0.0
        return made

    def copy(self) -> None:
        for n in (3, 2, 1):
            tail = self.text[-n:]
            starts = [i for i in range(len(self.text) - n) if self.text[i : i + n] == tail]
            if starts:
                begin = starts[-1] + n
                copied = self.text[begin : begin + len(self.recipe.branching)]
                for place, token in enumerate(copied):
                    self.add(place, token, 0, None, None)
                self.extras.append(
                    LookupExtras(
                        ngram=n, match_start=starts[-1], copy_start=begin, copy_length=len(copied)
                    )
                )
                return
        self.extras.append(LookupExtras(ngram=0, match_start=None, copy_start=None, copy_length=0))

    def add(self, parent: int, token: int, rank: int, q: float | None, first: float | None) -> int:
        self.token.append(token)
        self.parent.append(parent)
        self.rank.append(rank)
        self.q.append(q)
        self.q_first.append(first)
        return len(self.token) - 1

    def walk(self) -> None:
        """Decide, by recursive rejection."""
        self.checks: list[Check] = []
        self.residuals: list[Residual] = []
        self.state: list[State] = ["root"] + ["unreached"] * (len(self.token) - 1)
        self.reason = [""] * len(self.token)
        self.accepted: list[int] = []
        node, going = 0, True
        while going:
            kids = [n for n, parent in enumerate(self.parent) if parent == node]
            law, kept = self.tournament(node, kids)
            going = kept is not None
            if kept is not None:
                self.accepted.append(kept)
                node = kept
                if self.token[kept] == self.world.size - 1 and not self.world.endless:
                    self.final, self.origin, self.final_law = None, "none", None
                    return
        self.final = self.luck.choices(range(self.world.size), law)[0]
        self.final_law = law
        kids = [n for n, parent in enumerate(self.parent) if parent == node]
        self.origin: Origin = "plain" if len(self.token) == 1 else "correction" if kids else "bonus"

    def tournament(self, node: int, kids: list[int]) -> tuple[list[float], int | None]:
        last = self.token[node]
        remains, draft, mass = self.world.law("p", last), self.world.law("q", last), 1.0
        fixed = self.recipe.drawing in ("fixed", "lookup")
        for child in kids:
            x = self.token[child]
            q = 1.0 if fixed else draft[x]
            chance, u = min(1.0, remains[x] / q) if q else 0.0, self.luck.random()
            passed = u < chance
            self.checks.append(
                Check(
                    node=child,
                    accept_probability=chance,
                    u=u,
                    passed=passed,
                    p=remains[x],
                    q=None if fixed else q,
                    mass_before=mass,
                )
            )
            if passed:
                self.state[child], self.reason[child] = "accepted", "u<p/q"
                return remains, child
            if self.recipe.relaxed_above is not None and remains[x] > self.recipe.relaxed_above:
                self.state[child], self.reason[child] = "relaxed", "judge"
                return remains, child
            self.state[child], self.reason[child] = "rejected", "u>=p/q"
            less = [0.0 if t == x else r for t, r in enumerate(remains)]
            if not fixed:
                less = [max(0.0, r - d) for r, d in zip(remains, draft, strict=True)]
            left = min(1.0, math.fsum(less))
            remains = rescaled(less) if left > 0 else remains
            top = largest(remains)
            self.residuals.append(
                Residual(
                    node=node, after=child, left=left, token=top.token, mass=top.mass, rest=top.rest
                )
            )
            mass *= left
            if self.recipe.drawing == "distinct":
                draft = rescaled([0.0 if t == x else d for t, d in enumerate(draft)])
        return remains, None

    def laws(self) -> list[Law]:
        return [self.law(node) for node in range(len(self.token))]

    def law(self, node: int) -> Law:
        last = self.token[node]
        world, has_q = self.world, self.recipe.drawing != "lookup" and node in self.parent
        p, p_raw, q, q_raw = (
            world.law("p", last),
            world.raw("p", last),
            world.law("q", last),
            world.raw("q", last),
        )
        kept = sorted(range(world.size), key=lambda t: -p_raw[t])[:TOP]
        kept += sorted(range(world.size), key=lambda t: -q_raw[t])[:TOP] if has_q else []
        kept += [t for t, parent in zip(self.token, self.parent, strict=True) if parent == node]
        if self.final is not None and node == (self.accepted[-1] if self.accepted else 0):
            kept.append(self.final)
        kept = list(dict.fromkeys(kept))

        def of(law: list[float]) -> list[float]:
            return [law[t] for t in kept]

        def rest(law: list[float]) -> float:
            return max(0.0, 1 - math.fsum(of(law)))

        return Law(
            node=node,
            token=kept,
            p=of(p),
            p_raw=of(p_raw),
            q=of(q) if has_q else None,
            q_raw=of(q_raw) if has_q else None,
            p_rest=rest(p),
            p_raw_rest=rest(p_raw),
            q_rest=rest(q) if has_q else None,
            q_raw_rest=rest(q_raw) if has_q else None,
        )

    def nodes(self) -> Nodes:
        size, w = len(self.token), self.world
        above = [None, *(self.token[parent] for parent in self.parent[1:])]
        has_q = self.recipe.drawing != "lookup"

        def of(side: str, raw: bool) -> list[float | None]:
            laws = w.raw if raw else w.law
            return [
                None if a is None else laws(side, a)[t]
                for a, t in zip(above, self.token, strict=True)
            ]

        return Nodes(
            token=self.token,
            parent=self.parent,
            rank=self.rank,
            count=[1] * size,
            role=["draft"] * size,
            source=["", *["lookup" if not has_q else "draft"] * (size - 1)],
            score=[None] * size,
            q=self.q,
            q_before_siblings=self.q_first,
            p=of("p", raw=False),
            q_raw=of("q", raw=True) if has_q else [None] * size,
            p_raw=of("p", raw=True),
            state=self.state,
            reason=self.reason,
        )

    def scalars(self) -> Scalars:
        w = self.world
        p_raw = [w.raw("p", t) for t in self.token]
        q_raw = [
            w.raw("q", t) if n in self.parent and self.recipe.drawing != "lookup" else None
            for n, t in enumerate(self.token)
        ]
        both = [
            (w.law("p", t), None if raw is None else w.law("q", t))
            for t, raw in zip(self.token, q_raw, strict=True)
        ]
        overlap = [None if q is None else min(1.0, math.fsum(map(min, p, q))) for p, q in both]
        above = [None, *(self.token[parent] for parent in self.parent[1:])]
        return Scalars(
            entropy_p=[entropy(p) for p in p_raw],
            entropy_q=[None if q is None else entropy(q) for q in q_raw],
            h3=[entropy(sorted(p)[-3:]) for p in p_raw],
            p_max=[max(p) for p in p_raw],
            top2_gap=[gap(p) for p in p_raw],
            p_eos=[p[-1] for p in p_raw],
            overlap=overlap,
            tv=[None if x is None else 1 - x for x in overlap],
            kl_qp=[None if q is None else kl(q, p) for p, q in both],
            kl_pq=[None if q is None else kl(p, q) for p, q in both],
            rank_in_p=[
                None if a is None else 1 + sum(x > w.raw("p", a)[t] for x in w.raw("p", a))
                for a, t in zip(above, self.token, strict=True)
            ],
            target_rank_in_q=[
                None if q is None else 1 + sum(x > q[p.index(max(p))] for x in q)
                for p, q in zip(p_raw, q_raw, strict=True)
            ],
        )

    def build(self) -> Round:
        self.walk()
        size, recipe = len(self.token), self.recipe
        emitted = [self.token[n] for n in self.accepted] + (
            [] if self.final is None else [self.final]
        )
        if recipe.layers and size > 1:
            self.extras.append(
                LayersExtras(
                    total=30,
                    skipped_attention=[12, 18],
                    skipped_mlp=[12, 18],
                    exit_layer=None,
                    shared=0,
                )
            )
        nodes = self.nodes()
        depth = depths_of(self.parent)
        return Round(
            index=self.index,
            prefix_length=len(self.text),
            nodes=nodes,
            checks=self.checks,
            laws=self.laws(),
            scalars=self.scalars(),
            residuals=self.residuals,
            outcome=Outcome(
                accepted=self.accepted,
                final_token=self.final,
                origin=self.origin,
                emitted=emitted,
                final_top=None if self.final_law is None else largest(self.final_law),
            ),
            stop=Stop(reason="none") if size == 1 else None,
            drafted=size - 1,
            max_depth=max(depth),
            cost=Cost(
                draft_forwards=max(depth),
                target_forwards=1,
                target_tokens=size,
                sublayers_run=60 * (1 + max(depth)),
                sublayers_reused=0,
                draft_ms=recipe.draft_ms * max(depth) * (0.9 + 0.2 * self.luck.random()),
                verify_ms=recipe.verify_ms * (0.9 + 0.2 * self.luck.random())
                if self.index
                else 310.0,
                accept_ms=4.0,
                record_ms=3.0,
                plain_step_ms=recipe.plain_step_ms,
            ),
            extras=self.extras,
        )


def depths_of(parents: Sequence[int]) -> list[int]:
    found = [0]
    for parent in parents[1:]:
        found.append(found[parent] + 1)
    return found


def largest(law: Sequence[float]) -> Top:
    kept = sorted((t for t in range(len(law)) if law[t] > 0), key=lambda t: -law[t])[:TOP]
    mass = [law[t] for t in kept]
    return Top(token=kept, mass=mass, rest=max(0.0, 1 - math.fsum(mass)))


def entropy(law: Sequence[float]) -> float:
    return -math.fsum(x * math.log(x) for x in law if x)


def gap(law: Sequence[float]) -> float | None:
    if len(law) < 2:
        return None
    second, first = sorted(law)[-2:]
    return math.log(first / second) if second else None


def kl(a: Sequence[float], b: Sequence[float]) -> float | None:
    if any(x and not y for x, y in zip(a, b, strict=True)):
        return None
    return max(0.0, math.fsum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x))


@cache
def build(world: World | None = None, recipe: Recipe | None = None, method: str = "rsd") -> Trace:
    """Decode with made-up laws; the same arguments give the same trace."""
    world, recipe = world or World(), recipe or Recipe()
    luck = random.Random(f"{world.seed} text")
    prompt = [luck.randrange(world.size) for _ in range(12)]
    text, rounds = list(prompt), list[Round]()
    for index in range(recipe.rounds + 1):
        r = _Round(world, recipe, index, text, luck).build()
        rounds.append(r)
        text = text + r.outcome.emitted
        if r.outcome.origin == "none":
            break
    emitted = [t for r in rounds for t in r.outcome.emitted]
    written = b"".join(world.pieces[t] for t in emitted).decode("utf-8", "replace")
    card = ModelCard(
        id="toy/World-135M",
        dtype="float32",
        device="cpu",
        parameters=135_000_000,
        layers=30,
        vocabulary_size=world.size,
        context=2048,
    )
    has_model = recipe.drawing != "lookup" and not recipe.layers and bool(recipe.branching)
    return Trace(
        created="2025-06-01T12:00:00+00:00",
        draftscope_version="0.1.0",
        method=method,
        method_name=method.replace("_", " ").capitalize(),
        lossless=recipe.relaxed_above is None,
        config={"tree": list(recipe.branching), "threshold": 0.6, "dynamic": False},
        sampling=Sampling(
            temperature=world.temperature,
            top_k=0,
            top_p=1.0,
            seed=world.seed,
            max_new_tokens=len(emitted),
        ),
        models=Models(target=card, draft=replace_id(card, "toy/World-9M") if has_model else None),
        environment=Environment(
            torch="none", transformers="none", python="3.11", processor="toy", threads=1
        ),
        prompt=Prompt(text="Explain in two sentences why the sky is blue.", token_ids=prompt),
        vocabulary=dict(enumerate(world.pieces)),
        special=[] if world.endless else [world.size - 1],
        rounds=rounds,
        text=written,
        finish_reason="eos" if rounds[-1].outcome.origin == "none" else "length",
        totals=totals(rounds),
        plain_step_ms=recipe.plain_step_ms,
    )


def replace_id(card: ModelCard, name: str) -> ModelCard:
    return changed(card, id=name, parameters=9_000_000)


def chain() -> Trace:
    """A chain of four, drawn from q: speculative sampling."""
    return build(recipe=Recipe(branching=(1, 1, 1, 1)), method="speculative_sampling")


def tree() -> Trace:
    """A tree of 33 drawn without replacement, drafted by the target with two layers skipped."""
    return build(recipe=Recipe(branching=(3, 2, 2, 1), layers=True))


def with_replacement() -> Trace:
    return build(recipe=Recipe(branching=(3, 2), drawing="independent"))


def big_tree() -> Trace:
    """64 nodes: 4, 12, 24, 24."""
    return build(recipe=Recipe(branching=(4, 3, 2, 1), rounds=8))


def huge_tree() -> Trace:
    """More than 500 nodes in a round."""
    return build(recipe=Recipe(branching=(6, 5, 4, 3), rounds=2))


def greedy() -> Trace:
    """Temperature 0, a fixed top-2 tree."""
    return build(
        World(temperature=0.0, agreement=3.0), Recipe(branching=(2, 2, 1), drawing="fixed")
    )


def greedy_lookup() -> Trace:
    """Temperature 0, drafts copied from the text: no q at all."""
    recipe = Recipe(branching=(1,) * 5, drawing="lookup", rounds=20, draft_ms=0.1)
    return build(World(temperature=0.0), recipe, method="prompt_lookup")


def sampled_lookup() -> Trace:
    recipe = Recipe(branching=(1,) * 5, drawing="lookup", rounds=20, draft_ms=0.1)
    return build(World(temperature=0.9), recipe, method="prompt_lookup")


def plain() -> Trace:
    return build(recipe=Recipe(branching=()), method="plain")


def relaxed() -> Trace:
    """A lossy rule that keeps what the target gives at least 5 %."""
    return build(World(agreement=1.0), Recipe(relaxed_above=0.05), method="relaxed")


@cache
def long_run() -> Trace:
    """1,000 rounds of 8 nodes."""
    return build(
        recipe=Recipe(branching=(2, 1, 1, 1), rounds=1000),
        world=World(pieces=(*WORDS, b","), endless=True),
    )


def hostile() -> Trace:
    """Tokens that are markup, formulas, halves of characters, controls."""
    pieces = (*HOSTILE, *ODD, END)
    return build(World(pieces=pieces, seed=3), Recipe(branching=(3, 2), rounds=30, layers=True))


def one_token_vocabulary() -> Trace:
    return build(World(pieces=(b" a",)), Recipe(branching=(1, 1), rounds=3))


def untimed() -> Trace:
    return build(recipe=Recipe(branching=(2, 1), plain_step_ms=None))


def sometimes_idle() -> Trace:
    return build(recipe=Recipe(branching=(1, 1), skip_every=3))


@cache
def with_blocks() -> Trace:
    """A round for every method block, and one more: made up, so that they fit no method."""
    world = World(endless=True)
    kinds = list(MAKERS) * 2
    trace = build(world, Recipe(branching=(3, 2, 1), rounds=len(kinds)), method="blocks")
    rounds = [trace.rounds[0]]
    for number, (kind, r) in enumerate(zip(kinds, trace.rounds[1:], strict=True)):
        luck = Luck(random.Random(number), world.size)
        path, emitted = r.outcome.accepted, len(r.outcome.emitted)
        place = Place(luck, r.nodes, r.max_depth, r.prefix_length, path, emitted)
        rounds.append(changed(r, extras=[MAKERS[kind](place)]))
    return changed(trace, rounds=rounds)


def empty() -> Trace:
    """Cancelled before the prompt pass ended."""
    return changed(chain(), rounds=[], text="", finish_reason="cancelled", totals=totals([]))


def failed() -> Trace:
    full = chain()
    kept = full.rounds[:4]
    return changed(
        full,
        rounds=kept,
        finish_reason="error",
        message="The model ran out of memory.",
        totals=totals(kept),
    )


def cancelled() -> Trace:
    full = tree()
    kept = full.rounds[:6]
    return changed(full, rounds=kept, finish_reason="cancelled", totals=totals(kept))


ALL = {
    "chain": chain,
    "tree": tree,
    "with_replacement": with_replacement,
    "big_tree": big_tree,
    "huge_tree": huge_tree,
    "greedy": greedy,
    "greedy_lookup": greedy_lookup,
    "sampled_lookup": sampled_lookup,
    "plain": plain,
    "relaxed": relaxed,
    "hostile": hostile,
    "one_token_vocabulary": one_token_vocabulary,
    "untimed": untimed,
    "sometimes_idle": sometimes_idle,
    "with_blocks": with_blocks,
    "empty": empty,
    "failed": failed,
    "cancelled": cancelled,
}

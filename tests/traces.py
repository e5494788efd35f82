"""Made-up traces that are valid in every part, for tests of files, metrics and views."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from core.extras import Extras
from core.metrics import totals
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
    Parent,
    Prompt,
    Residual,
    Round,
    Sampling,
    Scalars,
    Stop,
    Top,
    Trace,
)
from tests.luck import Luck
from tests.made_blocks import MAKERS, Place

VOCABULARY = {
    0: b"<end>", 1: b" the", 2: b"\n", 3: b" <b>", 4: b"\xe2\x98", 5: b"\x83",
    6: " naïve".encode(), 7: b"", 8: b"  ", 9: b"x" * 40, 10: b"\x00", 11: b'"\\',
}  # fmt: skip

REASONS = (
    "", "u<p/q", "u>=p/q", "u<p", "argmax", "not_argmax", "parent_rejected", "sibling_accepted",
    "budget", "some_reason", "longest_strand", "other_root", "shorter_strand", "u<p/p_I",
    "u>=p/p_I", "not_selected", "landed", "typical", "not_typical", "outrun", "target_drew_it",
    "target_drew_another", "u<h", "u>=h", "later_stayed", "u<p/(rho q)", "u>=p/(rho q)", "u<plan",
    "u>=plan", "target_wrote_it",
)  # fmt: skip


def traces() -> st.SearchStrategy[Trace]:
    """Return a strategy of valid traces with every kind of block; a seed names each."""
    return st.integers(0, 2**32).map(lambda seed: random_trace(Random(seed)))


def random_trace(
    random: Random, rounds: int | None = None, kinds: Sequence[type[Extras]] = tuple(MAKERS)
) -> Trace:
    """Build a valid trace; the same state of `random` gives the same trace.

    Method blocks are of these `kinds`, a few in every round.
    """
    return _Maker(random, kinds).trace(random.randint(0, 4) if rounds is None else rounds)


class _Maker(Luck):
    def __init__(self, random: Random, kinds: Sequence[type[Extras]]) -> None:
        super().__init__(random, len(VOCABULARY))
        self.kinds = kinds

    def trace(self, count: int) -> Trace:
        sequences = self.random.randint(1, 2)
        prompt = self.tokens(self.random.randint(1, 4))
        texts = [list(prompt) for _ in range(sequences)]
        rounds = [self.round(i, texts) for i in range(count)]
        target = ModelCard(
            id="toy/target", revision="0" * 40, dtype="float32", device="cpu", parameters=1000,
            layers=4, vocabulary_size=12, context=64,
        )  # fmt: skip
        draft = ModelCard(
            id="toy/draft", dtype="float32", device="cpu", parameters=100, layers=1,
            vocabulary_size=12, context=64,
        )  # fmt: skip
        return Trace(
            created="2025-01-31T12:00:00+00:00",
            draftscope_version="0.1.0",
            title=self.maybe("A title"),
            method="toy",
            method_name="Toy drafting",
            lossless=self.flip(),
            config={
                "length": 4,
                "threshold": 0.5,
                "name": "x",
                "on": True,
                "off": None,
                "a": [1, 2.5, "b"],
            },
            sampling=Sampling(temperature=0.7, top_k=0, top_p=0.9, seed=-3, max_new_tokens=64),
            models=Models(target=target, draft=self.maybe(draft)),
            environment=Environment(
                torch="2", transformers="5", python="3", processor="cpu", threads=1
            ),
            prompt=Prompt(
                text="Hi ☃",
                messages=self.maybe([Message(role="user", content="Hi ☃")]),
                token_ids=prompt,
            ),
            sequences=sequences,
            vocabulary=dict(VOCABULARY),
            special=[0],
            rounds=rounds,
            text="".join("☃\n<b>" for _ in rounds),
            finish_reason=self.random.choice(
                ["length", "eos", "stop", "context", "cancelled", "error"]
            ),
            message="It went wrong.",
            totals=totals(rounds),
            plain_step_ms=self.maybe(20.0),
            parent=self.maybe(Parent(trace="other", round=0, node=0)),
        )

    def round(self, index: int, texts: list[list[int]]) -> Round:
        sequence = self.random.randrange(len(texts))
        text = texts[sequence]
        parent, kind = self.tree()
        offered = [k == "draft" for k in kind]
        accepted = self.path(parent, offered)
        size, drafted = len(parent), sum(offered)
        token = [text[-1], *self.tokens(size - 1)]
        final = self.maybe(self.tokens(1)[0])
        origin = (
            "none"
            if final is None
            else self.random.choice(["bonus", "correction"])
            if drafted
            else "plain"
        )
        emitted = [token[node] for node in accepted] + ([] if final is None else [final])
        state = [
            k if k in ("root", "pruned", "probe") else self.random.choice(["rejected", "unreached"])
            for k in kind
        ]
        for node in accepted:
            state[node] = self.random.choice(["accepted", "accepted", "relaxed"])
        checks = [
            self.check(node) for node, ok in enumerate(offered) if ok and state[node] != "unreached"
        ]
        depth = [0] * size
        for node in range(1, size):
            depth[node] = depth[parent[node]] + 1
        nodes = self.nodes(token, parent, kind, state)
        deepest = max((d for d, ok in zip(depth, offered, strict=True) if ok), default=0)
        made = Round(
            index=index,
            sequence=sequence,
            prefix_length=len(text),
            nodes=nodes,
            checks=checks,
            laws=[self.law(node) for node in range(size) if self.flip()],
            scalars=self.scalars(size),
            residuals=[
                self.residual(parent[n], n) for n in range(1, size) if state[n] == "rejected"
            ],
            outcome=Outcome(
                accepted=accepted,
                final_token=final,
                origin=origin,
                emitted=emitted,
                final_top=self.maybe(self.top()),
            ),
            stop=self.maybe(
                Stop(reason="entropy", value=self.number(), threshold=self.maybe(-0.5))
            ),
            drafted=drafted,
            max_depth=deepest,
            judge=self.maybe(self.judge(len(checks))),
            cost=self.cost(size),
            extras=self.extras(Place(self, nodes, deepest, len(text), accepted, len(emitted))),
        )
        text.extend(emitted)
        return made

    def tree(self) -> tuple[list[int], list[str]]:
        parent, kind = [-1], ["root"]
        for node in range(1, self.random.choice([1, 2, 5, 9])):
            parent.append(self.random.randrange(node))
            above = kind[parent[-1]]
            kind.append(self.random.choice(["draft", "draft", "draft", "pruned", "probe"]))
            if above in ("pruned", "probe"):
                kind[-1] = above
        return parent, kind

    def path(self, parent: list[int], offered: list[bool]) -> list[int]:
        path: list[int] = []
        while self.random.random() < 0.7:
            tip = path[-1] if path else 0
            below = [n for n, ok in enumerate(offered) if ok and parent[n] == tip]
            if not below:
                break
            path.append(self.random.choice(below))
        return path

    def nodes(
        self, token: list[int], parent: list[int], kind: list[str], state: list[str]
    ) -> Nodes:
        size = len(token)
        return Nodes(
            token=token,
            parent=parent,
            rank=[sum(parent[i] == parent[node] for i in range(node)) for node in range(size)],
            count=[self.random.randint(1, 3) for _ in token],
            role=["probe" if k == "probe" else "draft" for k in kind],
            source=[self.random.choice(["", "draft model", "head 2"]) for _ in token],
            score=[self.maybe(-self.number()) for _ in token],
            q=self.column(size),
            q_before_siblings=self.column(size),
            p=self.column(size),
            q_raw=self.column(size),
            p_raw=self.column(size),
            state=state,
            reason=[self.random.choice(REASONS) for _ in token],
        )

    def check(self, node: int) -> Check:
        chance, u = self.number(), self.number()
        return Check(
            node=node,
            accept_probability=chance,
            u=u,
            passed=u < chance,
            p=self.maybe(self.number()),
            q=self.maybe(self.number()),
            mass_before=self.maybe(1.0),
        )

    def law(self, node: int) -> Law:
        token = self.distinct(self.random.randint(1, 6))
        p, p_raw, q, q_raw = (self.mass(len(token)) for _ in range(4))
        has_q, has_raw = self.flip(), self.flip()
        return Law(
            node=node,
            token=token,
            p=p[0],
            p_raw=p_raw[0],
            q=q[0] if has_q else None,
            q_raw=q_raw[0] if has_raw else None,
            p_rest=p[1],
            p_raw_rest=p_raw[1],
            q_rest=q[1] if has_q else None,
            q_raw_rest=q_raw[1] if has_raw else None,
        )

    def scalars(self, size: int) -> Scalars:
        ranks = [self.maybe(self.random.randint(1, 12)) for _ in range(size)]
        return Scalars(
            entropy_p=self.column(size), entropy_q=self.column(size), h3=self.column(size),
            p_max=self.column(size), top2_gap=self.column(size), p_eos=self.column(size),
            overlap=self.column(size), tv=self.column(size), kl_qp=self.column(size),
            kl_pq=self.column(size), rank_in_p=ranks, target_rank_in_q=ranks[::-1],
        )  # fmt: skip

    def residual(self, node: int, after: int) -> Residual:
        top = self.top()
        return Residual(
            node=node,
            after=after,
            left=self.number(),
            token=top.token,
            mass=top.mass,
            rest=top.rest,
        )

    def top(self) -> Top:
        token = self.distinct(self.random.randint(0, 5))
        mass, rest = self.mass(len(token))
        return Top(token=token, mass=mass, rest=rest)

    def judge(self, checks: int) -> Judge:
        return Judge(
            score=self.column(checks),
            threshold=self.column(checks),
            strict_verdict=[self.flip() for _ in range(checks)],
            features=self.maybe([[self.number(), -1.5] for _ in range(checks)]),
        )

    def cost(self, size: int) -> Cost:
        return Cost(
            draft_forwards=self.random.randint(0, 3), target_forwards=1, target_tokens=size,
            sublayers_run=8, sublayers_reused=0, draft_ms=self.number(), accept_ms=self.number(),
            verify_ms=20 * self.number(), record_ms=self.number(), plain_step_ms=self.maybe(20.0),
        )  # fmt: skip

    def extras(self, place: Place) -> list[Extras]:
        """Return blocks of one to three kinds, or none."""
        count = self.whole(0, min(3, len(self.kinds)))
        kinds = self.random.sample(self.kinds, count or int(len(self.kinds) == 1))
        return [MAKERS[kind](place) for kind in kinds]

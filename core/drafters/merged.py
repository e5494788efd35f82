"""Several drafters at once: each draws one sequence of its own, and what the sequences have in
common is one path of a tree.

A node through which c sequences run has c drafts, each drawn from the law of its own drafter
(`Sampling.SEPARATE`). A token that two of them drew is one node, tried twice, each time against the
law that it came from. In which order drafts are tried is drawn at every node, whatever they are.
Tokens that are chosen without chance are tried once, in the order of the drafters.

SpecInfer (Miao et al., arXiv 2305.09781) merges so, and visits siblings in random order. The
drafters run one after another. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch

from core.decode import Feedback
from core.dice import Dice
from core.drafters.model import ModelDrafter
from core.extras import Extras
from core.host import int_rows
from core.models.base import Session
from core.tree import Apart, Draft, DraftTree, Sampling, Work
from core.verify.base import Context, Offer

_FIXED = Sampling.DETERMINISTIC


class MergedDrafter:
    """Drafts with all `drafters`, which draw chains at one temperature; at least one."""

    def __init__(self, drafters: Sequence[ModelDrafter]) -> None:
        self._drafters = drafters
        self.taps: Sequence[int] = sorted({tap for drafter in drafters for tap in drafter.taps})

    def offer(self, greedy: bool) -> Offer:
        fixed = _FIXED in self._drafters[0].offer(greedy).samplings
        kind = _FIXED if fixed else Sampling.SEPARATE
        return Offer(frozenset({kind}), len(self._drafters) > 1)

    def begin(self, prompt: Sequence[int], target: Session) -> None:
        for drafter in self._drafters:
            drafter.begin(prompt, target)

    def propose(self, context: Context, limit: int, dice: Dice) -> Draft:
        made = [
            drafter.propose(context, limit, dice.at("drafter", place))
            for place, drafter in enumerate(self._drafters)
        ]
        able = [place for place, draft in enumerate(made) if draft.q is not None]
        if not able:
            return made[0]
        order = dice.at("order", len(context.tokens))
        merging = _Merging(context.root, [made[place] for place in able], order)
        merging.merge()
        for place, nodes in zip(able, merging.nodes, strict=True):
            self._drafters[place].renumber(nodes)
        return merging.draft()

    def observe(self, feedback: Feedback) -> Sequence[Extras]:
        learnt = [extra for drafter in self._drafters for extra in drafter.observe(feedback)]
        first = {type(extra): extra for extra in reversed(learnt)}
        return list(reversed(first.values()))  # a record has one block of a kind


@dataclass(slots=True)
class _Merging:
    """Chains on their way into one tree, with a law for each of their nodes but the last.

    `nodes`: per chain the nodes of the tree that it runs through, the root first. `tries`, `rows`:
    per parent its children in the order to try, and the row of q that each was drawn from.
    """

    root: int
    chains: Sequence[Draft]
    dice: Dice
    tokens: list[int] = field(default_factory=lambda: list[int]())
    parents: list[int] = field(default_factory=lambda: list[int]())
    sources: list[str] = field(default_factory=lambda: list[str]())
    nodes: list[list[int]] = field(default_factory=lambda: list[list[int]]())
    tries: dict[int, list[int]] = field(default_factory=lambda: dict[int, list[int]]())
    rows: dict[int, list[int]] = field(default_factory=lambda: dict[int, list[int]]())

    def merge(self) -> None:
        self._new(self.root, -1)
        self.nodes = [[0] for _ in self.chains]
        starts = list(accumulate((len(chain.rows) for chain in self.chains), initial=0))
        for depth in range(max(chain.tree.max_depth for chain in self.chains)):
            for parent, here in self._running(depth):
                for chain in self._ordered(parent, here):
                    self._add(chain, parent, depth, starts[chain] + depth)

    def _running(self, depth: int) -> list[tuple[int, list[int]]]:
        """Return the nodes of a depth, with the chains that go on there."""
        found: dict[int, list[int]] = {}
        for chain, draft in enumerate(self.chains):
            if depth < draft.tree.max_depth:
                found.setdefault(self.nodes[chain][depth], []).append(chain)
        return sorted(found.items())

    def _ordered(self, parent: int, chains: Sequence[int]) -> Sequence[int]:
        if len(chains) < 2 or self._is_fixed:
            return chains
        (places,) = int_rows(
            self.dice.at(parent).draw(torch.ones(1, len(chains)), len(chains), replace=False)
        )
        return [chains[place] for place in places]

    def _add(self, chain: int, parent: int, depth: int, row: int) -> None:
        """Let a chain go on below `parent`, to a new node where nobody drew its token yet."""
        draft, tried = self.chains[chain], self.tries.setdefault(parent, [])
        token = draft.tree.tokens[depth + 1]
        found = next((child for child in tried if self.tokens[child] == token), None)
        node = self._new(token, parent) if found is None else found
        names = dict.fromkeys([*filter(None, self.sources[node].split("+")), draft.sources[-1]])
        self.sources[node] = "+".join(names)
        self.nodes[chain].append(node)
        if found is None or not self._is_fixed:
            tried.append(node)
            self.rows.setdefault(parent, []).append(row)

    def _new(self, token: int, parent: int) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        self.sources.append("")
        return len(self.tokens) - 1

    @property
    def _is_fixed(self) -> bool:
        return self.chains[0].sampling is _FIXED

    def draft(self) -> Draft:
        """Return the tree, with the laws of all chains, in the order of the chains."""
        offers = {
            n: tuple(drawn) for n, drawn in self.tries.items() if len(set(drawn)) < len(drawn)
        }
        laws = [chain.q for chain in self.chains if chain.q is not None]
        logits = [chain.logits for chain in self.chains if chain.logits is not None]
        scored = [node for nodes in self.nodes for node in nodes[:-1]]
        first = self.chains[0]
        return Draft(
            DraftTree(tuple(self.tokens), tuple(self.parents), offers=offers),
            _FIXED if self._is_fixed else Sampling.SEPARATE,
            q=torch.cat([law.to(laws[0].device) for law in laws]),
            logits=torch.cat([each.to(logits[0].device) for each in logits]),
            law=first.law,
            rows={node: rows[0] for node, rows in self.rows.items()},
            apart=Apart(scored, self.rows),
            sources=self.sources,
            stop=first.stop,
            work=Work(
                sum(chain.work.forwards for chain in self.chains),
                sum(chain.work.sublayers for chain in self.chains),
            ),
        )

"""The trees that six methods would draft at one place of a trace from the same draft scores, and
what each of them is worth.

The drafter of the trace grows every shape within one budget of nodes, with one luck for all; the
target scores all trees in one pass. A tree then has two expectations, both of how many tokens the
rule accepts on average, given the tree: by the target's law, and by the draft's own, as if it were
the target's. With the trace's own dice the rule also accepts so many. Recursive rejection decides
everywhere, as in all six methods. Below a token that ends the text nothing is decided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from core.dice import Dice, SeededDice
from core.lab.drafting import draft_law, drafting, policies
from core.lab.growing import DraftScores, Tree, grow
from core.lab.luck import SharedLuck
from core.lab.rescore import Place, asked, check_tokens, law_of, place
from core.lab.union import Node, Union
from core.models.base import Scores
from core.run import Engine
from core.trace import Trace
from core.tree import DraftTree, Sampling
from core.verify.base import Context
from core.verify.rejection import RecursiveRejection
from core.verify.tournament import Try, tournament

LEAST, MOST = 4, 64  # nodes
_DEEPEST = 16  # of what the target would write
_RULE = RecursiveRejection(uniform_fallback=True)


@dataclass(frozen=True, slots=True)
class Drafted:
    """One shape's tree. `nodes`: places among all nodes, parents first; `reach`: the chance of each
    to be accepted, given the tree. `accepted`, `rejected`: what the trace's dice make of it, as
    places among all nodes. `final`: the token that the target then writes; None: the text ended
    with the last accepted one.

    `believed`, `expected`: accepted tokens on average, given the tree, were the draft's law the
    target's, and by the target's own. `forwards` of the drafter; `width`: tokens that the target
    scores, the root included.
    """

    shape: str
    nodes: tuple[int, ...]
    reach: tuple[float, ...]
    accepted: tuple[int, ...]
    rejected: tuple[int, ...]
    final: int | None
    believed: float
    expected: float
    forwards: int
    width: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Drafter:
    """Who drafted: `name` as in `DraftModelConfig`. `is_own`: it is that of the trace.
    `temperature` of its law; `measured`: Sequoia's tree is planned for acceptance of this drafter,
    not for that of the paper.
    """

    name: str
    is_own: bool
    temperature: float
    measured: bool


@dataclass(frozen=True, slots=True)
class Xray:
    """All trees. `oracle`: places of what the target would write greedily, from the first token on
    and to the end of the text at most. `named`: bytes of every token.
    """

    budget: int
    root: int
    nodes: tuple[Node, ...]
    oracle: tuple[int, ...]
    trees: tuple[Drafted, ...]
    drafter: Drafter
    named: dict[int, bytes]
    special: frozenset[int]


def xray(engine: Engine, trace: Trace, index: int, budget: int) -> Xray:
    """Grow and score the trees of all `SHAPES` where round `index` began, of at most
    `budget` nodes.

    Raises ValueError with one sentence where there is no such round, the budget is out of range,
    the trace's models are not those of `engine`, or the text does not fit into them.
    """
    if not LEAST <= budget <= MOST:
        raise ValueError(f"The budget is {budget} nodes; it may be {LEAST} to {MOST}.")
    spot = place(trace, index, 0)
    check_tokens(spot, asked(engine, trace))
    config, own = drafting(engine, trace)
    law = law_of(trace)
    session = engine.target.open(spot.text)
    source = config.source(engine.models)
    states = session.score(DraftTree.root(spot.chain[0]), 0, source.taps).features
    session.keep([])  # the text stays, as a part of the target that drafts finds it
    drafter = source.opened(spot.text, spot.chain[0], session, states)
    scores = DraftScores(drafter, spot.chain[0], draft_law(config, law))
    shared, is_measured = policies(engine, config, law, budget)
    limit = min(budget, _room(engine, spot))
    position = len(spot.text) + 1
    dice = SeededDice(trace.sampling.seed).at(trace.rounds[index].sequence)
    luck = dice.at("draft", position)
    trees = {key: grow(shape, scores, limit, SharedLuck(luck)) for key, shape in shared.items()}
    known = Union(session, spot.chain[0], trees.values())
    ends = engine.text.ends
    oracle = known.favourites(min(limit, _DEEPEST, max(map(_depth, trees.values()))), ends)
    context = Context((*spot.text, spot.chain[0]), law)
    drafted = [
        _judged(key, tree, known, scores, context, dice, ends) for key, tree in trees.items()
    ]
    nodes = known.nodes(scores, law)
    finals = {tree.final for tree in drafted if tree.final is not None}
    tokens = {spot.chain[0], *(n.token for n in nodes), *finals}
    return Xray(
        budget,
        spot.chain[0],
        nodes,
        oracle,
        tuple(drafted),
        Drafter(config.drafter_name, own, scores.law.temperature, is_measured),
        {token: engine.text.spell(token) for token in tokens},
        engine.text.special & tokens,
    )


def _judged(
    key: str,
    tree: Tree,
    known: Union,
    scores: DraftScores,
    context: Context,
    dice: Dice,
    ends: frozenset[int],
) -> Drafted:
    """Let the rule decide one tree, on average and with the trace's dice."""
    draft, places = tree.draft, [known.place[path] - 1 for path in tree.paths]
    whole = _RULE.prepare(draft, Scores(known.rows(tree.paths)), context)
    table = replace(whole, tries=before_the_end(draft.tree, whole.tries, ends))
    outcome = table.walk(dice, len(context.tokens))
    is_over = bool(outcome.path) and draft.tree.tokens[outcome.end] in ends
    kept = reach(draft.tree, table.tries)
    return Drafted(
        key,
        tuple(places[1:]),
        tuple(kept[1:]),
        tuple(places[node] for node in outcome.path),
        tuple(places[check.node] for check in outcome.checks if not check.passed),
        None if is_over else outcome.final,
        believed(tree, scores, ends),
        sum(kept[1:]),
        draft.work.forwards,
        len(draft.tree),
        draft.sampling,
    )


def reach(tree: DraftTree, tries: dict[int, list[Try]]) -> list[float]:
    """Return the chance (N,) of every node to be accepted, given the tree: to be reached, not to
    lose to an earlier sibling, and to pass. That of the root is 1.

    A tree of fixed nodes has the target's path products here.
    """
    chance = [1.0] + [0.0] * (len(tree) - 1)
    for node in range(len(tree)):
        left = chance[node]
        for test in tries.get(node, ()):
            chance[test.node] += left * test.accept
            left *= 1 - test.accept
    return chance


def before_the_end(
    tree: DraftTree, tries: dict[int, list[Try]], ends: frozenset[int]
) -> dict[int, list[Try]]:
    """Return the tests without those below a drafted token of `ends`, which no text goes beyond."""
    return {n: tests for n, tests in tries.items() if not n or tree.tokens[n] not in ends}


def believed(tree: Tree, scores: DraftScores, ends: frozenset[int] = frozenset()) -> float:
    """Return how many tokens the rule would accept on average, given the tree, if the target's law
    were the draft's.

    A tree of fixed nodes has the draft's path products here. In one that was drawn the first child
    of every node would stay.
    """
    draft = tree.draft
    known = (path if path in scores else () for path in tree.paths)  # leaves decide nothing
    laws = torch.stack([scores.believed(path) for path in known])
    tests = before_the_end(draft.tree, tournament(draft, laws, _RULE.uniform_fallback), ends)
    return sum(reach(draft.tree, tests)[1:])


def _room(engine: Engine, spot: Place) -> int:
    """Return how deep a draft can be; raise ValueError where it cannot."""
    cards = [engine.target.card, *([engine.draft.card] if engine.draft else [])]
    room = min(card.context for card in cards) - len(spot.text) - 2
    if room < 1:
        raise ValueError("The text fills the models' context: there is no room for a draft.")
    return room


def _depth(tree: Tree) -> int:
    return tree.draft.tree.max_depth

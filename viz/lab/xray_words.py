"""What an X-ray says: of every tree in a sentence, of all of them below and above."""

from __future__ import annotations

from collections.abc import Sequence

from core.trace import Trace
from viz.lab.trees import Tree, Trees
from viz.numbers import count
from viz.payload import Label, Run
from viz.reading import Reading
from viz.sentence import Strong, say

_ONE_PLACE = "A node that several of them have stands at one place."


def words(
    tree: Tree, seen: Trees, reading: Reading, labels: Sequence[Label], final: Label | None
) -> list[Run]:
    """Return both expectations of a tree, and what the target made of it; `final` None: the text
    ended.
    """
    kept = len(tree.accepted)
    size = len(tree.nodes)
    drafted = count(size, "node") + ("" if size == seen.budget else f" ({seen.budget} allowed)")
    believed = f"The drafter expects {tokens(tree.believed)} of its {drafted} to be accepted"
    target = (
        ". " if reading.greedy else f"; the target accepts {tokens(tree.expected)} on average. "
    )
    told = "The target accepts " if reading.greedy else "With this run's dice it accepts "
    path = listed(labels, tree.accepted)
    what = [Strong(str(kept)), ":", *path] if kept else [Strong("none")]
    if final is None:
        return say(believed, target, told, *what, ", and the text ends.")
    return say(believed, target, told, *what, ", then the target writes ", final, ".")


def listed(labels: Sequence[Label], nodes: Sequence[int]) -> list[str | Label]:
    """Return the tokens of `nodes` as parts of a sentence."""
    return [part for node in nodes for part in (" ", labels[node])]


def note(trace: Trace, seen: Trees) -> str:
    """Say whose scores the trees are grown from."""
    who = _drafter(trace, seen.drafter)
    if not seen.is_own:
        return (
            f"{trace.method_name} has no model behind its drafts, so the trees are those of {who}. "
            f"{_ONE_PLACE}"
        )
    luck = (
        ""
        if trace.sampling.temperature == 0
        else "Where several draw at one node, they draw the same tokens; the recorded draft had "
        "luck of its own. "
    )
    return f"All grow from the same scores of {who}. {luck}{_ONE_PLACE}"


def _drafter(trace: Trace, name: str) -> str:
    kind, _, layers = name.partition("-")
    if kind == "exit":
        return f"the target's first {layers} layers"
    if kind == "skip":
        *others, last = layers.split("-")
        listed = f"{', '.join(others)} and {last}" if others else last
        return (
            f"the target without layer{'s' if '-' in layers else ''} {listed}"
            if listed
            else ("the target")
        )
    draft = trace.models.draft
    return draft.id if draft is not None else "the draft model"


def foot(reading: Reading, seen: Trees) -> str:
    """Say what the two expectations are, and what Sequoia's tree is planned for."""
    planned = (
        "Sequoia's tree is planned for the acceptance measured with this drafter."
        if seen.measured
        else "Sequoia's tree is planned for the acceptance in the paper's code: none was measured "
        "with this drafter."
    )
    law = " at temperature 1" if reading.greedy else ""
    target = (
        "at temperature 0 the target takes its favourite, which is no matter of chance"
        if reading.greedy
        else "by the target: what it accepts by the target's own law"
    )
    return (
        "Expected by the draft: what recursive rejection would accept on average, given this tree, "
        f"if the target's law were the draft's{law}: the sum of q along every path for fixed "
        f"nodes, the first one at every node for drawn ones; {target}. {planned}"
    )


def tokens(number: float) -> str:
    """Return a mean number of tokens."""
    return f"{number:.2f}"

"""Models that are tables: a law per context, in float64, for tests that enumerate chance and for
lessons.

The same Session contract as the real one, with exact numbers and no weights. The hidden states of
every layer are the laws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from core.models.base import Scores
from core.trace import ModelCard
from core.tree import DraftTree, Resume

Table = Callable[[tuple[int, ...]], Sequence[float]]  # context -> probabilities (V,)


class ToyModel:
    """A language model given by a function from context to law."""

    def __init__(self, table: Table, size: int, context: int = 64) -> None:
        self.table = table
        self.size = size
        self._context = context

    @property
    def card(self) -> ModelCard:
        return ModelCard(
            id="toy",
            dtype="float64",
            device="cpu",
            parameters=0,
            layers=0,
            vocabulary_size=self.size,
            context=self._context,
        )

    def open(self, token_ids: Sequence[int] = ()) -> ToySession:
        return ToySession(self, tuple(token_ids))

    def law(self, context: tuple[int, ...]) -> Tensor:
        return torch.tensor(self.table(context), dtype=torch.float64)


class ToySession:
    """Committed text plus the nodes scored in this round."""

    def __init__(self, model: ToyModel, text: tuple[int, ...]) -> None:
        self._model = model
        self._text = text
        self._tree: DraftTree | None = None
        self._told = 0  # tokens of the text whose states were given

    @property
    def length(self) -> int:
        return len(self._text)

    @property
    def context(self) -> int:
        return self._model.card.context

    def feed(self, tokens: Sequence[int]) -> None:
        self._text += tuple(tokens)

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        if self.length + max(tree.depths) >= self.context:
            raise ValueError(f"the text would outgrow the model's context of {self.context} tokens")
        self._tree = tree
        rows = torch.stack(
            [
                self._model.law(self._text + tuple(tree.tokens[n] for n in tree.path(node)))
                for node in range(start, len(tree))
            ]
        )
        return Scores(rows.log(), self._states(rows, start, taps))

    def _states(self, rows: Tensor, start: int, taps: Sequence[int]) -> dict[int, Tensor]:
        """Return the laws themselves as hidden states: of text not told yet, then of the nodes."""
        if not taps:
            return {}
        before = range(len(self._text) if start else self._told, len(self._text))
        text = [self._model.law(self._text[: place + 1]) for place in before]
        return dict.fromkeys(taps, torch.stack([*text, *rows]))

    def keep(self, path: Sequence[int]) -> None:
        if self._tree is None:
            raise ValueError("nothing was scored")
        self._told = len(self._text) + len(path)
        self._text += tuple(self._tree.tokens[node] for node in path)
        self._tree = None


def tabulated(rows: Mapping[tuple[int, ...], Sequence[float]], otherwise: Sequence[float]) -> Table:
    """Return a table that looks the whole context up, and gives `otherwise` for any other."""
    return lambda context: rows.get(context, otherwise)


def hashed(size: int, seed: int, sharpness: float = 1.0) -> Table:
    """Return a table whose laws depend on the whole context through a hash: every context has a law
    of its own.
    """

    def law(context: tuple[int, ...]) -> list[float]:
        digest = hashlib.blake2b(repr((seed, context)).encode(), digest_size=4 * size).digest()
        raw = [int.from_bytes(digest[4 * i : 4 * i + 4], "big") / 2**32 + 0.05 for i in range(size)]
        weights = [x**sharpness for x in raw]
        return [w / sum(weights) for w in weights]

    return law

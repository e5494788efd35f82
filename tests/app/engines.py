"""Toy engines for the command line: table models with a text side, and models that fail or wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.models.base import LanguageModel, Scores, Session
from core.models.sources import Progress
from core.models.toy import ToyModel, ToySession, hashed
from core.run import Engine
from core.trace import Environment, ModelCard
from core.tree import DraftTree, Resume

PIECES = (b"<end>", b" a", b"b", b"\xc3", b"\xa9", b"\n", b" c", b"d")
SIZE = len(PIECES)
ENVIRONMENT = Environment(torch="2", transformers="5", python="3", processor="toy", threads=1)


@dataclass(frozen=True)
class ToyText:
    """Every character of a prompt is a token; `ends` end the text."""

    special: frozenset[int] = frozenset({0})
    ends: frozenset[int] = frozenset()

    def spell(self, token: int) -> bytes:
        return PIECES[token]

    def encode(self, prompt: str, chat: bool) -> list[int]:
        if chat and prompt == "no template":
            raise ValueError("This model has no chat template: send the prompt as plain text.")
        return [1 + ord(character) % (SIZE - 1) for character in prompt]


def toy_engine(
    target: LanguageModel | None = None, with_draft: bool = True, text: ToyText | None = None
) -> Engine:
    draft = ToyModel(hashed(SIZE, 2, 2.0), SIZE, context=200) if with_draft else None
    return Engine(text or ToyText(), target or toy_target(), ENVIRONMENT, draft)


def toy_target() -> ToyModel:
    return ToyModel(hashed(SIZE, 1, 3.0), SIZE, context=200)


@dataclass
class Loader:
    """Stands in for `core.engine.load_engine`; remembers what it was asked for."""

    engine: Engine = field(default_factory=toy_engine)
    error: BaseException | None = None
    asked: list[dict[str, object]] = field(default_factory=list)

    def __call__(
        self,
        target: str,
        draft: str | None,
        *,
        dtype: str,
        device: str,
        threads: str,
        progress: Progress,
    ) -> Engine:
        self.asked.append(
            {"target": target, "draft": draft, "dtype": dtype, "device": device, "threads": threads}
        )
        progress(0, 0, "Loading the toy")
        if self.error:
            raise self.error
        return self.engine


class Interrupting(ToyModel):
    """A model that calls `what` before forward number `at`, from 0."""

    def __init__(self, at: int, what: Callable[[], None]) -> None:
        super().__init__(hashed(SIZE, 1, 3.0), SIZE, context=200)
        self._at = at
        self._what = what

    @property
    def card(self) -> ModelCard:
        return toy_target().card

    def open(self, token_ids: Sequence[int] = ()) -> Session:
        return _InterruptingSession(self, tuple(token_ids), self._at, self._what)


class _InterruptingSession(ToySession):
    def __init__(
        self, model: ToyModel, text: tuple[int, ...], at: int, what: Callable[[], None]
    ) -> None:
        super().__init__(model, text)
        self._left = at
        self._what = what

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        if self._left == 0:
            self._what()
        self._left -= 1
        return super().score(tree, start, taps, resume)

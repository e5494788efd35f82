"""On the real default model in float32, every greedy run is token by token what `generate` writes.

Six prompts of 32 tokens for every method, and thirty of 64 under the marker `exhaustive`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
import torch

from core.decode import decode, start
from core.dice import SeededDice
from core.ending import Endings
from core.heads.frequencies import read_frequencies
from core.heads.shelf import Shelf
from core.laws import Law
from core.models.devices import choose_threads
from core.models.hf import HFModel
from core.models.loading import Loaded, LoadOptions, load
from core.models.prompts import chat_ids, plain_ids
from core.registry import Method, Models, get, methods
from core.trace import Message, Round
from core.tree import DraftTree
from tests.shipped import missing

pytestmark = pytest.mark.weights

CHAT = [
    "Explain in two sentences why the sky is blue.",
    "What is the difference between a virus and a bacterium?",
    "Give me one tip for sleeping better, and say why it works.",
    "Who wrote Hamlet, and when?",
    "Is it safe to eat raw potatoes? Answer briefly.",
]
CODE = [
    "Write a Python function that returns the n-th Fibonacci number.",
    "Write a SQL query that counts orders per customer, largest first.",
    "Fix this code: for i in range(10) print(i)",
    "Write a regular expression for an IPv4 address and explain each part.",
    "Show a C function that reverses a string in place.",
]
COPY = [
    "Repeat this text exactly, but fix the spelling: The quick brwon fox jumps over the lazy dog. "
    "The quick brwon fox was quick.",
    "Put this list in upper case: apples, pears, plums, cherries, apricots.",
    "Rewrite in the past tense: Anna goes to the market. Anna buys bread. Anna walks home.",
    "Copy these lines and number them: red green blue / red green yellow / red green black",
    "Replace every 'cat' by 'dog': The cat saw a cat. A cat and a cat make two cats.",
]
SUMS = [
    "What is 17 times 23? Show the steps.",
    "A train goes 60 km in 45 minutes. How fast is it in km per hour?",
    "Count from 1 to 30, separated by commas.",
    "Add up 12, 19, 31 and 40, one step at a time.",
    "What is 15 percent of 240?",
]
LISTS = [
    "List the planets of the solar system in order.",
    "Name ten animals that begin with the letter C.",
    "Give a shopping list for pancakes.",
    "Tell a short story about a lighthouse keeper and a lost whale.",
    "Write a poem of four lines about rain.",
]
OTHERS = [
    "Erkl\u00e4re in zwei S\u00e4tzen, was Photosynthese ist.",
    "\u00c9cris une phrase sur la mer en fran\u00e7ais.",
    "Escribe tres palabras que rimen con coraz\u00f3n.",
    "\u4f60\u597d\uff0c\u8bf7\u4ecb\u7ecd\u4e00\u4e0b\u4f60\u81ea\u5df1\u3002",
    "Translate to emoji: the happy cat eats a fish \U0001f408",
]
ALL = [*CHAT, *CODE, *COPY, *SUMS, *LISTS, *OTHERS]
SIX = [CHAT[0], CODE[0], COPY[0], SUMS[2], LISTS[0], OTHERS[0]]

Values = Mapping[str, object]
VARIANTS: list[tuple[str, Values]] = [(m.key, {}) for m in methods().values() if m.lossless] + [
    ("speculative_sampling", {"drafter": "exit", "exit_layer": 20, "length": 3}),
    ("speculative_sampling", {"drafter": "model", "length": 6}),
    ("prompt_lookup", {"convention": "original"}),
    ("rsd", {"drafter": "exit", "exit_layer": 28, "tree": [2, 2, 1]}),
]


@dataclass
class Bench:
    """The loaded model, and what its own `generate` writes after each prompt."""

    loaded: Loaded
    known: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def ids(self, prompt: str) -> list[int]:
        return chat_ids(self.loaded.tokenizer, [Message(role="user", content=prompt)])

    def generated(self, prompt: str, count: int) -> list[int]:
        if (prompt, count) not in self.known:
            ids = torch.tensor([self.ids(prompt)])
            with torch.inference_mode():
                out = self.loaded.model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    do_sample=False,
                    temperature=None,
                    top_p=None,
                    top_k=None,
                    max_new_tokens=count,
                )
            self.known[prompt, count] = out[0, ids.shape[1] :].tolist()
        return self.known[prompt, count]

    def decoded(
        self, method: Method, values: Values, prompt: str, count: int
    ) -> tuple[list[int], list[Round]]:
        target = HFModel(self.loaded.model, self.loaded.card)
        ends = self.loaded.eos
        card = target.card
        counts = partial(read_frequencies, card.id, card.vocabulary_size)
        decoder = method.build(values, Models(target, target, ends, Shelf(target), counts))
        ids = self.ids(prompt)
        state = start(ids, target, decoder, Law(0), count, Endings(ends), min(ends))
        rounds = list(decode(state, SeededDice(0), lambda: 0.0))
        return state.tokens[len(ids) :], rounds

    def gap(self, prompt: str, written: Sequence[int]) -> float:
        """Return how far apart the two largest logits are after `written`."""
        with torch.inference_mode():
            logits = self.loaded.model(torch.tensor([[*self.ids(prompt), *written]])).logits[0, -1]
        best = logits.topk(2).values
        return float(best[0] - best[1])


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    threads = torch.get_num_threads()
    torch.set_num_threads(choose_threads())
    yield Bench(load(options=LoadOptions(device="cpu", dtype="float32")))
    torch.set_num_threads(threads)


def check(bench: Bench, key: str, values: Values, prompts: Sequence[str], count: int) -> None:
    accepted = 0
    if lacking := missing(get(key), bench.loaded.card):
        pytest.skip(lacking)
    for prompt in prompts:
        expected = bench.generated(prompt, count)
        ours, rounds = bench.decoded(get(key), values, prompt, count)
        accepted += sum(len(made.outcome.accepted) for made in rounds)
        if ours == expected:
            continue
        pairs = zip(ours, expected, strict=False)
        place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(expected)))
        gap = bench.gap(prompt, expected[:place])
        pytest.fail(
            f"{key} {dict(values)}: {prompt!r} differs at token {place}; top-2 logit gap {gap:.2e}"
        )
    assert accepted or key == "plain"  # an identity that no draft took part in proves nothing


@pytest.mark.parametrize(("key", "values"), VARIANTS, ids=str)
def test_six_prompts_of_32_tokens_are_what_generate_writes(
    bench: Bench, key: str, values: Values
) -> None:
    check(bench, key, values, SIX, 32)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("key", "values"), VARIANTS, ids=str)
def test_thirty_prompts_of_64_tokens_are_what_generate_writes(
    bench: Bench, key: str, values: Values
) -> None:
    check(bench, key, values, ALL, 64)


def test_a_tree_over_the_real_model_scores_as_its_paths_do(bench: Bench) -> None:
    """The lean layers, the mask and the cache against a plain pass, deep into a text."""
    ids = plain_ids(bench.loaded.tokenizer, " ".join(ALL))[:600]
    tree = DraftTree((9, 338, 253, 314, 1, 28), (-1, 0, 0, 1, 2, 2))
    session = HFModel(bench.loaded.model, bench.loaded.card).open(ids[:-1])
    session.score(DraftTree.root(ids[-1]))
    session.keep((0,))
    ours = session.score(tree).logits
    for node in range(len(tree)):
        path = [*ids, *(tree.tokens[n] for n in tree.path(node))]
        with torch.inference_mode():
            theirs = bench.loaded.model(torch.tensor([path])).logits[0, -1]
        torch.testing.assert_close(ours[node], theirs, rtol=0, atol=1e-3)

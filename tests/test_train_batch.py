"""The batch writer: each text is what the model would have written for it alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from core.models.lean import LeanLlama
from core.train.batch import BatchWriter, Request, Written
from tests.tiny import VOCABULARY, slow_logits, tiny

ROWS = 24
NO_ENDS = frozenset[int]()


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def requests(count: int, shared: int, heat: float = 0.0) -> list[Request]:
    """Return prompts of many lengths that begin with `shared` equal tokens; limits differ too."""
    drawn = torch.randint(0, VOCABULARY, (count, 9), generator=chance(7)).tolist()
    start = [3, 1, 4, 1, 5, 9][:shared]
    return [
        Request((*start, *row[: 1 + i % 6]), heat, 1 + (5 * i) % 9) for i, row in enumerate(drawn)
    ]


def write(
    asked: Sequence[Request], slots: int, ends: frozenset[int] = NO_ENDS, seed: int = 0
) -> list[Written]:
    writer = BatchWriter(LeanLlama(tiny("llama")), slots, ROWS)
    return list(writer.write(asked, ends, chance(seed)))


def alone(request: Request, ends: frozenset[int] = NO_ENDS) -> tuple[int, ...]:
    """Decode greedily with one plain pass per token: no cache, no batch."""
    tokens = list(request.prompt)
    while True:
        tokens.append(int(slow_logits(tiny("llama"), tokens)[-1].argmax()))
        written = tokens[len(request.prompt) :]
        if tokens[-1] in ends or len(written) == request.limit:
            return tuple(written)


@pytest.mark.parametrize("slots", [1, 3, 16])
@pytest.mark.parametrize("shared", [0, 1, 6])
def test_greedy_texts_are_those_of_one_by_one_decoding(slots: int, shared: int) -> None:
    asked = requests(11, shared)
    found = {written.number: written.tokens for written in write(asked, slots)}
    assert found == {number: alone(request) for number, request in enumerate(asked)}


def test_every_request_is_written_once_and_short_ones_make_room() -> None:
    asked = [Request((2, 3), 0.0, 12), *(Request((2, number), 0.0, 1) for number in range(8))]
    order = [written.number for written in write(asked, 2)]
    assert sorted(order) == list(range(9))
    assert order[-1] == 0  # the other eight went through the second slot meanwhile


def test_a_text_ends_with_the_end_token_and_holds_it() -> None:
    asked = requests(11, 2)
    free = [alone(request) for request in asked]
    ends = frozenset({free[4][0], free[8][-1]})
    found = {written.number: written.tokens for written in write(asked, 4, ends)}
    assert found == {number: alone(request, ends) for number, request in enumerate(asked)}
    assert any(len(found[number]) < len(free[number]) for number in found)


def test_equal_prompts_and_a_prompt_that_begins_another_keep_apart() -> None:
    asked = [Request((5, 6, 7), 0.0, 4), Request((5, 6), 0.0, 4), Request((5, 6, 7), 0.0, 6)]
    found = {written.number: written.tokens for written in write(asked, 2)}
    assert found == {number: alone(request) for number, request in enumerate(asked)}


def test_a_writer_can_be_used_again_whatever_it_wrote_before() -> None:
    model = LeanLlama(tiny("llama"))
    used, fresh = BatchWriter(model, 4, ROWS), BatchWriter(model, 4, ROWS)
    list(used.write(requests(9, 3), NO_ENDS, chance()))
    asked = requests(5, 0, heat=0.9)
    assert list(used.write(asked, NO_ENDS, chance(1))) == list(
        fresh.write(asked, NO_ENDS, chance(1))
    )


def test_a_seed_gives_one_set_of_texts() -> None:
    asked = requests(9, 2, heat=1.0)
    assert write(asked, 3, seed=4) == write(asked, 3, seed=4)
    assert write(asked, 3, seed=4) != write(asked, 3, seed=5)


def test_greedy_texts_do_not_depend_on_warm_ones_beside_them() -> None:
    asked = requests(10, 2)
    mixed = [
        Request(request.prompt, 1.5 * (number % 2), request.limit)
        for number, request in enumerate(asked)
    ]
    cold, found = ({w.number: w.tokens for w in write(some, 4)} for some in (asked, mixed))
    assert all(found[number] == cold[number] for number in range(0, 10, 2))


@pytest.mark.parametrize("heat", [0.5, 1.3])
def test_warm_tokens_follow_the_law_at_their_temperature(heat: float) -> None:
    prompt, count = (3, 8, 2), 4000
    law = (slow_logits(tiny("llama"), prompt)[-1] / heat).softmax(-1)
    found = write([Request(prompt, heat, 1)] * count, 64)
    seen = torch.bincount(torch.tensor([w.tokens[0] for w in found]), minlength=VOCABULARY)
    spread = (law * (1 - law) / count).sqrt()
    assert bool(((seen / count - law).abs() < 5 * spread + 1e-3).all())


def test_nothing_asked_is_nothing_written() -> None:
    assert write([], 3) == []


@pytest.mark.parametrize("request_", [Request((), 0.0, 3), Request((1,) * 20, 0.0, 5)])
def test_what_does_not_fit_is_one_sentence(request_: Request) -> None:
    with pytest.raises(ValueError, match=f"1 to {ROWS} tokens"):
        write([request_], 2)

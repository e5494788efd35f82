"""Texts end at the first end token or stop string, wherever in a round it falls, and count as ended
there.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.decode import Decoder, State, decode, start
from core.dice import SeededDice
from core.ending import Endings
from core.laws import Law
from core.registry import Method, Models, methods
from core.trace import Round
from core.verify.rejection import RecursiveRejection
from tests.scripted import Script, Scripted, counting
from tests.toy_heads import toy_counts, toy_heads

WRITTEN = [4, 3, 2, 1, 0, 4, 3, 2]  # what the target writes, again and again
SIZE = 6
METHODS = list(methods().values())


def chain(length: int) -> Script:
    return lambda text, limit: [WRITTEN[(len(text) + i) % 8] for i in range(min(length, limit))]


def run(script: Script, endings: Endings, new: int = 40) -> tuple[State, list[Round]]:
    decoder = Decoder(Scripted(script), RecursiveRejection())
    prompt = [5] * 8  # as long as what is written, so that places agree
    state = start(prompt, counting(WRITTEN, SIZE), decoder, Law(0), new, endings)
    return state, list(decode(state, SeededDice(0), lambda: 0.0))


def written(state: State) -> list[int]:
    return state.tokens[state.prompt_length :]


@pytest.mark.parametrize("end", [3, 2, 1, 0])
@pytest.mark.parametrize("length", range(9))
def test_an_end_token_ends_the_text_wherever_in_a_round_it_falls(length: int, end: int) -> None:
    state, rounds = run(chain(length), Endings(frozenset({end})))
    assert written(state) == WRITTEN[: WRITTEN.index(end) + 1]
    assert state.finished == "eos"
    assert [t for made in rounds for t in made.outcome.emitted] == written(state)


def test_an_end_token_in_the_prompt_pass_ends_the_text_at_once() -> None:
    state, rounds = run(chain(3), Endings(frozenset({4})))
    assert (written(state), state.finished, len(rounds)) == ([4], "eos", 1)


def test_tokens_accepted_after_an_end_token_are_counted_nowhere() -> None:
    state, rounds = run(chain(5), Endings(frozenset({1})))
    last = rounds[-1]
    assert last.drafted == 5
    assert last.outcome.accepted == [1, 2, 3]
    assert (last.outcome.final_token, last.outcome.origin) == (None, "none")
    assert last.outcome.emitted == [3, 2, 1]
    assert [check.node for check in last.checks] == [1, 2, 3]
    assert last.nodes.state == [
        "root",
        "accepted",
        "accepted",
        "accepted",
        "unreached",
        "unreached",
    ]
    assert last.nodes.reason[4:] == ["text_ended", "parent_unreached"]
    assert last.outcome.final_top is None
    assert state.session.length == 8 + len(written(state))


def test_the_nearest_of_several_end_tokens_counts() -> None:
    state, _ = run(chain(6), Endings(frozenset({0, 2})))
    assert written(state) == [4, 3, 2]


def test_an_end_token_at_the_last_place_is_the_reason_not_the_length() -> None:
    state, _ = run(chain(6), Endings(frozenset({2})), new=3)
    assert (written(state), state.finished) == ([4, 3, 2], "eos")
    state, _ = run(chain(6), Endings(frozenset({2})), new=2)
    assert (written(state), state.finished) == ([4, 3], "length")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_every_method_stops_at_the_end_token(method: Method) -> None:
    target = counting(WRITTEN, SIZE)
    ends = frozenset({0})
    decoder = method.build(
        method.toy, Models(target, target, ends, toy_heads(SIZE), toy_counts(SIZE))
    )
    state = start([5] * 8, target, decoder, Law(1), 40, Endings(ends))
    list(decode(state, SeededDice(0), lambda: 0.0))
    assert (written(state), state.finished) == (WRITTEN[:5], "eos")


SPELLED = {4: b"caf", 3: b"", 2: b"\xc3", 1: b"\xa9t\xc3", 0: b" the", 5: b"\xa9\n\n"}


def stopping(*strings: str) -> Endings:
    return Endings(strings=strings, spell=SPELLED.__getitem__)


@pytest.mark.parametrize("length", range(9))
@pytest.mark.parametrize(
    ("string", "count"), [(" thecaf", 6), ("f\u00e9t", 4), ("\u00e9t", 4), ("caf", 1)]
)
def test_a_stop_string_ends_the_text_with_the_token_that_completes_it(
    string: str, count: int, length: int
) -> None:
    """Its bytes may lie in several tokens, and those of one letter too."""
    state, rounds = run(chain(length), stopping(string))
    assert (len(written(state)), state.finished) == (count, "stop")
    assert [t for made in rounds for t in made.outcome.emitted] == written(state)


def naive(generated: Sequence[int], strings: Sequence[str]) -> int | None:
    """Return how many tokens it takes until one of the strings is in the text."""
    for count in range(1, len(generated) + 1):
        text = b"".join(SPELLED[token] for token in generated[:count])
        if any(string.encode() in text for string in strings):
            return count
    return None


@given(
    generated=st.lists(st.sampled_from(sorted(SPELLED)), max_size=14),
    strings=st.lists(
        st.sampled_from(["caf\u00e9", "\u00e9", "t", " thecaf", "\n", "\n\n the", "the", "fcaf"]),
        min_size=1,
        max_size=3,
    ),
    cuts=st.lists(st.integers(1, 5), min_size=14, max_size=14),
)
def test_stop_strings_are_found_where_a_search_of_all_bytes_finds_them(
    generated: list[int], strings: list[str], cuts: list[int]
) -> None:
    endings, known, found = stopping(*strings), 0, None
    for new in cuts:
        new = min(new, len(generated) - known)
        if not new or found:
            break
        known += new
        found = endings(generated[:known], new)
    expected = naive(generated, strings)
    assert (found and found[0]) == expected
    assert found is None or found[1] == "stop"


def test_text_is_trimmed_at_the_earliest_stop_string() -> None:
    endings = stopping("\n\n", "b")
    assert endings.trimmed("a b\n\nc") == "a "
    assert endings.trimmed("plain") == "plain"
    assert Endings().trimmed("a\n\n") == "a\n\n"


def test_stop_strings_without_the_bytes_of_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="need the bytes of tokens"):
        Endings(strings=("x",))([1], 1)

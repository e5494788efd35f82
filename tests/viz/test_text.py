"""Labels show every byte of a token once, and nothing invisible."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.text import SPACE, Vocabulary, alone, pending, shortened, spell, visible

visible_text = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Cn"), exclude_characters=SPACE)
).filter(lambda text: all(c == " " or unicodedata.category(c) != "Zs" for c in text))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(p % (len(data) + 1) for p in places)})
    return [data[a:b] for a, b in pairwise(edges)] or [data]


@given(st.lists(st.binary(max_size=6)))
def test_spelling_keeps_every_byte(pieces: list[bytes]) -> None:
    text = "".join(piece.text for piece in spell(pieces))
    assert text.encode("utf-8", "surrogateescape") == b"".join(pieces)


@given(visible_text, st.lists(st.integers(0, 1000)))
def test_text_cut_anywhere_reads_as_before(text: str, places: list[int]) -> None:
    pieces = cut(text.encode(), places)
    words = Vocabulary(dict(enumerate(pieces)), frozenset())
    flow = words.flow(range(len(pieces)))
    read = "".join((" " if each.label["space"] else "") + each.label["text"] for each in flow)
    assert read.replace(SPACE, " ") == text


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_tokens_carry_the_exact_text_that_their_marks_stand_for(
    text: str, places: list[int]
) -> None:
    pieces = cut(text.encode(), places)
    words = Vocabulary(dict(enumerate([*pieces, b"<end>"])), frozenset({len(pieces)}))
    assert "".join(each.text for each in words.flow(range(len(pieces) + 1))) == text


@given(st.text(min_size=1), st.lists(st.integers(0, 1000)))
def test_joined_marks_exactly_the_tokens_that_end_inside_a_character(
    text: str, places: list[int]
) -> None:
    data = text.encode()
    pieces = cut(data, places)
    position = 0
    for piece, spelled in zip(pieces, spell(pieces), strict=True):
        position += len(piece)
        inside = position < len(data) and data[position] & 0xC0 == 0x80
        assert spelled.joined == inside


@given(st.characters(exclude_categories=("Cs",)))
def test_pending_is_the_unfinished_character(character: str) -> None:
    data = character.encode()
    for size in range(1, len(data)):
        assert pending(b"a" + data[:size]) == data[:size]
    assert pending(data) == b""


@given(st.binary(max_size=8), st.binary(min_size=1, max_size=8))
def test_labels_hold_nothing_invisible(before: bytes, piece: bytes) -> None:
    label = Vocabulary({0: piece}, frozenset()).label(0, pending(before))
    assert not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "\u202e\u2066\u200b\ufeff"
        for c in label["text"]
    )
    label["text"].encode()  # no half of a character


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" sky", "·sky"),
        ("sky", "sky"),
        ("\n\n", "↵↵"),
        ("\t", "→"),
        ("\x1b[31m", "␛[31m"),
        ("\u202eabc", "‹202E›abc"),
        ("    x", "·␣␣␣x"),
        ("a ", "a␣"),
        (" ", "·"),
        ("", "‹empty›"),
        ("<b>", "<b>"),
        ("\udcff", "‹FF›"),
    ],
)
def test_marks(text: str, shown: str) -> None:
    assert alone(visible(text)) == shown


def test_breaks_are_counted() -> None:
    assert visible("a\n\nb")["breaks"] == 2


def test_control_tokens_are_special_and_unknown_ids_show_their_number() -> None:
    words = Vocabulary({1: b"<|im_end|>"}, frozenset({1}))
    assert words.label(1) == {
        "text": "<|im_end|>",
        "space": False,
        "special": True,
        "breaks": 0,
    }
    assert words.label(7)["text"] == "#7"


def test_character_over_two_tokens_is_shown_where_it_ends() -> None:
    globe = "🌍".encode()
    words = Vocabulary({0: b" " + globe[:2], 1: globe[2:]}, frozenset())
    first, second = words.flow([0, 1])
    assert (first.label["text"], first.label["space"], first.joined) == ("", True, True)
    assert (second.label["text"], second.joined) == ("🌍", False)
    assert words.label(1, before=words.after(b"", 0))["text"] == "🌍"
    assert words.label(0)["text"] == "‹F0 9F›"


def test_long_tokens_are_shortened_but_in_the_strip() -> None:
    label = visible("x" * 300)
    assert len(shortened(label)["text"]) == 40
    words = Vocabulary({0: b"x" * 300}, frozenset())
    assert len(words.flow([0])[0].label["text"]) == 300

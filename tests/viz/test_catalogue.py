"""The catalogue as data: what is said of measurements, what filters match, what stays text."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from viz.catalogue import Card, Catalogue, catalogue
from viz.method_entry import (
    Entries,
    Entry,
    Machine,
    Measured,
    Measurement,
    Model,
    Piece,
    PlannedEntry,
    Ratio,
    Reported,
    Setting,
)
from viz.prose import linked, paragraphs, words
from viz.sentence import plain

RULE = Piece("rejection", "Recursive rejection", "Tries the siblings.")
CHAIN = Piece("chain", "Chain", "One child per node.")
TREE = Piece("tree", "Tree", "Several children.")
SKIP = Piece("skip", "Skipped layers", "The target without some.")
NASTY = "<img src=x onerror=alert(1)>"


def entry(key: str, parts: Mapping[str, Piece] | None = None, **changed: object) -> Entry:
    made = Entry(
        key=key,
        name=key.capitalize(),
        idea=f"{key.capitalize()}: it drafts.",
        citation=f"Doe: {key}, arXiv 2401.00001.",
        about="It drafts with `length` tokens.",
        paper="Doe 2024",
        url="https://arxiv.org/abs/2401.00001",
        year=2024,
        family="draft-centric: tree and graph",
        lossless=True,
        trained="nothing",
        parts={"drafter": SKIP, "shape": CHAIN, "rule": RULE} if parts is None else parts,
        any_drafter=True,
        reported=[],
        settings=[],
    )
    return msgspec.structs.replace(made, **changed)


PLAIN = entry("plain", {}, family="baseline", any_drafter=False)


def entries(*methods: Entry, planned: list[PlannedEntry] | None = None) -> Entries:
    families = ["baseline", "draft-centric: tree and graph", "verification"]
    return Entries(families, [PLAIN, *methods], planned or [])


def measured(method: str, speed: float, spread: float = 0.1, temperature: float = 0.0) -> Measured:
    ratio = Ratio(speed, speed - spread, speed + spread)
    return Measured(method, temperature, ratio, 2.5, 0.7)


def measurement(*rows: Measured, **changed: object) -> Measurement:
    made = Measurement(
        date="2026-01-02",
        model=Model("toy", "bfloat16", "cpu"),
        machine=Machine("Abacus", 2),
        prompts=3,
        tokens=20,
        void=False,
        methods=list(rows),
        left_out={},
    )
    return msgspec.structs.replace(made, **changed)


def cards(page: Catalogue) -> dict[str, Card]:
    return {card["key"]: card for family in page["families"] for card in family["cards"]}


def test_without_a_measurement_the_sentence_counts_methods() -> None:
    page = catalogue(entries(entry("a"), entry("b", lossless=False)), None)
    assert plain(page["sentence"]) == (
        "3 methods, 2 of them lossless; none has been measured here yet."
    )
    assert page["source"] == ""
    assert cards(page)["a"]["pairs"] == []
    assert plainly(cards(page)["a"]) == "Not measured yet."


def plainly(card: Card) -> str:
    return "".join(piece["text"] for piece in card["unmeasured"])


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        ((0.5, 0.6), "None of the 2 methods measured here is clearly faster"),
        ((1.5, 0.6), "1 of the 2 methods measured here is clearly faster"),
        ((1.5, 1.6), "2 of the 2 methods measured here are clearly faster"),
        ((1.05, 0.95), "None of the 2 methods measured here is clearly faster"),
    ],
)
def test_clearly_faster_is_what_lies_above_plain_with_its_whole_interval(
    speeds: tuple[float, float], said: str
) -> None:
    rows = [measured(key, speed) for key, speed in zip("ab", speeds, strict=True)]
    page = catalogue(entries(entry("a"), entry("b")), measurement(*rows))
    assert page["sentence"][0]["style"] == "strong"
    assert page["sentence"][0]["text"].startswith(said)


@pytest.mark.parametrize(
    ("speeds", "said"),
    [((0.5, 0.6), "and 2 clearly slower"), ((1.05, 0.95), "and none clearly slower")],
)
def test_clearly_slower_is_what_lies_below_it(speeds: tuple[float, float], said: str) -> None:
    rows = [measured(key, speed) for key, speed in zip("ab", speeds, strict=True)]
    page = catalogue(entries(entry("a"), entry("b")), measurement(*rows))
    assert said in plain(page["sentence"])


def test_a_measurement_says_when_where_and_on_what() -> None:
    page = catalogue(entries(entry("a")), measurement(measured("a", 0.5)))
    for word in ("2026-01-02", "Abacus", "2 threads", "toy", "bfloat16", "3 prompts", "20 tokens"):
        assert word in page["source"]


def test_a_void_measurement_gives_no_numbers_and_says_so() -> None:
    page = catalogue(entries(entry("a")), measurement(measured("a", 2.0), void=True))
    assert "void" in page["source"]
    assert cards(page)["a"]["pairs"] == []
    assert "none has been measured" in plain(page["sentence"])


def test_numbers_are_those_of_the_measurement_coolest_first() -> None:
    rows = [measured("a", 0.5, temperature=1.0), measured("a", 1.25)]
    page = catalogue(entries(entry("a")), measurement(*rows))
    pairs = cards(page)["a"]["pairs"]
    assert [pair["label"] for pair in pairs] == ["T 0", "T 1"]
    assert [pair["speed_text"] for pair in pairs] == ["1.25×", "0.50×"]
    assert (pairs[0]["low"], pairs[0]["high"]) == (1.15, 1.35)
    assert "2.50 tokens per target pass" in pairs[0]["words"]


def test_the_axis_ends_beyond_every_number() -> None:
    page = catalogue(entries(entry("a")), measurement(measured("a", 3.0, 0.9)))
    assert page["most"] == 4
    assert catalogue(entries(), None)["most"] == 2


def test_what_was_left_out_says_why() -> None:
    left = measurement(left_out={"a": "No heads were trained."})
    page = catalogue(entries(entry("a"), entry("b")), left)
    assert plainly(cards(page)["a"]) == "Not measured yet. No heads were trained."
    assert plainly(cards(page)["b"]) == "Not measured yet."
    assert "measured against" in plainly(cards(page)["plain"])


def test_a_filter_offers_what_some_method_has_and_matches_those() -> None:
    tree = {"drafter": SKIP, "shape": TREE, "rule": RULE}
    page = catalogue(entries(entry("a"), entry("b", tree), entry("c", tree, lossless=False)), None)
    filters = {
        one["name"]: [option["value"] for option in one["options"]] for one in page["filters"]
    }
    assert filters["shape"] == ["chain", "tree"]
    assert filters["law"] == ["lossless", "lossy"]
    assert filters["stopping"] == []
    assert filters["family"] == ["baseline", "draft-centric: tree and graph"]
    found = {key: card["filters"]["shape"] for key, card in cards(page).items()}
    assert found == {"plain": "", "a": "chain", "b": "tree", "c": "tree"}
    assert all(set(card["filters"]) == set(filters) for card in cards(page).values())


def test_the_parts_of_a_card_are_the_values_of_its_filters() -> None:
    page = catalogue(entries(entry("a", trained="heads")), None)
    card = cards(page)["a"]
    for fact in card["facts"]:
        assert card["filters"][fact["name"]] == fact["value"]
    told = {fact["name"]: fact["text"] for fact in card["facts"]}
    assert told["rule"] == "Recursive rejection"
    assert told["stopping"] == "none"


def test_families_come_in_the_order_given_and_empty_ones_do_not() -> None:
    page = catalogue(entries(entry("a")), None)
    assert [family["key"] for family in page["families"]] == [
        "baseline",
        "draft-centric: tree and graph",
    ]
    assert [family["branch"] for family in page["families"]] == ["", "draft-centric"]


def test_search_knows_name_idea_authors_parts_and_year_in_small_letters() -> None:
    search = cards(catalogue(entries(entry("alpha")), None))["alpha"]["search"]
    assert search == search.lower()
    for word in ("alpha", "it drafts", "doe", "2401.00001", "recursive rejection", "2024", "trees"):
        assert word in search


def test_the_idea_does_not_repeat_the_name_above_it() -> None:
    page = catalogue(entries(entry("a"), entry("b", idea="Draft: then check.")), None)
    assert cards(page)["a"]["idea"][0]["text"] == "It drafts."
    assert cards(page)["b"]["idea"][0]["text"] == "Draft: then check."


def test_the_paper_s_numbers_say_what_they_were_measured_on_and_others_that_there_are_none() -> (
    None
):
    told = [Reported("2×", "the speed of plain decoding", "a toy")]
    page = catalogue(entries(entry("a", reported=told), entry("b"), entry("c", citation="")), None)
    assert cards(page)["a"]["reported"] == [
        {"number": "2×", "words": "the speed of plain decoding (a toy)"}
    ]
    assert cards(page)["a"]["unreported"] == ""
    assert cards(page)["b"]["unreported"] != ""
    assert cards(page)["c"]["unreported"] == "No paper."
    assert cards(page)["plain"]["unreported"] == ""


def test_only_what_drafts_can_be_compared_with_plain_decoding() -> None:
    page = catalogue(entries(entry("a")), None)
    assert {key: card["comparable"] for key, card in cards(page).items()} == {
        "plain": False,
        "a": True,
    }


def test_what_is_planned_is_listed_with_its_family() -> None:
    to_come = PlannedEntry("x", "X", "Roe 2025", "https://example.org", "verification", "It will.")
    page = catalogue(entries(planned=[to_come]), None)
    (planned,) = page["planned"]
    assert planned["family_words"] == "Verification"
    assert planned["cited"] == [
        {"text": "Roe 2025", "style": "link", "href": "https://example.org"}
    ]
    assert page["planned_note"].startswith("1 method ")
    assert {family["key"] for family in page["families"]} == {"baseline"}


def test_markup_in_words_stays_words() -> None:
    page = catalogue(
        entries(
            entry(
                "a",
                name=NASTY,
                idea=NASTY,
                about=NASTY,
                reported=[Reported(NASTY, NASTY, NASTY)],
                settings=[Setting(NASTY, NASTY)],
            )
        ),
        None,
    )
    card = cards(page)["a"]
    assert card["name"] == NASTY
    assert card["about"] == [{"item": False, "words": words(NASTY)}]
    assert words(NASTY) == [{"text": NASTY, "style": "text", "href": ""}]


def test_papers_and_repositories_are_links_and_code_is_code() -> None:
    told = words("See arXiv 2401.10774 and github.com/a/b-c.d. Set `x=1`.")
    assert [piece["href"] for piece in told if piece["style"] == "link"] == [
        "https://arxiv.org/abs/2401.10774",
        "https://github.com/a/b-c.d",
    ]
    assert [piece["text"] for piece in told if piece["style"] == "code"] == ["x=1"]
    assert "".join(piece["text"] for piece in told) == (
        "See arXiv 2401.10774 and github.com/a/b-c.d. Set x=1."
    )


def test_no_address_makes_no_link() -> None:
    assert linked("no paper", "") == [{"text": "no paper", "style": "text", "href": ""}]


def test_a_docstring_falls_into_paragraphs_and_items() -> None:
    found = paragraphs("One\nline.\n\nTwo:\n\n* first\n  more\n* second\n\nThree.")
    told = [("".join(w["text"] for w in each["words"]), each["item"]) for each in found]
    assert told == [
        ("One line.", False),
        ("Two:", False),
        ("first more", True),
        ("second", True),
        ("Three.", False),
    ]

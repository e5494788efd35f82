"""What may be asked for, and that every refusal names its field and says what is allowed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.controls import catalogue
from app.limits import Limits, limits_of
from app.orders import OrderError, read_order
from core.shapes.levels import node_count

LIMITS = Limits(prompt_characters=100, new_tokens=64, nodes=30, stop_strings=2, stop_characters=5)
PLAIN: Mapping[str, object] = {"prompt": "hello", "method": "plain"}

REFUSED = {
    "no prompt": ({"prompt": ""}, "prompt", "empty"),
    "spaces only": ({"prompt": " \n"}, "prompt", "empty"),
    "a prompt that is no text": ({"prompt": 5}, "prompt", "string"),
    "too long": ({"prompt": "x" * 101}, "prompt", "101 characters; 100 are allowed"),
    "half a character": ({"prompt": "\ud800"}, "prompt", "half a character"),
    "no such method": ({"method": "nope"}, "method", "there are: plain"),
    "no method": ({"method": None}, "method", "names no method"),
    "hot": ({"sampling": {"temperature": 3}}, "temperature", "Temperature is 3; it may be 0 to 2."),
    "no number": (
        {"sampling": {"temperature": "warm"}},
        "temperature",
        "Temperature is 'warm'; it may be 0 to 2.",
    ),
    "not finite": ({"sampling": {"temperature": float("nan")}}, "temperature", "0 to 2"),
    "no mass": ({"sampling": {"top_p": 0}}, "top_p", "0.001 to 1"),
    "too many tokens": ({"sampling": {"max_new_tokens": 65}}, "max_new_tokens", "1 to 64"),
    "no tokens": ({"sampling": {"max_new_tokens": 0}}, "max_new_tokens", "1 to 100000"),
    "too many stops": ({"sampling": {"stop": ["a", "b", "c"]}}, "stop", "2 are allowed"),
    "a long stop": ({"sampling": {"stop": ["abcdef"]}}, "stop", "5 are allowed"),
    "an empty stop": ({"sampling": {"stop": [""]}}, "stop", "Stop at"),
    "unknown sampling": ({"sampling": {"heat": 1}}, "heat", "there are: temperature"),
    "no block": ({"sampling": [1]}, "sampling", "no set of named values"),
    "no device": ({"models": {"device": "tpu"}}, "device", "auto, cpu, cuda, cuda:1 or mps"),
    "no format": ({"models": {"dtype": "int3"}}, "dtype", "auto, bfloat16, float16 or float32"),
    "no threads": ({"models": {"threads": "0"}}, "threads", "idle cores"),
    "unknown setting": ({"method": "rsd", "config": {"x": 1}}, "config.x", "there are: drafter"),
    "out of bounds": (
        {"method": "prompt_lookup", "config": {"length": 99}},
        "config.length",
        "Copied tokens is 99; it may be 1 to 32.",
    ),
    "no choice": (
        {"method": "rsd", "config": {"drafter": "x"}},
        "config.drafter",
        "Drafter is 'x': it may be skip, exit, model,",
    ),
    "a bad level": ({"method": "rsd", "config": {"tree": [0, 2]}}, "config.tree", "each 1 to 16"),
    "no levels": ({"method": "rsd", "config": {"tree": []}}, "config.tree", "at least 1 item"),
    "a large tree": (
        {"method": "rsd", "config": {"tree": [8, 8]}},
        "config",
        "72 nodes a round; 30 are allowed",
    ),
    "a huge tree": (
        {"method": "rsd", "config": {"tree": [16, 16, 16, 16]}},
        "config.tree",
        "it would have 69,904 nodes, and 256 are allowed",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_field_and_what_is_allowed(name: str) -> None:
    change, field, words = REFUSED[name]
    with pytest.raises(OrderError) as caught:
        read_order({**PLAIN, **change}, LIMITS)
    sentence = str(caught.value)
    assert caught.value.field == field
    assert words in sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_an_order_keeps_what_was_asked() -> None:
    order = read_order(
        {
            "prompt": " <b>x</b> ",
            "method": "rsd",
            "config": {"tree": [2, 1]},
            "chat": False,
            "sampling": {"temperature": "0.5", "seed": 3, "stop": ["\n"]},
            "models": {"target": "default"},
        },
        LIMITS,
    )
    assert order.prompt == " <b>x</b> "
    assert order.chat is False
    assert (order.sampling.temperature, order.sampling.seed) == (0.5, 3)
    assert order.sampling.stop == ("\n",)


@given(st.lists(st.integers(1, 6), max_size=5))
def test_nodes_are_counted_as_the_tree_grows(levels: list[int]) -> None:
    frontier, total = 1, 0
    for children in levels:
        frontier = sum(children for _ in range(frontier))
        total += frontier
    assert node_count(levels) == total


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
keys = st.sampled_from(["prompt", "method", "config", "chat", "sampling", "models"])


@given(st.dictionaries(keys, json))
def test_any_json_is_an_order_or_one_sentence(data: dict[str, object]) -> None:
    refused: list[str] = []
    try:
        read_order(data, LIMITS)
    except OrderError as error:
        refused.append(str(error))
    assert all(sentence.endswith((".", "!", "?")) for sentence in refused)


def test_every_setting_of_every_method_has_a_field() -> None:
    from core.registry import methods

    shown = {entry["key"]: entry for entry in catalogue(LIMITS, loaded=False)["methods"]}
    assert list(shown) == list(methods())
    for key, method in methods().items():
        names = [parameter["name"] for parameter in shown[key]["parameters"]]
        assert names == list(method.config.model_fields)
        assert shown[key]["lossless"] == method.lossless


def test_the_defaults_of_all_fields_are_an_order() -> None:
    made = catalogue(Limits(), loaded=True)
    for entry in made["methods"]:
        config = {str(p["name"]): p["default"] for p in entry["parameters"]}
        sampling = {str(p["name"]): p["default"] for p in made["sampling"]}
        models = {str(p["name"]): p["default"] for p in made["models"]}
        read_order(
            {
                "prompt": "x",
                "method": entry["key"],
                "config": config,
                "sampling": sampling,
                "models": models,
            },
            Limits(),
        )


def test_the_stated_bound_of_new_tokens_is_the_one_that_holds() -> None:
    sampling = {str(p["name"]): p for p in catalogue(LIMITS, loaded=True)["sampling"]}
    assert sampling["max_new_tokens"]["maximum"] == LIMITS.new_tokens


def test_a_space_serves_strangers_less() -> None:
    home, space = limits_of({}), limits_of({"SPACE_ID": "a/b"})
    assert space.new_tokens < home.new_tokens
    assert space.prompt_characters < home.prompt_characters
    assert space.nodes < home.nodes

"""Methods are found, described once, and refuse bad settings in one sentence."""

from __future__ import annotations

import json
import pkgutil
import re
from typing import get_args

import pytest
from pydantic import ValidationError

import core.methods
from core.decode import decode, start
from core.dice import SeededDice
from core.laws import Law
from core.models.toy import ToyModel, hashed
from core.planned import PLANNED
from core.registry import Family, Method, Models, get, methods
from core.verify.base import Verifier
from tests.tiny import tiny, wrapped
from tests.toy_heads import toy_counts, toy_heads

METHODS = list(methods().values())
each = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)


def toys() -> Models:
    return Models(
        ToyModel(hashed(3, 1), 3),
        ToyModel(hashed(3, 2), 3),
        heads=toy_heads(3),
        counts=toy_counts(3),
    )


def sentence(error: ValueError) -> str:
    text = str(error)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_one_file_is_one_method_of_the_same_name() -> None:
    files = {info.name for info in pkgutil.iter_modules(core.methods.__path__)}
    assert files == set(methods())
    assert {"plain", "speculative_sampling", "prompt_lookup", "rsd"} <= files


@each
def test_a_method_tells_what_it_is(method: Method) -> None:
    assert method.key == re.sub(r"[^a-z0-9_]", "", method.key)
    assert method.idea.endswith(".")
    assert "\n" not in method.idea
    assert method.about
    assert method.name
    assert method.paper
    assert method.family in get_args(Family)
    assert 1900 < method.year < 2100
    assert not method.url or method.url.startswith("https://")


def test_no_family_is_empty_and_rules_over_the_same_drafts_are_one() -> None:
    found = {method.key: method.family for method in METHODS}
    planned = {each.family for each in PLANNED}
    assert set(found.values()) | planned == set(get_args(Family))
    assert found["canonical_decomposition"] == found["spectr"] == found["block_verification"]


@each
def test_every_setting_has_a_default_a_title_and_a_description(method: Method) -> None:
    for name, field in method.config.model_fields.items():
        assert field.title, name
        assert field.description, name
        assert not field.is_required(), name
    assert method.config.model_config["frozen"]
    assert method.config.model_config["extra"] == "forbid"


@each
def test_settings_survive_the_way_through_json_and_have_a_schema(method: Method) -> None:
    for values in ({}, method.toy):
        config = method.configure(values)
        stored = json.loads(config.model_dump_json())
        assert method.configure(stored) == config
    assert method.config.model_json_schema()["type"] == "object"


@each
def test_settings_cannot_be_changed_afterwards(method: Method) -> None:
    config = method.configure({})
    for name in method.config.model_fields:
        with pytest.raises(ValidationError):
            setattr(config, name, getattr(config, name))


@each
def test_unknown_settings_are_refused_with_the_names_of_those_there_are(method: Method) -> None:
    with pytest.raises(ValueError, match="has no setting 'temprature'") as caught:
        method.configure({"temprature": 1})
    names = ", ".join(method.config.model_fields) or "none"
    assert sentence(caught.value).endswith(f"it has: {names}.")


@pytest.mark.parametrize(
    ("key", "values", "said"),
    [
        ("speculative_sampling", {"length": 0}, "Draft length is 0: "),
        ("speculative_sampling", {"length": 33}, "Draft length is 33: "),
        ("speculative_sampling", {"confidence": 1.5}, "Stop below is 1.5: "),
        ("speculative_sampling", {"drafter": "oracle"}, "Drafter is 'oracle': "),
        ("speculative_sampling", {"skip_layers": [-1]}, "Skipped layers is "),
        ("prompt_lookup", {"ngram": 17}, "Longest n-gram is 17: "),
        ("prompt_lookup", {"convention": "mine"}, "Convention is 'mine': "),
        ("rsd", {"tree": []}, "Tree is "),
        ("rsd", {"tree": [4, 0]}, "Tree is "),
        ("rsd", {"tree": "4,2"}, "Tree is '4,2': "),
    ],
)
def test_values_out_of_range_are_refused_by_title_in_one_sentence(
    key: str, values: dict[str, object], said: str
) -> None:
    with pytest.raises(ValueError, match=r"\.$") as caught:
        get(key).configure(values)
    assert sentence(caught.value).startswith(said)


def test_a_method_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(ValueError, match="There is no method 'magic'; there are: ") as caught:
        get("magic")
    assert all(key in sentence(caught.value) for key in methods())


@each
def test_every_run_has_parts_of_its_own(method: Method) -> None:
    one, other = (method.build(method.toy, toys()) for _ in range(2))
    assert one.drafter is not other.drafter
    assert isinstance(one.verifier.samplings, frozenset)
    verifier: Verifier = one.verifier
    assert verifier.samplings


@pytest.mark.parametrize("key", ["speculative_sampling", "rsd"])
def test_a_second_model_that_is_missing_is_said_in_words(key: str) -> None:
    with pytest.raises(ValueError, match="name one as draft model, train one with"):
        get(key).build({"drafter": "model"}, Models(ToyModel(hashed(3, 1), 3)))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"drafter": "skip", "skip_layers": [3]},
            "Layer 3 cannot be skipped: the target has layers 0 to 2.",
        ),
        ({"drafter": "exit", "exit_layer": 9}, "Exit layer is 9; it may be 1 to 3."),
        ({"drafter": "skip"}, "Layer 12 cannot be skipped: the target has layers 0 to 2."),
    ],
)
def test_layers_that_the_target_lacks_are_refused_when_a_run_begins(
    values: dict[str, object], said: str
) -> None:
    target = wrapped(tiny("llama"))
    decoder = get("speculative_sampling").build(values, Models(target))
    with pytest.raises(ValueError, match=r"\.$") as caught:
        start([1, 2], target, decoder, Law(0), 5)
    assert str(caught.value) == said


def test_a_target_without_layers_cannot_draft_for_itself() -> None:
    models = toys()
    decoder = get("rsd").build({"drafter": "exit", "exit_layer": 1}, models)
    with pytest.raises(ValueError, match="choose a second model as drafter"):
        start([1, 2], models.target, decoder, Law(0), 5)


@each
def test_a_method_does_not_accept_the_settings_of_another(method: Method) -> None:
    for other in METHODS:
        if other.config is not method.config:
            with pytest.raises(TypeError, match="needs its own Config"):
                method.maker(other.configure({}), toys())


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
def test_a_method_says_how_many_nodes_a_round_can_draft(method: Method) -> None:
    target, draft = ToyModel(hashed(5, 1), 5), ToyModel(hashed(5, 2), 5)
    most = method.configure(method.toy).most_nodes()
    models = Models(target, draft, heads=toy_heads(5), counts=toy_counts(5))
    state = start([0, 1], target, method.build(method.toy, models), Law(1), 30)
    drafted = [r.drafted for r in decode(state, SeededDice(0), lambda: 0.0)]
    assert max(drafted) <= most
    assert (most > 0) == (method.key != "plain")

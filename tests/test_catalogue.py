"""What the registry tells of methods beside their code is what their code does, and what is planned
is not there.
"""

from __future__ import annotations

from typing import get_args

import pytest

from core.catalogue import Kind, named
from core.decode import Decoder
from core.drafters.by_law import ByLaw
from core.drafters.choice import DrafterConfig
from core.drafters.lookup import LookupDrafter
from core.drafters.model import ModelDrafter
from core.drafters.nothing import NoDrafter
from core.drafters.strands import StrandDrafter
from core.models.toy import ToyModel, hashed
from core.parts import rules, shapes, stops
from core.planned import PLANNED, Planned
from core.registry import Family, Method, Models, Trained, methods
from core.shapes.base import TreePolicy
from core.shapes.decision import DecisionStop
from core.shapes.levels import Levels
from core.tree import Sampling
from core.verify.base import Verifier
from tests.toy_heads import toy_counts, toy_heads

METHODS = list(methods().values())
each = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
DRAFTING = [method for method in METHODS if method.key != "plain"]


def built(method: Method) -> Decoder:
    """Return a method with its default settings, but for a drafter that a toy has."""
    fields = method.config.model_fields
    values = {"drafter": "model"} if "drafter" in fields else {}
    values |= {"stop": "never"} if method.parts.stop == "decision" else {}
    toys = [ToyModel(hashed(5, seed), 5) for seed in (1, 2)]
    return method.build(values, Models(*toys, heads=toy_heads(5), counts=toy_counts(5)))


def shape_of(decoder: Decoder) -> str:
    """Return the key of what shapes the draft."""
    drafter = decoder.drafter
    if isinstance(drafter, NoDrafter):
        return ""
    if isinstance(drafter, LookupDrafter):
        return "chain"
    if isinstance(drafter, StrandDrafter):
        return "strands"
    model = getattr(drafter, "_like") if isinstance(drafter, ByLaw) else drafter  # noqa: B009
    assert isinstance(model, ModelDrafter)
    policy: TreePolicy = getattr(model, "_shape")  # noqa: B009
    if isinstance(policy, Levels):
        if not policy.branches:
            return "chain"
        return "expansion" if policy.kind is Sampling.INDEPENDENT else "k_config"
    return next(key for key, part in shapes().items() if type(part.make(8)) is type(policy))


def stop_of(decoder: Decoder) -> str:
    found = getattr(decoder.drafter, "_stops", ())
    kinds = {type(part.make()): key for key, part in stops().items()} | {DecisionStop: "decision"}
    keys = [kinds[type(stop)] for stop in found]
    assert len(keys) < 2
    return keys[0] if keys else ""


def rule_of(verifier: Verifier) -> str:
    return next(key for key, part in rules().items() if type(part.make()) is type(verifier))


@pytest.mark.parametrize("method", DRAFTING, ids=lambda method: method.key)
def test_the_parts_that_a_method_names_are_those_that_it_is_built_from(method: Method) -> None:
    decoder = built(method)
    assert shape_of(decoder) == method.parts.shape
    assert rule_of(decoder.verifier) == method.parts.rule
    if method.parts.stop != "decision":  # its weights fit one target: see below
        assert stop_of(decoder) == method.parts.stop


def test_the_decision_model_ends_the_drafts_of_the_one_method_that_names_it() -> None:
    (method,) = [method for method in METHODS if method.parts.stop == "decision"]
    assert method.config.model_fields["stop"].default == "decision"


@pytest.mark.parametrize("method", DRAFTING, ids=lambda method: method.key)
def test_the_drafter_that_a_method_names_is_its_default(method: Method) -> None:
    config = method.configure({})
    drafter = config.own_name.partition("-")[0] if isinstance(config, DrafterConfig) else "lookup"
    assert drafter == method.parts.drafter


def test_plain_decoding_has_no_parts() -> None:
    parts = methods()["plain"].parts
    assert (parts.drafter, parts.shape, parts.rule, parts.stop) == ("", "", "", "")


@each
def test_every_part_has_a_name_and_an_idea(method: Method) -> None:
    kinds: tuple[Kind, ...] = get_args(Kind)
    for kind in kinds:
        if key := getattr(method.parts, kind):
            part = named(kind, key)
            assert part.key == key
            assert part.name
            assert part.idea.endswith(".")


def test_a_part_that_does_not_exist_has_no_name() -> None:
    with pytest.raises(KeyError):
        named("rule", "magic")


@each
def test_the_citation_names_the_paper_that_the_link_leads_to(method: Method) -> None:
    if method.url:
        assert method.url.rpartition("/")[2] in method.citation
        assert method.citation in " ".join(method.about.split())
    else:
        assert method.key in ("plain", "mix")


@each
def test_a_reported_number_says_what_it_counts_and_on_what(method: Method) -> None:
    for reported in method.reported:
        assert any(character.isdigit() for character in reported.number)
        assert reported.counts
        assert reported.on


def test_everything_that_can_be_trained_is_trained_by_some_method() -> None:
    assert {method.trained for method in METHODS} == set(get_args(Trained))


def test_what_drafts_with_a_trained_head_trains_one() -> None:
    heads = {
        method.key for method in METHODS if method.parts.drafter in ("medusa", "hydra", "eagle3")
    }
    assert heads
    assert all(methods()[key].trained == "heads" for key in heads)


def test_no_method_that_is_there_is_planned() -> None:
    keys = [planned.key for planned in PLANNED]
    assert len(set(keys)) == len(keys)
    there = [
        key
        for key in keys
        if any(known == key or known.startswith(f"{key}_") for known in methods())
    ]
    assert there == []


@pytest.mark.parametrize("planned", PLANNED, ids=lambda planned: planned.key)
def test_a_planned_method_says_what_it_is(planned: Planned) -> None:
    assert planned.name
    assert planned.paper
    assert planned.idea.endswith(".")
    assert planned.family in get_args(Family)
    assert not planned.url or planned.url.startswith("https://")

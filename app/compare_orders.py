"""What a comparison asks for, read from JSON and checked: one prompt, several methods.

What all methods share is refused as a whole; settings of one method are that method's affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from app.limits import Limits
from app.orders import Order, OrderError, read_order

REFERENCE = "plain"
_SHARED = ("prompt", "chat", "sampling", "models")
_SHOWN = 40  # characters of a wrong key that a page repeats


@dataclass(frozen=True, slots=True)
class Wish:
    """One method: its order, or why there is none. `place`: among those asked for."""

    place: int
    key: str
    order: Order | None
    refusal: OrderError | None = None


@dataclass(frozen=True, slots=True)
class ComparisonOrder:
    """Plain decoding and the methods beside it, in the order in which they were chosen."""

    reference: Order
    wishes: tuple[Wish, ...]


def read_comparison(data: Mapping[str, object], limits: Limits) -> ComparisonOrder:
    """Return the order in `data`: prompt, chat, sampling and models as in `Order`, and `methods`, a
    list of {method, config}. Raises OrderError; loads no model.

    Plain decoding is always there, once. Fields of a method are named `methods.0.config.tree`.
    """
    shared = {name: data[name] for name in _SHARED if name in data}
    reference = read_order({**shared, "method": REFERENCE}, limits)
    asked = [
        (place, block)
        for place, block in enumerate(_blocks(data))
        if block.get("method") != REFERENCE
    ]
    _count(len(asked), limits)
    _tokens(reference.sampling.max_new_tokens, 1 + len(asked), limits)
    wishes = tuple(_wish(shared, place, block, limits) for place, block in asked)
    if all(wish.order is None for wish in wishes):
        raise next(wish.refusal for wish in wishes if wish.refusal is not None)
    return ComparisonOrder(reference, wishes)


def _blocks(data: Mapping[str, object]) -> list[Mapping[str, object]]:
    value = data.get("methods", [])
    if not isinstance(value, list):
        raise OrderError("methods", "The part 'methods' of the order is no list.")
    blocks = cast("list[object]", value)
    if not all(isinstance(block, dict) for block in blocks):
        raise OrderError("methods", "A method of the order is no block of method and config.")
    return cast("list[Mapping[str, object]]", blocks)


def _count(asked: int, limits: Limits) -> None:
    if asked == 0:
        raise OrderError("methods", "Choose a method to compare with plain decoding.")
    if asked > limits.compared:
        raise OrderError(
            "methods",
            f"There are {asked} methods beside plain decoding; {limits.compared} are allowed here.",
        )


def _tokens(each: int, runs: int, limits: Limits) -> None:
    if each * runs > limits.compared_tokens:
        raise OrderError(
            "max_new_tokens",
            f"New tokens is {each:,} for each of {runs} runs; {limits.compared_tokens:,} in all "
            f"are allowed here: {limits.compared_tokens // runs:,} each.",
        )


def _wish(
    shared: Mapping[str, object], place: int, block: Mapping[str, object], limits: Limits
) -> Wish:
    key = str(block.get("method", ""))[:_SHOWN]
    try:
        return Wish(place, key, read_order({**shared, **_own(block)}, limits))
    except OrderError as error:
        return Wish(place, key, None, OrderError(f"methods.{place}.{error.field}", str(error)))


def _own(block: Mapping[str, object]) -> Mapping[str, object]:
    unknown = set(block) - {"method", "config"}
    if unknown:
        raise OrderError(
            "method", f"A method has no part {sorted(unknown)[0]!r}; it has: method, config."
        )
    return block

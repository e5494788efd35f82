"""The tools of the Lab, and what a tool is: a question to the models, and what is made of it.

A tool that is added here gets a route, a place in the line and a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.lab.laws import ask_laws, laws_key, tell_ladder, tell_rounds
from app.lab.orders import LabOrder, RoundsOrder, XrayOrder
from app.lab.xray import ask_xray, tell_xray, xray_key
from app.studio import Found
from core.trace import Trace

if TYPE_CHECKING:
    from core.run import Engine


@dataclass(frozen=True, slots=True)
class Tool:
    """`ask` needs the models; its answer is kept under `key`. `tell` needs none, and takes at most
    a second. Both run on the thread of the models, and raise ValueError with one sentence.
    """

    name: str
    order: type[LabOrder]
    key: Callable[[LabOrder], Hashable]
    ask: Callable[[Engine, Trace, LabOrder], object]
    tell: Callable[[object, Found, LabOrder], Mapping[str, object]]


TOOLS = (
    Tool("ladder", LabOrder, laws_key, ask_laws, tell_ladder),
    Tool("rounds", RoundsOrder, laws_key, ask_laws, tell_rounds),
    Tool("xray", XrayOrder, xray_key, ask_xray, tell_xray),
)

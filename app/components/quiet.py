"""Component classes without the stub file that Gradio writes beside the source on import."""

from __future__ import annotations

from abc import ABCMeta

from gradio.component_meta import ComponentMeta, updateable


class Quiet(ComponentMeta):
    """Gradio's metaclass but for the stub file. For subclasses without `EVENTS` of their own."""

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, object]) -> type:
        if "__init__" in attrs:
            attrs["__init__"] = updateable(attrs["__init__"])
        return ABCMeta.__new__(cls, name, bases, attrs)

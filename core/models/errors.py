"""The one error that models raise towards people."""

from __future__ import annotations


class ModelError(Exception):
    """A model cannot be used; the message is one sentence that says what is wrong and what is allowed."""

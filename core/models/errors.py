"""The one error that models raise towards people."""

from __future__ import annotations


class ModelError(Exception):
    """A model cannot be used; one sentence says what is wrong and what is allowed."""

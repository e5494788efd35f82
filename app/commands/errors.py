"""How a command ends early: what a person is told, in one sentence."""

from __future__ import annotations


class UsageError(ValueError):
    """The command line asks for what cannot be; the sentence says what can."""


class CommandError(Exception):
    """What was asked for is fine, but could not be done."""

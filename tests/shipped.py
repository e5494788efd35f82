"""Which methods cannot run yet on a target, since what comes with the program for it was not made.

Only then is a test that needs it skipped: a file that is there and damaged fails.
"""

from __future__ import annotations

from core.drafters.choice import DrafterConfig, HeadConfig, SecondModelConfig
from core.heads.frequencies import frequencies_file
from core.heads.shelf import shipped
from core.models.second import KIND
from core.registry import Method
from core.trace import ModelCard


def missing(method: Method, target: ModelCard) -> str:
    """Return what a method lacks by its defaults, nothing where it has all."""
    config = method.configure({})
    kinds = [config.kind] if isinstance(config, HeadConfig) else []
    kinds += [KIND] if isinstance(config, SecondModelConfig) else []
    lacking = [kind for kind in kinds if not shipped(kind, target).is_dir()]
    if lacking:
        return f"no {lacking[0]} comes with the program for {target.id}"
    trims = isinstance(config, DrafterConfig) and config.draft_vocabulary > 0
    if trims and not frequencies_file(target.id).is_file():
        return f"no counts come with the program for {target.id}"
    return ""

"""Times on machines that other processes share."""

from __future__ import annotations

import os


def slowness() -> float:
    """Return how much longer things take now than on an idle machine of as many cores."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))

"""Where the app is served: host and port from the environment.

Knows no Gradio, which reads the same variables when it is imported.
"""

from __future__ import annotations

from collections.abc import MutableMapping

PORT = 7860
_PORT, _HOST = "GRADIO_SERVER_PORT", "GRADIO_SERVER_NAME"


def address(environ: MutableMapping[str, str]) -> tuple[str, int]:
    """Return host and port; an empty variable counts as none, and is taken out.

    Raises SystemExit for a port that is no number from 1 to 65535.
    """
    for name in (_PORT, _HOST):
        if not environ.get(name, "-"):
            del environ[name]
    host = environ.get(_HOST) or ("0.0.0.0" if environ.get("SPACE_ID") else "127.0.0.1")
    text = environ.get(_PORT, str(PORT))
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise SystemExit(f"{_PORT} is {text!r}; it may be a number from 1 to 65535.")
    return host, int(text)

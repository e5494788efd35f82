"""The JSON Schema of trace files: `python -m core.trace_schema > docs/trace-schema.json`.

It covers types and ranges. What must hold between fields is checked by `core.validate`.
"""

from __future__ import annotations

import json

import msgspec

from core.trace import SCHEMA_VERSION, Trace


def schema() -> str:
    """Return the schema as indented JSON text."""
    generated = msgspec.json.schema(Trace)
    trace = generated["$defs"]["Trace"]
    trace["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    trace["required"] = ["schema_version", *trace["required"]]  # files always say their version
    for block in generated["$defs"].values():
        if "description" in block:
            block["description"] = _unwrapped(block["description"])
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", **generated}
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _unwrapped(docstring: str) -> str:
    """Join the lines of each paragraph, so that the schema does not depend on where they break."""
    return "\n\n".join(" ".join(part.split()) for part in docstring.split("\n\n"))


if __name__ == "__main__":
    print(schema(), end="")

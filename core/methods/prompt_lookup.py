"""Prompt lookup: no draft model at all, copy what followed the same words earlier in the text.

A copied token has no draft law, so it counts as fixed: it stays with probability p(x), and a
rejection takes x out of p. That has the same law as drawing the target's token and comparing.

Saxena: Prompt Lookup Decoding, 2023, github.com/apoorvumang/prompt-lookup-decoding (no paper).

The variant of transformers 5.24 is the default: n-grams of 2 then 1 tokens, up to 10 copied.
`convention` "original": sizes 3 to 1, 10 tokens that must be fully available. `match` rightmost is
not published; it is often better in chat.
"""

from typing import Literal

from pydantic import Field

from core.decode import Decoder
from core.drafters.lookup import LookupDrafter
from core.registry import MethodConfig, Models, Parts, method
from core.verify.rejection import RecursiveRejection


class Config(MethodConfig):
    convention: Literal["transformers", "original"] = Field(
        "transformers",
        title="Convention",
        description="transformers: sizes 2 to 1; original: sizes 3 to 1, all or nothing",
    )
    ngram: int = Field(
        0,
        title="Longest n-gram",
        description="0: the convention's own (2 or 3)",
        ge=0,
        le=16,
        json_schema_extra={"labels": {"0": "as published"}},
    )
    length: int = Field(
        10, title="Copied tokens", description="At most this many per round", ge=1, le=32
    )
    match: Literal["leftmost", "rightmost"] = Field(
        "leftmost",
        title="Which match",
        description="leftmost is published; rightmost is the latest one",
    )

    def most_nodes(self) -> int:
        return self.length


@method(
    "prompt_lookup",
    name="Prompt lookup",
    paper="Saxena 2023",
    url="https://github.com/apoorvumang/prompt-lookup-decoding",
    year=2023,
    family="draft-centric: search",
    lossless=True,
    config=Config,
    parts=Parts("lookup", "chain", "rejection"),
    toy={"length": 2, "ngram": 1},
)
def build(config: Config, models: Models) -> Decoder:
    size = config.ngram or (2 if config.convention == "transformers" else 3)
    ends = models.ends if config.convention == "transformers" else frozenset[int]()
    drafter = LookupDrafter(size, config.length, config.convention, config.match, ends)
    return Decoder(drafter, RecursiveRejection())

"""Requests of many kinds over many topics, as people put them to a small assistant.

Made from parts, so that a list of any length is spread over kinds and topics; whole topics can be
held out.
"""

from __future__ import annotations

from itertools import product

TOPICS = (
    "the moon",
    "bread",
    "bicycles",
    "volcanoes",
    "honey bees",
    "chess",
    "the ocean",
    "trains",
    "coffee",
    "gardens",
    "winter",
    "robots",
    "paper",
    "a lighthouse",
    "music",
    "cats",
    "bridges",
    "rivers",
    "clocks",
    "birthday parties",
)
KINDS = (
    "Explain {topic} to a child in three sentences.",
    "Write a short story about {topic}.",
    "List five facts about {topic}.",
    "Write a Python function whose name and purpose have to do with {topic}.",
    "Write a short poem about {topic}.",
    "What are the advantages and disadvantages of {topic}?",
    "Write an email to a friend about {topic}.",
    "Give me a plan for learning more about {topic}.",
)


def prompts(count: int) -> list[str]:
    """Return the first `count` requests; neighbours differ in topic and in kind.

    Raises ValueError when more are asked for than there are.
    """
    pairs = list(product(range(len(TOPICS)), range(len(KINDS))))
    if not 1 <= count <= len(pairs):
        raise ValueError(f"{count} prompts were asked for; 1 to {len(pairs)} can be made.")
    pairs.sort(key=lambda pair: ((pair[1] - pair[0]) % len(KINDS), pair[0]))
    return [KINDS[kind].format(topic=TOPICS[topic]) for topic, kind in pairs[:count]]

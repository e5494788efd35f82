"""How the user turns of the corpus begin: kinds of request over topics. The model writes the rest.

Whole topics are held out, so that what is measured on them was never near what was trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random

TOPICS = (
    "cooking",
    "the solar system",
    "football",
    "gardening",
    "personal finance",
    "the French Revolution",
    "dogs",
    "web development",
    "climate change",
    "the human heart",
    "jazz music",
    "job interviews",
    "electric cars",
    "ancient Rome",
    "weather",
    "school homework",
    "hiking",
    "photography",
    "online shopping",
    "sleep",
    "chess",
    "databases",
    "birthday parties",
    "the ocean",
    "volcanoes",
    "public transport",
    "coffee",
    "probability",
    "robots",
    "learning Spanish",
    "bees",
    "moving to a new city",
    "painting",
    "vaccines",
    "a small bakery",
    "sorting algorithms",
    "bicycles",
    "elections",
    "fairy tales",
    "astronauts",
)
OPENINGS = {
    "explain": (
        "Explain how {topic}",
        "Why is {topic}",
        "What is the difference between {topic} and",
        "I keep hearing about {topic}. What",
    ),
    "list": (
        "List five facts about {topic}",
        "Give me three tips on {topic} for",
        "What are the advantages and disadvantages of {topic}",
    ),
    "code": (
        "Write a Python function about {topic} that",
        "Write a Python class for {topic} with",
        "Write an HTML page about {topic} that",
    ),
    "rewrite": (
        "Rewrite this sentence about {topic} so that it is more polite:",
        "Make this text about {topic} shorter:",
        "Correct the mistakes in this sentence about {topic}:",
    ),
    "arithmetic": (
        "Here is a maths problem about {topic}: if",
        "Calculate step by step, {topic}:",
    ),
    "extract": (
        "Extract the names and numbers from this text about {topic}:",
        "Here is a paragraph about {topic}. Which",
        "Is this review of {topic} positive or negative?",
    ),
    "write": (
        "Write a short story about {topic} in which",
        "Write a poem about {topic}",
        "Write an email about {topic} to",
        "Write a product description for {topic}",
    ),
    "advise": (
        "I am interested in {topic}. How",
        "Can you recommend a book about {topic}",
        "Make a plan for a week of {topic}",
    ),
    "summarize": ("Summarize this paragraph about {topic}:", "In one sentence, what is {topic}"),
}
HELD_OUT_EVERY = 8  # of the topics


@dataclass(frozen=True, slots=True)
class Opening:
    kind: str
    topic: str
    text: str  # the first words of a user turn

    @property
    def held_out(self) -> bool:
        return TOPICS.index(self.topic) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def openings(seed: int) -> list[Opening]:
    """Return every opening over every topic, in an order of its own per `seed`."""
    texts = [(kind, text) for kind, several in OPENINGS.items() for text in several]
    found = [
        Opening(kind, topic, text.format(topic=topic))
        for topic, (kind, text) in product(TOPICS, texts)
    ]
    Random(seed).shuffle(found)
    return found

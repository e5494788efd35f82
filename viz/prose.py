"""A method's own words as pieces: what reads as code, what leads to a paper or a repository."""

from __future__ import annotations

import re
from typing import Literal, TypedDict

_MARKS = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|(?P<arxiv>arXiv:? (?P<id>\d{4}\.\d{4,5}))"
    r"|(?P<site>github\.com/[\w.-]+/[\w.-]*\w)"
)


class Words(TypedDict):
    """A piece of a paragraph; `href` of a link, else empty."""

    text: str
    style: Literal["text", "code", "link"]
    href: str


class Paragraph(TypedDict):
    item: bool  # of a list
    words: list[Words]


def paragraphs(text: str) -> list[Paragraph]:
    """Return the paragraphs of a docstring; lines that begin with `*` are items of a list."""
    found: list[Paragraph] = []
    for block in filter(None, text.split("\n\n")):
        for number, part in enumerate(re.split(r"(?m)^\* ", block)):
            if part.strip():
                found.append({"item": number > 0, "words": words(" ".join(part.split()))})
    return found


def words(text: str) -> list[Words]:
    """Return a line of text with its code and links told apart."""
    found: list[Words] = []
    end = 0
    for mark in _MARKS.finditer(text):
        found += _plain(text[end : mark.start()])
        end = mark.end()
        if mark["code"]:
            found.append({"text": mark["code"], "style": "code", "href": ""})
        elif mark["arxiv"]:
            href = f"https://arxiv.org/abs/{mark['id']}"
            found.append({"text": mark["arxiv"], "style": "link", "href": href})
        else:
            href = f"https://{mark['site']}"
            found.append({"text": mark["site"], "style": "link", "href": href})
    return found + _plain(text[end:])


def linked(text: str, url: str) -> list[Words]:
    """Return a text that is a link where there is an address."""
    return [{"text": text, "style": "link", "href": url}] if url else _plain(text)


def _plain(text: str) -> list[Words]:
    return [{"text": text, "style": "text", "href": ""}] if text else []

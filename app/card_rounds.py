"""One recorded round per method, for the catalogue: which there are, and what is drawn of them.

`python -m app.card_rounds [KEY ...]` decodes a few tokens with the default model and writes
`assets/rounds/`. A method without a file there is shown on an example that was recorded with it.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.answers import packed_json, refused
from app.recordings import Recordings
from core.trace import Trace
from core.trace_io import read, write
from viz.payload import Picture, RoundView
from viz.reading import vocabulary
from viz.round import round_view

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "rounds"
PROMPT = "Explain in two sentences why the sky is blue."
TEMPERATURE = 0.7
TOKENS = 10
OTHERS = {"svip": ("List the days of the week.", 0.0, 24)}  # what a method shows itself on better
SEED = 7


class CardRound(TypedDict):
    """What a card shows: which round of which run this is, and its pictures."""

    words: str
    pictures: list[Picture]


def recorded_keys(recordings: Recordings) -> list[str]:
    """Return the methods of which there is a recorded round."""
    examples = {str(recording.order["method"]) for recording in recordings.all.values()}
    return sorted(examples | {path.name.partition(".")[0] for path in FOLDER.glob("*.json.gz")})


@lru_cache(maxsize=64)
def card_round(key: str, recordings: Recordings) -> CardRound:
    """Return the round that tells most of a method; raise KeyError where none was recorded."""
    trace = _trace(key, recordings)
    words = vocabulary(trace)
    views = [round_view(trace, index, words) for index in range(len(trace.rounds))]
    view = max(views[:-1] or views, key=_tells)  # the last one is cut where the text ends
    prompt = trace.prompt.messages[-1].content if trace.prompt.messages else trace.prompt.text
    return {
        "words": f"Round {view['index']} of a recorded run at temperature "
        f"{trace.sampling.temperature:g}. {view['headline']} The prompt: {prompt}",
        "pictures": _own(view)[:1],
    }


def card_routes(recordings: Recordings) -> list[Route]:
    """Return the route of the rounds."""

    def answer(request: Request) -> Response:
        try:
            found = card_round(request.path_params["key"], recordings)
        except KeyError as error:
            return refused(404, str(error.args[0]))
        return packed_json(gzip.compress(msgspec.json.encode(found), 6, mtime=0))

    return [Route("/catalogue/rounds/{key:str}", answer)]


def _trace(key: str, recordings: Recordings) -> Trace:
    path = FOLDER / f"{key}.json.gz"
    if key.isidentifier() and path.exists():
        return read(path)
    for recording in recordings.all.values():
        if recording.order["method"] == key:
            return recordings.trace(recording.key)
    raise KeyError(f"No round of {key[:40]!r} was recorded.")


def _tells(view: RoundView) -> tuple[bool, bool, int]:
    """Return how much there is to see: a picture, tokens of both kinds, a large draft."""
    return bool(_own(view)), {"accepted", "rejected"} <= set(view["states"]), len(view["nodes"])


def _own(view: RoundView) -> list[Picture]:
    """Return a round's pictures, those that say more of the run last."""
    found = [view["picture"]] if view["picture"] else []
    found += view.get("more_pictures", [])
    return sorted(found, key=lambda picture: picture.get("aside", False))


def main(keys: Sequence[str]) -> int:
    from core.engine import load_engine  # late: nothing else here needs torch
    from core.registry import get, methods
    from core.run import Request, Run

    engine = load_engine(dtype="bfloat16")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for key in keys or list(methods()):
        prompt, temperature, tokens = OTHERS.get(key, (PROMPT, TEMPERATURE, TOKENS))
        request = Request(
            prompt=prompt,
            method=get(key),
            config={},
            chat=True,
            temperature=temperature,
            seed=SEED,
            max_new_tokens=tokens,
        )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            run = Run(request, engine, time.perf_counter, now)
            for _ in run:
                pass
        except ValueError as error:  # no weights, no second model
            print(f"{key}: left out. {error}")
            continue
        path = FOLDER / f"{key}.json.gz"
        write(run.trace(), path)
        print(f"{key}: {len(run.trace().rounds)} rounds, {path.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

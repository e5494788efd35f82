"""`python -m core.measure acceptance`: how often the first, second ... child of a node stays.

Measures one target, drafter and temperature on a small set of prompts and writes a JSON file into
the user's cache, where the method Sequoia finds it. With --times it also times the target for 1 to
64 tokens at once and a forward of the drafter: let nothing else run then.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from core.dice import SeededDice
from core.drafters.choice import DraftModelConfig, draft_opener, model_drafter
from core.engine import load_engine
from core.laws import Law
from core.measure.acceptance import Ranks, places, wide
from core.measure.times import WIDTHS, measure
from core.measured import Acceptance, Times, drafter_key, file_name, folders, write
from core.models.errors import ModelError
from core.registry import Models
from core.run import Engine
from core.train.prompts import prompts


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except (ValueError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; nothing was written.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="WHAT")
    made = kinds.add_parser("acceptance", help="acceptance by place, for Sequoia")
    made.set_defaults(run=run)
    made.add_argument("--drafter", choices=("skip", "exit", "model"), default="skip")
    made.add_argument("--skip-layers", type=int, nargs="+", default=[12, 18], metavar="LAYER")
    made.add_argument("--exit-layer", type=int, default=28, metavar="LAYER")
    made.add_argument("--model", default="default", metavar="ID", help="the target")
    made.add_argument("--draft", metavar="ID", help="second model, with --drafter model")
    made.add_argument("--temperature", type=float, default=1.0, metavar="T", help="0 to 2")
    made.add_argument("--children", type=_whole(1, 64), default=20, metavar="N", help="per node")
    made.add_argument("--prompts", type=_whole(1, 160), default=16, metavar="N")
    made.add_argument("--tokens", type=_whole(2, 2048), default=64, metavar="N", help="per prompt")
    made.add_argument("--seed", type=int, default=0, metavar="S")
    made.add_argument("--times", action="store_true", help="time the forwards too")
    made.add_argument("--dtype", default="auto", metavar="TYPE")
    made.add_argument("--device", default="auto", metavar="D")
    made.add_argument("--threads", default="auto", metavar="N")
    made.add_argument("--folder", type=Path, help="where to write (default: the user's cache)")
    return parser


def _whole(low: int, high: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"it is {text!r}; allowed are {low} to {high}")
        return int(text)

    return whole


def run(options: argparse.Namespace) -> None:
    config = DraftModelConfig.model_validate(
        {
            "drafter": options.drafter,
            "skip_layers": options.skip_layers,
            "exit_layer": options.exit_layer,
        }
    )
    law, texts = Law(round(options.temperature, 3)), prompts(options.prompts)
    engine = load_engine(
        options.model,
        options.draft,
        dtype=options.dtype,
        device=options.device,
        threads=options.threads,
    )
    ranks = count(engine, config, law, texts, options)
    card = engine.target.card
    found = Acceptance(
        target=card.id,
        revision=card.revision,
        drafter=drafter_key(config.drafter_name, engine.draft.card if engine.draft else None),
        temperature=law.temperature,
        accepted=list(ranks.accepted),
        rejected=ranks.rejected,
        prompts=len(texts),
        seed=options.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        times=_times(engine, config) if options.times else None,
    )
    folder = options.folder or folders()[0]
    path = folder / file_name(found.target, found.drafter, found.temperature)
    write(found, path)
    print(f"wrote {path}")


def count(
    engine: Engine,
    config: DraftModelConfig,
    law: Law,
    texts: Sequence[str],
    options: argparse.Namespace,
) -> Ranks:
    """Return the counts over all `texts`, told as they grow."""
    models, found = Models(engine.target, engine.draft), list[int | None]()
    for number, text in enumerate(texts):
        drafter = model_drafter(config, models, wide(options.children))
        dice, ids = (
            SeededDice(options.seed).at("acceptance", number),
            engine.text.encode(text, True),
        )
        ends = engine.text.ends
        found += places(ids, engine.target, drafter, law, options.tokens, ends, dice)
        ranks = Ranks.of(found, options.children)
        shares = " ".join(f"{hits / max(1, len(found)):.3f}" for hits in ranks.accepted[:4])
        print(
            f"{number + 1} of {len(texts)} prompts, {len(found):,} nodes: {shares} ..., "
            f"none {ranks.rejected / max(1, len(found)):.3f}",
            file=sys.stderr,
        )
    return Ranks.of(found, options.children)


def _times(engine: Engine, config: DraftModelConfig) -> Times:
    """Return what forwards take after a text of ordinary length."""
    ids = engine.text.encode(" ".join(prompts(8)), True)
    target = engine.target.open(ids[:-1])
    drafter = draft_opener(config, Models(engine.target, engine.draft))[0](ids[:-1], target)
    costs = measure(target, drafter, ids[-1], time.perf_counter)
    return Times(
        widths=list(WIDTHS),
        verify_ms=[round(ms, 3) for ms in costs.verify_ms],
        draft_ms=round(costs.draft_ms, 3),
        processor=engine.environment.processor,
        threads=engine.environment.threads,
    )


if __name__ == "__main__":
    sys.exit(main())

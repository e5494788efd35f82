"""The likeliest tokens of a drafter's laws, with their shares: what trees that rank candidates are
grown from.

Read from logits at a temperature of their own, so that neither the target's temperature nor its
filters change the ranking. Scores that decide carry six significant digits, as those in the record
do: ties are ties on every machine. Knows no tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.host import Floats
from core.laws import widen
from core.reduce import six_digits, top_tokens

Ids = NDArray[np.int64]


def favourites(logits: Tensor, count: int, temperature: float = 1.0) -> tuple[Ids, Floats]:
    """Return the `count` likeliest tokens of each row of `logits` (R, V), largest first, and their
    shares: two (R, K), with K = V where that is less. Of equal tokens the lowest ids come first.
    """
    scaled = widen(logits) / temperature
    count = min(count, scaled.shape[1])
    first = top_tokens(scaled, count)
    value, total = scaled.gather(1, first), scaled.logsumexp(dim=1, keepdim=True)
    least = value.amin(dim=1, keepdim=True)
    share = (torch.stack([value, least.expand_as(value)]) - total).exp().clamp(max=1)
    columns = torch.stack([first, _equals(scaled, least, count), value > least]).to(share.dtype)
    ids, equals, above, *shares = torch.cat([columns, share]).cpu().double().numpy()
    return _merged(ids, equals, above > 0, shares)


def _equals(rows: Tensor, least: Tensor, count: int) -> Tensor:
    """Return the lowest ids (R, count) of what equals `least`: top_tokens leaves open which of
    equals it takes. Where there are fewer, others follow.
    """
    places = torch.arange(rows.shape[1], device=rows.device, dtype=torch.float32)
    return top_tokens(torch.where(rows == least, -places, -torch.inf), count)


def _merged(
    ids: Floats, equals: Floats, above: NDArray[np.bool_], shares: Sequence[Floats]
) -> tuple[Ids, Floats]:
    """Return the `ids` marked `above`, filled up with the first `equals`: largest share first."""
    count = ids.shape[1]
    room = count - np.count_nonzero(above, axis=1, keepdims=True)
    place: Ids = np.arange(count, dtype=np.int64)
    kept = np.concatenate([above, place < room], axis=1)
    tokens, share = np.concatenate([ids, equals], axis=1), np.concatenate(shares, axis=1)
    order = np.lexsort((tokens, -share, ~kept), axis=1)[:, :count]
    chosen = np.take_along_axis(tokens, order, axis=1).astype(np.int64)
    return chosen, np.take_along_axis(share, order, axis=1)


def products(parents: Sequence[float], shares: Floats) -> Floats:
    """Return the path products (R, K) of children with `shares` (R, K) below `parents` (R,).

    A child's product is never above its parent's.
    """
    return six_digits(np.array(parents)[:, None] * shares)


def ranked(scores: Sequence[float] | Floats, most: int) -> list[int]:
    """Return the places of the `most` largest scores above 0, largest first; of equal scores the
    earlier place comes first.
    """
    best = np.argsort(-np.array(scores), kind="stable")[:most]
    return [int(place) for place in best if scores[place] > 0]

"""Rows of the line map: a line of stations after the other, each in the first row that is free.

Knows stations by number only: parents come first, and stand one place before their children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Weight = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Stations that stand in one row, each the parent of the next; `leaves`: number of the branch
    that it leaves, -1 for one that begins by itself.
    """

    stations: tuple[int, ...]
    first: int
    last: int
    leaves: int


def branches(parent: Sequence[int], place: Sequence[int], weight: Sequence[Weight]) -> list[Branch]:
    """Return the branches in the order in which they take rows.

    The heaviest child goes on in its parent's row. The heaviest line comes first, then what leaves
    it, from its end backwards, so that lines do not cross; then the other beginnings.
    """
    below: list[list[int]] = [[] for _ in parent]
    starts: list[int] = []
    for station, above in enumerate(parent):
        (below[above] if above >= 0 else starts).append(station)
    for siblings in (starts, *below):
        siblings.sort(key=lambda station: weight[station], reverse=True)
    found: list[Branch] = []
    waiting = [(start, -1) for start in reversed(starts)]
    while waiting:
        start, leaves = waiting.pop()
        line = [start]
        while below[line[-1]]:
            line.append(below[line[-1]][0])
        number = len(found)
        found.append(Branch(tuple(line), place[start], place[line[-1]], leaves))
        for station in line:
            waiting += [(child, number) for child in reversed(below[station][1:])]
    return found


def rows_of(found: Sequence[Branch], most: int | None = None) -> list[int] | None:
    """Return the row of each branch, None where they take more than `most`.

    A branch stands below the one that it leaves. Between two lines of a row a place stays free, and
    none lies on a line that leaves for another row. The first line has row 0 for itself and what
    leaves it; other beginnings stand below all that.
    """
    left = min((branch.first for branch in found), default=0)
    taken: list[int] = []  # a bit per place, by row
    passed: list[int] = []  # a bit per gap that a line leaves through, by row
    rows: list[int] = []
    below_first = 0
    for number, branch in enumerate(found):
        if branch.leaves < 0 and number and not below_first:
            below_first = len(taken)
        needs = _bits(branch.first - left, branch.last - left + 1)
        inside = _bits(branch.first - left + 2, branch.last - left + 1)
        row = rows[branch.leaves] + 1 if branch.leaves >= 0 else below_first
        while row < len(taken) and (taken[row] & needs or passed[row] & inside):
            row += 1
        if row >= len(taken):
            taken += [0] * (row + 1 - len(taken))
            passed += [0] * (row + 1 - len(passed))
        if most is not None and row >= most:
            return None
        taken[row] |= needs
        if branch.leaves >= 0:
            for between in range(rows[branch.leaves] + 1, row):
                passed[between] |= 1 << (branch.first - left + 1)
        rows.append(row)
    return rows


def _bits(first: int, last: int) -> int:
    """Return bits `first` to `last`; place p has bit p + 1, the gap before it as well."""
    return (1 << (last + 1)) - (1 << first) if last >= first else 0

"""How numbers are written on the page. Knows nothing of traces.

Probabilities have three decimals and no leading zero; a number that rounds to 0 or 1 without being
it says so.
"""

from __future__ import annotations

from decimal import Decimal

DECIMALS = 3
_CLOSE = 0.01  # a dart nearer than this to its mark is told with one decimal more
_MOST = 9
_ONE = 1 - 1e-9  # sums of rounded floats


def probability(value: float, decimals: int = DECIMALS) -> str:
    """Return `.068`, `1`, `0`, `<.001` or `>.999`."""
    if value <= 0:
        return "0"
    if value >= _ONE:
        return "1"
    text = f"{value:.{decimals}f}"
    if text.startswith("1"):
        return ">." + "9" * decimals
    if not text.strip("0."):
        return "<." + "0" * (decimals - 1) + "1"
    return text[1:]


def optional(value: float | None, decimals: int = DECIMALS) -> str:
    """Return the probability, or nothing where there is none."""
    return "" if value is None else probability(value, decimals)


def decimals_for(chance: float, u: float, least: int = DECIMALS) -> int:
    """Return how many decimals tell a dart from its mark: four when close, more while equal."""
    if chance <= 0 or chance >= 1:
        return least
    decimals = least + 1 if least == DECIMALS and abs(u - chance) < _CLOSE else least
    while (
        decimals < _MOST
        and u != chance
        and probability(u, decimals) == probability(chance, decimals)
    ):
        decimals += 1
    return decimals


def quotient(p: float, q: float, decimals: int = DECIMALS) -> str:
    """Return `.068 / .255 ≈ .265`: the quotient of the unrounded values.

    `=` stands only where the shown values give it. A quotient above one is only said to be that;
    one too small to show is left out.
    """
    shown_p, shown_q = probability(p, decimals), probability(q, decimals)
    pair = f"{shown_p} / {shown_q}"
    if p >= q:
        return f"{pair} {'=' if p == q else '>'} 1"
    result = probability(p / q, decimals)
    if result.startswith("<"):
        return pair
    return f"{pair} {_relation(shown_p, shown_q, result, decimals)} {result}"


def _relation(p: str, q: str, result: str, decimals: int) -> str:
    if any(text[0] in "<>" for text in (p, q, result)):
        return "≈"
    return "=" if probability(float(p) / float(q), decimals) == result else "≈"


def difference(first: str, second: str) -> str:
    """Return the distance of two shown probabilities, in as many decimals."""
    gap = abs(Decimal(first.strip("<>")) - Decimal(second.strip("<>")))
    return str(gap).replace("0.", ".", 1) if gap else "0"


def nats(value: float) -> str:
    return f"{value + 0.0:.2f}"


def duration(milliseconds: float) -> str:
    """Return whole milliseconds below a second, else seconds with one decimal."""
    if 0 < milliseconds < 0.5:
        return "<1 ms"
    if round(milliseconds) < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:,.1f} s"


def durations(*milliseconds: float) -> list[str]:
    """Return durations that are compared, in one unit: that of the longest."""
    if round(max(milliseconds)) < 1000:
        return [duration(value) for value in milliseconds]
    return [f"{value / 1000:,.1f} s" if value >= 50 else "<0.1 s" for value in milliseconds]


def milliseconds(value: float) -> str:
    """Return whole milliseconds, for times that are compared: `1,267 ms`."""
    return "<1 ms" if 0 < value < 0.5 else f"{value:,.0f} ms"


def rate(value: float) -> str:
    """Return tokens per pass, plain steps, times: one decimal."""
    return f"{value:.1f}"


def factor(value: float) -> str:
    """Return a speed-up as it stands beside others: `2.12×`."""
    return f"{value:.2f}×"


def percent(share: float) -> str:
    """Return a share as whole per cent; one that only rounds to none or all says so."""
    if 0 < share < 0.005:
        return "<1 %"
    return ">99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def count(number: int, noun: str) -> str:
    """Return `1 token` or `2,048 tokens`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def ordinal(number: int) -> str:
    """Return `first` to `third`, then `4th`."""
    words = {1: "first", 2: "second", 3: "third"}
    if number in words:
        return words[number]
    teens = 10 <= number % 100 <= 20
    return f"{number:,}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"

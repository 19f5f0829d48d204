"""Numbers for people: no `-0.00`, no interval that looks like certainty."""

from __future__ import annotations

import math

from .. import stats
from ..units import show_seconds


def show(value: float, spec: str) -> str:
    """`format`, but a value that rounds to 0 has no sign.

    Examples
    --------
    >>> show(-0.001, ".2f"), show(-0.006, ".2f")
    ('0.00', '-0.01')
    """
    text = format(value, spec)
    return text.removeprefix("-") if text.startswith("-") and float(text) == 0 else text


def show_number(value: float) -> str:
    """Four digits, or a whole number from 10,000 on."""
    return show(value, ".4g" if abs(value) < 1e4 else ".0f")


def plus_minus(value: float, half: float) -> str:
    """A value and the half width of its interval, to two digits of it or to 0.001; ? : not known.

    Examples
    --------
    >>> plus_minus(3.14159, 0.02), plus_minus(1.008, 1e-5), plus_minus(2.5, 0.0)
    ('3.142 ± 0.020', '1.008 ± <0.001', '2.5 ± 0')
    """
    if not math.isfinite(half):
        return f"{show_number(value)} ± ?"
    if half <= 0:
        return f"{show_number(value)} ± 0"
    if half < 0.0005:
        return f"{show(value, '.3f')} ± <0.001"
    places = min(3, max(0, 1 - math.floor(math.log10(half))))
    return f"{show(value, f'.{places}f')} ± {half:.{places}f}"


def interval(estimate: stats.Estimate, spec: str = ".3g", unit: str = "") -> str:
    """A value and its interval; seconds with a unit of time. ? : an end that is not known.

    Examples
    --------
    >>> interval(stats.Estimate(10.83, 10.5, 11.16, 0.95, 100))
    '10.8 [10.5, 11.2]'
    >>> interval(stats.Estimate(2e-6, 1e-6, 3e-6, 0.95, 100), unit="s")
    '2 µs [1 µs, 3 µs]'
    """
    ends = (estimate.value, estimate.low, estimate.high)
    texts = (show_seconds(float(end), 3) if unit == "s" else show(float(end), spec) for end in ends)
    value, low, high = (
        text if math.isfinite(end) else "?" for text, end in zip(texts, ends, strict=True)
    )
    return f"{value} [{low}, {high}]"


def value_between(value: float, low: float, high: float) -> str:
    """A value and the ends of its interval, which need not be alike; ? : an end is not known.

    Examples
    --------
    >>> value_between(12.3456, 11.912, 14.04), value_between(12.3456, 11.912, float("inf"))
    ('12.3 [11.9, 14.0]', '12.35 [11.91, ?]')
    >>> value_between(1.0, 1.0, 1.0)
    '1 [1, 1]'
    """
    if math.isnan(value):
        return "-"
    reach = [abs(end - value) for end in (low, high) if math.isfinite(end)]
    half = max(reach, default=0.0)
    if half <= 0:
        spec = ".4g"
    else:
        places = 1 - math.floor(math.log10(half))
        spec = f".{min(max(places, 0), 6)}f"
    low_text, high_text = (show(e, spec) if math.isfinite(e) else "?" for e in (low, high))
    return f"{show(value, spec)} [{low_text}, {high_text}]"


def telling(estimate: stats.Estimate, neutral: float, digits: int = 3) -> str:
    """A value and its interval, with digits that show on which side of `neutral` it is.

    Examples
    --------
    >>> telling(stats.Estimate(1.00004, 1.00001, 1.00007, 0.95, 100), 1)
    '1.00004 [1.00001, 1.00007]'
    >>> telling(stats.Estimate(1.5, 1.25, 1.75, 0.95, 100), 1)
    '1.5 [1.25, 1.75]'
    """
    numbers = [float(x) for x in (estimate.value, estimate.low, estimate.high)]
    different = len({*numbers, neutral})
    texts = [""] * 3
    for more in range(digits, 16):
        texts = [show(x, f".{more}g") for x in numbers]
        if len({*map(float, texts), neutral}) == different:
            break
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def show_ranks(ranks: int) -> str:
    """`2^14`, or `6000` for what is no power of two."""
    return str(ranks) if ranks & (ranks - 1) else f"2^{ranks.bit_length() - 1}"


def short(value: float) -> str:
    """At most four characters, as far as they go: 1.03 is 1, 1.26 is 1.3, 12.6 is 13.

    Examples
    --------
    >>> short(1.03), short(1.26), short(12.6), short(0.0312)
    ('1', '1.3', '13', '.031')
    """
    if abs(value) >= 9.95:
        return f"{value:.0f}" if abs(value) < 1e4 else f"{value:.0e}".replace("e+0", "e")
    if abs(value) >= 0.995 or value == 0:
        return f"{value:.2g}"
    return f"{value:.2g}".replace("0.", ".", 1)

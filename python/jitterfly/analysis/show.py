"""Numbers for people: no `-0.00`, no interval that looks like certainty."""

from __future__ import annotations

import math


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
    """A value and the half width of its interval, to two digits of it or to 0.001.

    Examples
    --------
    >>> plus_minus(3.14159, 0.02), plus_minus(1.008, 1e-5), plus_minus(2.5, 0.0)
    ('3.142 ± 0.020', '1.008 ± <0.001', '2.5 ± 0')
    """
    if not math.isfinite(half) or half <= 0:
        return show_number(value) + (" ± 0" if half == 0 else "")
    if half < 0.0005:
        return f"{show(value, '.3f')} ± <0.001"
    places = min(3, max(0, 1 - math.floor(math.log10(half))))
    return f"{show(value, f'.{places}f')} ± {half:.{places}f}"


def show_ranks(ranks: int) -> str:
    """`2^14`."""
    return f"2^{ranks.bit_length() - 1}"

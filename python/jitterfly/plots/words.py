"""Texts of a study in a picture, broken into lines where there is no room for them."""

from __future__ import annotations

import textwrap
import unicodedata

_WIDE = "WF"  # East Asian characters that are as wide as two letters


def wrapped(text: str, inches: float, size: float, most: int = 6) -> str:
    r"""A text in lines of so many inches at a size of font, `most` of them: then it is cut.

    Examples
    --------
    >>> wrapped("one two three", 0.6, 10)
    'one two\nthree'
    """
    letters = inches * 72 / (0.56 * size)
    wide = sum(unicodedata.east_asian_width(letter) in _WIDE for letter in text)
    letters *= len(text) / (len(text) + wide) if text else 1
    lines = textwrap.wrap(text, max(round(letters), 6), max_lines=most, placeholder=" …")
    return "\n".join(lines)


def lines_of(text: str) -> int:
    """How many lines a text has."""
    return text.count("\n") + 1

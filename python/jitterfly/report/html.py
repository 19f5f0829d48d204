"""HTML from nested calls: whatever is not HTML already is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = {"img", "link", "meta"}
# What is plain text in a terminal is set as in print.
_SETTING = (
    (re.compile(r"\b(\d+)\^(\d+)\b"), r"\1<sup>\2</sup>"),
    (re.compile(r"\bT_comm\b"), "T<sub>comm</sub>"),
    (re.compile(r"-&gt;"), "→"),
    (re.compile(r"-inf\b"), "-∞"),
    (re.compile(r"\binf\b"), "∞"),
    (re.compile(r" \.\.\. "), " … "),
)


class Html(str):
    """Text that is HTML; everything else is text that has to become HTML."""

    __slots__ = ()


def text(content: str) -> Html:
    """Escaped, with 2^14, T_comm and -> as in print."""
    if isinstance(content, Html):
        return content
    safe = escape(content)
    for pattern, set_as in _SETTING:
        safe = pattern.sub(set_as, safe)
    return Html(safe)


def tag(name: str, /, *content: str, **attributes: str | None) -> Html:
    """An element; `class_` is the attribute class, `http_equiv` is http-equiv, None is left out.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(content)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Parts one after the other."""
    return Html(between.join(text(part) for part in parts))

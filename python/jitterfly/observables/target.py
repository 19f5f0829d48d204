"""How precise a statistic shall become."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ..fields import shorten
from ..units import parse_seconds
from .names import check_statistic

_FORM = "such as 'mean of gain ± 1 % at 95 %' or 'p99 of completion ± 2us'"
_TEXT = re.compile(
    r"\s*(?P<statistic>.+?)\s+of\s+(?P<observable>.+?)\s*(?:±|\+/?-)\s*(?P<width>.*?)"
    r"(?:\s+at\s+(?P<confidence>[^%]*?)\s*%)?\s*"
)
_PERCENT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3}))?\s*%?")
_NO_TARGET = ("standard error", "min", "max")


@dataclass(frozen=True)
class Target:
    """A statistic of an observable is wanted within this, with this confidence.

    Attributes
    ----------
    statistic : str
        "mean", a quantile such as "p99", or "win probability".
    observable : str
        Its name in the study.
    relative, absolute : float or None
        Half the width of the interval: a share of the value, or in the unit of the observable.
        One of them.
    confidence : float
    unit : "s" or ""
        "s" if `absolute` was written with a unit of time.

    Examples
    --------
    >>> target = Target.parse("p99 of completion +- 2 %")
    >>> target.relative, str(target)
    (0.02, 'p99 of completion ± 2 % at 95 %')
    >>> str(Target.parse("mean of completion ± 1us at 99 %"))
    'mean of completion ± 1e-06 s at 99 %'
    """

    statistic: str
    observable: str
    relative: float | None = None
    absolute: float | None = None
    confidence: float = 0.95
    unit: str = ""

    def __post_init__(self) -> None:
        check_statistic(self.statistic, "target: statistic")
        if self.statistic in _NO_TARGET:
            raise ValueError(
                f"target: statistic must have an interval, got {shorten(self.statistic)}"
            )
        if (self.relative is None) == (self.absolute is None):
            raise ValueError("target: one of relative and absolute must be given")
        for name in ("relative", "absolute"):
            width = getattr(self, name)
            if width is not None and not (_is_number(width) and 0 < width < float("inf")):
                raise ValueError(f"target: {name} must be above 0, got {shorten(width)}")
        if self.unit not in ("", "s"):
            raise ValueError(f"target: unit must be '' or 's', got {shorten(self.unit)}")
        if not (_is_number(self.confidence) and 0 < self.confidence < 1):
            raise ValueError(
                f"target: confidence must be above 0 and below 1, got {shorten(self.confidence)}"
            )

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``"STATISTIC of OBSERVABLE ± WIDTH at CONFIDENCE %"``; +- and +/- do as well.

        WIDTH is a percentage, a time with a unit, or a number in the unit of the observable.
        Without "at" it is 95 %.

        Raises
        ------
        ValueError
            Names the part that can not be read.
        """
        match = _TEXT.fullmatch(text) if isinstance(text, str) and len(text) < 1000 else None
        if match is None:
            raise ValueError(f"target must be {_FORM}, got {shorten(text)}")
        confidence = 0.95
        if match["confidence"] is not None:
            share = _number(match["confidence"], "confidence", text) / 100
            confidence = float(share)
            if not 0 < confidence < 1:
                raise ValueError(
                    f"target {text!r}: confidence must be above 0 % and below 100 %, "
                    f"got {match['confidence']} %"
                )
        width, relative, absolute, unit = match["width"], None, None, ""
        if width.endswith("%"):
            relative = float(_number(width[:-1].rstrip(), "width", text) / 100)
        elif _PERCENT.fullmatch(width):
            absolute = float(_number(width, "width", text))
        else:
            absolute, unit = parse_seconds(width, f"target {text!r}: width", positive=True), "s"
        if not (absolute if relative is None else relative) > 0:
            raise ValueError(f"target {text!r}: width must be above 0, got {width}")
        return cls(match["statistic"], match["observable"], relative, absolute, confidence, unit)

    @property
    def column(self) -> str:
        """What its statistic is called beside the observables, whose means have 95 % intervals.

        Examples
        --------
        >>> Target.parse("p99 of gain ± 2 %").column, Target.parse("mean of gain ± 2 %").column
        ('p99 of gain', 'gain')
        >>> Target.parse("mean of gain ± 2 % at 99 %").column
        'mean of gain at 99 %'
        """
        if self.confidence != 0.95:
            return f"{self.statistic} of {self.observable} at {_percent(self.confidence)} %"
        if self.statistic == "mean":
            return self.observable
        return f"{self.statistic} of {self.observable}"

    def __str__(self) -> str:
        if self.relative is not None:
            width = f"{_percent(self.relative)} %"
        else:
            width = f"{self.absolute!r} {self.unit}".rstrip()
        level = _percent(self.confidence)
        return f"{self.statistic} of {self.observable} ± {width} at {level} %"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(text: str, part: str, target: str) -> Fraction:
    match = _PERCENT.fullmatch(text)
    if match is None or text.endswith("%"):
        raise ValueError(f"target {target!r}: {part} must be a number, got {text!r}")
    return Fraction(match[1]) * Fraction(10) ** int(match[2] or 0)


def _percent(share: float) -> str:
    """A share in percent, so that it reads back as the same float."""
    text = format(Decimal(repr(share)) * 100, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text

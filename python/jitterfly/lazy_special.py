"""Lazy import of `scipy.special`, so that a command starts fast.

To load it takes longer than numpy and half as long as everything else of jitterfly; few need it.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)

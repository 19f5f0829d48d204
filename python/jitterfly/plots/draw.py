"""Pictures of a study from the files of its run."""

from __future__ import annotations

import importlib
from pathlib import Path

from ..studies.results import Results
from ..studies.store import Store
from . import FIGURES

MISSING = "matplotlib is not installed (pip install 'jitterfly[plot]')"


def can_draw() -> bool:
    """Whether matplotlib is there."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        return False
    return True


def draw(store: Store, path: Path | None = None) -> Path:
    """Draw the study's figure.

    Args:
        store: a finished run.
        path: where to; the ending decides the format (png, pdf, svg). By default the study's name
            in the run's directory.

    Raises:
        ValueError: no matplotlib, cells missing, or an ending that matplotlib does not know.
    """
    if not can_draw():
        raise ValueError(MISSING)
    module = importlib.import_module(f".{FIGURES[store.study.figure]}", __package__)
    path = path or store.path / f"{store.study.name}.png"
    save(module.draw(Results.of(store)), path)
    return path


def save(figure: object, path: Path) -> None:
    """Write a figure; the ending decides the format."""
    check_format(path)
    figure.savefig(path)  # type: ignore[attr-defined]


def check_format(path: Path) -> None:
    """Raise ValueError if pictures can not be written in the format that the ending says."""
    from matplotlib.figure import Figure

    known = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix[1:].lower() not in known:
        raise ValueError(f"{path}: a picture's name must end in one of .{', .'.join(known)}")

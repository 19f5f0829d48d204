"""Drawing and saving of figures by kind: PNG, PDF, SVG; what is said if matplotlib is missing."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import extensions, optional_packages
from ..files import check_output, replacing
from ..results import Results
from ..results.figures import check_figure, figure_kind
from ..store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The module that draws each kind of a study's figure, with its function ``draw_KIND``.
DRAWN_IN = {
    "maps": "maps",
    "curves": "curves",
    "family": "curves",
    "each_cycle": "curves",
    "distribution": "distribution",
    "histogram": "distribution",
    "tail": "distribution",
}
MISSING = "matplotlib is not installed (pip install matplotlib)"
FORMATS = (".png", ".pdf", ".svg")
"""Endings of pictures. Others that matplotlib writes lack transparency, or need LaTeX."""


def can_draw() -> bool:
    """Return whether matplotlib is there."""
    try:
        importlib.import_module("matplotlib")
    except ImportError:
        return False
    return True


def module_of(kind: str) -> str:
    """The full name of the module that draws a kind of figure, of this package or another."""
    if kind in DRAWN_IN:
        return f"{__package__}.{DRAWN_IN[kind]}"
    return str(extensions.load(extensions.FIGURES, kind).module)


def _kind_to_draw(results: Results, kind: str | None, observable: str | None) -> str:
    """The kind that was asked for, or the study's own, once it is sure that it can be drawn."""
    check_figure(results.study, kind, observable)
    if not any(cell.realizations for cell in results.cells):
        raise results.study.error("nothing to draw: no cell has any data yet")
    return kind or figure_kind(results.study)


def draw(
    results: Results,
    path: Path,
    kind: str | None = None,
    observable: str | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> None:
    """Draw a figure into `path`, whose ending decides the format (png, pdf, svg).

    Parameters
    ----------
    kind : str, optional
        One of FIGURES; without it the study's own, or what suits its axes.
    observable : str, optional
        The only one that is shown, for kinds that can show several.
    figsize : (float, float), optional
        Width and height in inches.
    title : str, optional
        In place of the study's.

    Raises
    ------
    ValueError
        No matplotlib, an ending that is none of `FORMATS`, a kind that does not suit the
        study, no room in `figsize`, or no data yet.
    OSError
        The file can not be written.
    """
    check_path(path)
    name = _kind_to_draw(results, kind, observable)
    module = importlib.import_module(module_of(name))
    from .style import figure_options

    with drawing(), figure_options(figsize, title):
        save(getattr(module, f"draw_{name}")(results, observable), path)


def figure(
    store: Store,
    kind: str | None = None,
    observable: str | None = None,
    path: str | Path | None = None,
    figsize: tuple[float, float] | None = None,
    title: str | None = None,
) -> Figure:
    """A study's figure as an object of matplotlib; `path`: written there, too. Errors as `draw`."""
    optional_packages.package("matplotlib")
    from .style import figure_options

    results = Results(store)
    name = _kind_to_draw(results, kind, observable)
    with figure_options(figsize, title):
        return optional_packages.picture(
            module_of(name), results, observable, function=f"draw_{name}", path=path
        )


@contextmanager
def drawing(**settings: Any) -> Iterator[None]:
    """Use our settings of matplotlib in the block only; a glyph that no font has becomes a box.

    Those of the user's matplotlibrc do not count: with ``text.usetex`` a picture would need LaTeX,
    and what is text here would be commands of it.
    """
    import matplotlib as mpl

    from .style import RC

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(RC | settings)
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def save(figure: Any, path: Path) -> None:
    """Write a figure, whole or not at all; the ending decides the format."""
    with replacing(path) as temporary:
        suffix = path.suffix[1:].lower()
        # No date: the same picture is the same file.
        metadata = {"Date": None} if suffix == "svg" else None
        figure.savefig(temporary, format=suffix, metadata=metadata)


def check_path(path: Path) -> None:
    """Raise ValueError if no picture can be written to `path`: matplotlib, directory, format."""
    if not can_draw():
        raise ValueError(MISSING)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path}: a picture's name must end in .png, .pdf or .svg")
    check_output(path)

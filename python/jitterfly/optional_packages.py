"""Packages that load late: matplotlib, pandas, SciPy; tables and pictures, also in notebooks.

Results come before pictures and tables of them: no package of results imports `plots`. Their
methods ask here for a picture, and the module that draws is loaded by its name when one is drawn.
"""

from __future__ import annotations

import csv
import io
import math
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .fields import text_of_csv_field

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MAX_ROWS = 20
"""Of a table in a notebook."""


class _ScipySpecial:
    """`scipy.special`, which loads at its first use, so that a command starts fast.

    To load it takes longer than NumPy and half as long as everything else of jitterfly; few need
    it.
    """

    def __getattr__(self, name: str) -> Any:
        function = getattr(import_module("scipy.special"), name)
        setattr(self, name, function)  # from now on it is found without this method
        return function


special: Any = _ScipySpecial()

_EXTRAS = {"matplotlib": "plot", "shtab": "completion"}
"""Which of jitterfly's extras holds a package; the others are in `data`."""


def load_module(name: str) -> Any:
    """A module of this package by its name, such as "plots.draw"."""
    return import_module(f".{name}", __package__)


def package(name: str) -> Any:
    """An optional package.

    Raises
    ------
    ValueError
        It can not be imported; the message says how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        extra = _EXTRAS.get(name, "data")
        message = f"this needs {name} ({error}), of the extra `{extra}`: pip install {name}"
        raise ValueError(message) from None


def data_frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """Rows as a table of pandas; `ValueError` without pandas."""
    frame: pandas.DataFrame = package("pandas").DataFrame(list(rows), columns=list(columns))
    return frame


def from_csv(content: str) -> pandas.DataFrame:
    """Read a table in CSV into pandas: numbers to the last bit, empty fields as NaN.

    `pandas.read_csv` does not do it: old versions round by default, new ones warn of the option.
    """
    rows = (map(text_of_csv_field, row) for row in csv.reader(io.StringIO(content)))
    columns = zip(*rows, strict=True)
    table = {name: _numbers(column) for name, *column in columns}
    frame: pandas.DataFrame = package("pandas").DataFrame(table)
    return frame


def _numbers(column: Sequence[str]) -> list[Any]:
    for kind in (int, float):
        try:
            return [kind(text) if text else math.nan for text in column]
        except ValueError:
            continue
    return [text or None for text in column]


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], more: str) -> str:
    """A title and a table in HTML; `more` says where further rows are, if there are any."""
    head = "".join(f"<th>{escape(word)}</th>" for word in header)
    lines = ["".join(f"<td>{escape(word)}</td>" for word in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{f'<p>{escape(more)}</p>' if more else ''}"
    )


def text(lines: Iterable[str]) -> str:
    """Aligned lines of text in HTML."""
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def picture(
    module: str, *what: Any, function: str = "draw", path: str | Path | None = None
) -> Figure:
    """The figure that a function of a module draws; `path`: written there, too.

    The module is one of `jitterfly.plots`, or any other by its full name.

    Raises
    ------
    ValueError
        No matplotlib, or `path` does not end in .png, .pdf or .svg.
    """
    package("matplotlib")
    draw = load_module("plots.draw")
    if path is not None:
        draw.check_path(Path(path))
    with draw.drawing():
        drawn_in = import_module(module) if "." in module else load_module(f"plots.{module}")
        figure: Figure = getattr(drawn_in, function)(*what)
        if path is not None:
            draw.save(figure, Path(path))
    # What a notebook shows, also where pyplot was never imported.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def run_study(study: Any, out: str | Path | None, **options: Any) -> Any:
    """Run a study, see `sweep.run`; without a directory in one that goes with the result."""
    if out is not None:
        return load_module("sweep").run(study, out, **options)
    folder = tempfile.mkdtemp(prefix="jitterfly-")
    try:
        found = load_module("sweep").run(study, folder, **options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()

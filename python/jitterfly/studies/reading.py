"""Studies and cases from TOML, as text or in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..case import Case
from ..fields import check_keys
from ..files import read_text
from ..noise.files import files_from
from .schema import read_study, read_toml
from .study import Study

_OF_STUDIES = ("name", "axes", "variants", "observables")


def parse_study(text: str, *, full: bool = False, where: str = "study") -> Study:
    """The study that a TOML text describes.

    Parameters
    ----------
    text : str
    full : bool
        Apply the table ``[full]``, which holds the sizes meant for a large machine.
    where : str
        The name of the file, for errors.

    Raises
    ------
    ValueError
        TOML syntax (with line), unknown or missing keys, and what `Study` refuses.
    """
    try:
        study = Study(**read_study(text, full))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    except RecursionError:
        raise ValueError(f"{where}: nested too deeply") from None
    return replace(study, made=replace(study._made, text=text, full=full, where=where))


def load_case(path: str | Path) -> Case:
    """The case in a TOML file: its fields, or a table ``[case]`` of them and nothing else.

    Raises
    ------
    ValueError
        TOML syntax, other tables beside ``[case]`` (a study is more than one case), and what `Case`
        refuses; the message begins with the name of the file.
    OSError
        The file can not be read.
    """
    text = read_text(path)  # whose errors begin with the name, too
    try:
        table = read_toml(text)
        if "case" in table:
            check_keys(table, ["case"], "a file with a table [case]")
            table = table["case"]
        with files_from(Path(path).absolute().parent):
            return Case.from_dict(table)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {str(error) or 'nested too deeply'}") from None


def holds_study(path: str | Path) -> bool:
    """Whether a TOML file is meant as a study, not as one case; errors are left to who loads it."""
    try:
        table = read_toml(read_text(path))
    except (ValueError, RecursionError):
        return False
    return "case" in table and any(key in table for key in _OF_STUDIES)


def load_study(path: str | Path, *, full: bool = False) -> Study:
    """The study in a TOML file; `OSError` when it can not be read, else as `parse_study`."""
    text = read_text(path, pipe=True)
    with files_from(Path(path).absolute().parent):
        return parse_study(text, full=full, where=str(path))

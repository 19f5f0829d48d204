"""Export of a store to files: NetCDF and Zarr (xarray), CSV and Parquet (pandas)."""

from __future__ import annotations

import errno
import os
import re
import shutil
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..fields import shorten
from ..files import check_replaceable, replacing
from ..memory import show_bytes
from ..optional_packages import package
from ..progress import timed_phase
from .numbers import Numbers, dataset_of
from .run_directory import MANY, fingerprint_of
from .store import Store

if TYPE_CHECKING:
    import xarray


def export(store: Store | Numbers | str | Path, path: str | Path, confidence: float = 0.95) -> None:
    """Write .nc (NetCDF), .zarr, .csv or .parquet; a file that is there is replaced as a whole.

    NetCDF and Zarr hold the dataset of `to_xarray`; CSV and Parquet a long table: the axes, and
    observable, unit, chosen_T (where the data chose one), statistic, value, low, high, confidence,
    realizations, exact, met, complete; and, alike in all rows, seed and version (of jitterfly).
    What the table calls `value` is `estimate` in the dataset. Numbers that are known already are
    not computed again; they have their confidence.

    Parameters
    ----------
    store : Store, its directory, or Numbers
        What was run, or its numbers.
    path : path
        The file; its ending says of which kind it is.
    confidence : float
        Of the intervals, between 0 and 1.

    Raises
    ------
    ValueError
        Another ending; a package is missing; what is at `path` is no such file; `store` holds no
        run.
    OSError
        It can not be written.
    """
    path = Path(path)
    check_path(path)
    if isinstance(store, (str, Path)):
        store = Store.open(store)
    if not isinstance(store, (Store, Numbers)):
        raise ValueError(f"store must be a Store or its directory, got {shorten(store)}")
    numbers = store if isinstance(store, Numbers) else Numbers.of(store, confidence)
    with timed_phase(f"writing {path}"):
        WRITERS[path.suffix](numbers, path)


def check_path(path: Path) -> None:
    """Raise what `export` raises of a path, before anything is computed."""
    if path.suffix not in WRITERS:
        raise ValueError(f"export must be to {', '.join(WRITERS)}; got {path.name!r}")
    if path.is_dir() and path.suffix != ".zarr":
        raise ValueError(f"export must be to a file, and {path} is a directory")
    if not path.is_dir():
        check_replaceable(path)
    if not path.parent.is_dir():  # which the packages report in four ways
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    for name in NEEDED.get(path.suffix, ()):
        package(name)


def _named(dataset: xarray.Dataset, path: Path) -> xarray.Dataset:
    """Rename variables as files can hold it: "T_comm per D"; `long_name` has the study's name."""
    names = {str(name): _clean(str(name)) for name in dataset.variables}
    for name, clean in names.items():
        others = [other for other in names if names[other] == clean and other != name]
        if others:
            raise ValueError(
                f"{path}: the axes {name!r} and {others[0]!r} would both be {clean!r} there; "
                "rename one"
            )
    return dataset.rename({name: clean for name, clean in names.items() if name != clean})


def _clean(name: str) -> str:
    """Letters and digits of any script, and what NetCDF allows beside them."""
    name = re.sub(r"\s*/\s*", " per ", unicodedata.normalize("NFC", name))
    name = re.sub(r"[^\w .@+-]+", "", name).strip()
    return name if re.match(r"\w", name) else f"_{name}"


def _netcdf(numbers: Numbers, path: Path) -> None:
    dataset = _named(dataset_of(numbers), path)
    with replacing(path) as temporary:
        try:
            dataset.to_netcdf(temporary, engine="netcdf4")
        except (OSError, RuntimeError) as error:  # of a full disk it says "NetCDF: HDF error"
            free = show_bytes(shutil.disk_usage(path.parent).free)
            raise OSError(errno.EIO, f"{error}; {free} are free there", str(path)) from None


def _zarr(numbers: Numbers, path: Path) -> None:
    zarr = package("zarr")
    # What every version of zarr reads; zarr 2 writes nothing else.
    format2: dict[str, Any] = {} if zarr.__version__.startswith("2.") else {"zarr_format": 2}
    dataset = _named(dataset_of(numbers), path)
    if path.exists() and not (path / ".zgroup").exists():
        raise ValueError(f"{path} is there and is no zarr group; choose another name")
    with replacing(path, folder=True) as temporary:
        dataset.to_zarr(temporary, mode="w", consolidated=True, **format2)


def _csv(numbers: Numbers, path: Path) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        numbers.write_csv(file)


def _parquet(numbers: Numbers, path: Path) -> None:
    frame = numbers.to_pandas().assign(**numbers.origin)
    with replacing(path) as temporary:
        frame.to_parquet(temporary, engine="pyarrow", index=False)


def keep_numbers(store: Store) -> Numbers:
    """All numbers of a store that a run has just filled, which are written down beside it too.

    Not where that fails, as they may be missing, or where others have written records meanwhile.
    """
    fingerprint = None
    with suppress(OSError, ValueError):
        fingerprint = fingerprint_of(store.path)
    numbers = Numbers.of(store)
    if fingerprint is not None and store.files.is_undisturbed():
        with suppress(OSError, ValueError):
            numbers.write_cached(store.path, fingerprint)
    return numbers


def read_numbers(path: str | Path) -> Numbers:
    """All numbers of the run in the directory `path`: those that are kept there, if they fit.

    Raises
    ------
    ValueError
        `path` holds no run, or a damaged one.
    OSError
        A file can not be read.
    """
    kept = Numbers.read_cached(Path(path))
    if kept is not None:
        return kept
    store = Store.open(path)
    return keep_numbers(store) if len(store.cells) >= MANY else Numbers.of(store)


WRITERS: dict[str, Callable[[Numbers, Path], None]] = {
    ".nc": _netcdf,
    ".zarr": _zarr,
    ".csv": _csv,
    ".parquet": _parquet,
}
NEEDED = {
    ".nc": ("xarray", "netCDF4"),
    ".zarr": ("xarray", "zarr"),
    ".parquet": ("pandas", "pyarrow"),
}

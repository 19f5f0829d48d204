"""What a command says: to programs (`--json`), to people, and how much of it (`-q`, `-v`).

Results go to standard output; what a command is doing, where it takes longer than a moment, goes to
standard error.
"""

from __future__ import annotations

import argparse
import codecs
import dataclasses
import io
import json
import math
import platform
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import numpy as np

from ..fields import shorten
from ..files import check_replaceable, read_whole
from ..info import __version__
from ..renames import from_stored
from ..sweep.progress import show_time

_PLAIN_LETTERS = {"±": "+-", "–": "-", "…": "...", "µ": "u", "μ": "u", "×": "x"}
_NARROWEST = 60  # letters that a table needs in any case
_ERROR_HANDLER = "jitterfly.plain"
_QUIET = False
QUIET = 2.0  # seconds in which nothing is said: what is quick needs no progress
SOON = 1.0  # seconds between lines of different phases
EVERY = 10.0  # seconds between lines of a phase where there is no terminal
_EVERY_BAR = 0.1


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN_LETTERS.get(letter, "?") for letter in lost), error.end


def _warning_line(message: Warning | str, *_: Any) -> str:
    return f"jitterfly: warning: {' '.join(str(message).split())}\n"


def short_warnings() -> None:
    """Show a warning as a line of what it says, without the place in this program."""
    warnings.formatwarning = _warning_line


def terminal_width() -> int:
    """Letters of a line: of the terminal, or 120 where the output goes elsewhere."""
    return max(shutil.get_terminal_size((120, 40)).columns, _NARROWEST)


def accept_everything() -> None:
    """Print what the terminal's encoding lacks in plain letters, rather than fail after a run."""
    codecs.register_error(_ERROR_HANDLER, _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_ERROR_HANDLER)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json` to argparse's."""
    parser.add_argument(
        "--json", action="store_true", help="one JSON object on standard output, nothing else there"
    )


def add_levels(parser: argparse.ArgumentParser) -> None:
    """Add `-q` and `-v` to argparse's."""
    level = parser.add_mutually_exclusive_group()
    level.add_argument("-q", "--quiet", action="store_true", help="no progress; errors still")
    level.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also version, machine, time and memory taken; of an error, where it came from",
    )


def print_json(command: str, **parts: Any) -> None:
    """Print one object: the command, the version, and `parts`.

    Times are in seconds. What has an interval is an object with value, low and high. What is not
    known, NaN or infinite is null.
    """
    found = {"command": command, "jitterfly": __version__, **parts}
    print(json.dumps(plain(found), indent=1, allow_nan=False, ensure_ascii=False))


def plain(value: Any) -> Any:
    """The same of what JSON knows: dataclasses as objects, NaN and infinity as null."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


@contextmanager
def level(chosen: argparse.Namespace) -> Iterator[None]:
    """How much is said within it, as `-q` and `-v` ask."""
    global _QUIET  # one for the process, as its standard error is
    before, _QUIET = _QUIET, bool(getattr(chosen, "quiet", False))
    try:
        if not getattr(chosen, "verbose", False):
            yield
            return
        from ..info import info_lines

        print("\n".join(info_lines()), file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            yield
        except Exception:
            traceback.print_exc()
            raise
        finally:
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            most *= 1 if platform.system() == "Darwin" else 1024
            took = f"{time.monotonic() - started:.1f} s, at most {most / 2**20:.0f} MiB"
            print(took, file=sys.stderr, flush=True)
    finally:
        _QUIET = before


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


def progress_stream() -> TextIO:
    """Where progress goes: standard error, or nowhere after `-q`."""
    return _Nowhere() if _QUIET else sys.stderr  # type: ignore[return-value]


def tell(text: str) -> None:
    """A line of progress."""
    print(text, file=progress_stream(), flush=True)


def written(out: Path, names: list[str]) -> list[str]:
    """Paths of files in a directory, for `print_json`."""
    return [str(out / name) for name in names]


def check_out(
    out: Path, name: str, asked: Mapping[str, Any], force: bool, free: Collection[str] = ()
) -> dict[str, Any] | None:
    """The answer to the same question that is in a directory, from its NAME.json; None without one.

    `asked` is the question, which the JSON holds under the same keys. What is in `free` (how long
    to look for the answer) may differ. With `force` it is not looked at.

    Raises:
        ValueError: it holds the answer to another question, or does not say to which.
    """
    there = [
        file for ending in ("json", "csv", "png") if (out / (file := f"{name}.{ending}")).exists()
    ]
    if not there or force:
        return None
    way_out = "choose another --out, or --force to replace it"
    try:
        found = from_stored(json.loads(read_whole(out / f"{name}.json")))
        before = {key: found[key] for key in asked}
    except (OSError, ValueError, TypeError, KeyError):
        raise ValueError(
            f"{out} holds {there[0]}, which does not say what was asked; {way_out}"
        ) from None
    # As it is read back, and whatever the file of measured noise is called.
    now, before = _without_names(json.loads(json.dumps(plain(asked)))), _without_names(before)
    for key in now:
        if key not in free and now[key] != before[key]:
            raise ValueError(
                f"{out} holds the answer to another question (its {key} is "
                f"{shorten(before[key])}, here it is {shorten(now[key])}); {way_out}"
            )
    tell(
        f"jitterfly: {out} holds an answer to the same question: it will be replaced, unless this "
        "one is cut short"
    )
    return found


def _without_names(value: Any) -> Any:
    """Plain values without the names of files whose content is told by a check sum."""
    if isinstance(value, list):
        return [_without_names(one) for one in value]
    if isinstance(value, dict):
        skipped = "file" if "sha256" in value else None
        return {key: _without_names(one) for key, one in value.items() if key != skipped}
    return value


def remove_picture(out: Path, name: str) -> None:
    """Remove an earlier answer's picture, which may not be drawn again."""
    check_replaceable(out / f"{name}.png")
    (out / f"{name}.png").unlink(missing_ok=True)


class Phases:
    """A line for each phase and one now and then; on a terminal a bar (with tqdm).

    Called with the name of the phase, how much of it is done, and how much there is of it (0:
    nobody knows); with the name alone when a phase begins. Use as a context manager. `stream` is
    stderr, so that what is printed as a result stays clean; `begun` is the `time.monotonic()` at
    which the command began (now).
    """

    def __init__(self, stream: TextIO | None = None, begun: float | None = None) -> None:
        self.stream = stream or progress_stream()
        self.begun = time.monotonic()
        self.started = self.last = self.begun if begun is None else begun
        self.name = self.told = ""
        self.bar: Any = None

    def __enter__(self) -> Phases:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def __call__(self, name: str, done: float = 0.0, total: float = 0.0) -> None:
        now = time.monotonic()
        if name != self.name:
            self._close()
            self.name, self.begun = name, now
        if now - self.started < QUIET:
            return
        if self.stream.isatty():
            self._draw(now, done, total)
        elif now - self.last >= (EVERY if name == self.told else SOON):
            self.told, self.last = name, now
            print(f"{name}{self._how_far(now, done, total)}", file=self.stream, flush=True)

    def _how_far(self, now: float, done: float, total: float) -> str:
        """Share and time left, once enough is done to tell."""
        if not 0 < done < total:
            return ""
        left = (now - self.begun) * (total - done) / done
        return f": {100 * done / total:.0f} %, {show_time(left)} left"

    def _draw(self, now: float, done: float, total: float) -> None:
        if self.bar is None:
            try:
                from tqdm import tqdm
            except ImportError:
                if now - self.last >= _EVERY_BAR or self.told != self.name:
                    self.told, self.last = self.name, now
                    text = f"{self.name}{self._how_far(now, done, total)}"
                    print(f"\r\033[K{text}", end="", file=self.stream, flush=True)
                return
            self.told = ""
            self.bar = tqdm(total=1.0, file=self.stream, leave=False,
                            bar_format="{percentage:3.0f}%|{bar}| {desc}")  # fmt: skip
        elif now - self.last < _EVERY_BAR:
            return
        self.last = now
        self.bar.n = done / total if total else 0.0
        self.bar.set_description_str(f"{self.name}{self._how_far(now, done, total)}")

    def _close(self) -> None:
        """Take the bar, or the line, away."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        elif self.told and self.stream.isatty():
            print("\r\033[K", end="", file=self.stream, flush=True)
            self.told = ""

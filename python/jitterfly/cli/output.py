"""Output of commands: `--json`, `-q` and `-v`, warnings, terminal width.

Results go to standard output; what a command is doing, where it takes longer than a moment, goes to
standard error.
"""

from __future__ import annotations

import argparse
import codecs
import json
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, TypeVar

from ..answer import Answer, Note, plain
from ..fields import FieldError, counted, field_error, naming_parameters, shorten
from ..files import check_output, digests, make_directory, read_whole, write_together
from ..progress import Nowhere, Phases
from ..resources import peak_memory
from ..units import LongTimeWarning
from ..version import __version__

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
_PLAIN_LETTERS = {"±": "+-", "–": "-", "…": "...", "µ": "u", "μ": "u", "×": "x"}
_NARROWEST = 60  # letters that a table needs in any case
_ERROR_HANDLER = "jitterfly.plain"
_QUIET = False
_COMMAND_LINE = ""
DRAWING = "drawing the picture"  # the name of a phase
_IN_CASE = " (in Case)"


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN_LETTERS.get(letter, "?") for letter in lost), error.end


def short_warnings() -> None:
    """Show a warning as a line of what it says, without the place in this program."""
    warnings.formatwarning = lambda message, *_, **__: (
        f"jitterfly: warning: {' '.join(str(message).split())}\n"
    )


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


def add_picture(parser: argparse._ActionsContainer, what: str = "the picture") -> None:
    """Add `--picture` to argparse's."""
    parser.add_argument("--picture", type=Path, metavar="FILE", help=f"{what}: .png, .pdf or .svg")


def add_out(parser: argparse.ArgumentParser, unless: str = "") -> None:
    """Add `--out` and `--force` to argparse's; `unless` says when an earlier answer is kept."""
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help="table (CSV), JSON and picture go there; an "
        f"earlier answer to the same question is replaced{unless}")  # fmt: skip
    add("--force", action="store_true", help="replace another question's answer that is in DIR")


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
    document = {"command": command, **_origin(), **parts}
    print(json.dumps(plain(document), indent=1, allow_nan=False, ensure_ascii=False))


def _origin() -> dict[str, str]:
    """Return what the JSON says of where it comes from: version and command line."""
    return {"jitterfly": __version__, "command_line": _COMMAND_LINE}


def print_report(lines: Iterable[str], chosen: argparse.Namespace) -> None:
    """Print an answer unless JSON is asked for: before the files, of which one may fail."""
    if not chosen.json:
        print("\n".join(lines), flush=True)


def noted(answer: AnyAnswer, chosen: argparse.Namespace) -> AnyAnswer:
    """Add to an answer's notes what is to be said of the options that were given."""
    note = getattr(chosen, "note", "")
    return replace(answer, option_notes=(Note("options", note),)) if note else answer


def give_answer(
    answer: Answer,
    chosen: argparse.Namespace,
    writers: Writers,
    begun: float,
    name: str = "",
    **asked: Any,
) -> None:
    """Print an answer, write the files that options ask for, and say which; or print JSON.

    `asked` is for the JSON: what the answer does not say itself. A `cell` of a study is also said
    above the text. `name` is that of the files in the directory of `--out`.
    """
    answer = noted(answer, chosen)
    head = [f"cell of the study: {asked['cell']}", ""] if asked.get("cell") else []
    print_report([*head, *answer.report()], chosen)
    with show_phases(begun) as phases:
        written = []
        if name:
            written = write_with_picture(answer, name, asked, chosen, phases)
            writers = {option: one for option, one in writers.items() if option != "picture"}
        written += write_files(chosen, answer, writers, phases)
    if chosen.json:
        print_json(chosen.command, **{**asked, **answer.to_dict()}, written=written)
    elif written:
        print("\nwritten: " + ", ".join(map(str, written)))


@contextmanager
def level(chosen: argparse.Namespace) -> Iterator[None]:
    """Say as much as `-q` and `-v` ask, as long as the context lasts; in JSON, what was asked."""
    global _QUIET, _COMMAND_LINE  # one for the process, as its standard error is
    before, _QUIET = _QUIET, bool(getattr(chosen, "quiet", False))
    _COMMAND_LINE = getattr(chosen, "command_line", "")
    try:
        if not getattr(chosen, "verbose", False):
            yield
            return
        from ..backends import info_lines

        print("\n".join(info_lines()), file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            yield
        except Exception:
            traceback.print_exc()
            raise
        finally:
            most = peak_memory() / 2**20
            took = f"{time.monotonic() - started:.1f} s, at most {most:.0f} MiB"
            print(took, file=sys.stderr, flush=True)
    finally:
        _QUIET = before


class GivenOptions:
    """The options of a command: those that it has, and `of_fields` with a value by their fields.

    A path of the command line is none of these fields: a directory may have the name of an option.
    """

    def __init__(self, chosen: argparse.Namespace) -> None:
        values = vars(chosen)
        self._options: Mapping[str, str] = values.get("options", {})
        paths = {str(path) for path in values.values() if isinstance(path, Path)}
        self.of_fields = {
            field: option
            for field, option in self._options.items()
            if not any(values.get(field) is none for none in (None, False)) and field not in paths
        }

    def option(self, name: str, here: bool) -> str | None:
        """The option of a parameter; None where the command has `here` to have it and does not."""
        return self._options.get(name, None if here else f"--{name.replace('_', '-')}")

    def text_of(self, error: ValueError) -> str:
        """The text of an error, which begins with its option: what is wrong stands there."""
        named = error if isinstance(error, FieldError) else field_error(error, self.of_fields)
        option = None if named is None else self.of_fields.get(named.field)
        if named is None or option is None:
            return str(error)
        return f"{option}{named.rule.removesuffix(_IN_CASE)}"


def progress_stream() -> TextIO:
    """Return where progress goes: standard error, or nowhere after `-q`."""
    return Nowhere() if _QUIET else sys.stderr  # type: ignore[return-value]


def tell(text: str) -> None:
    """Print a line on standard error: what the command does, not what it found."""
    print(text, file=progress_stream(), flush=True)


@contextmanager
def long_times_refused() -> Iterator[None]:
    """Make an error of measured times of seconds without a unit: all that follows takes long."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the median of", LongTimeWarning)
        try:
            yield
        except LongTimeWarning as warning:
            raise ValueError(f"{warning} (--unit)") from None


def prepare_out(
    chosen: argparse.Namespace, name: str, asked: Mapping[str, Any], free: Collection[str] = ()
) -> dict[str, Any] | None:
    """Make the directory of `--out` ready for an answer, before minutes of work.

    `asked` is the question, which the JSON holds under the same keys. What is in `free` (how long
    to look for the answer) may differ. Return the answer to the same question that is there, from
    its NAME.json; None without one, or with `--force`, which looks at nothing that is there.

    Raises
    ------
    ValueError
        It holds the answer to another question, or does not say to which; `--force` without it.
    """
    if chosen.out is None:
        if chosen.force:
            raise ValueError("--force is for --out DIR, which is not given")
        return None
    make_directory(chosen.out, "--out")
    before = None if chosen.force else _earlier_answer(chosen.out, name, asked, free)
    warn_without_matplotlib()
    return before


def asked_digests(chosen: argparse.Namespace, paths: Iterable[Path]) -> dict[str, str]:
    """Return `digests` where `--out` or `--json` has them; else none: large files take long."""
    return digests(paths) if chosen.json or chosen.out is not None else {}


def _earlier_answer(
    out: Path, name: str, asked: Mapping[str, Any], free: Collection[str]
) -> dict[str, Any] | None:
    """Return the answer to the same question that is in a directory, as `prepare_out`."""
    there = [
        file for ending in ("json", "csv", "png") if (out / (file := f"{name}.{ending}")).exists()
    ]
    if not there:
        return None
    way_out = "choose another --out, or --force to replace it"
    try:
        stored = json.loads(read_whole(out / f"{name}.json"))
        before = {key: stored[key] for key in asked if key not in free}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError(
            f"{out} holds {there[0]}, which does not say what was asked; {way_out}"
        ) from None
    # As it is read back, and whatever the file of measured noise is called.
    now, before = _without_names(json.loads(json.dumps(plain(asked)))), _without_names(before)
    for key in before:
        if now[key] != before[key]:
            what, stored_text, asked_text = _difference(key, before[key], now[key])
            raise ValueError(
                f"{out} holds the answer to another question (its {what} is {stored_text}, here "
                f"it is {asked_text}); {way_out}"
            )
    tell(
        f"jitterfly: {out} holds an answer to the same question: it will be replaced, unless this "
        "one is cut short"
    )
    return stored


def _difference(name: str, before: Any, now: Any) -> tuple[str, str, str]:
    """The innermost value that is not the same, by its path, and both as text."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            if key not in before or key not in now:
                texts = [shorten(one[key]) if key in one else "not given" for one in (before, now)]
                return f"{name}.{key}", texts[0], texts[1]
            if before[key] != now[key]:
                return _difference(f"{name}.{key}", before[key], now[key])
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            if one != other:
                return _difference(f"{name}[{number}]", one, other)
    if shorten(before) == shorten(now):  # they differ behind what is shown
        return name, counted(len(before), "value"), counted(len(now), "value")
    return name, shorten(before), shorten(now)


def _without_names(value: Any) -> Any:
    """Plain values without the names of files that have a check sum beside them."""
    if isinstance(value, list):
        return [_without_names(one) for one in value]
    if isinstance(value, dict):
        skipped = "file" if "sha256" in value else None
        return {key: _without_names(one) for key, one in value.items() if key != skipped}
    return value


def warn_without_matplotlib() -> None:
    """Warn, before the work, if matplotlib is missing and no picture will be drawn."""
    from ..plots import draw

    if not draw.can_draw():
        print(f"jitterfly: no picture will be drawn: {draw.MISSING}", file=sys.stderr)


Writers = Mapping[str, Callable[[Any, Path], object]]
"""What writes an answer into a file, by the name of the option that asks for that file."""
PICTURE: Writers = {"picture": lambda answer, path: answer.plot(path)}


def check_files(chosen: argparse.Namespace, writers: Writers) -> None:
    """Raise ValueError where a file that an option asks for can not be written: before the work."""
    from ..plots import draw

    for name in writers:
        if (path := getattr(chosen, name)) is not None:
            (draw.check_path if "picture" in name else check_output)(path)


def write_files(
    chosen: argparse.Namespace,
    answer: Any,
    writers: Writers,
    phases: Callable[[str], object] = lambda name: None,
) -> list[Path]:
    """Write the files that options ask for; return their paths. `phases` shows what takes long."""
    asked = {name: path for name in writers if (path := getattr(chosen, name)) is not None}
    for name, path in asked.items():
        if "picture" in name:
            phases(DRAWING)
        writers[name](answer, path)
    return list(asked.values())


def write_answer(
    out: Path, name: str, answer: Answer, asked: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write the table of an answer, and its content as JSON, into a directory; their paths.

    The JSON has `asked` as well, the question of an answer that does not say it. It comes first:
    without the question `prepare_out` refuses the directory. An earlier picture is removed: it may
    not be drawn again.
    """
    csv, json_file, png = (out / f"{name}.{ending}" for ending in ("csv", "json", "png"))
    with naming_parameters():
        content = {**(asked or {}), **answer.to_dict()}
    write_together({json_file: json_bytes(content), csv: answer.to_csv().encode()}, [png])
    return [csv, json_file]


def json_bytes(content: Mapping[str, Any]) -> bytes:
    """Return the JSON file of an answer, with where it comes from."""
    return f"{json.dumps(plain({**_origin(), **content}), indent=1)}\n".encode()


def write_with_picture(
    answer: Answer, name: str, asked: Mapping[str, Any], chosen: argparse.Namespace, phases: Phases
) -> list[Path]:
    """Write what `--out` and `--picture` ask for: table, JSON and pictures; return their paths."""
    from ..plots import draw

    written, pictures = [], [] if chosen.picture is None else [chosen.picture]
    if chosen.out is not None:
        written = write_answer(chosen.out, name, answer, asked)
        pictures += [chosen.out / f"{name}.png"] if draw.can_draw() else []
    if getattr(answer, "drawn", True):
        for path in pictures:
            phases(DRAWING)
            answer.plot(path)
        written += pictures
    elif pictures:
        tell("jitterfly: no picture: no number of ranks has a value")
    return written


def show_phases(begun: float | None = None) -> Phases:
    """A printer of a command's phases; `begun` is the `time.monotonic()` at which it began."""
    return Phases(progress_stream(), begun)

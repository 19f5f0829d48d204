"""Validation of arguments and fields: errors; a typo in a key is unknown ("did you mean")."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import inspect
import json
import math
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_origin

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform as dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:  # typing has it from Python 3.11 on
        return lambda function: function


MAX_REALIZATIONS = 2**32
"""Realizations are numbered from 0 to below this."""
MAX_SEED = 2**64 - 1
MAX_THREADS = 1024

_T = TypeVar("_T")
_K = TypeVar("_K")
_C = TypeVar("_C", bound="Component")
_WORDS_SHOWN = 12
_LETTERS_SHOWN = 200
_ALL_SHOWN, _MAX_LETTERS = 30, 800  # of a list that is shown whole
_MIN_PART = 3  # letters of a word that begins or ends another
_MAX_HINTS = 3


Option = Callable[[str, bool], "str | None"]
"""The option of a parameter by its name, and by whether the command that runs has to have it."""
_OPTION: ContextVar[Option] = ContextVar("options of a command", default=lambda name, here: None)


@contextmanager
def naming_options(option: Option) -> Iterator[None]:
    """Name parameters in texts by their options in the block; `option` returns the option."""
    token = _OPTION.set(option)
    try:
        yield
    finally:
        _OPTION.reset(token)


@contextmanager
def naming_other_options() -> Iterator[list[str]]:
    """Name parameters as options of another command in the block; yield a list of those named."""
    named: list[str] = []
    option = _OPTION.get()
    with naming_options(lambda name, here: named.append(name) or option(name, False)):  # type: ignore[func-returns-value]
        yield named


def naming_parameters() -> AbstractContextManager[None]:
    """Name parameters in texts as Python does in the block, even in a command: to store them."""
    return naming_options(lambda name, here: None)


def option_of(name: str) -> str | None:
    """The option of a parameter where a command runs that has one, else None."""
    return _OPTION.get()(name, True)


def parameter(name: str, value: object = None, *, here: bool = True) -> str:
    """The name of a parameter in a text, with its value: of a command, the option.

    `here` is whether that is one of the command that runs, rather than of the one that the text
    names.

    Examples
    --------
    >>> parameter("clock_hz"), parameter("cycles", 20)
    ('`clock_hz`', '`cycles` = 20')
    """
    option = _OPTION.get()(name, here)
    if option is not None:
        return option if value is None else f"{option} {value}"
    return f"`{name}`" if value is None else f"`{name}` = {value}"


class StoredText(str):
    """A text that is stored, with names of parameters: its letters do not depend on who asks.

    A command that prints it shows its options with `shown`.

    Attributes
    ----------
    pieces : tuple of str
        A text and the name of a parameter by turns.

    Examples
    --------
    >>> StoredText("it ends with the last detour; ", "length", " sets it")
    'it ends with the last detour; `length` sets it'
    """

    pieces: tuple[str, ...]

    def __new__(cls, *pieces: str) -> StoredText:
        with naming_parameters():
            made = super().__new__(cls, _in_words(pieces))
        made.pieces = pieces
        return made

    def __getnewargs__(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.pieces


def shown(text: str) -> str:
    """A text as it is printed: the parameters of a `StoredText` are the options of a command."""
    return _in_words(text.pieces) if isinstance(text, StoredText) else text


def _in_words(pieces: Sequence[str]) -> str:
    return "".join(parameter(piece) if i % 2 else piece for i, piece in enumerate(pieces))


class FieldError(ValueError):
    """A field does not take a value; the command line names the option in place of the field.

    Attributes
    ----------
    field : str
    rule : str
        The text behind the name of the field.
    """

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field, rule)
        self.field, self.rule = field, rule

    def __str__(self) -> str:
        return f"{self.field}{self.rule}"


def field_error(error: ValueError, names: Iterable[str]) -> FieldError | None:
    """Return the error of the field with whose name the text of an error begins, if it does."""
    text = str(error)
    for name in names:
        if text.startswith(name) and text[len(name) :][:1] in (" ", ":", "["):
            return FieldError(name, text[len(name) :])
    return None


@contextmanager
def naming_fields(*names: str) -> Iterator[None]:
    """Make a ValueError whose text begins with one of the names the error of that field."""
    try:
        yield
    except ValueError as error:
        named = field_error(error, names) if type(error) is ValueError else None
        if named is None:
            raise
        raise named from None


def as_integer(value: Any) -> int | None:
    """An int of what stands for one, arrays without dimensions too; None of all else.

    As `operator.index` has it, but that bool and intervals of time are no integers.

    Examples
    --------
    >>> as_integer(np.int64(8)), as_integer(np.array(8)), as_integer(8.0), as_integer(True)
    (8, 8, None, None)
    """
    if isinstance(value, (bool, np.bool_, np.timedelta64)):
        return None
    dtype = getattr(value, "dtype", None)
    if dtype is not None:  # of NumPy, xarray and others, which need not have __index__
        whole = getattr(dtype, "kind", "") in ("i", "u") and not getattr(value, "ndim", 0)
        return int(value) if whole and not _is_masked(value) else None
    try:
        return operator.index(value)
    except TypeError:
        return None


def is_number(value: Any) -> bool:
    """Return whether a value is a number of Python or NumPy, not a bool or an interval of time."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, (bool, np.timedelta64))


def as_float(value: Any) -> float:
    """A number as a float: infinite where it is beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def reads_as_number(value: Any) -> bool:
    """Return whether Python reads a value as a float: also the texts ``nan`` and ``1_0``."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def counted(number: int, noun: str) -> str:
    """A number of things in words.

    Examples
    --------
    >>> counted(1, "cell"), counted(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some_are(some: int, every: int, noun: str) -> str:
    """Some of a number of things in words, with a verb.

    Examples
    --------
    >>> some_are(1, 3, "cell"), some_are(0, 1, "cell"), some_are(2, 3, "cell")
    ('1 of 3 cells is', '0 of 1 cell is', '2 of 3 cells are')
    """
    return f"{some:,} of {counted(every, noun)} {'is' if 1 in (some, every) else 'are'}"


def first_few(names: Sequence[str], most: int) -> str:
    """The first names of a list, and how many more there are.

    Examples
    --------
    >>> first_few(["a", "b", "c", "d"], 2), first_few(["a"], 2)
    ('a, b and 2 more', 'a')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# Also those that turn the direction of writing: what is shown is another text then.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""A text for a terminal, with its control characters as JSON writes them.

    A title or a name in a file could else move the cursor, or set the terminal's own title.

    Examples
    --------
    >>> visible("\x1b[2Jred")
    '\\u001b[2Jred'
    """
    return _CONTROL.sub(lambda letter: f"\\u{ord(letter[0]):04x}", text)


_FORMULA = re.compile(r"'*[=+@\-\t\r]")


def csv_field(value: Any) -> Any:
    """Return a value for CSV: an apostrophe stands before what spreadsheets take for a formula.

    Numbers stay, and texts that are numbers; NaN, what is not known, is an empty field, as None is.
    `text_of_csv_field` takes the apostrophe away.

    Examples
    --------
    >>> [csv_field(value) for value in ("=1+1", "'=1+1", "-x", "-1e-6", "it's", -2, float("nan"))]
    ["'=1+1", "''=1+1", "'-x", '-1e-6', "it's", -2, '']
    """
    if isinstance(value, (float, np.floating)) and math.isnan(value):
        return ""
    if not isinstance(value, str) or not _FORMULA.match(value) or reads_as_number(value):
        return value
    return f"'{value}"


def text_of_csv_field(text: str) -> str:
    """The text of which `csv_field` made `text`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def grouped(items: Iterable[_T], key: Callable[[_T], _K]) -> dict[_K, list[_T]]:
    """The items by their key, in the order in which keys and items come.

    Examples
    --------
    >>> grouped(["b1", "a1", "b2"], key=lambda name: name[0])
    {'b': ['b1', 'b2'], 'a': ['a1']}
    """
    groups: dict[_K, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def seed_in_files(seed: int) -> int | str:
    """A seed for NetCDF and Parquet, whose integers end below 2^63: a larger one is text."""
    return seed if seed < 2**63 else str(seed)


def check_integer(value: Any, name: str, low: int, high: int) -> int:
    """Check an integer from `low` to `high` and return it; bool, float and text are errors."""
    number = as_integer(value)
    if number is None or not low <= number <= high:
        rule = f"{name} must be an integer from {show_bound(low)} to {show_bound(high)}"
        raise ValueError(f"{rule}, got {shorten(value)}")
    return number


def check_power_of_two(value: Any, name: str, high: int) -> int:
    """Check a power of two from 1 to `high`, which is one itself, and return it."""
    number = as_integer(value)
    if number is None or not 1 <= number <= high or number & (number - 1):
        rule = f"{name} must be a power of two from 1 to {show_bound(high)}"
        raise ValueError(f"{rule}, got {shorten(value)}")
    return number


def check_choice(value: Any, name: str, allowed: Sequence[str], listed: str = "") -> str:
    """Check that a value is one of a few words; `listed` is where many are listed."""
    if not isinstance(value, str) or value not in allowed:
        choices, hint = _choices(allowed, listed), did_you_mean(value, allowed)
        raise ValueError(f"{name} must be one of {choices}, got {shorten(value)}{hint}")
    return value


def _choices(allowed: Sequence[str], listed: str) -> str:
    """Return words for an error: all of a few, or the first of many and where they are listed."""
    shown = [repr(word) for word in allowed[:_ALL_SHOWN]]
    if len(allowed) > _ALL_SHOWN or sum(map(len, shown)) > _MAX_LETTERS:
        shown = shown[: _FIRST if listed else _WORDS_SHOWN]
        while len(shown) > 1 and sum(map(len, shown)) > _LETTERS_SHOWN:
            shown.pop()
    where = f", listed in {listed}" if listed else ""
    more = f", ... ({len(allowed)} in all{where})" if len(allowed) > len(shown) else ""
    return ", ".join(shown) + more


def _is_masked(value: Any) -> bool:
    """Return whether a value is an array that hides numbers.

    NumPy loads what it has of masked arrays when it is asked for: whoever made one has loaded it.
    A process that gave up its rights to read the package's files must not have to.
    """
    if "numpy.ma" not in sys.modules:
        return False
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def refuse_masked(value: Any, rule: str) -> None:
    """Raise ValueError with `rule` where numbers of a masked array, or of a list, are masked.

    NumPy drops the mask in all other functions, so that what is left out would count. An array
    whose mask hides nothing is as any other.
    """
    for part in value if isinstance(value, (list, tuple)) else (value,):
        if _is_masked(part):
            raise ValueError(
                f"{rule}, got {counted(int(np.ma.count_masked(part)), 'masked value')}: leave "
                "masked values out with .compressed(), or put others in their places with .filled()"
            )


def check_numbers(value: Any, rule: str) -> npt.NDArray[Any]:
    """Return integers or floats of any shape as an array; else ValueError with `rule`."""
    refuse_masked(value, rule)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # rows of different lengths
        raise ValueError(f"{rule}, got {shorten(value)}") from None
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{rule}, got {shorten(value)}")
    return array


def check_keys(
    table: Any,
    allowed: Collection[str],
    where: str,
    advice: Callable[[Any], str] = lambda _: "",
) -> None:
    """Raise ValueError for a key that a table may not have; `advice` says what to write instead.

    Raises
    ------
    ValueError
        Names the key, the allowed keys, and the one that was probably meant.
    """
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table of keys and values, got {shorten(table)}")
    for key in table:
        if key not in allowed:
            hint = advice(key) or did_you_mean(key, allowed)
            raise ValueError(
                f"{where}: unknown key {shorten(key)}{hint}; allowed keys: {', '.join(allowed)}"
            )


def is_of_a_user(value: Any) -> bool:
    """Return whether the class of a value is not one of this package."""
    return type(value).__module__.split(".")[0] != "jitterfly"


def own_components(value: Any) -> Iterator[Component]:
    """The members of a family whose class is a user's, in a value or in its fields."""
    if isinstance(value, (list, tuple)):
        for one in value:
            if not isinstance(one, (int, float)):  # of which there may be millions
                yield from own_components(one)
    elif dataclasses.is_dataclass(value):
        if isinstance(value, Component) and is_of_a_user(value):
            yield value
        for field in dataclasses.fields(value):
            yield from own_components(getattr(value, field.name))


def check_present(table: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    """Raise ValueError where a table lacks one of the keys that it must have."""
    for key in keys:
        if key not in table:
            raise ValueError(f"{where}: key {key!r} is missing")


def did_you_mean(word: Any, allowed: Collection[str]) -> str:
    """The text ``" (did you mean 'period'?)"``, or nothing when no word is close.

    Words that have it as a part come first: those that begin with it, then the others; short ones
    before long ones.
    """
    if not isinstance(word, str):
        return ""
    names, part = list(dict.fromkeys(map(str, allowed)))[:1000], word[:40].lower()
    same = [name for name in names if name.lower() == part]
    whole = same or [name for name in names if len(part) >= _MIN_PART and part in name.lower()]
    begin = [name for name in whole if name.lower().startswith(part)]
    close = sorted(begin or whole, key=lambda name: (len(name), name))[:_MAX_HINTS]
    close = close or difflib.get_close_matches(word[:40], names, n=1)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def show_bound(value: int) -> str:
    """A bound for people: 2^30 rather than 1073741824."""
    for offset, suffix in ((0, ""), (1, " - 1")):
        power = value + offset
        if power >= 2**16 and power & (power - 1) == 0:
            return f"2^{power.bit_length() - 1}{suffix}"
    return str(value)


def show_number(value: float) -> str:
    """A number with all of its digits: 1000000000 rather than 1e+09.

    Examples
    --------
    >>> show_number(1e9), show_number(0.95), show_number(3)
    ('1000000000', '0.95', '3')
    """
    return repr(float(value)).removesuffix(".0")


def shorten(value: Any) -> str:
    """The `repr` on one line, cut where it would fill the screen."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # such as an integer of too many digits
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:60]} ... ({type(value).__name__})"


def summary(value: Any) -> str:
    """A dataclass on one line: the fields that differ from their defaults, long ones cut.

    Examples
    --------
    >>> from jitterfly import Butterfly
    >>> summary(Butterfly(exchanges_after=3))
    'Butterfly(exchanges_after=3)'
    """
    if isinstance(value, tuple):
        return f"[{_listing(value, summary)}{_digest(value)}]"
    if not dataclasses.is_dataclass(value):
        return shorten(value)
    parts = []
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if isinstance(content, np.ndarray) or content != field.default:
            parts.append(f"{field.name}={summary(content)}")
    return f"{type(value).__name__}({', '.join(parts)})"


_MAX_LISTED = 20  # of a list, in the text, or the JSON, of what holds it
_FIRST = 3


def _listing(values: Sequence[Any], show: Callable[[Any], str]) -> str:
    """The values, or the first of very many and how many there are."""
    if len(values) <= _MAX_LISTED:
        return ", ".join(map(show, values))
    return f"{', '.join(map(show, values[:_FIRST]))}, ... {len(values):,} in all"


def _digest(values: Sequence[Any]) -> str:
    """A digest of the values of a long list, where the text is kept as a record."""
    if len(values) <= _MAX_LISTED:
        return ""
    whole = repr(plain_value(tuple(values)) if isinstance(values[0], Component) else values)
    return f"; sha256 of repr {hashlib.sha256(whole.encode()).hexdigest()[:16]}"


def digested(value: Any) -> Any:
    """The plain values for JSON, with a digest in place of a long list."""
    if isinstance(value, Mapping):
        return {key: digested(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        if len(value) > _MAX_LISTED:
            content = json.dumps(value).encode()
            return {"values": len(value), "sha256": hashlib.sha256(content).hexdigest()}
        return [digested(entry) for entry in value]
    return value


def _short_repr(value: Any) -> str:
    """The `repr` of a component, as a dataclass has it, with long tuples cut."""
    if isinstance(value, tuple):
        comma = "," * (len(value) == 1)
        return f"({_listing(value, _short_repr)}{comma})"
    if not isinstance(value, Component) or not dataclasses.is_dataclass(value):
        return repr(value)
    shown = (field for field in dataclasses.fields(value) if field.repr)
    parts = (f"{field.name}={_short_repr(getattr(value, field.name))}" for field in shown)
    return f"{type(value).__qualname__}({', '.join(parts)})"


_PACKAGE = __name__.partition(".")[0]


def stacklevel_of_user() -> int:
    """The `stacklevel`, for a warning that the caller gives, of the nearest frame outside of here.

    Functions that dataclasses makes belong to the module of their class.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__") or ""
        if module.partition(".")[0] != _PACKAGE:
            break
        level, frame = level + 1, frame.f_back
    return level


class Dataclass:
    """A base of classes that `frozen_dataclass` makes, so that type checkers know `replace`."""

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen_dataclass(*, eq: bool = True, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]:
    """Make a ``dataclass(frozen=True)``; a descriptor's type alone declares a required field.

    ``alpha: Seconds`` is required, ``gamma: Seconds = Seconds(0.0)`` is not. A type checker takes
    any value in the class for a default, so that a required field must have none; the descriptor
    that reads and checks it is put there when the class is made. mypy knows this of a decorator
    like this one, and not of the standard one.

    With `kw_only` fields are given by name, and an error says so.
    """

    def make(cls: type[_T]) -> type[_T]:
        for name, annotation in inspect.get_annotations(cls).items():
            if isinstance(annotation, str):
                cls.__annotations__[name] = _PLAIN_FIELDS.get(annotation, annotation)  # for help()
            descriptor = _descriptor(cls, name, annotation)
            if descriptor is not None and name not in vars(cls):
                setattr(cls, name, descriptor())
                vars(cls)[name].__set_name__(cls, name)
        made: type[_T] = dataclasses.dataclass(frozen=True, eq=eq, kw_only=kw_only)(cls)
        if kw_only:
            _say_that_fields_go_by_name(made)
        return made

    return make


def _say_that_fields_go_by_name(cls: type[Any]) -> None:
    """Let the constructor of a class say so where it is given parameters without their names."""
    make = cls.__init__
    names = ", ".join(f"{field.name}=..." for field in dataclasses.fields(cls))

    @functools.wraps(make)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        if args:
            raise TypeError(
                f"{cls.__name__}() takes its parameters by name: {cls.__name__}({names})"
            )
        make(self, **options)

    cls.__init__ = checked


def _descriptor(cls: type[Any], name: str, annotation: Any) -> Any:
    """The descriptor that an annotation names, or None where it is another type.

    Raises
    ------
    TypeError
        What it names is not known where the class is made: a descriptor would not be seen, and the
        field be neither read nor checked.
    """
    descriptor: Any = annotation
    if isinstance(annotation, str):
        if re.match(r"(typing\.)?(ClassVar|InitVar)\b", annotation) or name in vars(cls):
            return None
        try:
            descriptor = eval(annotation, vars(sys.modules[cls.__module__]), dict(vars(cls)))
        except NameError as error:
            raise TypeError(
                f"{cls.__name__}.{name}: {error}; what a field without a default is declared with "
                "must be imported where the module runs, not for type checkers only"
            ) from None
    if hasattr(get_origin(descriptor), "__set__"):
        raise TypeError(f"{cls.__name__}.{name}: {annotation} must have a default")
    return descriptor if hasattr(descriptor, "__set__") else None


class EqualByFields:
    """A base of dataclasses with eq=False: equal where all fields are, with arrays among them.

    NaN is equal to NaN.
    """

    def _key(self) -> tuple[object, ...]:
        values = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return tuple(map(_comparable, values))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._key())


def _comparable(value: object) -> object:
    """Return what is equal, and has the same hash, where values are: -0 is 0, and NaN is NaN."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = value + 0.0  # of -0.0 it is 0.0
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), "nan" if isinstance(value, float) and math.isnan(value) else value


_SHOWN_IN = "congestion", "imbalance"  # their classes are not in `jitterfly` itself


class Component(Dataclass):
    """An exchangeable part of a case (algorithm, network, noise), chosen by its `kind`.

    A direct subclass is a family; a class below it registers itself by its kind::

        @dataclass(frozen=True)
        class Hockney(Network, kind="hockney"): ...
    """

    kind: ClassVar[str]
    other_words: ClassVar[Mapping[str, str]] = {}
    """What to write for words that are no field of any kind."""
    goes_to: ClassVar[str] = ""
    """What takes one of a family: help() of each of its classes says so before their parameters."""
    example: ClassVar[str] = ""
    """How, with `{}` for the class."""
    _kinds: ClassVar[dict[str, type[Component]]]

    def __init_subclass__(cls, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.goes_to and vars(cls).get("__doc__") and cls.__module__.startswith(f"{_PACKAGE}."):
            text = inspect.cleandoc(str(cls.__doc__))
            about, heading, sections = re.split(r"(\n\n(?=\w+\n---)|$)", text, maxsplit=1)
            module = cls.__module__.split(".")[1]
            where = f"jf.{module}" if module in _SHOWN_IN else "jf"
            made = cls.example.format(f"{where}.{cls.__name__}(...)")
            such = f", such as\n``{made}``" if kind is not None else ""
            cls.__doc__ = f"{about}\n\n{cls.goes_to}{such}.{heading}{sections}"
        if Component in cls.__bases__:
            cls._kinds = {}
        if kind is not None:
            _check_new_kind(cls, kind, cls._kinds.get(kind))
            cls.kind = kind
            cls._kinds[kind] = cls
        if "__repr__" not in vars(cls):  # which dataclass keeps
            cls.__repr__ = _short_repr  # type: ignore[assignment]

    @classmethod
    def kinds(cls) -> list[str]:
        """The kinds that are registered in this family."""
        return list(cls._kinds)

    def to_dict(self) -> dict[str, Any]:
        """The plain values (for TOML and JSON), with `kind`; what is None is left out."""
        values: dict[str, Any] = {"kind": self.kind}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value = value.tolist()
            if value is not None:
                values[field.name] = plain_value(value)
        return values

    def short_dict(self) -> dict[str, Any]:
        """The dict of `to_dict` without fields that have their defaults, also in what it holds."""
        values = self.to_dict()
        self.leave_out_defaults(values)
        return values

    def leave_out_defaults(self, values: dict[str, Any]) -> None:
        """Remove the fields that have their defaults from `values`, its `to_dict`, in place."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, np.ndarray) and value == field.default:
                values.pop(field.name, None)
            elif isinstance(value, Component):
                value.leave_out_defaults(values[field.name])

    _listed: ClassVar[str] = ""
    """Where the kinds of a family of very many are listed."""

    @classmethod
    def from_dict(cls: type[_C], table: Mapping[str, Any], where: str | None = None) -> _C:
        """Build the member of this family that ``table["kind"]`` names.

        Parameters
        ----------
        table : mapping
            ``kind`` and the fields of that class.
        where : str, optional
            Place in the study, for error messages, e.g. ``"noise[0]"``.

        Raises
        ------
        ValueError
            Unknown kind, unknown or missing key, or a value out of range.

        Examples
        --------
        >>> from jitterfly.network import Network
        >>> Network.from_dict({"kind": "hockney", "alpha": "1us", "beta": "1ns"})
        Hockney(alpha=1e-06, beta=1e-09, gamma=0.0)
        """
        made = _MADE.get()
        if made is None:
            return cls._from_dict(table, where)
        try:
            key = cls, json.dumps(table)
        except (TypeError, ValueError):  # it has something else than plain values
            return cls._from_dict(table, where)
        if key not in made:
            made[key] = cls._from_dict(table, where)
        found: _C = made[key]
        return found

    @classmethod
    def _from_dict(cls: type[_C], table: Mapping[str, Any], where: str | None) -> _C:
        """Make the component that a table describes by "kind" and fields; errors name `where`."""
        place = where or cls.__name__.lower()
        if not isinstance(table, Mapping):
            raise ValueError(f"{place} must be a table of keys and values, got {shorten(table)}")
        if "kind" not in table:
            kinds = _choices(list(cls._kinds), cls._listed)
            raise ValueError(f"{place}: key 'kind' is missing; kinds: {kinds}")
        kind = check_choice(table["kind"], f"{place}: kind", list(cls._kinds), cls._listed)
        member: Any = cls._kinds[kind]
        fields = dataclasses.fields(member)
        check_keys(table, ["kind", *(field.name for field in fields)], place, cls._advice_on)
        for field in fields:
            if field.name not in table and field.default is dataclasses.MISSING:
                needed = [one.name for one in fields if one.default is dataclasses.MISSING]
                more = f"; {table['kind']} needs {', '.join(needed)}" if len(needed) > 1 else ""
                raise ValueError(f"{place}: key {field.name!r} is missing{more}")
        given = {key: value for key, value in table.items() if key != "kind"}
        if member.__module__.split(".")[0] != "jitterfly":  # built-in ones convert what they take
            given = {key: _as_tuple(value) for key, value in given.items()}
        try:
            built: _C = member(**given)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        return built

    @classmethod
    def _advice_on(cls, key: Any) -> str:
        """Say what may be meant by a key that a kind does not have."""
        if key in cls.other_words:
            return f" ({cls.other_words[key]})"
        kinds = [
            kind
            for kind, member in cls._kinds.items()
            if key in (field.name for field in dataclasses.fields(cast(Any, member)))
        ]
        return f" (a key of kind={' or '.join(kinds)})" if kinds else ""


_MADE: ContextVar[dict[Any, Any] | None] = ContextVar("components made of tables", default=None)


@contextmanager
def shared_components() -> Iterator[None]:
    """Make equal tables the same component in the block: cells have most parts in common."""
    token = _MADE.set({})
    try:
        yield
    finally:
        _MADE.reset(token)


def _check_new_kind(cls: type, kind: str, there: type | None) -> None:
    """Raise ValueError for a kind that another class has.

    The class itself may come again: a notebook's cell is run twice, and a script may import itself.
    """
    if there is None or _source_of(there) == _source_of(cls):
        return
    old, new = (f"{one.__module__}.{one.__qualname__}" for one in (there, cls))
    raise ValueError(
        f"kind {kind!r} of {new} is taken: {old} has it, and what names the kind would mean "
        "another class; choose another kind"
    )


def check_kinds(value: Any, where: str) -> None:
    """Raise ValueError where a component's kind names another class by now.

    What keeps components by their kinds, such as a study, would make that one in its place.
    """
    if isinstance(value, Mapping):
        for key, one in value.items():
            check_kinds(one, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for one in value:
            check_kinds(one, where)
    elif isinstance(value, Component):
        name = type(value).__name__
        if type(value)._kinds.get(value.kind) is not type(value):
            raise ValueError(
                f"{where}: kind {value.kind!r} names another class now, defined after this "
                f"{name} was made; make it again, or give each class a kind"
            )
        again = type(value).from_dict(value.to_dict(), where) if is_of_a_user(value) else value
        for field in dataclasses.fields(value):
            own, built = getattr(value, field.name), getattr(again, field.name)
            if again is not value and repr(own) != repr(built) and not np.array_equal(own, built):
                raise ValueError(
                    f"{where}: {name}.{field.name} = {shorten(own)} does not come back from a "
                    "table: fields of a class of one's own must be numbers, text, or tuples of such"
                )
            check_kinds(own, f"{where}.{field.name}")


def check_hashable(component: Any) -> None:
    """Raise ValueError for a field without a hash, by which programs are kept."""
    for field in dataclasses.fields(component):
        value = getattr(component, field.name)
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                f"{type(component).__name__}.{field.name} must be a number, text or a tuple of "
                f"such, got {shorten(value)}: it has no hash"
            ) from None


def _as_tuple(value: Any) -> Any:
    """Return lists as tuples, which a frozen class can hold."""
    return tuple(map(_as_tuple, value)) if isinstance(value, (list, tuple)) else value


def _source_of(cls: type) -> tuple[str, str]:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file or cls.__module__, cls.__qualname__


def plain_value(value: Any) -> Any:
    """A field for a table: components as tables, tuples as lists."""
    if isinstance(value, Component):
        return value.to_dict()
    return [plain_value(one) for one in value] if isinstance(value, tuple) else value


Array = npt.NDArray[np.float64]
Int = int | np.integer[Any]
"""What is taken where an int is asked for; where it may be text, and where there may be several."""
IntOrText = Int | str
Ints = IntOrText | Sequence[IntOrText] | npt.NDArray[Any]
IntegersLike = Sequence[Int] | npt.NDArray[Any]
PlacesLike = IntegersLike | IntOrText
Real = float | np.floating[Any] | np.integer[Any]
RealOrText = Real | str
FloatsLike = Sequence[Real] | npt.NDArray[Any]
"""What is taken where an array of numbers is asked for."""
Taken = TypeVar("Taken")
Held = TypeVar("Held")
NO_DEFAULT: Any = object()
"""Stands for the default of a field that is required."""


class Converted(Generic[Taken, Held]):
    """A field of a dataclass that takes a `Taken`, which its class makes a `Held` of.

    Parameters
    ----------
    shown : str
        What may be passed, for help().
    default : optional
        Without it the field is required: a subclass then stands for it in a class, see
        `fields.frozen_dataclass`.
    """

    def __init__(self, shown: str, default: Taken | Held = NO_DEFAULT) -> None:
        self._shown = shown
        self._default: Any = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        # What help() shows for a parameter: what may be passed.
        owner.__annotations__[name] = self._shown
        self.__doc__ = self._shown

    def __get__(self, instance: object | None, owner: type | None = None) -> Held:
        if instance is not None:
            value: Held = instance.__dict__[self._name]
            return value
        if self._default is NO_DEFAULT:  # this is how dataclass asks whether there is a default
            raise AttributeError(self._name)
        default: Held = self._default
        return default

    def __set__(self, instance: object, value: Taken) -> None:
        instance.__dict__[self._name] = value

    def in_words(self, value: Held) -> str:
        """A value that the field holds, for people, with its unit."""
        return value if isinstance(value, str) else summary(value)


if TYPE_CHECKING:

    class IntField(Converted[Int, int]):
        """A field of a dataclass which that makes an int, for type checkers; else an int itself."""

        def __init__(self, default: int = NO_DEFAULT) -> None: ...

    class IntOrTextField(Converted[IntOrText, int]):
        """An `IntField` that takes text, too."""

        def __init__(self, default: int = NO_DEFAULT) -> None: ...

    class IntListField(Converted[IntegersLike, tuple[int, ...]]):
        """A field of a dataclass which that makes a tuple of int, likewise."""

    class RealField(Converted[Real, float]):
        """A field of a dataclass which that makes a float, likewise."""

        def __init__(self, default: float = NO_DEFAULT) -> None: ...
else:
    IntField = IntOrTextField = int
    IntListField, RealField = Sequence, float
_PLAIN_FIELDS = {"IntField": "int", "IntOrTextField": "int | str", "IntListField": "list of int",
                 "RealField": "float"}  # fmt: skip


class IntegerArray(Converted[IntegersLike, npt.NDArray[np.int64]]):
    """A required array of integers."""

    def __init__(self) -> None:
        super().__init__("array of int")


class FloatArray(Converted[FloatsLike, Array]):
    """A required array of numbers."""

    def __init__(self) -> None:
        super().__init__("array of float")

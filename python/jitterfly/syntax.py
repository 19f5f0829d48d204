"""Parses option values and TOML: ranges of ranks (64..8192), sizes, networks, --noise period=1ms.

A range without a step doubles. The keys of a noise or a network are the
fields of its class, in `noise` or `network`; `fields` checks them.

The same on the command line, in TOML and in Python. Times: `units.parse_seconds`.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .fields import as_float, as_integer, check_integer, shorten, show_bound, show_number
from .units import BYTES

HELP = """\
counts   64, 2^12, 1e6
sizes    bytes, as counts, or with a unit: 8, 1KiB, 4MB. kB, MB, ... PB are
         powers of 1000, KiB, MiB, ... PiB of 1024, and K, M, G, T, P alone are
         short for these: 8K is 8KiB
lists    64,1000,6000
ranges   64..8192 is 64, 128, 256, ... 8192: each twice the one before;
         64..6000 is 64, 128, ... 4096, and the last, 6000; 64..8192/2 is every
         second one, and the last; 100..500+100 is 100, 200, ... 500, and the
         last
times    seconds, or with a unit: 10us (s, ms, us, ns, ps, min, h)
shares   0.01 or 1%, such as a probability
noise    a noise file (`jitterfly noise record`, `import`), which every rank
         replays, also with keys, such as all.noise,part=each; or KEY=VALUE,
         such as period=1ms,duration=10us,start=stationary, or kind=NAME,...:
         periodic (which it is without a kind), trace (file, ..), renewal,
         step, message, jitter, weather, arrival, speed.
         Each rank has noise of its own; with shared=48 the 48 ranks of a node
         have the same, with shared=machine all.
         A daemon on one node: hosts=nodes(nodes=17,node_ranks=48); on some:
         hosts=share(share=1%,node_ranks=48).
         On and off by turns: bursts=onoff(on=1s,off=9s).
         Daemons at random, 200 ms apart on average:
         kind=renewal,gap=200ms,duration=80us,start=stationary,shared=48
         A gap, a duration or a delay may be drawn:
         duration=exponential(mean=80us), or lognormal(median=80us,sigma=1),
         gamma(shape=2,scale=40us), weibull(scale=80us,shape=0.7),
         pareto(scale=20us,shape=2.5), bernoulli(probability=1%,duration=1ms),
         empirical(file=x.txt)
         Congestion of a network from a file:
         kind=congestion,network=map(file=net.dot); fat trees are for TOML and
         Python
network  KEY=VALUE, such as L=1us,o=200ns (LogGOPS) or alpha=1us,beta=1ns
         (Hockney); nodes, racks and so on with their sizes:
         8: L=300ns,o=100ns; 16: L=600ns,o=200ns; L=1us,o=200ns
         With ,shared_card=true at the end the ranks of a node share its
         bandwidth to other nodes; with ,distances=torus(sizes=8x8,hop=100ns)
         farther nodes have more latency.
         G and beta, times of a byte, may be bandwidths: G=50GB/s or G=400Gb/s
         is G=0.02ns; or nodes of 8 H100 as NCCL's tuning model has them, by
         protocol: nccl-h100-ll, nccl-h100-ll128, nccl-h100-simple
TOML and Python take the same, as text: message_bytes = "8K",
values = "64..8192", network = "L=1us,o=200ns",
noise = ["node.noise", "period=1ms,duration=10us"].
"""

_NUMBER = re.compile(
    r"\s*(?:2\^([0-9]{1,2})|([0-9]{1,19}(?:\.[0-9]{1,19})?(?:[eE][0-9]{1,2})?))"
    r"\s*([A-Za-z]{0,3})\s*"
)
_SHARE = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
    r"|[0-9]{1,30}/[0-9]{1,30})\s*(%?)"
)
_SHORT = {letter: 2 ** (10 * i) for i, letter in enumerate("KMGTP", 1)}
# TOML and Python have no other 1e6. A small float is rather a time or a share in the wrong place.
_MIN_FLOAT = 10.0
_MAX_VALUES = 10_000  # in a list
_CALL = re.compile(r"([A-Za-z]{1,40})\s*\((.*)\)", re.DOTALL)
_GROUPED = re.compile(r"\s*[0-9]{1,3}(?:,[0-9]{3}){1,6}\s*")
_PART = re.compile(r"([A-Za-z_]{1,40})\s*\((.*)\)", re.DOTALL)
NETWORK_PRESETS = {
    "nccl-h100-ll": "8: L=0.6us,o=0,G=185.4GB/s; L=0.7us,o=1us,G=25GB/s",
    "nccl-h100-ll128": "8: L=1.9us,o=0,G=341.136GB/s; L=2us,o=1us,G=46GB/s",
    "nccl-h100-simple": "8: L=3.4us,o=0,G=370.8GB/s; L=8us,o=3us,G=50GB/s",
}
"""Networks by name: the latencies of NCCL 2.30.7 for a step of a ring (src/graph/tuning.cc).

NVLink's 18 links of 20.6 GB/s (topo.h), whose messages take no CPU, and 400 Gb/s for each rank,
whose latency is ``2 o + L`` with the time to post a message as o: 1 us on CPUs of Intel, three
times in Simple. LL has half of the bandwidth, LL128 92 %. To start a kernel is not in it.
"""
_SUCH = {
    "network": "L=1us,o=200ns",
    "noise": "period=1ms,duration=25us",
    "jitter": "period=1ms,duration=25us",
    "arrival": "kind=one_late,delay=1ms,rank=7",
    "speed": "kind=slow_ranks,factor=1.2,ranks=3",
    "L_factor": "kind=slow_nodes,factor=4,nodes=17",
    "G_factor": "kind=slow_nodes,factor=4,nodes=17",
}
_SUCH_LEVELS = "8: L=300ns,o=100ns; L=1us,o=200ns"


def read_count(value: Any, name: str, low: int = 0, high: int = 2**62) -> int:
    """A number of ranks, realizations and the like: an int, 1e6, or text such as ``"2^12"``.

    Raises
    ------
    ValueError
        It is neither, or not from `low` to `high`; the message names `name`.

    Examples
    --------
    >>> read_count(64, "ranks"), read_count("2^12", "ranks"), read_count("1e6", "realizations")
    (64, 4096, 1000000)
    """
    return _read_number(value, name, low, high, False)


def read_size(value: Any, name: str, low: int = 0, high: int = 2**62) -> int:
    """Read bytes as `read_count`, with a unit (`units.BYTES`) or K, M, G, T, P, powers of 1024.

    Examples
    --------
    >>> read_size("8K", "bytes"), read_size("8 kB", "bytes"), read_size("1.5MiB", "bytes")
    (8192, 8000, 1572864)
    """
    return _read_number(value, name, low, high, True)


def is_number(text: str, sizes: bool = False) -> bool:
    """Return whether `read_count`, or `read_size`, knows the text."""
    try:
        _parse_number(text, "", sizes)
    except ValueError:
        return False
    return True


def read_ranks(value: Any, name: str) -> list[int]:
    """Read numbers of ranks: ``"64,1000,6000"``, ``"2^4..2^12"``, ``"2^4..2^12/2"``, or a list.

    A range has both of its ends, also where doubling, or a step, would miss the last.

    Examples
    --------
    >>> read_ranks("6, 2^4..2^8/2", "ranks"), read_ranks("8..64/2", "ranks")
    ([6, 16, 64, 256], [8, 32, 64])
    >>> read_ranks("100..350+100", "ranks"), read_ranks("48..300", "ranks")
    ([100, 200, 300, 350], [48, 96, 192, 300])
    """
    return _read_numbers(value, name, False)


def read_bytes(value: Any, name: str) -> list[int]:
    """Read sizes as `read_ranks`, with the units of `read_size`.

    Examples
    --------
    >>> read_bytes("8,1KiB,1MB", "bytes")
    [8, 1024, 1000000]
    >>> read_bytes(["1KiB..4KiB", 7], "bytes")
    [1024, 2048, 4096, 7]
    """
    return _read_numbers(value, name, True)


def read_devices(value: Any, name: str) -> tuple[int, ...] | None:
    """The numbers of GPUs, such as "0,2", [0, 2] or 2; () for "all", None for None.

    Examples
    --------
    >>> read_devices("0,2", "devices"), read_devices("all", "devices")
    ((0, 2), ())
    """
    if value is None:
        return None
    says_all = isinstance(value, str) and value.strip() == "all"
    if says_all or (isinstance(value, tuple) and not value):
        return ()
    given: list[Any] = [value]
    try:
        if isinstance(value, str):
            given = [int(n) if n.strip().isdecimal() else n for n in value.split(",")]
        elif isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim):
            given = list(value)
        numbers = tuple(check_integer(n, name, 0, _MAX_DEVICE) for n in given)
    except ValueError:
        numbers = ()
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"{name} must be 'all' or different numbers of GPUs such as 0,2, got {shorten(value)}"
        )
    return numbers


_MAX_DEVICE = 1023


def read_share(
    value: Any, name: str, low: float, high: float, example: str = "0.01 or 1%"
) -> float:
    """A share: 0.01, or ``"1%"``.

    Examples
    --------
    >>> read_share("1%", "within", 0, 1), read_share("0.05", "within", 0, 1)
    (0.01, 0.05)
    """
    share = -1.0
    if isinstance(value, str):
        share = share_of_text(value)
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        share = as_float(value)
    if not low <= share < high:
        raise ValueError(
            f"{name} must be a share from {show_number(low)} to below {show_number(high)} "
            f"such as {example}, got {shorten(value)}"
        )
    return share


def share_of_text(text: str) -> float:
    """A share as a number; a negative one for text that is no share.

    Examples
    --------
    >>> share_of_text("1%"), share_of_text("1/8"), share_of_text("one")
    (0.01, 0.125, -1.0)
    """
    match = _SHARE.fullmatch(text.strip())
    with suppress(ZeroDivisionError):
        return float(Fraction(match[1]) / (100 if match[2] else 1)) if match else -1.0
    return -1.0


def read_number(text: str, name: str) -> float:
    """Read a finite number, or one in percent, from text.

    Examples
    --------
    >>> read_number("1.5", "ratio"), read_number("5%", "ratio")
    (1.5, 0.05)
    """
    try:
        parsed = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        parsed = math.nan
    if not math.isfinite(parsed):
        raise ValueError(f"{name} must be a number, got {shorten(text)}")
    return parsed


def split_outside(text: str, mark: str = ",") -> list[str]:
    """Split a text at each `mark` that is not within parentheses, which may have others inside.

    A parenthesis without its other half is a letter like all others.

    Examples
    --------
    >>> split_outside("bursts=onoff(on=1s,off=gamma(shape=2,scale=1s)),shared=48")
    ['bursts=onoff(on=1s,off=gamma(shape=2,scale=1s))', 'shared=48']
    """
    opened: list[int] = []
    closed: dict[int, int] = {}
    for at, letter in enumerate(text):
        if letter == "(":
            opened.append(at)
        elif letter == ")" and opened:
            closed[opened.pop()] = at
    parts, begin, at = [], 0, 0
    while at < len(text):
        if text[at] == mark:
            parts.append(text[begin:at])
            begin = at + 1
        at = closed.get(at, at) + 1
    return [*parts, text[begin:]]


def read_part(text: str, name: str) -> dict[str, Any]:
    """The table of a part of a case from ``"kind=...,key=value"``, or ``"kind(key=value)"``.

    Examples
    --------
    >>> read_part("kind=slow_nodes,nodes=17,factor=4", "L_factor")
    {'kind': 'slow_nodes', 'nodes': 17, 'factor': 4}
    >>> read_part("slow_nodes(nodes=17,factor=4)", "L_factor")
    {'kind': 'slow_nodes', 'nodes': 17, 'factor': 4}
    """
    call = _PART.fullmatch(text.strip())
    return _read_call(call[1], call[2], name) if call else read_pairs(text, name)


def read_pairs(text: str, name: str) -> dict[str, Any]:
    """A table from ``"key=value,key=value"``; integers and other plain numbers as such.

    A value may be a table of some kind itself, as distributions are: ``"weibull(scale=1ms)"``, or
    as Python writes it.

    Examples
    --------
    >>> read_pairs("kind=loggops,L=1us,G=1e-10", "network")
    {'kind': 'loggops', 'L': '1us', 'G': 1e-10}
    >>> read_pairs("gap=10ms,duration=Exponential(mean='20us')", "noise")
    {'gap': '10ms', 'duration': {'kind': 'exponential', 'mean': '20us'}}
    """
    table: dict[str, Any] = {}
    such = _SUCH.get(name.strip("-").replace("-", "_").partition("[")[0], "")
    rule = f"{name} must look like key=value,key=value{such and f', such as {such}'}"
    for part in split_outside(text):
        key, equals, entry = (piece.strip() for piece in part.partition("="))
        if not key or not equals or not entry:
            raise ValueError(f"{rule}; got {shorten(text)}")
        call = _CALL.fullmatch(entry)
        if not call and re.search(r"[\s;]\s*[A-Za-z_]+\s*=", entry):
            raise ValueError(f"{rule}, with a comma between them; got {shorten(text)}")
        if re.match(r"[A-Za-z]{1,40}\(\w*=", entry) and entry.count("(") > entry.count(")"):
            raise ValueError(f"{name}: {key} must close its parenthesis; got {shorten(text)}")
        if key in table:
            raise ValueError(f"{name} has the key {key!r} twice; got {shorten(text)}")
        table[key] = _read_call(call[1], call[2], f"{name}: {key}") if call else _read_word(entry)
    return table


def _read_call(kind: str, text: str, name: str) -> dict[str, Any]:
    """Return the values of a text such as exponential(mean=20us), with its kind."""
    if "=" not in text:
        raise ValueError(
            f"{name} must name what it gives, such as {kind}(NAME=VALUE); got "
            f"{shorten(f'{kind}({text})')}"
        )
    return {"kind": kind.lower()} | read_pairs(text, name)


def read_network(value: Any, name: str = "network") -> Any:
    """The table of a network from text: LogGOPS without a kind, Hockney where alpha or beta is.

    Levels of a `Hierarchy` are separated by semicolons, each but the last with its size before a
    colon, or with a name and its size. What is no text stays as it is.

    Examples
    --------
    >>> read_network("L=1us,o=200ns")
    {'kind': 'loggops', 'L': '1us', 'o': '200ns'}
    >>> read_network("alpha=1us,beta=1ns")
    {'kind': 'hockney', 'alpha': '1us', 'beta': '1ns'}
    >>> read_network("8: L=1us,o=0; L=2us,o=0")["levels"][0]
    {'size': 8, 'kind': 'loggops', 'L': '1us', 'o': 0}
    >>> read_network("socket=8: L=1us,o=0; L=2us,o=0")["levels"][0]
    {'name': 'socket', 'size': 8, 'kind': 'loggops', 'L': '1us', 'o': 0}
    >>> read_network("nccl-h100-simple")["levels"][1]["L"]
    '8us'
    """
    if not isinstance(value, str):
        return value
    if value.strip() in NETWORK_PRESETS:
        value = NETWORK_PRESETS[value.strip()]
    elif value.strip().startswith("nccl"):
        known = ", ".join(NETWORK_PRESETS)
        raise ValueError(f"{name} must be one of {known}, or key=value,...; got {shorten(value)}")
    *inner, outer = texts = split_outside(value, ";")
    if any(":" not in part for part in inner) or (":" in outer):
        raise ValueError(
            f"{name} must have a comma between keys, such as {_SUCH['network']}; or levels with a "
            "semicolon between them and a size before a colon, but for the last, such as "
            f"'{_SUCH_LEVELS}'; got {shorten(value)}"
        )
    if inner:
        levels = [_read_level(part, name) for part in texts]
        return _of_machine(levels)
    table = _read_costs(value, name)
    return _of_machine([table]) if "distances" in table else table


def _read_costs(text: str, name: str) -> dict[str, Any]:
    """Return the values of a network of one level."""
    table = read_pairs(text, name)
    return {"kind": "hockney" if table.keys() & {"alpha", "beta"} else "loggops"} | table


def _of_machine(levels: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of a `Hierarchy`: keys of the whole machine stand in its outermost level."""
    outer = levels[-1]
    of_all = {key: outer.pop(key) for key in ["shared_card", "distances"] if key in outer}
    if of_all.get("shared_card") in ("true", "false"):
        of_all["shared_card"] = of_all["shared_card"] == "true"
    return {"kind": "hierarchy", "levels": levels} | of_all


def _read_level(text: str, name: str) -> dict[str, Any]:
    """Return the values of a level of a network: `name=size: network`."""
    head, colon, network = text.rpartition(":")
    called, equals, size = head.rpartition("=")
    own: dict[str, Any] = {"name": called.strip()} if equals else {}
    own |= {"size": read_count(size.strip(), f"{name}: size", 1)} if colon else {}
    return own | _read_costs(network, name)


def read_noise(value: Any, name: str = "noise") -> Any:
    """The table of a noise source from text: a noise file, or ``"key=value,key=value"``.

    More keys may follow the file. What is neither text nor a path stays as it is.

    Examples
    --------
    >>> read_noise("node.noise"), read_noise("node.noise,part=1")
    ({'kind': 'trace', 'file': 'node.noise'}, {'kind': 'trace', 'file': 'node.noise', 'part': 1})
    >>> read_noise("period=1ms,duration=10us")
    {'kind': 'periodic', 'period': '1ms', 'duration': '10us'}
    """
    if isinstance(value, os.PathLike):
        return {"kind": "trace", "file": os.fspath(value)}
    if not isinstance(value, str):
        return value
    if not value.strip():
        raise ValueError(f"{name} must be a noise file, or key=value,key=value; got {value!r}")
    file, comma, more = value.partition(",")
    if "=" not in value:
        return {"kind": "trace", "file": value}
    if comma and "=" not in file:
        return {"kind": "trace", "file": file.strip()} | read_pairs(more, name)
    table = read_pairs(value, name)
    return {"kind": "trace" if "file" in table else "periodic"} | table


def read_noise_texts(texts: list[str], name: str) -> list[dict[str, Any]]:
    """The tables of noise from texts of a command line: `name` says after which option."""
    for text in texts:
        if text.strip() and "=" not in text and not _is_file(text):
            raise ValueError(
                f"{name} must look like key=value,key=value, or be a noise file: "
                f"{shorten(text)[1:-1]} can not be read (No such file or directory)"
            )
    tables: list[dict[str, Any]] = [
        read_noise(Path(text) if _is_file(text) else text, name) for text in texts
    ]
    for table in tables:
        if table.get("kind") == "congestion" and not isinstance(table.get("network"), dict):
            raise ValueError(
                f"{name}: kind=congestion must have a network from a file, such as "
                "network=map(file=net.dot), or stand in a study's TOML, which takes fat trees, too"
            )
    return tables


def _is_file(text: str) -> bool:
    """Return whether a text names a file; a list of keys may be too long for the name of one."""
    try:
        return bool(text.strip()) and Path(text).exists()
    except OSError:
        return False


def read_noises(value: Any) -> Any:
    """The list of a case's noise with its texts read; one text is a list of one.

    Examples
    --------
    >>> read_noises(["node.noise", {"kind": "jitter"}])
    [{'kind': 'trace', 'file': 'node.noise'}, {'kind': 'jitter'}]
    """
    if isinstance(value, (str, os.PathLike)):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return value
    return [read_noise(part, f"noise[{i}]") for i, part in enumerate(value)]


def read_values(values: Any, path: str, name: str) -> Any:
    """The values of an axis over the field `path`, with their lists and ranges read.

    Text is a list, a range or one value. Values of ranks, cycles, the radix of an algorithm and the
    number of redundant exchanges become counts, those of message_bytes and segment_bytes sizes. All
    else stays as it is.

    Examples
    --------
    >>> read_values("64..256", "ranks", "axes.ranks"), read_values(["1K", 7], "message_bytes", "x")
    ([64, 128, 256], [1024, 7])
    >>> read_values("1us, 10us", "noise.0.duration", "axes.D")
    ['1us', '10us']
    >>> read_values("1K", "message_bytes", "axes.message_bytes")
    [1024]
    """
    if isinstance(values, str) and values.strip():
        values = split_outside(values)
    if not isinstance(values, (list, tuple)):
        return values
    sizes = path in ("message_bytes", "algorithm.segment_bytes")
    counts = ("ranks", "cycles", "algorithm.exchanges_after", "algorithm.radix")
    numbers = sizes or path in counts
    read: list[Any] = []
    for value in values:
        if isinstance(value, str) and ".." in value and numbers:
            read += _read_range(value, name, sizes)
        elif isinstance(value, str) and numbers and (sizes or is_number(value)):
            read.append(_parse_number(value, name, sizes))
        elif numbers and _is_whole_float(value):
            read.append(int(value))
        else:
            read.append(value.strip() if isinstance(value, str) else value)
    return read


def _read_word(text: str) -> Any:
    """A number where the text is no more than that; times stay text, with their units."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read_number(value: Any, name: str, low: int, high: int, units: bool) -> int:
    """Return a whole number from `low` to `high`, also of text, with a unit if `units`."""
    several = isinstance(value, (list, tuple))
    if several or (isinstance(value, str) and re.search(",|[.]{2}", value)):
        what = "size" if units else "number"
        rule = f"an integer from {show_bound(low)} to {show_bound(high)}"
        rule = rule if several else f"one {what}"
        way = f"for several {what}s ask once for each"
        if not several and _GROUPED.fullmatch(value):  # as output has it; or 4 and 128
            way = f"{value.strip()} is written {value.strip().replace(',', '')}; {way}"
        raise ValueError(f"{name} must be {rule}, got {shorten(value)}: {way}")
    if isinstance(value, str) and is_number(value, units):
        value = _parse_number(value, name, units)
    elif isinstance(value, str) and units:
        raise ValueError(
            f"{name} must be an integer from {show_bound(low)} to {show_bound(high)}, such as 8, "
            f"8K or 1KiB (units: {', '.join(BYTES)}; K is KiB), got {shorten(value)}"
        )
    elif _is_whole_float(value) or (
        isinstance(value, str) and re.fullmatch(r"-[0-9]{1,19}", value)
    ):
        value = int(value)
    return check_integer(value, name, low, high)


def _is_whole_float(value: Any) -> bool:
    """Return whether a value is a count written as 1e6."""
    number = isinstance(value, (float, np.floating))
    return number and value >= _MIN_FLOAT and float(value).is_integer()


def _read_numbers(value: Any, name: str, units: bool) -> list[int]:
    """Return the whole numbers of text, a list or a single number; ranges are spelled out."""
    single = isinstance(value, (str, int, float, np.number)) or as_integer(value) is not None
    parts = [value] if single else value
    if not isinstance(parts, (list, tuple, range, np.ndarray)):
        raise ValueError(f"{name} must be a number, text or a list of them, got {shorten(value)}")
    numbers: list[int] = []
    for part in parts:
        if isinstance(part, str):
            pieces = part.split(",")
            if len(pieces) > 1 and not all(piece.strip() for piece in pieces):
                raise ValueError(f"{name} must have a number on each side of a comma, got "
                                 f"{shorten(part)}")  # fmt: skip
            if any(re.fullmatch(r"0[0-9]{2}", piece.strip()) for piece in pieces[1:]):
                raise ValueError(f"{name} must be numbers without a comma within them, such as "
                                 f"131072 or 2^17, got {shorten(part)}")  # fmt: skip
            for piece in pieces:
                numbers += _read_range(piece, name, units)
        else:
            numbers.append(_read_number(part, name, 0, 2**62, units))
    if not numbers or len(numbers) > _MAX_VALUES:
        raise ValueError(f"{name} must hold from 1 to {_MAX_VALUES} values, got {len(numbers)}")
    twice = sorted(one for one, times in Counter(numbers).items() if times > 1)
    if twice:
        raise ValueError(f"{name} has the value {twice[0]} twice")
    return numbers


def _read_range(text: str, name: str, units: bool) -> list[int]:
    """Return the numbers of a text such as 2^4..2^12 or 8..64+8, or of a single number."""
    first, dots, ends = text.partition("..")
    if not dots:
        return [_parse_number(text, name, units)]
    last, mark, step = re.fullmatch(r"([^/+]*)(?:([/+])(.*))?", ends, re.DOTALL).groups("")  # type: ignore[union-attr]
    if not first.strip() or not last.strip():
        raise ValueError(f"{name}: a range must have two ends, such as 8..64, got {shorten(text)}")
    low, high = (_parse_number(end, name, units) for end in (first, last))
    if mark == "+":
        every = _parse_number(step, name, units)
        if high < low or not every:
            raise ValueError(f"{name}: a range must ascend, in steps above 0, got {shorten(text)}")
        if (high - low) // every >= _MAX_VALUES:
            raise ValueError(f"{name}: {shorten(text)} has more than {_MAX_VALUES} values")
        return [*range(low, high, every), high]
    if not 0 < low <= high:
        raise ValueError(
            f"{name}: a range must ascend from a number above 0, such as 8..64 or 64..6000, or "
            f"have a step such as 100..500+100, got {shorten(text)}"
        )
    if mark and not (re.fullmatch(r"[0-9]{1,2}", step.strip()) and int(step)):
        raise ValueError(f"{name}: a range must have a step from 1 to 99 after /, got "
                         f"{shorten(text)}")  # fmt: skip
    doublings = range(0, (-(-high // low) - 1).bit_length(), int(step or 1))
    return [low << k for k in doublings] + [high]


def _parse_number(text: str, name: str, units: bool) -> int:
    """Return the whole number in a text such as 64, 2^12, 1e6 or, with `units`, 8KiB."""
    match = _NUMBER.fullmatch(text)
    unit = match[3] if match else ""
    known = {**BYTES, **_SHORT} if units else {}
    count = None
    if match is not None and (not unit or unit in known):
        count = Fraction(1 << int(match[1]) if match[1] else match[2]) * known.get(unit, 1)
    if count is None or count.denominator != 1:
        more = f", with a unit ({', '.join(BYTES)}; K is KiB)" if units else ""
        steps = " (2^4..2^12/2: every second of them; 100..500+100: in steps of 100)"
        steps = steps if re.search(r"[0-9]\s*[*:x/+]", text) else ""
        more += ", and a comma between two" if re.search(r"\S\s+[0-9]", text.strip()) else ""
        raise ValueError(
            f"{name} must be whole numbers such as 64, 2^12 or 1e6, or ranges such as "
            f"2^4..2^12{steps}{more}; got {shorten(text)}"
        )
    return int(count)


_QUANTILE = re.compile(r"p([0-9]{1,2}(?:\.[0-9]{1,8})?)")


@lru_cache(maxsize=256)
def quantile_share(name: str) -> float | None:
    """The share that a quantile's name says; None for another name.

    Examples
    --------
    >>> quantile_share("p99.9"), quantile_share("mean")
    (0.999, None)
    """
    match = _QUANTILE.fullmatch(name)
    share = float(Fraction(match[1]) / 100) if match else 0.0
    return share if 0 < share < 1 else None


def share_of_completion(name: str) -> float | None:
    """The share that a quantile of completion says; None for "mean".

    Raises
    ------
    ValueError
        Another word. The largest of a sample is none: it has no interval.
    """
    share = quantile_share(name) if isinstance(name, str) else None
    if share is None and not (isinstance(name, str) and name == "mean"):
        raise ValueError(
            "statistic must be mean or a quantile such as p50, p99 or p99.9 (min and max of a "
            f"sample have no interval), got {shorten(name)}"
        )
    return share

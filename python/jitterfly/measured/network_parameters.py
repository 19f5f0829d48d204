"""LogGP parameters L, o, g and G from Netgauge, or from a ping-pong of another tool (line fit).

Netgauge's ``-x loggp`` measures all four. A ping-pong (OSU's latency test, IMB's PingPong,
Netgauge's one-one) times messages one after the other: it knows how long a message takes in all,
and what a byte adds. So do the latency tests of perftest (ib_write_lat), libfabric's fi_pingpong,
and ucx_perftest, whose log says the size of the messages in the command alone. A mean over
iterations holds the noise of the machine. A quantile that noise seldom reaches, such as the median,
does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..fields import check_integer, counted, parameter
from ..stats.intervals import check_confidence, quantile_rank
from ..units import Time, parse_seconds, show_seconds
from .formats import PLAIN, Options, TextFile, formats, imb, open_text, osu, without_labels
from .formats.collectives import LeftOut, good_rows
from .formats.columns import Row, number_rows
from .measurements import Latencies, LogGPTable, Part

_FITS = 0.1  # part of a time by which a fit may miss it before that is said
_SAME = 0.2  # part by which fits over few and over all sizes may differ before that is said


@dataclass(frozen=True)
class NetworkParameters:
    """The parameters of the LogGP model, as `LogGOPS` takes them; seconds, G in seconds per byte.

    `L + 2 o` is how long a message of one byte takes. `notes` says what the file does not
    determine; `overhead_known` is whether it, or the user, gave o, which is 0 here otherwise.
    """

    L: float
    o: float
    g: float
    G: float
    notes: tuple[str, ...] = ()
    overhead_known: bool = True

    @property
    def line(self) -> str:
        """The text that a command takes for its network; `o=?` is for the user to fill in.

        Examples
        --------
        >>> NetworkParameters(L=1e-6, o=2e-7, g=0, G=1.08e-10).line
        'L=1us,o=200ns,g=0s,G=108ps'
        """
        values = {"L": self.L, "o": self.o, "g": self.g, "G": self.G}
        # In ASCII, as it is typed.
        texts = {
            k: show_seconds(v, 6).replace(" ", "").replace("µ", "u") for k, v in values.items()
        }
        if not self.overhead_known:
            texts["o"] = "?"
        return ",".join(f"{k}={text}" for k, text in texts.items())


def read_parameters(
    path: str | Path,
    *,
    least_bytes: int | None = None,
    most_bytes: int | None = None,
    overhead: Time | None = None,
    quantile: float | None = None,
) -> NetworkParameters:
    """Read the parameters in a file.

    Parameters
    ----------
    path : str or Path
        Output of Netgauge ``-x loggp`` or ``-x one_one``, of OSU's latency test, of IMB with
        PingPong, of a latency test of perftest, of fi_pingpong, or of latency tests of ucx_perftest
        with their commands.
    least_bytes, most_bytes : int, optional
        The smallest and the largest message that is used. Protocols change with the size: a fit
        over small messages does not hold for large ones, and one over both for neither. The
        smallest is of a ping-pong; L + 2 o is then what is left of its time without its bytes.
    overhead : float or str, optional
        o, seconds, which a ping-pong does not measure: at most half of its shortest time.
    quantile : float, optional
        Of the times of each size, between 0 and 1: it counts instead of their mean. OSU's latency
        test prints 0.5, 0.9 and 0.99 with ``-z``; Netgauge's one-one has single times. To simulate
        a recording of noise as well take 0.5 or less: the mean holds that noise already.

    Raises
    ------
    ValueError
        FormatError where the file is none of these or malformed (it names the line); no message of
        these sizes; an overhead that is too large or that the file has; `least_bytes` of Netgauge;
        a quantile that is out of range, or of times of which the file has none.
    OSError
        It can not be read.
    """
    text = without_labels(open_text(path))
    most = 2**62 if most_bytes is None else check_integer(most_bytes, "most_bytes", 1, 2**62)
    least = 1 if least_bytes is None else check_integer(least_bytes, "least_bytes", 1, 2**62)
    if least > most:
        raise ValueError(f"least_bytes must be at most most_bytes = {most}, got {least}")
    given = None if overhead is None else parse_seconds(overhead, "overhead")
    quantile = None if quantile is None else check_confidence(quantile, "quantile")
    netgauge, single = formats()["netgauge_loggp"], formats()["netgauge_latency"]
    if netgauge.recognise(text.head):
        if given is not None:
            raise ValueError(f"{text.name} has the overhead o: overhead must be left out")
        if least > 1:
            raise ValueError(
                f"least_bytes must be left out for {text.name}: Netgauge fits g and G from the "
                "smallest message on"
            )
        _refuse_quantile(text, quantile)
        (part,) = netgauge.read(text, Options()).parts
        assert isinstance(part, LogGPTable)
        return _of_loggp(text, part, most)
    rows: list[Row] = []
    pingpongs, notes = _osu_pingpongs(text, quantile)
    if pingpongs:
        rows = pingpongs[-1]
    elif single.recognise(text.head):
        measured = single.read(text, Options())
        rows, notes = _rows_of_latencies(measured.parts, quantile), list(measured.notes)
    elif imb.is_pingpong(text.head):
        _refuse_quantile(text, quantile)
        rows, notes = imb.pingpong_rows(text)
    if rows or pingpongs:
        found = _of_pingpong(text, rows, (least, most), given)
        return replace(found, notes=(*found.notes, _on_noise(quantile), *notes))
    for head, read in ((_PERFTEST, _perftest), (_FI_PINGPONG, _fi_pingpong), (_UCX, _ucx)):
        if head.search(text.head):
            rows, notes = read(text)
            kept = 0.5 if notes[:1] == [_TYPICAL] else None
            if quantile != kept:
                _refuse_quantile(text, quantile)
            found = _of_pingpong(text, rows, (least, most), given)
            return replace(found, notes=(*found.notes, _on_noise(kept), *notes))
    what = (
        "those of Netgauge's loggp and one_one, OSU's osu_latency, IMB's PingPong, perftest's "
        "latencies, fi_pingpong and ucx_perftest are read"
    )
    for form in formats().values():
        if form.name not in PLAIN and form.recognise(text.head):
            raise text.error(
                None, f"is of {form.title}, and has no parameters of a network: {what}"
            )
    text.check_not_of_another_tool()
    raise text.error(None, f"has no known parameters of a network: {what}")


def _refuse_quantile(text: TextFile, quantile: float | None) -> None:
    """Raise for a quantile of times of which the file has a mean alone."""
    if quantile is not None:
        raise ValueError(
            f"quantile must be left out for {text.name}, which has no quantiles: osu_latency -z "
            "prints some, and Netgauge's one_one has single times"
        )


def _on_noise(quantile: float | None) -> str:
    """Say what of the machine's noise is in the times."""
    if quantile is None:
        give = parameter("quantile", 0.5)
        return (
            "the times are means, which hold the noise of the machine: beside a recording of it, "
            f"it counts twice. {give} takes what noise seldom reaches, where the file has it (of "
            "osu_latency -z, Netgauge's one_one)"
        )
    return (
        f"the times are those that {quantile:.6g} of the messages do not exceed; noise that seldom "
        "makes one longer is not in them, and may be simulated beside this network"
    )


def _rows_of_latencies(parts: Sequence[Part], quantile: float | None) -> list[Row]:
    """Size and time in us of single messages: their mean, or a quantile of them."""
    rows: list[Row] = []
    for part in parts:
        assert isinstance(part, Latencies)
        values = np.sort(part.samples)
        rank = len(values) if quantile is None else quantile_rank(len(values), quantile)
        time = values.mean() if quantile is None else values[rank - 1]
        rows.append((1, [str(part.bytes), repr(float(time) * 1e6)]))
    return rows


def _of_loggp(text: TextFile, found: LogGPTable, most: int) -> NetworkParameters:
    """Return network parameters of Netgauge's LogGP fit, of messages up to `most` bytes."""
    used = found.bytes <= most
    if not used.any():
        raise text.error(None, f"has no message of at most {most} bytes, but from {found.bytes[0]}")
    fits = np.flatnonzero(used & np.isfinite(found.gap) & np.isfinite(found.gap_per_byte))
    gap, per_byte, fitted = 0.0, 0.0, list[str]()
    if len(fits):
        first, last = fits[0], fits[-1]
        gap, per_byte = max(float(found.gap[last]), 0.0), max(float(found.gap_per_byte[last]), 0.0)
        fitted.append(f"g and G are a fit over sizes up to {_bytes(found.bytes[last])}")
        for name, values in (("g", found.gap), ("G", found.gap_per_byte)):
            if abs(values[first] - values[last]) > _SAME * abs(values[last]):
                fitted.append(
                    f"{name} is {show_seconds(values[first])} up to {_bytes(found.bytes[first])} "
                    f"and {show_seconds(values[last])} up to {_bytes(found.bytes[last])}: choose "
                    "the largest size for which it should hold"
                )
            if values[last] < 0:
                fitted.append(f"the fit has a {name} below 0, which is set to 0")
    else:
        fitted.append(
            f"g and G are not determined by messages of up to {most} bytes: too few sizes"
        )
    send, receive = float(found.send_overhead[0]), float(found.receive_overhead[0])
    smallest, size = float(found.bytes[0]), _bytes(found.bytes[0])
    half, notes = _time_of_a_byte(float(found.latency[0]), smallest, per_byte)
    way = "half a round trip" + (", less G for the further bytes" if smallest > 1 else "")
    if send + receive <= half:
        o, latency = (send + receive) / 2, half - send - receive
        notes.append(
            f"o is the mean of o_s, {show_seconds(send)}, and o_r, {show_seconds(receive)}, at "
            f"{size}; L is {way}, {show_seconds(half)}, less both"
        )
    else:
        o, latency = half / 2, 0.0
        notes.append(
            f"L and o are not determined one by one: o_s, {show_seconds(send)}, and o_r, "
            f"{show_seconds(receive)}, at {size} together exceed {way}, {show_seconds(half)}, as "
            "they overlap with the transit; L = 0 and o = half of that keep the time of a message, "
            "and noise of the CPU can hit all of it"
        )
    return NetworkParameters(latency, o, gap, per_byte, (*notes, *fitted))


def _time_of_a_byte(time: float, size: float, per_byte: float) -> tuple[float, list[str]]:
    """The time of a message of one byte, L + 2 o, from that of one of `size` bytes; notes on it."""
    found = time - per_byte * (size - 1)
    if found >= 0:
        return found, []
    return 0.0, [
        f"L and o are not determined: G alone takes longer than the {show_seconds(time)} of a "
        f"message of {_bytes(size)}; they are set to 0"
    ]


def _of_pingpong(
    text: TextFile, rows: list[Row], ends: tuple[int, int], overhead: float | None
) -> NetworkParameters:
    """L + 2 o is the shortest message's time less that of its further bytes, as `LogGOPS` adds it.

    G is the slope of least relative error: the line goes through the shortest message, and each
    size counts as much as any other. `ends`: the smallest and the largest message that is used.
    """
    least, most = ends
    columns = ["size", "time in us"]
    if not rows:
        raise text.error(None, "has no row of a size and its latency")
    values = number_rows(text, rows, columns)
    _, first = np.unique(values[:, 0], return_index=True)
    if len(first) < len(values):
        again = sorted(set(range(len(values))) - set(first.tolist()))[0]
        size = _bytes(values[again, 0])
        raise text.error(rows[again][0], f"a second time of a message of {size}")
    values = values[(values[:, 0] >= least) & (values[:, 0] <= most)]
    if not len(values):
        wanted = f"{least} to {most} bytes" if most < 2**62 else f"{_bytes(least)} or more"
        raise text.error(None, f"has no time of a message of {wanted}")
    values = values[np.argsort(values[:, 0], kind="stable")]
    sizes, times = values[:, 0], values[:, 1] / 1e6
    if not (times > 0).all():
        raise text.error(None, "has a message that took no time")
    more, later = sizes - sizes[0], times - times[0]
    weights = 1 / times**2
    slope = float((weights * more * later).sum() / max((weights * more**2).sum(), 1e-300))
    per_byte = max(slope, 0.0)
    whole, notes = _time_of_a_byte(float(times[0]), float(sizes[0]), per_byte)
    o = overhead or 0.0
    if 2 * o > whole:
        raise ValueError(
            f"overhead must be at most half of the {show_seconds(whole)} that a message of one "
            f"byte takes, got {show_seconds(o)}"
        )
    notes.append(
        f"a ping-pong determines L + 2 o, {show_seconds(whole)} (from {show_seconds(times[0])} at "
        f"{_bytes(sizes[0])}), and G"
    )
    if overhead is None:
        notes.append(
            "o is not determined, and with o = 0 noise of the CPU would hit nothing: give "
            f"{parameter('overhead')}, a time; L is then less by twice that"
        )
    notes.append("g is not determined: with 0, messages follow each other as fast as o and G allow")
    if len(sizes) < 2:
        notes.append("G is not determined by messages of one size")
    else:
        notes.append(
            f"G is the slope of a line of least relative error through {_bytes(sizes[0])}, over "
            f"{len(sizes)} sizes up to {_bytes(sizes[-1])}"
        )
        notes += _misfit(sizes, times, whole + per_byte * (sizes - 1))
    return NetworkParameters(whole - 2 * o, o, 0.0, per_byte, tuple(notes), overhead is not None)


def _misfit(
    sizes: npt.NDArray[np.float64], times: npt.NDArray[np.float64], fit: npt.NDArray[np.float64]
) -> list[str]:
    """Say where the line is off the most, and the slope at the end where that is another one."""
    off = np.abs(fit / times - 1)
    worst = int(np.argmax(off))
    notes = [
        f"the line is {off[worst]:.1%} off at {_bytes(sizes[worst])}, more than elsewhere: "
        f"{show_seconds(float(fit[worst]))} for {show_seconds(float(times[worst]))}"
    ]
    if off[worst] > _FITS:
        steps = np.diff(times[-2:]) / np.diff(sizes[-2:])
        last = f"{show_seconds(float(steps[0]))} a byte" if steps[0] > 0 else "nothing"
        notes.append(
            f"the last two sizes differ by {last}: protocols change with the size, so fewer sizes "
            f"may fit better ({parameter('least_bytes')}, {parameter('most_bytes')})"
        )
    return notes


def _osu_pingpongs(text: TextFile, quantile: float | None) -> tuple[list[list[Row]], list[str]]:
    """Sizes and times of each table of osu_latency; notes on the others, and on lines left out."""
    left_out = LeftOut(text)
    tables = osu.tables(text, left_out)
    mine = [table for table in tables if table.is_pingpong]
    column = "mean" if quantile is None else f"p{100 * quantile:g}"
    for table in mine[-1:]:  # the one that counts
        if column not in table.names:
            has = [name for name in ("p50", "p90", "p99") if name in table.names]
            if not has:
                _refuse_quantile(text, quantile)
            shares = ", ".join(f"{int(name[1:]) / 100:g}" for name in has)
            raise ValueError(f"quantile must be one of {shares} in {text.name}, got {quantile:g}")
    mine = [table for table in mine if column in table.names]
    rows = [good_rows(text, table, left_out) for table in mine]
    found = [
        [(line, [words[0], [*words, "", ""][table.names.index(column)]]) for line, words in some]
        for table, some in zip(mine, rows, strict=True)
    ]
    notes = [f"the last of {len(mine)} tables, in line {mine[-1].line}"] if len(mine) > 1 else []
    return found, [*notes, *osu.notes_on_others(tables, mine), *left_out.notes()]


_PERFTEST = re.compile(
    r"^[ \t]{0,40}#bytes[ \t]{1,20}#iterations[ \t]{1,20}t_(?:min|avg)\[usec\]", re.M
)
_TYPICAL = "times are the median that perftest prints (t_typical)"
_PERFTEST_TITLE = re.compile(r"[ \t]{1,40}([A-Z]\w{1,30}(?: \w{1,30})?) Latency Test[ \t]{0,20}")


def _perftest(text: TextFile) -> tuple[list[Row], list[str]]:
    """Sizes and typical times of the last table of perftest (ib_write_lat, ib_send_lat)."""
    tables: list[tuple[int, str, str, list[Row]]] = []
    title, time = "", -1
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if match := _PERFTEST_TITLE.fullmatch(content):
            title, time = match[1], -1
        elif words[:2] == ["#bytes", "#iterations"]:
            column = "t_typical[usec]" if "t_typical[usec]" in words else "t_avg[usec]"
            time = words.index(column) if column in words else -1
            if time >= 0:
                tables.append((line, title, column, []))
        elif time >= 0 and words and words[0].isdecimal():
            ends = line == len(text.lines)  # without an end of the line
            if len(words) <= time + ends:
                raise text.error(line, f"must have {time + 1} columns or more; is it cut off?")
            tables[-1][3].append((line, [words[0], words[time]]))
        elif words:
            time = -1
    line, title, column, rows = tables[-1]
    if "Read" in title or "Atomic" in title.title():
        raise text.error(
            line,
            f"has latencies of {title}, which are round trips, not half of one: give those of "
            "ib_write_lat or ib_send_lat",
        )
    typical = column.startswith("t_typical")
    notes = [_TYPICAL if typical else "times are the mean that perftest prints (t_avg)"]
    if not title:
        notes.append("the file does not name its test: of RDMA_Read, times would be round trips")
    return rows, [*notes, *_note_on_last(len(tables), line)]


def _note_on_last(tables: int, line: int) -> list[str]:
    return [f"the last of {tables} tables, in line {line}"] if tables > 1 else []


_FI_PINGPONG = re.compile(r"^bytes[ \t]{1,20}#sent[ \t]{1,20}#ack[ \t].{0,80}\busec/xfer\b", re.M)
_FI_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([kmg]?)")


def _fi_pingpong(text: TextFile) -> tuple[list[Row], list[str]]:
    """Sizes and times of the last table of libfabric's fi_pingpong."""
    tables: list[tuple[int, list[Row]]] = []
    time = -1
    for line, content in enumerate(text.lines, 1):
        words = content.split()
        if words[:3] == ["bytes", "#sent", "#ack"] and "usec/xfer" in words:
            time, width = words.index("usec/xfer"), len(words)
            tables.append((line, []))
        elif time >= 0 and words and (size := _FI_SIZE.fullmatch(words[0])):
            if len(words) != width:
                raise text.error(line, f"must have {width} columns, got {len(words)}")
            if words[2].startswith("=") or words[1] == words[2]:
                count = float(size[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[size[2]]
                tables[-1][1].append((line, [f"{count:.0f}", words[time]]))
            else:
                raise text.error(line, f"sent {words[1]} messages and got {words[2]} back")
        elif words:
            time = -1
    return tables[-1][1], _note_on_last(len(tables), tables[-1][0])


_UCX = re.compile(
    r"\|[ \t]{1,20}(?:overhead|latency) \(usec\)[ \t]{1,20}\|[ \t]{1,20}bandwidth \(MB/s\)"
)
_UCX_COMMAND = re.compile(r"\bucx_perftest\b(?!\.c)")
_UCX_RESULT = re.compile(
    r"(?:Final:|\[thread 0\])?[ \t]{1,40}(\d[\d,]{0,20}(?:[ \t]{1,20}[\d.,]+){7})"
)
_UCX_SIZE = "8"  # bytes, of a command without -s


def _ucx(text: TextFile) -> tuple[list[Row], list[str]]:
    """Sizes and mean times of the latency tests in a log of ucx_perftest's commands."""
    rows: list[Row] = []
    left: list[str] = []
    test = size = ""
    result: tuple[int, list[str]] | None = None

    def finish() -> None:
        if result is None:
            return
        line, words = result
        if not test or not size:
            raise text.error(
                line,
                f"does not state the {'size of its messages' if test else 'test'}: put the command "
                "above, such as `ucx_perftest HOST -t tag_lat -s 1024`, as a job's log has it",
            )
        if "lat" in test and "/" not in test:  # as in "get latency / bandwidth"
            rows.append((line, [size, words[3]]))
        else:
            left.append(f"{test} (line {line})")

    for line, content in enumerate(text.lines, 1):
        if _UCX_COMMAND.search(content[:4000]):
            finish()
            result = None
            words = content[:4000].split()
            given = dict(pairwise(words))
            test, size = given.get("-t", ""), given.get("-s", _UCX_SIZE)
        elif match := re.match(
            r"\| (Test|Message size):[ \t]{1,40}(.{1,80}?)[ \t]{1,80}\|", content
        ):
            test, size = (match[2], size) if match[1] == "Test" else (test, match[2])
        elif match := _UCX_RESULT.fullmatch(content.rstrip()):
            result = line, match[1].replace(",", "").split()
    finish()
    if left and not rows:
        raise text.error(None, f"has no latency test, only {', '.join(left[:4])}")
    notes = ["times are the mean that ucx_perftest prints (overall)"]
    if left:
        notes.append(f"left out, other tests: {', '.join(left[:4])}")
    return rows, notes


def _bytes(count: float) -> str:
    return counted(int(count), "byte")

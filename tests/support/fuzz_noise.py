"""Fuzzer of the parsers of noise; in tests/: ``python -m support.fuzz_noise --count 1000000``.

Every input is a mutated sample of some format. Reading it must end within a second in a measurement
whose parts hold what `jitterfly.measured.measurements` promises, or in a FormatError of one line.
All else is a finding, printed with what repeats it (``--seed 1 --only 12345``).
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jitterfly.measured import FormatError, Measured, noisefile
from jitterfly.measured.description import description_lines
from jitterfly.measured.formats import formats
from support.in_time import Finding, in_time
from support.noise_samples import load_bytes

SAMPLES = Path(__file__).parents[1] / "data" / "noise"
HANG_SECONDS = 10.0
MAX_MESSAGE = 600
NOISE_FILE = b"# jitterfly noise "
LARGEST_SAMPLE = 1600  # bytes: small, so that many fit into an hour
ROUND_TRIPS = 16  # one input in so many goes through a noise file

NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
NASTY = (
    *(b"0", b"-0", b"-1", b"1", b"0.5", b"-0.0", b"1e400", b"-1e400", b"1e-400", b"nan", b"-nan"),
    *(b"NaN", b"inf", b"-inf", b"Infinity", b"", b" ", b"-", b"+", b".", b"e", b"1e", b"0x10"),
    *(b"1_000", b"1,5", b"1;5", b"00000", b"+5", b"5.", b".5", b"1e3", b"1E+18", b"1e19"),
    *(b"2147483648", b"4294967296", b"1000000000000000", b"4611686018427387903"),
    *(b"4611686018427387904", b"9223372036854775807", b"9223372036854775808"),
    *(b"18446744073709551616", b"9" * 40, b"9" * 400, b"9" * 5000, b"1" + b"0" * 400),
    *(b"\xd9\xa3", b"\xc2\xb2", b"\xef\xbc\x91", b"1e308", b"4.9e-324", b"0.1" + b"1" * 400),
)
BYTES = (
    *(b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n"),
    *(b"\n", b"\t", b" ", b"#", b",", b":", b"'", b'"', b"[[", b"=", b"-", b"\x1b[0m", b"\x1bc"),
    *(b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\x1f\x8b", b"\\", b"\n" * 50),
)


class Hang(BaseException):
    """Not an Exception, so that no importer takes it for a bad file."""


def samples() -> list[bytes]:
    """A small one of every format."""
    found = [_short(path.read_bytes()) for path in sorted(SAMPLES.glob("*.*"))]
    found += [_short(text.encode()) for text in _made()]
    for data in list(found):
        try:
            measured = load_bytes(data)
        except FormatError:
            continue
        if hasattr(measured.parts[0], "cpu") and measured.format != noisefile.NAME:
            written = _written(measured)
            found += [] if written is None else [_short(written)]
    return found


def _made() -> list[str]:
    """Samples that are best made."""
    work = [1000 + (k * 37 % 5) + (400 if k % 17 == 3 else 0) for k in range(104)]
    header = "# Selfish Benchmark\n# Nodename: n1\n# Minimal cycle length [ns]: 28.9\n"
    header += "# Threshold: [% minimal cycle length]: 900\n# Time [ns]\tselfish duration [ns]\n"
    run = "".join(f"{k * 1e5:.2f}\t{800 + k * 31.25:.2f}\n" for k in range(12))
    jitter = "# cpu_mhz: 2400\n# threshold: 200ns\n# n_interruptions: 3\n"
    jitter += "# total_runtime: 2400000000 cycles\n# time(ns) delta(ns) cycles ns\n"
    gaps = "hwlatdetect:  test duration 120 seconds\n   detector: tracer\n   parameters:\n"
    gaps += "        Latency threshold: 10us\n        Sample window:     1000000us\n"
    gaps += "        Sample width:      500000us\n     Non-sampling period:  500000us\n"
    gaps += "Samples exceeding threshold: 2\n"
    gaps += "ts: 1652.123456789, inner:17, outer:15\nts: 1660.5, inner:0, outer:22\n"
    return [
        header + run + header + run,
        "".join(f"{k * 250000}\t{k * 100 + 900}\n" for k in range(1, 9)),
        jitter + "1000 1000 720 300\n5000 4000 1200 500\n9000 4000 960 400\n",
        gaps,
        "# fwq, clock 2.1 GHz\n" + "".join(f"{value}\n" for value in work),
        "# Fixed Work Quantum Benchmark\n" + "".join(f"{k}\t{v}\n" for k, v in enumerate(work)),
        "# octave: pwelch\n" + "".join(f"{k * 1000} {2000 - v}\n" for k, v in enumerate(work)),
        "# Fixed Time Quantum Benchmark\n# Compute-Cycle Duration: 1000 usec\n"
        + "".join(f"{k}\t{3000 - value}\n" for k, value in enumerate(work[:40])),
        "cpu,start_us,duration_us\n" + "".join(f"{k % 2},{k * 10},{k / 4}\n" for k in range(9)),
        "start [ns];end [ns]\n" + "".join(f"{k * 1000};{k * 1000 + 7 * k}\n" for k in range(9)),
    ]


def _short(data: bytes) -> bytes:
    """Its first and last lines."""
    lines = data.splitlines(keepends=True)
    while len(b"".join(lines)) > LARGEST_SAMPLE and len(lines) > 2:
        del lines[2 * len(lines) // 3]
    return b"".join(lines)[: 2 * LARGEST_SAMPLE]


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """One input."""
    data = rng.choice(seeds)
    if rng.random() < 0.01:
        return rng.randbytes(rng.randrange(400))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        data = rng.choice(_MUTATIONS)(rng, data, seeds)
    return data


def _a_byte(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    new = rng.choice(BYTES) if rng.random() < 0.5 else rng.randbytes(1)
    return data[:at] + new + data[at + rng.randrange(3) :]


def _a_bit(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _a_number(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    new = rng.choice(NASTY) if rng.random() < 0.8 else str(rng.randrange(10**6)).encode()
    return data[: match.start()] + new + data[match.end() :]


def _a_line(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif way == 3:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    else:
        lines[at:at] = [rng.choice(rng.choice(seeds).splitlines(keepends=True) or [b""])]
    return b"".join(lines)


def _a_word(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    words = lines[at].split(b" ")
    word = rng.randrange(len(words))
    if rng.random() < 0.5:
        del words[word]
    else:
        words.insert(rng.randrange(len(words)), words[word])
    lines[at] = b" ".join(words)
    return b"\n".join(lines)


def _cut(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.7 else data[at:]


def _splice(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _many(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at : at + rng.randrange(1, 20)] * rng.randrange(1, 60) + data[at:]


def _very_many(rng: random.Random, data: bytes, seeds: list[bytes]) -> bytes:
    """Long enough that what grows with the square of a length takes too long."""
    if rng.random() > 0.005:
        return _a_byte(rng, data, seeds)
    at = rng.randrange(len(data) + 1)
    new = rng.choice((data, data[at : at + rng.randrange(1, 60)], rng.choice(BYTES), b"7 ")) or b" "
    return data[:at] + new * (300_000 // len(new)) + data[at:]


_MUTATIONS = (
    *(_a_byte, _a_bit, _a_number, _a_number, _a_number, _a_line, _a_line, _a_word, _cut, _splice),
    *(_many, _very_many),
)


def check(measured: Measured, *, imported: bool) -> None:
    """What `jitterfly.measured.measurements` promises, looked at once more."""
    if not measured.parts or len({type(part) for part in measured.parts}) != 1:
        raise Finding("parts must be some, of one class")
    words = (*measured.notes, *measured.source.values())
    if imported and not all(isinstance(word, str) and len(word) < MAX_MESSAGE for word in words):
        raise Finding(f"notes and source must be short text, got {words}")
    if imported and len(measured.notes) > 20:
        raise Finding(f"has {len(measured.notes)} notes")
    if not all(isinstance(word, str) for pair in measured.source.items() for word in pair):
        raise Finding(f"source must be text, got {measured.source}")
    for part in measured.parts:
        fields = vars(part)
        if "starts" in fields:
            ends = part.starts + part.durations
            good = (part.durations > 0).all() and (part.starts[1:] >= ends[:-1]).all()
            good &= len(ends) == 0 or (part.starts[0] >= 0 and ends[-1] <= part.length)
            if not good or not 0 <= part.share <= 1:
                raise Finding("detours must be sorted, disjoint, inside the length")
        elif "low" in fields:
            good = (part.low < part.high).all() and (part.low[1:] >= part.high[:-1]).all()
            if not good or not (part.counts >= 0).all() or not 0 <= part.total < 2**63:
                raise Finding("bins must be sorted and disjoint, counts from 0")
        elif "runtime" in fields:
            if not 0 <= part.longest <= part.noise <= part.runtime:
                raise Finding("noise must be from longest to runtime")
        else:
            arrays = [value for value in fields.values() if isinstance(value, np.ndarray)]
            gaps = [fields.get("gap"), fields.get("gap_per_byte")]
            for value in arrays:
                real = (
                    any(value is gap for gap in gaps) or (np.isfinite(value) & (value >= 0)).all()
                )
                if not real or len(value) != len(arrays[0]):
                    raise Finding("columns must be finite, from 0, of one length")


def _written(measured: Measured) -> bytes | None:
    """As a noise file, or None where it has none."""
    try:
        return "".join(noisefile.pieces(measured)).encode("utf-8", "replace")
    except ValueError:
        return None


def _read(data: bytes) -> Measured | None:
    """What was read, and is as promised; None where it is refused as it should be."""
    try:
        measured = load_bytes(data, "input")
    except FormatError as error:
        message = str(error)
        if len(message) > MAX_MESSAGE or "\n" in message or not message.startswith("input"):
            raise Finding(f"not a message of one short line: {message[:2000]!r}") from None
        return None
    check(measured, imported=not data.startswith(NOISE_FILE))
    return measured


def once(data: bytes, *, round_trip: bool) -> str:
    """Read one input; the format, or "" where it was refused.

    Raises
    ------
    Finding
        Anything else came of it.
    """
    measured = in_time(lambda: _read(data))
    if measured is None:
        return ""
    if round_trip:
        description_lines(measured)
    if round_trip and (written := _written(measured)) is not None:
        again = load_bytes(written, "input")
        if again.parts != measured.parts or again.notes != measured.notes:
            raise Finding("changed on its way through a noise file")
    return measured.format


def run(numbers: Iterator[int] | range, seed: int) -> tuple[dict[str, int], dict[str, str]]:
    """How many inputs of each format were read ("": refused), and what was found first where."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return _run(numbers, seed)


def _run(numbers: Iterator[int] | range, seed: int) -> tuple[dict[str, int], dict[str, str]]:
    seeds = samples()
    read: dict[str, int] = {}
    findings: dict[str, str] = {}
    for number in numbers:
        data = mutated(random.Random(seed * 2**40 + number), seeds)
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        try:
            format = once(data, round_trip=number % ROUND_TRIPS == 0)
            read[format] = read.get(format, 0) + 1
        except (Exception, Hang) as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            at = traceback.extract_tb(error.__traceback__)[-1]
            findings.setdefault(
                f"{type(error).__name__} {Path(at.filename).name}:{at.lineno}",
                f"--seed {seed} --only {number}: {str(error)[:500]}",
            )
    signal.setitimer(signal.ITIMER_REAL, 0)
    return read, findings


def catch_hangs() -> None:
    """Interrupt what takes longer than HANG_SECONDS."""

    def stop(*_: object) -> None:
        raise Hang(f"hangs, or took more than {HANG_SECONDS:g} s")

    signal.signal(signal.SIGALRM, stop)


def main() -> int:
    """Exit status 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this input alone; it is printed")
    args = parser.parse_args()
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    except (ImportError, ValueError):
        print("memory is not limited")
    catch_hangs()
    if args.only is not None:
        data = mutated(random.Random(args.seed * 2**40 + args.only), samples())
        sys.stdout.buffer.write(data + b"\n")
        print(repr(once(data, round_trip=True)))
        return 0
    started = time.perf_counter()
    read, findings = run(range(args.count), args.seed)
    for place, finding in findings.items():
        print(f"{place}: {finding}")
    rate = args.count / (time.perf_counter() - started)
    for format in ("", *formats()):
        print(f"{read.get(format, 0):9d} {format or 'refused'}")
    print(f"{args.count} inputs, {rate:.0f} a second, {len(findings)} places with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Syntax of numbers, sizes, ranges, networks and noise, in commands, TOML and Python."""

import csv
import json
import math
import warnings
from argparse import Namespace

import numpy as np
import pytest
from support.commands import error_of, run
from support.scale import full_scale
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.cli.output import noted
from jitterfly.store import Store
from jitterfly.studies import BaseReplaced, parse_study
from jitterfly.syntax import (
    read_bytes,
    read_count,
    read_noise,
    read_part,
    read_ranks,
    read_share,
    read_size,
    read_values,
)
from jitterfly.units import show_size

NETWORK = {"kind": "loggops", "L": "1us", "o": "0.1us", "G": "0.1ns"}
MACHINE = jf.LogGOPS(L="1us", o="0.1us", G="0.1ns")
NOISE = jf.PeriodicNoise(period="1ms", duration="10us")


@pytest.mark.parametrize(
    ("text", "count"),
    [("64", 64), ("2^12", 4096), ("1e6", 10**6), ("1.5e3", 1500), (64, 64), (1e6, 10**6)],
)
def test_counts(text, count):
    assert read_count(text, "ranks") == count
    assert read_size(text, "bytes") == count


@pytest.mark.parametrize(
    ("text", "size"),
    [("8K", 8192), ("8KiB", 8192), ("8kB", 8000), ("8 k", None), ("4M", 2**22), ("1G", 2**30),
     ("1.5MiB", 3 * 2**19), ("2^10", 1024), ("1e6", 10**6), ("0.5", None), ("1e-3", None),
     ("8KB", None), ("1e99", None), ("٣", None)],
)  # fmt: skip
def test_sizes(text, size):
    if size is not None:
        assert read_size(text, "bytes") == size
        return
    with pytest.raises(ValueError, match=r"^bytes must be an integer from 0 to 2\^62"):
        read_size(text, "bytes")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("64..1024", [64, 128, 256, 512, 1024]),
        ("64..1e3+300", [64, 364, 664, 964, 1000]),
        ("64..1024/3", [64, 512, 1024]),
        ("8..64/2", [8, 32, 64]),
        ("8..64/3", [8, 64]),
        ("1..8/9", [1, 8]),
        ("2^3..2^5", [8, 16, 32]),
        ("2^4..2^4", [16]),
        ("64,1000,6000", [64, 1000, 6000]),
        ("100..300+100,7", [100, 200, 300, 7]),
        ("5..5+1", [5]),
    ],
)
def test_ranges(text, numbers):
    assert read_ranks(text, "ranks") == numbers
    assert read_bytes(text, "bytes") == numbers
    assert jf.Axis("ranks", text).values == jf.Axis("ranks", numbers).values


def test_network_texts():
    """alpha and beta are Hockney's; Python takes what --network takes."""
    assert jf.Case(8, network="L=1us,o=0.1us,G=0.1ns").network == MACHINE
    table = {"ranks": 8, "network": "alpha=1us,beta=1ns"}
    assert jf.Case.from_dict(table).network == jf.Hockney("1us", "1ns")
    found = jf.slowdown([NOISE], 4, network="L=1us,o=0.1us,G=0.1ns", realizations=10)
    assert found.case.network == MACHINE
    with pytest.raises(ValueError, match=r"^network must be a Network such as .*, got 5$"):
        jf.Case(8, network=5)
    with pytest.raises(ValueError, match=r"^network must look like key=value"):
        jf.advise(8, network="loggops")


def test_lists_of_sizes():
    assert read_bytes("8, 1KiB,1MiB,1 kB,3B", "bytes") == [8, 1024, 2**20, 1000, 3]
    assert read_bytes("1TiB,1PiB,1TB,1PB", "bytes") == [2**40, 2**50, 10**12, 10**15]
    assert read_bytes("8..16MiB/2", "bytes")[-2:] == [2**23, 2**24]
    for count in (0, 1, 999, 1000, 1024, 1536, 2**20, 5 * 10**9, 3 * 2**40, 7 * 10**15, 2**62):
        assert read_bytes(show_size(count).replace(",", ""), "bytes") == [count]
    with pytest.raises(ValueError, match="PB, KiB, MiB, GiB, TiB, PiB"):
        read_bytes("1EiB", "bytes")
    with pytest.raises(ValueError, match="ranks must be whole numbers"):
        read_ranks("1KiB", "ranks")
    for text in ("1KiB..", "..8", "..", " .. 8"):
        with pytest.raises(ValueError, match=r"^bytes: a range must have two ends, such as 8..64"):
            read_bytes(text, "bytes")


@pytest.mark.parametrize(
    "text",
    ["9..5+1", "5..9+0", "5..9+x", "8..64/2/3", "1..1e9+1", "", "8,", "x", "1.5", "-3",
     "1KiBs", "1kib", "8..4", "8..64/0", "8,8", [], [[]], [1.5], None, {"a": 1}, "2^99x",
     True],
)  # fmt: skip
def test_bad_ranges(text):
    for name, read in (("ranks", read_ranks), ("bytes", read_bytes)):
        with pytest.raises(ValueError, match=f"^{name}"):
            read(text, name)


@pytest.mark.parametrize(
    ("value", "share"),
    [("1%", 0.01), (" 0.5 % ", 0.005), (".1", 0.1), ("1e-3", 1e-3), ("1/8", 0.125), (0, 0.0),
     ("0", 0.0), (0.25, 0.25)],
)  # fmt: skip
def test_shares(value, share):
    assert read_share(value, "within", 0, 1) == share


@pytest.mark.parametrize(
    "value",
    ["1e9999999999", "1e-9999999999", "1e9999999999%", "1/0", "0/0", "1e", "1" * 500, "%", "1", "x",
     "-1%", "100%", None, True, 1.0, math.nan],
)  # fmt: skip
def test_shares_that_are_none(value):
    """At once: a number of 10^10 digits is not made."""
    with pytest.raises(ValueError, match="within must be a share from 0 to below 1"):
        read_share(value, "within", 0, 1)


def test_entries_of_a_list_are_read_as_single_numbers():
    assert read_ranks([1e3, "2e3", np.float64(64)], "ranks") == [1000, 2000, 64]
    assert read_ranks([2, 5], "ranks") == read_ranks(np.array([2, 5]), "ranks") == [2, 5]
    assert read_ranks(1e3, "ranks") == [read_count(1e3, "ranks")] == [1000]
    assert read_bytes([1e3, "1K"], "bytes") == [1000, 1024]
    points = jf.Axis("ranks", [1e3, 2000]).values
    assert points == jf.Axis("ranks", "1e3,2e3").values
    assert [point.label for point in points] == ["1000", "2000"]
    with pytest.raises(ValueError, match=r"^ranks must be an integer"):
        read_ranks([2.0], "ranks")  # rather a time in the wrong place
    with pytest.raises(ValueError, match="ranks has the value 7 twice"):
        read_ranks([*range(9999), 7], "ranks")


def test_noise_texts(tmp_path):
    text = "period=1ms,duration=10us"
    assert read_noise(f"kind=periodic,{text}") == read_noise(text)
    assert jf.Case(8, network=MACHINE, noise=[text]).noise == (NOISE,)
    table = {"ranks": "2^3", "network": NETWORK, "noise": [text], "message_bytes": "8K"}
    case = jf.Case.from_dict(table)
    assert case == jf.Case(8, network=MACHINE, noise=[NOISE], message_bytes=8192)
    for bad in ("", "nowhere.noise", "period", "period=1ms,period=2ms"):
        with pytest.raises(ValueError, match=r"noise\[0\]"):
            jf.Case(8, network=MACHINE, noise=[bad])


def test_distributions_in_texts():
    meant = jf.RenewalNoise(gap="10ms", duration=jf.Weibull(scale="20us", shape=2))
    for text in ("weibull(scale=20us,shape=2)", "Weibull(scale='20us', shape=2)"):
        text = f"kind=renewal,duration={text},gap=10ms"
        assert jf.Case(8, network=MACHINE, noise=[text]).noise == (meant,)
    for bad, words in (
        ("exponential(20us)", "duration must name what it gives, such as"),
        ("exponential(mean=20us", "duration must close its parenthesis"),
        ("nothing(mean=20us)", "nothing"),
    ):
        with pytest.raises(ValueError, match=words):
            jf.Case(8, network=MACHINE, noise=[f"kind=renewal,gap=10ms,duration={bad}"])


@pytest.mark.parametrize("text", ["131,072", "4,000", "1,048,576", "64, 1,024"])
def test_a_comma_within_a_number(text):
    """As tables show it. Where it could be a list, such as 16,384, it is one."""
    with pytest.raises(ValueError, match=r"^ranks must be numbers without a comma within them"):
        read_ranks(text, "ranks")
    assert read_ranks("16,384", "ranks") == [16, 384]
    with pytest.raises(ValueError, match=r"one number, got '1,024': 1,024 is written 1024; for"):
        jf.Case("1,024", network=MACHINE)
    with pytest.raises(ValueError, match=r"one number, got '64, 1,024': for several"):
        jf.Case("64, 1,024", network=MACHINE)


def test_noise_realizations_and_seeds_in_python():
    text, noise = "period=1ms,duration=10us", jf.PeriodicNoise("1ms", "10us")
    machine = jf.LogGOPS("1us", "0.1us")
    given = {"network": machine, "candidates": ["butterfly", "ring"]}
    one = jf.advise(4, noise=text, realizations="1e2", seed="2^4", **given)
    two = jf.advise(4, noise=[noise], realizations=100, seed=16, **given)
    assert one.to_csv() == two.to_csv()
    case = jf.Case(4, network=machine, noise=text)
    assert (
        jf.simulate(case, "1e1", seed="2^4").ticks == jf.simulate(case, 10, seed=16).ticks
    ).all()
    study = jf.Study("x", case=case, budget=jf.RealizationBudget(max=10), seed="2^4")
    assert study.seed == 16


def test_a_study_in_this_syntax():
    plain = parse_study(STUDY)
    text = STUDY
    for old, new in (
        ('[{ kind = "periodic", period = "100us", duration = "10us" }]',
         '["period=100us,duration=10us"]'),
        ("log2 = [2, 4]", 'values = "4..16"'),
        ("max = 40", "max = 4e1"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    found = parse_study(text)
    assert [cell.variants for cell in found.cells()] == [cell.variants for cell in plain.cells()]
    assert found.budget == plain.budget


def test_an_axis_into_noise_that_is_text():
    text = BOTH.replace(
        '[{ kind = "periodic", period = "10us", duration = "5us" }]', '"period=10us"'
    )
    assert text != BOTH
    found = parse_study(text).cells()
    assert [cell.variants[0].case.noise[0].duration for cell in found] == [1e-6, 2e-6]


def test_axes_of_sizes():
    axis = jf.Axis("message_bytes", ["8", "1K", "1MiB..4MiB"])
    assert [point.label for point in axis.values] == ["8", "1024"] + [
        str(2**k) for k in (20, 21, 22)
    ]
    assert jf.Axis("message_bytes", "1K") == jf.Axis("message_bytes", [1024])
    axis = jf.Axis("D", "1us,10us", path="noise.0.duration")
    assert [point.label for point in axis.values] == ["1us", "10us"]


def test_simulate_takes_a_float_that_is_whole():
    case = jf.Case(4, network=MACHINE, noise=[NOISE])
    assert jf.simulate(case, realizations=1e2).samples.shape[0] == 100
    with pytest.raises(ValueError, match="realizations must be an integer"):
        jf.simulate(case, realizations=12.5)


BOTH = """
name = "both"
realizations = { max = 40 }

[case]
ranks = 4
network = { kind = "hockney", alpha = "100ns", beta = 0, gamma = 1e-8 }
noise = [{ kind = "periodic", period = "10us", duration = "5us" }]

[axes.duration]
path = "noise.0.duration"
values = ["1us", "2us"]
"""


def test_an_axis_over_a_value_of_the_base_wins(tmp_path, capsys):
    """It was an error: whoever tries a case first, and then adds an axis, met it."""
    with pytest.warns(BaseReplaced, match="case: 'noise.0.duration' is set by an axis") as told:
        study = parse_study(BOTH)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        without = parse_study(BOTH.replace(', duration = "5us"', ""))
    assert study.cells() == without.cells()
    path = tmp_path / "both.toml"
    path.write_text(BOTH)
    for _ in range(2):  # from the start, and once more
        with pytest.warns(BaseReplaced) as told:
            assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 0
        assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["status", str(tmp_path / "out")]) == 0
    rows = csv.DictReader((tmp_path / "out" / "summary.csv").read_text().splitlines())
    assert {row["duration"] for row in rows} == {"1e-06", "2e-06"}


def test_an_axis_beside_a_base_in_python():
    with pytest.warns(BaseReplaced, match="'ranks' is set by an axis"):
        study = jf.Study(
            "x",
            case={"ranks": 8, "network": MACHINE, "noise": [NOISE]},
            axes=[jf.Axis("ranks", "4..8")],
            budget=jf.RealizationBudget(max=10),
        )
    assert [cell.variants[0].case.ranks for cell in study.cells()] == [4, 8]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "STUDY", "--realizations", "1e2", "--out", "OUT"],
        ["advise", "--ranks", "8..16+4", "--bytes", "8K", "--network", "L=1us,o=0.1us",
         "--realizations", "1e2", "--noise", "period=1ms,duration=10us", "--noise", "NOISE"],
        ["network", "run", "--tree", "144", "--ranks", "2^6", "--realizations", "1e1",
         "--ratio", "50%"],
        ["budget", "--ranks", "2^6", "--latency", "120us", "--step", "3us", "--delay", "14us",
         "--confidence", "95%"],
        full_scale(
            ["trace", "--ranks", "2^3", "--bytes", "1K", "--realization", "1e1", "--noise",
             "NOISE", "--noise", "period=10us,duration=1us", "--out", "OUT.png"]
        ),
    ],
)  # fmt: skip
def test_commands(tmp_path, monkeypatch, blank_pictures, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(STUDY)
    detours = jf.measured.Detours(np.array([10**6]), np.array([10**5]), length=10**7)
    jf.measured.noisefile.write(jf.measured.Measured((detours,), "test", {}, ()), "x.noise")
    names = {"STUDY": "small.toml", "NOISE": "x.noise", "OUT": "out"}
    assert run(*(names.get(argument, argument) for argument in arguments)) == 0
    if arguments[0] == "run":
        store = Store.open("out")
        assert {store.available(cell) for cell in store.cells} == {100}


def test_help_of_the_syntax(capsys):
    assert run("help", "syntax") == 0
    printed = capsys.readouterr().out
    for word in ("8K", "2^12", "1e6", "64..8192", "100..500+100", "period=1ms", "10us", "1%"):
        assert word in printed


def test_a_range_doubles_from_any_number_to_any_other():
    for text, numbers in (
        ("64..6000", [64, 128, 256, 512, 1024, 2048, 4096, 6000]),
        ("48..384", [48, 96, 192, 384]),
        ("3..4", [3, 4]),
        ("7..7", [7]),
        ("7..100/2", [7, 28, 100]),
        ("8..64", [8, 16, 32, 64]),
    ):
        assert read_ranks(text, "ranks") == numbers
    assert read_bytes("1kB..5kB", "bytes") == [1000, 2000, 4000, 5000]
    for text in ("0..8", "8..4", "-1..4"):
        with pytest.raises(ValueError, match="ranks"):
            read_ranks(text, "ranks")
    for text in ("64..4096*4", "64..4096:4", "64..4096 x2"):
        with pytest.raises(ValueError, match=r"\(2\^4\.\.2\^12/2: every second of them; 100"):
            read_ranks(text, "ranks")


NODES = ["slowdown", "--noise=period=1ms,duration=20us", "--realizations=20", "-q", "--json"]


def test_ranks_are_nodes_times_ranks_of_a_node(capsys):
    assert main([*NODES, "--nodes", "2..5", "--per-node=48"]) in (0, None)
    shown = json.loads(capsys.readouterr().out)
    assert main([*NODES, "--ranks=96,192,240"]) in (0, None)
    given = json.loads(capsys.readouterr().out)
    assert shown.pop("command_line") != given.pop("command_line")
    assert shown["note_codes"].pop() == "options"  # that this network has no nodes
    assert "--per-node 48 only multiplies" in shown["notes"].pop()
    assert shown == given
    assert [row["ranks"] for row in shown["rows"]] == [96, 192, 240]


def test_a_note_on_options_is_of_the_answer_that_is_given():
    """The answer that was found stays as it is."""
    found = jf.slowdown(NOISE, 8, realizations=20)
    before = found.notes()
    given = noted(found, Namespace(note="told"))
    assert given.notes() == [*before, "told"]
    assert given.to_dict()["note_codes"][-1] == "options"
    assert found.notes() == before
    assert noted(found, Namespace()) is found


@pytest.mark.parametrize(
    ("noise", "own"),
    [
        (["period=1ms,duration=20us"], True),
        (["period=1ms,duration=20us,shared=8"], False),
        (["period=1ms,duration=20us", "period=2ms,duration=20us,shared=machine"], False),
    ],
)
def test_nodes_with_noise_of_their_own(noise, own, capsys):
    sources = [f"--noise={one}" for one in noise]
    command = ["slowdown", *sources, "--realizations=20", "-q", "--nodes=4", "--per-node=8"]
    assert main(command) in (0, None)
    told = capsys.readouterr().out
    assert "--per-node 8 only multiplies" in told
    assert ("each rank has noise of its own" in told) == own


def test_shared_noise_of_a_file_with_ranks_of_nodes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.toml").write_text('noise = ["period=1ms,duration=20us,shared=8"]\n')
    command = ["advise", "q.toml", "--seconds=1", "--candidates=ring,swing", "-q"]
    nodes = ["--nodes=2", "--per-node=8", "--network=L=1us,o=200ns"]
    assert main([*command, *nodes]) in (0, None)
    told = capsys.readouterr().out
    assert "--per-node 8 only multiplies" in told
    assert "noise of its own" not in told


@pytest.mark.parametrize(
    "command",
    [
        [*NODES[:-2], "--json"],
        ["advise", "--noise=period=1ms,duration=20us", "--seconds=1", "--candidates=ring,swing"],
        ["explain", "--noise=period=1ms,duration=20us", "--realizations=5"],
    ],
)
def test_nodes_are_those_of_the_network(command, capsys):
    """48 ranks of a node on a network with nodes of 8: one of the two is a mistake."""
    levels = "8: L=300ns,o=100ns; L=1us,o=200ns"
    nodes = ["--nodes=2", "--per-node=4"]
    wrong = "--per-node must be as --network has it, 8 ranks of a node, got 4"
    assert wrong in error_of(capsys, *command, *nodes, f"--network={levels}")
    assert main([*command, *nodes, f"--network=4{levels[1:]}"]) in (0, None)
    assert "only multiplies" not in capsys.readouterr().err
    assert main([*command, *nodes, "--network=L=1us,o=200ns"]) in (0, None)
    found = capsys.readouterr()
    told = found.err if command[0] == "trace" else found.out  # a picture has no notes
    assert told.count("--per-node 4 only multiplies: a message within a node costs what any") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--nodes=4"], "--nodes needs --per-node as well"),
        (["--per-node=4"], "--per-node needs --nodes as well"),
        (["--nodes"], "--nodes needs --per-node as well"),
        (["--nodes=4", "--per-node=0"], "--per-node must be an integer from 1 to 2^30, got 0"),
        (["--nodes=x", "--per-node=4"], "--nodes must be whole numbers such as 64"),
        (["--nodes=4", "--per-node=4", "--ranks=16"], "stand in place of --ranks: leave one"),
        (["--nodes=4", "--nodes=8", "--per-node=4"], "--nodes is given twice"),
    ],
)
def test_nodes_that_are_wrong(given, message, capsys):
    assert message in error_of(capsys, *NODES[:3], *given)


def test_parentheses_within_others():
    """A comma inside of them separates nothing outside, however deep it is."""
    off = "lognormal(median=9s,sigma=1)"
    text = f"period=1ms,bursts=onoff(on=gamma(shape=2,scale=1s),off={off},shared=4),duration=80us"
    assert read_noise(text) == {
        "kind": "periodic",
        "period": "1ms",
        "bursts": {
            "kind": "onoff",
            "on": {"kind": "gamma", "shape": 2, "scale": "1s"},
            "off": {"kind": "lognormal", "median": "9s", "sigma": 1},
            "shared": 4,
        },
        "duration": "80us",
    }
    assert read_values(f"{off},1us", "noise.0.duration", "axes.x") == [off, "1us"]
    assert read_noise("file=a(1.txt,part=1") == {"kind": "trace", "file": "a(1.txt", "part": 1}
    with pytest.raises(ValueError, match=r"^noise: bursts must close its parenthesis; got "):
        read_noise("period=1ms,bursts=onoff(on=1s,off=9s")


def test_a_part_as_hosts_are_written(capsys):
    """Slow nodes have the form of nodes with noise; what is neither has an example."""
    table = {"kind": "slow_nodes", "nodes": 1, "factor": 4}
    assert read_part("slow_nodes(nodes=1,factor=4)", "L_factor") == table
    assert read_part("kind=slow_nodes,nodes=1,factor=4", "L_factor") == table
    options = ["slowdown", "--ranks=16", "--realizations=20", "-q", "--json"]
    options += ["--noise=period=1ms,duration=10us,start=stationary"]
    answers = []
    for text in ("slow_nodes(nodes=1,factor=4)", "kind=slow_nodes,nodes=1,factor=4"):
        assert run(*options, f"--L-factor={text}") == 0
        answers.append(json.loads(capsys.readouterr().out)["rows"])
    assert answers[0] == answers[1]
    for option in ("--L-factor", "--G-factor"):
        told = error_of(capsys, *options, f"{option}=2")
        assert told.startswith(f"{option} must look like key=value,key=value, such as kind=slow_")

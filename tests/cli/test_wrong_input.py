"""Errors of command-line options: one line that names the option and what to write."""

import json
import re

import pytest
from support.commands import error_of
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.cli import main

NOISE = "period=1ms,duration=25us"
CASE = ["--noise", NOISE, "--ranks", "8"]
MACHINE = ["--network", "L=1us,o=200ns"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "app.goal").write_text("num_ranks 1\nrank 0 {\ncalc 5000\n}\n")
    return tmp_path


RANKS = {
    "0": "must be an integer from 1 to 2^30, got 0",
    "abc": "must be whole numbers such as 64, 2^12 or 1e6, or ranges such as 2^4..2^12; got 'abc'",
    "": "must be whole numbers such as 64",
    "64 128": "ranges such as 2^4..2^12, and a comma between two; got '64 128'",
    "64,,128": "must have a number on each side of a comma, got '64,,128'",
    "8..4": "a range must ascend from a number above 0, such as 8..64 or 64..6000, or have a step",
    "5,5": "has the value 5 twice",
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("command", [
    ["slowdown", "--noise", NOISE], ["advise", "--noise", NOISE, *MACHINE],
], ids=lambda words: words[0])  # fmt: skip
def test_ranks(capsys, command, ranks):
    told = error_of(capsys, *command, "--ranks", ranks)
    assert told.startswith("--ranks")
    assert RANKS[ranks] in told


NETWORKS = {
    "1us": "must look like key=value,key=value, such as L=1us,o=200ns; got '1us'",
    "L=1us": ": key 'o' is missing; loggops needs L, o",
    "alpha=1us": ": key 'beta' is missing; hockney needs alpha, beta",
    "l=1us,o=200ns": ": unknown key 'l' (did you mean 'L'?)",
    "L=1us o=200ns": "such as L=1us,o=200ns, with a comma between them; got 'L=1us o=200ns'",
    "L=1us;o=200ns": "must have a comma between keys, such as L=1us,o=200ns; or levels",
    "socket=8: L=300ns,o=100ns": "or levels with a semicolon between them and a size before a",
    "8: L=300ns,o=100ns": "such as '8: L=300ns,o=100ns; L=1us,o=200ns'; got '8: L=300ns,o=100ns'",
    "L=1us,o=200n": ": o must be a time from 0 to 4.61e+06 s, a number or text with a unit (s, ms,",
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("command", [
    ["slowdown", *CASE], ["explain", *CASE], ["advise", *CASE],
    ["run", "app.goal", "--noise", NOISE],
], ids=lambda words: words[0])  # fmt: skip
def test_networks(folder, capsys, command, network):
    told = error_of(capsys, *command, "--network", network)
    assert told.startswith("--network")
    if not (command[0] == "run" and "beta" in NETWORKS[network]):  # a schedule takes LogGOPS alone
        assert NETWORKS[network] in told


NOISES = {
    "": "must be a noise file, or key=value,key=value; got ''",
    "period=1kHz,duration=1us": "got '1kHz', which is a period of 1 ms",
    "1ms": "must look like key=value,key=value, or be a noise file: 1ms can not be read",
    "period=1ms": "key 'duration' is missing; periodic needs period, duration",
    "period=1ms duration=25us": "such as period=1ms,duration=25us, with a comma between them; got",
    "rate=100": "'rate' (100 a second are kind=periodic,period=10ms, or at random kind=renewal",
    "gap=1ms,duration=25us": "unknown key 'gap' (a key of kind=renewal); allowed keys",
    "kind=step,duration=25us": "unknown key 'duration' (a key of kind=",
    "period=1ms,duration=25": "duration must be shorter than period = 1 ms, got 25 s",
    "period=1ms,duration=2ms": "duration must be shorter than period = 1 ms, got 2 ms",
}


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("command", [
    ["slowdown", "--ranks", "8"], ["explain", "--ranks", "8"], ["advise", "--ranks", "8", *MACHINE],
    ["run", "app.goal"],
], ids=lambda words: words[0])  # fmt: skip
def test_noise(folder, capsys, command, noise):
    told = error_of(capsys, *command, "--noise", noise)
    assert re.match(r"--noise|noise\[0\]", told)
    assert NOISES[noise] in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--bytes", "1kb"], "--bytes must be "),
        (["--bytes", "0"], "--bytes must be an integer from 1 to 2^62, got 0"),
        (["--compute-time", "5x"], "--compute-time must be a time from 0 to 4.61e+06 s, a number "
         "or text with a unit (s, ms, us, µs, ns, ps, min, h), got '5x'"),
        (["--compute-time", "-1"], "--compute-time must be a time from 0 to "),
        (["--compute-time", "1e7"], "--compute-time must be a time from 0 to "),
        (["--seed", "1e30"], "--seed must be an integer from 0 to 2^64 - 1"),
        (["--compute-time", "-1ms"], "--compute-time must be a time from 0 to "),
        (["--compute-time", "1e9"], "--compute-time must be a time from 0 to 4.61e+06 s, got '"),
        (["--cycles", "0"], "--cycles must be an integer from 1 to 100000, got 0"),
        (["--realizations", "1"], "--realizations must be an integer from 2 to 2^32, got 1"),
        (["--seed", "x"], "--seed must be an integer from 0 to 2^64 - 1, got 'x'"),
        (["--threads", "0"], "--threads must be an integer from 1 to 1024, got 0"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["slowdown", "explain", "advise"])
def test_numbers(capsys, command, options, words):
    told = error_of(capsys, command, *CASE, *MACHINE, *options)
    assert told.startswith(words)
    assert not told.endswith(")")  # nothing of `(in Case)`


@pytest.mark.parametrize("command", ["slowdown", "explain", "advise"])
def test_a_time_without_a_unit_is_warned_of(command):
    """The unit is left out: 5 s are simulated, and a line says so."""
    words = "^--compute-time is 5 s, as a number without a unit is in seconds"
    with pytest.warns(jf.LongTimeWarning, match=words):
        assert main([command, *CASE, *MACHINE, "--compute-time", "5", "--realizations", "64"]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["slowdown"], "the following arguments are required: --noise, --ranks; such as "
         "`jitterfly slowdown --noise period=1ms,duration=25us,start=stationary --ranks 64,1000 "
         "--out slowdown`"),
        (["run"], "; such as `jitterfly run list`"),
        (["advise"], "--ranks must be given, such as 64,1000"),
        (["advise", "--ranks", "8"], "--network must be given, such as L=1us,o=200ns,G=0.1ns"),
        (["run", "empty.toml"], "empty.toml: nothing is in it: a study has a name, a case and"),
        (["advise", "empty.toml"], "empty.toml: the question lacks the key 'ranks'"),
        (["advise", "nofile.toml"], "nofile.toml: No such file"),
        (["explain", "nofile.toml"], "nofile.toml: No such file"),
        (["run", "nofile.toml"], "nofile.toml: No such file, and no study of that name comes"),
        (["run", "nofile.goal"], "nofile.goal can not be read (No such file"),
        (["explain"], "give FILE.toml, or --ranks"),
        (["explain", "--ranks", "8"], "give what delays: --noise, --arrival, --speed, "
         "--L-factor or --G-factor; or FILE.toml"),
        (["explain", *CASE, "--arrival", "1ms"], "--arrival must look like key=value,key=value, "
         "such as kind=one_late,delay=1ms,rank=7; got '1ms'"),
        (["explain", *CASE, "--arrival", "kind=late"], "--arrival: kind must be one of 'ramp',"),
        (["explain", *CASE, "--arrival", "kind=one_late,delay=1ms,rank=8"],
         "rank must be from 0 to 7"),
        (["explain", "study.toml", "--ranks", "8"], "--ranks and FILE.toml both describe a case"),
        (["explain", "--at", "ranks=8"], "give STUDY.toml"),
        (["explain", *CASE, "--speed", "1.2"], "such as kind=slow_ranks,factor=1.2,ranks=3; got"),
        (["advise", *CASE, *MACHINE, "--collective", "allred"], "--collective must be one of "),
        (["advise", *CASE, *MACHINE, "--candidates", "rin"], "got 'rin' (did you mean 'ring'?)"),
        (["advise", *CASE, *MACHINE, "--statistic", "max"], "--statistic must be mean or a quan"),
        (["advise", *CASE, *MACHINE, "--within", "5"], "--within must be a share from 0 to below"),
        (["advise", *CASE, *MACHINE, "--seconds", "0"], "--seconds must be left out, or above 0"),
        (["slowdown", "--ranks", "1", "--noise", NOISE], "more ranks or --compute-time ("),
        (["slowdown", *CASE, "--algorithm", ""], "--algorithm must be one of "),
        (
            ["slowdown", *CASE, "--algorithm", "rign"],
            "candidate of `jitterfly advise` such as ring, got 'rign' (did you mean 'ring'?)",
        ),
        (["run", "study.toml", "--workers", "x"], "--workers must be 'gpus', 'sockets', 'mpi' or "),
        (["run", "study.toml", "--shard", "x"], "--shard must be i/n with 1 <= i <= n, such as "),
        (["run", "study.toml", "--target", "x"], "--target must be such as 'mean of gain ± 1 % at"),
        (["run", "app.goal", "--marks", "none", "-q"], "--marks: none can not be read (No such"),
    ],
)  # fmt: skip
def test_what_to_write_instead(folder, capsys, arguments, words):
    assert words in error_of(capsys, *arguments)


@pytest.mark.parametrize("command", [
    ["slowdown", *CASE], ["advise", *CASE, *MACHINE],
], ids=lambda words: words[0])  # fmt: skip
@pytest.mark.parametrize("out", ["file", "file/below", "/proc/below", "/proc"])
def test_directories_that_take_nothing(folder, capsys, command, out):
    """Also one that is there, but takes no files (/proc, whoever asks): before the work."""
    told = error_of(capsys, *command, "-q", "--out", out)
    assert told.startswith("--out ")
    assert ("must be a directory, and file is a file" in told) == (out == "file")
    assert out in told


@pytest.mark.parametrize(
    ("command", "option", "ending"),
    [
        (["slowdown", *CASE], "--picture", ".png"),
        (["explain", *CASE], "--picture", ".png"),
        (["explain", *CASE], "--ranks-csv", ".csv"),
        (["run", "app.goal", "--noise", NOISE], "--picture", ".png"),
        (["run", "app.goal", "--noise", NOISE, "--marks", "tag=1"], "--marks-csv", ".csv"),
        (["explain", "app.goal", "--noise", NOISE], "--operations-csv", ".csv"),
        (["trace"], "--out", ".png"),
    ],
)
def test_files_that_can_not_be_written(folder, capsys, command, option, ending):
    told = error_of(capsys, *command, option, f"none/x{ending}")
    assert told == f"none/x{ending}: the directory none does not exist"
    told = error_of(capsys, *command, option, f"/proc/x{ending}")
    assert told.startswith(f"/proc/x{ending} can not be written: /proc takes no new files (")


def test_a_check_leaves_nothing_behind(folder, capsys):
    before = sorted(folder.iterdir())
    error_of(capsys, "slowdown", *CASE, "--picture", "a.png", "--realizations", "1")
    assert sorted(folder.iterdir()) == before


def test_a_run_in_place_of_a_study(folder, blank_pictures, capsys):
    main(["run", "study.toml", "--out", "out", "--realizations", "2", "-q"])
    capsys.readouterr()
    assert error_of(capsys, "run", "out") == (
        "out holds a run, and no study to start: `jitterfly status out` and `jitterfly plot out` "
        "show it, and `jitterfly run STUDY.toml --out out` goes on with it"
    )


def test_a_directory_with_the_name_of_an_option_keeps_its_name(folder, capsys):
    for name, options in (("full", []), ("seed", ["--seed", "3"]), ("realizations", [])):
        (folder / name).mkdir()
        (folder / name / "x").touch()
        told = error_of(capsys, "run", "study.toml", "--out", name, *options)
        assert told == f"{name} is not empty and holds no run; choose another --out, or --force"
    told = error_of(capsys, "run", "study.toml", "--out", "seed", "--seed", "-1")
    assert told.startswith("--seed must be ")


def test_a_value_of_a_file_keeps_its_name_there(folder, capsys):
    """What is wrong in a file is no option: nothing of the command line is to be changed."""
    (folder / "question.toml").write_text('ranks = 0\nnetwork = "L=1us,o=200ns"\n')
    assert error_of(capsys, "advise", "question.toml").startswith("ranks must be an integer")
    told = error_of(capsys, "advise", "question.toml", "--ranks", "0")
    assert told.startswith("--ranks must be an integer")


def test_json_is_for_answers_alone(folder, capsys):
    """An error is the same line; nothing stands where a program reads."""
    assert "--ranks" in error_of(capsys, "slowdown", "--noise", NOISE, "--ranks", "0", "--json")
    assert main(["slowdown", "--json", *CASE, "--realizations", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["ranks"] == [8]

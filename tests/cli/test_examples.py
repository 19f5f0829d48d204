"""Examples of every command's `--help` run as they stand; shell completion."""

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from support import commands
from support.paths import NOISE_SAMPLES
from support.quick_pictures import quick_pictures
from support.scale import some

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.cli.parser import EXAMPLES, SHELLS, _parser, leaves, script

COMMANDS = [words for words, _ in leaves(_parser())]
# A second to minutes on two cores.
SLOW = ("reproduce", "theory", "bench", "explain", "network study", "slowdown", "budget",
        "advise", "run", "noise record")  # fmt: skip


def help_of(command):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as stop:
        raise SystemExit(main([*command.split(), "--help"]))
    assert stop.value.code in (0, None)
    return printed.getvalue()


def examples_of(command):
    """Its lines that begin with `jitterfly`, after `example:`; a continued one is one line."""
    text = re.split(r"^examples?:\n", help_of(command), flags=re.MULTILINE)[1].split("\n\n")[0]
    return re.findall(r"^  (jitterfly .*)", text.replace(" \\\n", " "), re.MULTILINE)


def run(example, folder, monkeypatch, codes=(0,)):
    """One line of a shell: names with * are those of files, what is after > goes elsewhere."""
    words = shlex.split(example.partition(" > ")[0])
    assert words[0] == "jitterfly"
    found = []
    for word in words[1:]:
        found += sorted(path.name for path in folder.glob(word)) if "*" in word else [word]
    monkeypatch.chdir(folder)
    assert (commands.run(*found) or 0) in codes, example


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with what the examples of `init` and `run` make, and files of a reader's own."""
    folder = tmp_path_factory.mktemp("examples")
    detours = jf.measured.Detours(
        np.arange(1, 2000) * 10**9, np.full(1999, 10**7), length=2 * 10**12
    )
    for name in ("node", "node_rank0", "node_rank1"):
        source = {"machine": name}
        measured = jf.measured.Measured((detours,), "test", source, ())
        jf.measured.noisefile.write(measured, folder / f"{name}.noise")
    shutil.copy(NOISE_SAMPLES / "netgauge_selfish.out", folder / "selfish.out")
    shutil.copy(NOISE_SAMPLES / "osu_allreduce.txt", folder / "osu_allreduce.txt")
    (folder / "times.txt").write_text(
        "\n".join(str(8 + i % 9 / 10 + (i % 20 == 3) * i) for i in range(200))
    )
    (folder / "curve.csv").write_text("ranks,latency_us\n2,3.9\n4,8.1\n8,12.2\n16,16.0\n32,20.1\n")
    (folder / "app.goal").write_text(
        "num_ranks 2\nrank 0 {\ncalc 100000\nsend 8b to 1 tag 7\n}\nrank 1 {\n"
        "recv 8b from 0 tag 7\n}\n"
    )
    sizes = 2 ** np.arange(0, 21, 2)
    rows = "\n".join(f"{n}    {1.4 + 0.25e-3 * (n - 1):.6f}" for n in sizes)
    (folder / "osu_latency.txt").write_text(
        f"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n{rows}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        run(EXAMPLES["init"][0], folder, patch)
        run(EXAMPLES["run"][1], folder, patch)
    return folder


def test_every_command_has_an_example():
    assert set(EXAMPLES) == set(COMMANDS)
    for command in COMMANDS:
        found = examples_of(command)
        assert found, command
        assert any(example.startswith(f"jitterfly {command}") for example in found), command
        for example in found:
            assert len(example.split(" > ")[0].split("--")[0]) < 100


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(one, marks=[pytest.mark.slow, pytest.mark.full_scale]) if one in SLOW else one
        for one in COMMANDS
    ],
)
@quick_pictures
def test_examples(command, kept, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    if command == "completion":
        pytest.importorskip("shtab")
    folder = tmp_path / "here"
    shutil.copytree(kept, folder)
    if command == "bench":
        # What it shows is the median of measurements that are all alike (test_bench_command.py).
        monkeypatch.setattr("jitterfly.cli.bench._REPEATS", 1)
    elif command == "init":
        (folder / "mine.toml").unlink()
    elif command == "run":
        shutil.rmtree(folder / "copies")
    for example in some(examples_of(command), 1):
        # A recording is not trusted, which is 1, where others use the processors.
        run(example, folder, monkeypatch, (0, 1) if command == "noise record" else (0,))
        assert capsys.readouterr().out
        for name in re.findall(r"--(?:out|picture) (\S+)", example):
            stem, dot, end = name.partition(".")
            assert list(folder.glob(f"{stem}*{dot}{end}")), f"{name} is not written"


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command_and_option(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for command, parser in leaves(_parser()):
        assert command.split()[-1] in text
        for option in parser._option_string_actions:
            if option.startswith("--"):
                assert (option if shell != "fish" else f"-l {option[2:]}") in text, option


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_the_script(shell, tmp_path):
    pytest.importorskip("shtab")
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    path = tmp_path / "completions"
    path.write_text(script(_parser(), shell))
    subprocess.run([program, "-n", path], check=True)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["jitterfly", "adv"], ["advise"]),
        (["jitterfly", "noise", "re"], ["record"]),
        (["jitterfly", "run", "--dry"], ["--dry-run"]),
        (["jitterfly", "run", "mine.toml", "--on-error", "fi"], ["finish"]),
        (["jitterfly", "bench", "--s"], ["--seconds"]),
        (["jitterfly", "plot", "res"], ["results"]),
    ],
)
def test_bash_completes(typed, wanted, tmp_path):
    pytest.importorskip("shtab")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    (tmp_path / "completions").write_text(script(_parser(), "bash"))
    (tmp_path / "results").mkdir()
    text = (
        f"source ./completions; COMP_WORDS=({shlex.join(typed)}); COMP_CWORD={len(typed) - 1}\n"
        'function=$(complete -p jitterfly | sed "s/.*-F \\([^ ]*\\).*/\\1/")\n'
        f"$function jitterfly {typed[-1]} {typed[-2]}; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    done = subprocess.run([bash, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert sorted(done.stdout.split()) == wanted, done.stderr


def test_without_shtab_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("jitterfly: error: this needs shtab (")
    assert error.endswith("of the extra `completion`: pip install shtab\n")


@quick_pictures
def test_a_trace_in_json(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "--ranks", "8", "--realization", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["command"], found["ranks"], found["realization"]) == ("trace", 8, 3)
    assert found["completion"] >= found["noise_free"] > 0
    assert 0 <= found["copies_adopted"] <= found["copies"]
    assert found["written"] == ["trace.png"]

"""Commands in README and documentation pages are executed, or a table here says why not.

A line that is in no table is executed. So a new block is executed, or fails this test until it can
be. Blocks of `sh` and `python` are executed by docs/refresh.py (test_page_output.py). README's
`jitterfly` is the installed command; that of the other pages is forked from a process that has
imported the modules, as there (docs/forked_commands.py). At small scale README's commands are
called in this process.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import scale
from support.paths import EXAMPLES, NOISE_SAMPLES, ROOT
from support.quick_pictures import quick_pictures

import jitterfly as jf
from jitterfly.cli import main

PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "sweeps/README.md"]
PAGES += ["sweeps/slurm/README.md"]
PAGES += sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))

INSTALLS = "installs into the environment of these tests; .ci/run and .ci/wheel_use.py install"
OTHERS = "needs tools that no test installs; test_packaging.py checks the recipes"
NOT_EXECUTED = {
    "jitterfly theory --out results": "test_examples.py executes it, with another folder",
    "jitterfly reproduce --quick": "test_examples.py executes it, of one study",
    "jitterfly network study --quick": "test_examples.py executes it, of one finding",
    'pip install ".[plot]"': INSTALLS,
    'pip install ".[docs]"': INSTALLS,
    "pip install --no-build-isolation --no-deps .": INSTALLS,
    "spack repo add packaging/spack_repo/jitterfly": OTHERS,
    "spack install --test=root py-jitterfly +mpi +cuda cuda_arch=90": OTHERS,
    "spack load py-jitterfly": OTHERS,
    "pip install build && python -m build --sdist": OTHERS,
    "eb --robot --sourcepath=dist packaging/easybuild/jitterfly-0.2.0-foss-2025b.eb": OTHERS,
    "eb --robot --sourcepath=dist --cuda-compute-capabilities=9.0 "
    "packaging/easybuild/jitterfly-0.2.0-foss-2025b-CUDA-12.9.1.eb": OTHERS,
    "module load jitterfly": OTHERS,
    "rattler-build build --recipe packaging/conda -c conda-forge": OTHERS,
    "apptainer build jitterfly.sif packaging/apptainer/jitterfly.def": OTHERS,
    "apptainer run --nv jitterfly.sif run study.toml": OTHERS,
    "jitterfly noise record --seconds 60 --out node.noise": "it takes a minute",
    "reframe -c packaging/reframe/allreduce.py -C settings.py --run "
    "-S noise=$PWD/node.noise -S network='L=1.1us,o=250ns,G=0.09ns'": OTHERS,
    'python3 -m venv .venv && . .venv/bin/activate && pip install ".[test]"': INSTALLS,
    'pip install ".[test]" && python -m pytest -n auto --dist loadfile -m "not timing" '
    "&& python -m pytest -m timing": ".ci/run executes this very line, which it reads there",
    "sphinx-build -W --keep-going docs docs/_build/html": "test_documentation.py builds the pages",
    "python docs/extensions/file_tree.py bootstrap interval": "test_file_tree.py executes it",
    "mypy": "test_types.py executes it",
    "python -m jitterfly_papers.machines FOLDER machines.csv machines.png": (
        "test_machines.py executes it, with a folder of its own"
    ),
    "python docs/refresh.py": "changes the pages; test_page_output.py executes it as a check",
    "python docs/refresh.py --check --durations": "test_page_output.py executes it",
    "sphinx-build -b linkcheck docs docs/_build/linkcheck": "needs hosts outside",
    'ruff check && ruff format && git ls-files "*.h" "*.cpp" "*.cu" "*.cuh" '
    "| xargs clang-format -i": "changes the sources; .ci/run has the same as checks",
    "bash sweeps/examples/measured_allreduce.sh": (
        "needs mpicc; test_measured_allreduce.py executes it with fewer samples"
    ),
    "jitterfly run STUDY.toml --workers gpus": "needs a GPU; test_executors.py has the workers",
    "mpiexec --mca coll_han_priority 0 --mca coll_tuned_use_dynamic_rules 1 "
    "--mca coll_tuned_dynamic_rules_filename $PWD/openmpi.rules ./program": (
        "needs Open MPI, and a program of the reader's"
    ),
    "jitterfly advise --ranks 16,256 --bytes 8,32KiB --network L=1us,o=0.2us,G=0.1ns,gamma=0.05ns "
    "--noise period=1ms,duration=10us --write mpich.json --libmpi "
    "/usr/lib/x86_64-linux-gnu/libmpich.so.12": "needs MPICH; test_advise_tuning_mpich.py has it",
    "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=$PWD/mpich.json MPIR_CVAR_DEVICE_COLLECTIVES=none "
    "mpiexec -n 16 ./program": "needs MPICH, and a program of the reader's",
    "HTOR_PMPI_FILE_PREFIX=$PWD/trace- LD_PRELOAD=$PWD/liballprof.so mpiexec -n 2 ./program": (
        "needs liballprof, and a program of the reader's"
    ),
    "schedgen -p trace --traces trace-0.txt -o app.goal": "needs Schedgen, and a trace",
    "sbatch --nodes=4 --ntasks-per-node=4 --gres=gpu:4 mpi.sbatch ../ms12_fig12.toml OUT --full": (
        "needs Slurm's MPI and GPUs; test_slurm_scripts.py has the script"
    ),
}

# What is executed in place of a line that takes minutes. At full scale README's lines are as they
# stand, but that no more is recorded than a second, and a block of another page with nothing but
# README's lines is not executed again. At small scale README's blocks are executed alone.
COLLECTED = "tests/package"  # only collected: see PYTEST_ADDOPTS below
# The installed one. docs/install.md has the second half, which is executed there as it stands.
INSTALL_AND_RUN = 'pip install ".[plot]" && jitterfly run ms12_fig12 --choose jitter=A'
RECORD = "jitterfly noise record --seconds 10 --out node.noise"
FAST_BENCH = "--repeats 3 --seconds 0.01 --no-limit"
IN_SHORT = {
    INSTALL_AND_RUN: "jitterfly run ms12_fig12 --choose jitter=A --realizations 200",
    RECORD: "jitterfly noise record --seconds 1 --out node.noise",
    "srun --ntasks-per-node=1 jitterfly noise record --out n.noise": (
        "srun --ntasks-per-node=1 jitterfly noise record --seconds 1 --out n.noise"
    ),
    "jitterfly advise --ranks 64,1000,6000 --bytes 8..4MiB/4 --noise node.noise "
    "--network L=1us,o=0.2us,g=0.1us,G=0.1ns --statistic p99 --within 2% --out advice": (
        "jitterfly advise --ranks 64,1000 --bytes 8..4MiB/8 --noise node.noise "
        "--network L=1us,o=0.2us,g=0.1us,G=0.1ns --statistic p99 --within 2% --out advice "
        "--realizations 2000"
    ),
    "jitterfly bench": "jitterfly bench --ranks 2^6 --seconds 0.01",
    "python -m bench --json bench/MACHINE-YYYY-MM-DD.json": (
        "python -m bench --json bench/MACHINE-YYYY-MM-DD.json --ranks 2^4 --programs butterfly "
        f"--noise periodic --no-sources --no-collectives {FAST_BENCH}"
    ),
    "python -m bench --ranks 2^12 --programs butterfly --noise periodic --no-sources "
    "--no-collectives": (
        "python -m bench --ranks 2^12 --programs butterfly --noise periodic --no-sources "
        f"--no-collectives {FAST_BENCH}"
    ),
    "python -m pytest": f"python -m pytest {COLLECTED}",
    "python -m pytest --scale full": f"python -m pytest --scale full {COLLECTED}",
    "python -m pytest -m timing": "python -m pytest -m timing tests/engine",
    # That nothing became slower is no question for a machine that runs tests.
    "python -m bench --compare bench/MACHINE-YYYY-MM-DD.json": (
        "python -m bench --compare bench/MACHINE-YYYY-MM-DD.json --margin 10"
    ),
    "(cd tests && python -m bench --ranks 2^12 --programs butterfly --noise periodic)": (
        "(cd tests && python -m bench --ranks 2^12 --programs butterfly --noise periodic "
        f"--no-sources --no-collectives {FAST_BENCH})"
    ),
    "mpiexec -n N python -m mpi4py.futures -m jitterfly run STUDY.toml --workers mpi": (
        "mpiexec -n 2 python -m mpi4py.futures -m jitterfly run STUDY.toml --workers mpi"
    ),
    "sbatch --array=1-16 sweeps/slurm/array.sbatch STUDY.toml OUT": (
        "sbatch --array=1-2 sweeps/slurm/array.sbatch STUDY.toml OUT"
    ),
    "jobs=$(sbatch --parsable --array=1-16 array.sbatch ../ms12_fig12.toml OUT --full)": (
        "jobs=$(sbatch --parsable --array=1-2 array.sbatch ../ms12_fig12.toml OUT "
        "--realizations 20)"
    ),
    "sbatch --array=3-3 array.sbatch ../ms12_fig12.toml OUT --full --shard 3/16": (
        "sbatch --array=3-3 array.sbatch ../ms12_fig12.toml OUT --realizations 20 --shard 3/16"
    ),
}
# These take longer than some ten seconds.
LONG = ["python -m pytest", "python -m bench", "jitterfly reproduce", "run ms12_fig12"]

PROGRAMS = r"jitterfly|mkdir|srun|sbatch|jobs=|mpiexec -n|python -m (bench|pytest)|\(cd tests"

STUDY = """
name = "study"

[realizations]
max = 20

[case]
network = { kind = "loggops", L = "1us", o = "100ns" }
noise = [{ kind = "periodic", period = "1ms", duration = "25us" }]

[axes.ranks]
values = [16, 32]
"""
CURVE = "ranks,latency_us\n16,15.2\n64,24.1\n256,35.7\n1024,52.9\n4096,75.4\n"

# In place of Slurm's: two tasks of a step, one after the other; the tasks of an array likewise.
SRUN = """#!/bin/bash
[[ $1 == --ntasks-per-node=1 ]] && shift
code=0
for rank in 0 1; do
    SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 "$@" || code=$?
done
exit $code
"""
SBATCH = """#!/bin/bash
while [[ $1 == --* ]]; do
    case $1 in
        --array=*) tasks=${1#*=} ;;
        --parsable) echo 17 ;;
        --dependency=afterok:17) ;;
        --wrap) exec bash -c "$2" ;;
        *) exit 2 ;;
    esac
    shift
done
export SLURM_ARRAY_TASK_COUNT=$((${tasks#*-} - ${tasks%-*} + 1)) SLURM_ARRAY_TASK_MIN=${tasks%-*}
for ((task = ${tasks%-*}; task <= ${tasks#*-}; task++)); do
    SLURM_ARRAY_TASK_ID=$task bash "$@" > "$task.log" || exit
done
"""

FORKED_COMMANDS = ROOT / "docs" / "forked_commands.py"
# In place of the installed command. It is a program, as `srun` starts it, too.
FORKED = f"""#!/bin/sh
exec "{sys.executable}" -IS "{FORKED_COMMANDS}" call "$FORKED_NAME" "$@"
"""


def blocks() -> list[tuple[str, str, str]]:
    """Page, language and text of each block that docs/refresh.py does not run, without outputs."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for language, block in re.findall(r"^ *```(.*)\n([\s\S]*?)^ *```$", text, re.MULTILINE):
            if page.startswith(("docs/", "README")) and language not in ("", "console"):
                continue
            if not language.startswith("{"):
                found.append((page, language, block))
    return found


def lines(block: str) -> list[str]:
    """Its commands: continued ones in a line, without comments."""
    joined = re.sub(r"\s*\\\n\s*", " ", block)
    bare = (re.sub(r"(^|\s+)# .*", "", line).strip() for line in joined.splitlines())
    return [line for line in bare if line]


# Its commands stand on the pages that it names, with their files: test_page_output.py.
GALLERY = "docs/index.md"
COMMANDS = [(page, block) for page, language, block in blocks() if language in ("", "console")]


README = {line for page, block in COMMANDS if page == "README.md" for line in lines(block)}


def is_long(block: str) -> bool:
    return any(one in block for one in LONG)


def executed(page: str, block: str) -> list[str]:
    """The lines that are executed, in the form in which they are."""
    if page == GALLERY:
        return []
    chosen = [line for line in lines(block) if line not in NOT_EXECUTED]
    if scale.FULL:  # docs/refresh.py runs its second half, as docs/install.md shows it
        chosen = [line for line in chosen if line != INSTALL_AND_RUN]
    if page != "README.md" and README.issuperset(chosen):
        return []
    if not scale.FULL:  # tests/cli/test_output.py records for a moment
        chosen = [line for line in chosen if not line.startswith("jitterfly noise record")]
    short = IN_SHORT
    if page == "README.md" and scale.FULL:
        short = {RECORD: IN_SHORT[RECORD]}
    chosen = [short.get(line, line) for line in chosen]
    for line in chosen:
        assert re.match(PROGRAMS, line), f"{page}: add to PROGRAMS or NOT_EXECUTED: {line}"
    # A recording is not trusted, which is 1, where others use the processors.
    return [line + " || [ $? = 1 ]" if "noise record" in line else line for line in chosen]


def prepared(folder: Path, script: str) -> None:
    """The files that the commands read and do not make themselves, and programs of a cluster."""
    files = {
        "node.noise": EXAMPLES / "vm.noise",
        "selfish.out": NOISE_SAMPLES / "netgauge_selfish.out",
    }
    for name, source in files.items():
        if f"--out {name}" not in script:
            shutil.copy(source, folder / name)
    (folder / "app.goal").write_text("num_ranks 1\nrank 0 {\ncalc 100000\n}\n")
    for rank in (0, 1) if "--out n.noise" not in script else ():
        starts = np.arange(1, 1000) * (rank + 1) * 10**9
        detours = jf.measured.Detours(starts, np.full(999, 10**7), length=2 * 10**12)
        measured = jf.measured.Measured((detours,), "test", {"machine": f"node{rank}"}, ())
        jf.measured.noisefile.write(measured, folder / f"n_rank{rank}.noise")
    (folder / "curve.csv").write_text(CURVE)
    (folder / "STUDY.toml").write_text(STUDY)
    shutil.copytree(ROOT / "sweeps", folder / "sweeps")
    if "bench" in script:
        for name in ("bench", "reference", "support"):
            shutil.copytree(ROOT / "tests" / name, folder / "tests" / name)
    programs = folder / "programs"
    programs.mkdir()
    for name, text in (("srun", SRUN), ("sbatch", SBATCH)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)


@pytest.fixture(scope="module")
def fonts(tmp_path_factory):
    """Where matplotlib keeps its list of fonts: without one, each command would make it anew."""
    return tmp_path_factory.mktemp("matplotlib")


@pytest.fixture(scope="module")
def forked(fonts):
    """The name of the process from which the commands of pages are forked."""
    name = f"console blocks {os.getpid()}"
    server = subprocess.Popen(
        [sys.executable, FORKED_COMMANDS, "serve", name],
        env=os.environ | {"MPLCONFIGDIR": str(fonts)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with server:  # its input ends, and so does it
        assert server.stdout.readline()
        yield name


# Where a page says to be.
FOLDERS = {"sweeps/slurm/README.md": "sweeps/slurm", "docs/developers/benchmark.md": "tests"}


def call(script, folder, monkeypatch):
    """Commands without what a shell does besides."""
    monkeypatch.chdir(folder)
    for line in script:
        name, *words = shlex.split(line)
        assert name == "jitterfly", line
        assert main(words) == 0, line


def files_of(page):
    """The files that a page says to write: scripts and studies."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^`([\w./-]+)`:\n\n```\w+\n([\s\S]*?)^```$", text, re.MULTILINE)


def check_files(text, folder):
    for name in re.findall(r"--(?:out|picture|csv|json) (\S+)", text):
        stem, dot, end = name.partition(".")
        assert list(folder.glob(f"{stem}*{dot}{end}")), f"{name} is not written"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("page", "block"),
    [
        pytest.param(
            page,
            block,
            id=f"{page}: {lines(block)[0][:60]}",
            marks=[] if page == "README.md" and not is_long(block) else [pytest.mark.full_scale],
        )
        for page, block in COMMANDS
    ],
)
@quick_pictures
def test_commands_run(page, block, tmp_path, fonts, request, monkeypatch):
    script = executed(page, block)
    if not script:
        other = "its own page's" if page == GALLERY else "README's"
        reasons = (NOT_EXECUTED.get(line, f"{other} test executes it") for line in lines(block))
        pytest.skip("; ".join(sorted(set(reasons))))
    for module in ("matplotlib", "shtab", "mpi4py"):
        pytest.importorskip(module)
    text = "\n".join(script)
    prepared(tmp_path, text)
    for name, content in files_of(page):
        (tmp_path / name).write_text(content)
    if not scale.FULL:
        call(script, tmp_path, monkeypatch)
        check_files(text, tmp_path)
        return
    folder = tmp_path / FOLDERS.get(page, "")
    if "pytest" in text:
        folder = ROOT
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "PYTEST_"))}
    path = [str(tmp_path / "programs"), str(Path(sys.executable).parent), kept["PATH"]]
    settings = {
        "HOME": str(tmp_path),
        "MPLCONFIGDIR": str(fonts),
        "PATH": os.pathsep.join(path),
        "PYTHON": sys.executable,
        "PYTEST_ADDOPTS": "--collect-only -q -p no:cacheprovider",  # not these tests in themselves
        "CUDA_VISIBLE_DEVICES": "",
    }
    if "mpiexec" in text:
        program = shutil.which("mpiexec", path=settings["PATH"])
        if program is None:
            pytest.skip("no mpiexec")
        settings["LD_LIBRARY_PATH"] = str(Path(program).parents[1] / "lib")  # mpich's, of its wheel
    if page != "README.md":
        settings["FORKED_NAME"] = request.getfixturevalue("forked")
        (tmp_path / "programs" / "jitterfly").write_text(FORKED)
        (tmp_path / "programs" / "jitterfly").chmod(0o755)
    before = "set -euo pipefail; fpath=(. .)\n"  # zsh's
    done = subprocess.run(
        ["bash", "-c", before + text],
        cwd=folder,
        env=kept | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}"
    check_files(text, folder)
    if "ms12_fig12" in text and "sbatch" not in text:
        assert (folder / "results" / "ms12_fig12" / "ms12_fig12.png").is_file()


def test_every_block_is_executed_or_told_why_not():
    """Of every language; and no table has what no page has any more."""
    found = {line for _, block in COMMANDS for line in lines(block)}
    assert set(NOT_EXECUTED) <= found
    assert set(IN_SHORT) <= found
    assert not set(NOT_EXECUTED) & set(IN_SHORT)
    for page, block in COMMANDS:
        executed(page, block)
    others = [(page, language) for page, language, _ in blocks() if language not in ("", "console")]
    # The study is read below.
    assert others == [("sweeps/README.md", "toml")]


@pytest.mark.full_scale
def test_the_study_of_the_format_runs(tmp_path, monkeypatch):
    (text,) = (block for _, language, block in blocks() if language == "toml")
    assert text.count("max = 50_000") == text.count("log2 = [2, 18]") == 1
    text = text.replace("max = 50_000", f"max = {scale.scaled(2000)}")
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text.replace("log2 = [2, 18]", "log2 = [2, 4]"))
    assert main(["run", "-q", "mine.toml", "--out", "mine"]) == 0
    assert Path("mine/mine.png").is_file()

"""Ctrl-C and SIGTERM while a command loads, and when it is done: exit code, no traceback."""

import signal
import subprocess
import sys
import time

import pytest
from support.scale import crossed, some

# A signal comes at an import (by a finder), at the command, or at the end of the process (atexit).
PROGRAM = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell put us behind
name, number, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.argv = ["/somewhere/jitterfly", "info"]

class Press:
    def find_spec(self, module, *_):
        if module == name:
            press()

def press():
    global times
    while times > 0:
        times -= 1
        os.kill(os.getpid(), number)

sys.meta_path.insert(0, Press())
if name == "command":
    from jitterfly.cli.process import Stopping
    import jitterfly.cli.parser as parser
    def stopped(arguments):
        try:
            press()
        finally:
            press()
    parser.parse = stopped
from jitterfly.cli import main
if name == "exit":
    atexit.register(press)
sys.exit(main())
"""


def stopped(name, number, times=1):
    done = subprocess.run([sys.executable, "-c", PROGRAM, name, str(number), str(times)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


PLACES = crossed(["numpy", "jitterfly.fields", "jitterfly.cli.parser", "command"], [1, 3])
ANSWERS = {2: (130, "jitterfly: stopped\n"), 15: (143, "jitterfly: stopped: SIGTERM\n")}


@pytest.mark.parametrize(("place", "number"), crossed(PLACES, ANSWERS))
def test_while_it_loads(place, number):
    """It takes most of a second, and that showed the import that was under way."""
    name, times = place
    assert stopped(name, number, times) == ANSWERS[number]


def test_when_all_is_done():
    """Nothing is left that could be stopped in order: the signal ends it without a word."""
    assert stopped("exit", 2) == (-2, "")


@pytest.mark.parametrize("name", some(["script.py", "pytest", "jitterfly.py"], 1))
def test_a_program_that_imports_the_package_is_left_alone(name):
    program = (
        f"import signal, sys; sys.argv = [{name!r}]\n"
        "before = [signal.getsignal(number) for number in (2, 15)]\n"
        "import jitterfly\n"
        "assert before == [signal.getsignal(number) for number in (2, 15)]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-m", "jitterfly", "info"], (130, "jitterfly: stopped\n")),
        (["-m", "mpi4py", "-m", "jitterfly"], "KeyboardInterrupt\n"),
    ],
)
def test_as_a_module(words, expected, tmp_path, monkeypatch):
    """Python says which module it starts; what imports the package besides is another program."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Press:\n"
        "    def find_spec(self, module, *_):\n"
        "        if module == 'jitterfly.fields':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
    )
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("")
    (tmp_path / "mpi4py" / "__main__.py").write_text("import jitterfly.fields\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if isinstance(expected, tuple):
        assert (done.returncode, done.stderr) == expected
    else:
        assert done.stderr.endswith(expected)


# The sum is one call of C, which looks for no signal.
BUSY = """
import signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)
from jitterfly.cli.process import Stopping
with Stopping(with_process=True):
    print("begins", flush=True)
    sum(range(10**12))
"""


@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGTERM], 1))
def test_a_second_signal_ends_it_wherever_it_is(number):
    """Also where Python does not come to call any handler; but it may be the first once more."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(1)
        for _ in range(2):
            process.send_signal(number)
        time.sleep(2)
        alive = process.poll() is None
        process.send_signal(number)
        try:
            assert process.wait(10) == 128 + number
        finally:
            process.kill()
    assert alive


WALK = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell put us behind
from jitterfly.cli import main
print("begins", flush=True)
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("command", "number"),
    crossed(["slowdown --realizations 16", "explain --realizations 16"], ANSWERS),
)
def test_a_walk_through_intervals_is_stopped(command, number):
    """An hour of work on each of 4,096 ranks takes minutes."""
    name, *more = command.split()
    words = [name, "-q", *more, "--ranks", "4096", "--compute-time", "1h", "--noise",
             "period=1ms,duration=10us", "--noise", "period=1.0001ms,duration=7us"]  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", WALK, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        process.stdout.readline()
        time.sleep(4)
        assert process.poll() is None
        process.send_signal(number)
        try:
            _, told = process.communicate(timeout=15)
        finally:
            process.kill()
    code, words = ANSWERS[number]
    assert process.returncode == code
    assert told.endswith(words)

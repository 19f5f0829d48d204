"""Commands that are killed before any of their writes: the same command goes on from there.

And they leave no file behind that does not go with the next one, and none beside one of another
answer.
"""

import shutil

import pytest
from support.killed_commands import KILLED, exit_code
from support.scale import full_scale
from support.small_study import STUDY

pytestmark = pytest.mark.slow(minutes=2)

NOISE = "period=1ms,duration=25us,start=stationary"
NETWORK = "L=1us,o=200ns,G=0.1ns"
SLOWDOWN = ("slowdown", f"--noise={NOISE}", "--realizations=100", "--out=out", "--ranks")
ADVISE = (
    "advise", "--ranks=4", "--bytes=8", f"--network={NETWORK}", f"--noise={NOISE}", "--out=out",
    "--candidates=ring,recursive_doubling", "--seconds=20s", "--realizations",
)  # fmt: skip
CURVE = "ranks,latency_us\n2,3.9\n4,8.1\n8,12.2\n16,16.0\n32,20.1\n"
CASE = """
name = "ring"
realizations = { max = 9 }
[case]
ranks = 4
algorithm = { kind = "ring_allreduce" }
network = { kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-8 }
noise = [{ kind = "periodic", period = "100us", duration = "10us" }]
[observables]
completion = { kind = "completion" }
"""
BUDGET = ("budget", "--ranks=16", "--step=1us", "--delay=10us", "--precision=0.2", "--out=out")
# The command, what ran before it in the same folder, and what another one of the folder asks.
COMMANDS = {
    "slowdown": ((*SLOWDOWN, "4"), (), (*SLOWDOWN, "8", "--force")),
    "advise": ((*ADVISE, "64"), (), ()),
    "fit": (("fit", "curve.csv", "--out=out"), (), ()),
    "budget": ((*BUDGET, "--latency=8us"), (), (*BUDGET, "--latency=9us", "--force")),
    "init": (("init", "mine.toml", "--ranks=4"), (), ()),
    "run": (("run", "small.toml", "--out=out"), (), ()),
    "merge": (("merge", "out"), [("run", "small.toml", "--out=out", f"--shard={i}/2")
                                  for i in (1, 2)], ()),
    "export csv": (("export", "out", "out.csv"), [("run", "small.toml", "--out=out")], ()),
    "export zarr": (("export", "out", "out.zarr"), [("run", "small.toml", "--out=out")], ()),
    "export nc": (("export", "out", "out.nc"), [("run", "small.toml", "--out=out")], ()),
    "noise import": (("noise", "import", "x.csv", "--length=1s", "--out=x.noise"), (), ()),
    "export-goal": (("export-goal", "case.toml", "--out=x.goal"), (), ()),
}  # fmt: skip
AT_SMALL_SCALE = ("slowdown", "advise")
OF_ONE_ANSWER = ("slowdown", "budget", "fit")  # `advise` says how long it took


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "begin"
    made.mkdir()
    (made / "small.toml").write_text(STUDY)
    (made / "case.toml").write_text(CASE)
    (made / "curve.csv").write_text(CURVE)
    (made / "x.csv").write_text("start_s,duration_s\n0.1,0.001\n0.5,0.002\n")
    return made


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".lock" not in path.name
    }


def told(folder):
    return (folder.parent / "told").read_text()


def writes():
    """Yield numbers of writes: the first twelve, then fewer and fewer of them.

    A Zarr store has hundreds, each of which takes two runs of a command.
    """
    number = 0.0
    while True:
        yield int(number)
        number = number + 1 if number < 12 else 1.5 * number


@pytest.mark.parametrize(
    "name", [name if name in AT_SMALL_SCALE else full_scale(name) for name in COMMANDS]
)
@pytest.mark.parametrize("again", [False, True])
def test_a_kill_before_any_write(name, again, folder, tmp_path):
    """`again`: the folder holds an answer already, of another question where there is one."""
    command, first, other = COMMANDS[name]
    if "zarr" in name:
        pytest.importorskip("zarr")
    if "nc" in name:
        pytest.importorskip("netCDF4")
    for one in first:
        assert exit_code(folder, one) == 0, told(folder)
    if again:
        if name == "init":
            pytest.skip("it replaces nothing")
        assert exit_code(folder, other or command) == 0, told(folder)
        if other and "--force" in other:
            command = (*command, "--force")
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(folder, undisturbed)
    assert exit_code(undisturbed, command) == 0, told(folder)
    whole = files(undisturbed)
    before = files(folder)
    for kills in writes():
        here = tmp_path / f"killed {kills}"
        shutil.copytree(folder, here)
        if (code := exit_code(here, command, kills)) != KILLED:
            assert code == 0, told(here)
            break
        if name in OF_ONE_ANSWER:
            now = {path: text for path, text in files(here).items() if "jf-tmp" not in path}
            assert now.items() <= before.items() or now.items() <= whole.items(), kills
        code = exit_code(here, command)
        if name == "init" and (here / "mine.toml").exists() and code == 2:
            assert files(here)["mine.toml"] == whole["mine.toml"]
        else:
            assert code == 0, (kills, told(here))
            assert set(files(here)) == set(whole), kills
        shutil.rmtree(here)
    # An import that is there already, of the same file, is not written again.
    assert kills > 2 or (again and name == "noise import")

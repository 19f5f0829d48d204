"""Type checking (mypy) of the package, of a user's program, and of required arguments."""

import dataclasses
import inspect
import re
import subprocess
import sys
import types
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated

import numpy as np
import pytest
from support.paths import ROOT

import jitterfly as jf
import jitterfly_papers
from jitterfly import congestion, measured, theory
from jitterfly.fields import frozen_dataclass

# Releases whose types the package is checked with: others may have changed them.
TYPES_OF = {"mypy": "2.4", "numpy": "2.4", "matplotlib": "3.11"}
HEAD = """
import numpy as np
import jitterfly as jf
import jitterfly.congestion as jc
from jitterfly_papers.inference import Curve
from jitterfly.measured import Detours, Histogram
noise: list[jf.Noise]  # two of the programs have one, of different kinds
"""
CALLS = """
tree = jc.FatTree([4, 4], [1, 4], routing="hash", salt=3)
jf.TraceNoise(starts=[0.1], durations=[1e-6], length="1s")
jf.TraceNoise(starts=(0.1,), durations=np.array([1e-6]), length=1, offset=[0.5, 0.1])
trace = jf.TraceNoise(trace=Detours([1000], [10], length=10_000), offset=np.zeros(2))
if trace.starts is not None:
    print(trace.starts.sum())
jf.PeriodicNoise("1ms", "1us", phases=[0.0, 1e-4])
jf.PeriodicNoise("1ms", 1e-6, phases=np.zeros(2), begin=0, end="1s")
jf.StepNoise(jf.Empirical(samples=["1us", 2e-6]))
jf.StepNoise(jf.Empirical(low=[0, 1e-6], high=np.array([1e-6, 2e-6]), count=[3, 4]))
print(jf.Congestion({"kind": "fat_tree", "m": [4, 4], "w": [1, 4]}).network.hosts)
print(Curve([2, 4, 8], [3e-6, 6e-6, 9e-6], error=np.ones(3)).latency.max())
Histogram([0, 1], [1, 2], [3, 4])
print(jc.NetworkMap("map.dot").dropped)
jc.CongestionCase(tree, pattern=[[[0, 1], [1, 2]], np.array([[0, 1]])])
jc.route_messages(tree, [[[0, 1], [1, 2]]], [3, 4, 5])
tree.routes([0, 1], [1, 2], [3, 4])
print(jf.stats.quantiles([1.0, 2.0], 0.5).value, jf.stats.quantiles([1.0, 2.0], [0.5])[0].value)
print(jf.measured.load("a.noise"), jf.noise_limit, jf.plots.draw)
jf.simulate(case, 10).plot("a.png").savefig("b.png")
print(jf.Case(8, network="L=1us,o=200ns", noise=["period=1ms,duration=10us"]).network.to_dict())
study = jf.Study("mine", case=case, variants={"one": {}}, targets=["mean of completion ± 1 %"])
print(study.targets[0].statistic, study.variants[0].label)
print(jc.CongestionCase(tree).ranks + 1)
print(jf.Case(8, algorithm="ring_allreduce", network="L=1us,o=200ns").algorithm.to_dict())
print(jf.Mixture([1, 2.5], [jf.Exponential("1us"), jf.Constant("2us")]).expected())
"""
# What a number, numbers and noise may be given as.
FORMS = """
import numpy as np
import jitterfly as jf
import jitterfly.congestion as jc
n, many, array = np.int64(4), [np.int64(4), np.int64(8)], np.array([4, 8])
source, text, net = jf.PeriodicNoise("1ms", "10us"), "period=1ms,duration=10us", "L=1us,o=200ns"
one = jf.Case("2^4", network=net, noise=source, cycles="2", message_bytes=n, compute_time=n)
two = jf.Case(n, network=net, noise=[source, text], cycles=n, compute_time=np.float32(1e-6))
jf.simulate(one, n, n, threads=n, first_realization=n)
jf.simulate(two, "10", "7")
jf.slowdown(source, many, message_bytes=n, cycles="2", realizations=n, seed=n, threads=n)
jf.slowdown(text, array, message_bytes="1KiB", realizations="10", network=net)
jf.slowdown([text, source], ["8", n], realizations=10)
jf.slowdown(source, range(4, 8), realizations=10)
jf.advise(n, network=net, message_bytes=array, noise=source, candidates=("ring",), realizations=n)
jf.advise(4, network=net, noise=source, candidates=("ring",), seconds=np.int64(5))
jf.noise_limit("period=1ms,duration=max", 4, at_most=np.int64(2), network=net, realizations=20)
jf.advise("4,8", network=net, message_bytes=["8", n], noise=text, realizations="40")
jf.noise_limit("period=1ms,duration=max", many, at_most=np.float64(1.1), realizations=20)
jf.explain(one, n, n, threads=n)
jf.ready_times(two, n, n)
jf.noise_intervals(two, n - 1, "1ms", seed=n)
jf.Study("a", case=two, axes=[jf.Axis("ranks", many)], seed=n, budget=jf.RealizationBudget(max=n))
jf.Study("a", case=two, budget=jf.RealizationBudget(min="5", max="10", raw_bytes="1MiB"))
budget = jf.RealizationBudget(max=n, raw_bytes=np.int64(2**20), rank_rounds=np.int64(10**6))
study = jf.Study("a", case=one, budget=budget)
study.run(realizations="10", seed="7"), study.run(realizations=n, seed=n)
app = jf.ScheduleBuilder(n)
app.calc(np.ones(4) * 1e-6, cpu=n)
app.calc(["1us", 2e-6], ranks=[np.int64(0), np.int64(1)], name="two")
jf.ScheduleBuilder("4").messages([(np.int64(0), np.int64(1))], "1KiB")
jf.ScheduleBuilder(4).messages(np.array([[0, 1], [2, 3]]), "1KiB")
jf.ScheduleBuilder(4).messages([[0, 1], [n - 2, n - 1]], "1KiB")
jf.simulate_schedule(app.build(), net, source, realizations=n, order_checks=n, first_realization=n)
jf.Torus(n, hop="1ns"), jf.Torus(many, hop="1ns"), jf.Torus(array, hop="1ns")
jf.Dragonfly(groups=n, routers=n, router_hosts=n, local_hop="1ns", global_hop="1us")
jf.Butterfly(exchanges_after=np.int64(2))
jf.PeriodicNoise("1ms", "10us", shared=n)
jf.LogGOPS(L="1us", o="200ns", S=n)
jf.imbalance.SlowRanks(factor=1.2, ranks=many), jf.imbalance.SlowRanks(factor=2, ranks=array)
jf.imbalance.SlowRanks(factor=2, ranks=1), jf.imbalance.SlowRanks(factor=2, ranks="3 17")
jf.imbalance.SlowNodes(factor=1.2, node_ranks=n), jf.imbalance.OneLate("1ms", rank=n)
jf.imbalance.SlowNodes(factor=1.2, nodes=array), jf.imbalance.SlowNodes(factor=1.2, nodes=n)
jf.imbalance.OnNodes(array, every=n), jf.imbalance.OnNodes("1 2", node_ranks=n)
tree = jc.FatTree(array, many, p=np.array([1, 1]))
jc.simulate_congestion(jc.CongestionCase(tree, ranks=n), n, n), jc.bisection_bandwidth(tree, n)
jc.FatTree.of(np.int64(144))
part, sizes = np.float32(0.5), jc.FatTree.of(144)
jf.Target("mean", "completion", relative=part, confidence=part)
jf.Target("mean", "completion", absolute=n)
jf.imbalance.SlowRanks(factor=n), jf.imbalance.SlowNodes(factor=n)
jf.imbalance.SlowShare(factor=n, share=part), jf.imbalance.OnShare(part)
jf.imbalance.DrawnSpeed(sigma=part), jf.imbalance.LognormalCounts(mean=n, sigma=part)
jf.imbalance.GivenSpeed(array), jf.imbalance.GivenSpeed(many)
jf.Gamma(scale="1us", shape=n), jf.Weibull(scale="1us", shape=n), jf.Pareto(scale="1us", shape=n)
jf.Lognormal(median="1us", sigma=part), jf.StepNoise("1us", probability=part)
jf.Congestion(sizes, ratio=part), jc.CongestionCase(sizes, ratio=part)
jf.slowdown(source, 4, realizations=20, confidence=part)
jf.advise(4, network=net, candidates=("ring",), within=part, confidence=part)
jf.compare_measured([1e-6, 2e-6], one, confidence=part, realizations=10)
jf.explain_schedule(app.build(), net, source, realizations=n, slowest=part)
jf.Axis.derived("T_comm / D", by="message_bytes", values=[part, n])
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where mypy keeps what it found out about the modules that users import."""
    return tmp_path_factory.mktemp("mypy")


def told(file, cache):
    """What mypy says of a file, not of what it imports."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
         "--ignore-missing-imports", "--cache-dir", str(cache), str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode < 2, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(str(file))]


@pytest.mark.full_scale
@pytest.mark.slow
def test_the_package_itself(tmp_path):
    """Every module, with the settings in pyproject.toml."""
    pytest.importorskip("mypy")
    for name, release in TYPES_OF.items():
        found = ".".join(version(name).split(".")[:2])
        if found != release:
            pytest.skip(f"checked with the types of {name} {release}; here is {found}")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.full_scale
@pytest.mark.slow
def test_users_pass_a_type_checker(cache, tmp_path):
    """Programs of README and docs, and more; and one that is wrong does not pass."""
    pytest.importorskip("mypy")
    pages = ["README", "docs/tutorials/slurm", "docs/tutorials/congestion", "docs/noise"]
    text = "\n".join((ROOT / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    blocks = [block for block in blocks if "from distributed" not in block]  # which has no types
    assert len(blocks) >= 5
    file = tmp_path / "user.py"
    file.write_text("\n".join([HEAD, *blocks, CALLS]), encoding="utf-8")
    assert told(file, cache) == []
    file.write_text(FORMS)
    assert told(file, cache) == []
    file.write_text(HEAD + 'jf.TraceNoise(starts=[0.1], durations=3, length="1s")\n')
    assert 'Argument "durations" to "TraceNoise"' in "\n".join(told(file, cache))


@pytest.mark.filterwarnings("ignore")
def test_numbers_and_noise_have_several_forms():
    exec(FORMS, {})


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_a_real_number_of_numpy_is_held_as_a_float(kind, tmp_path):
    half = kind(0.5)
    target = jf.Target("mean", "completion", relative=half, confidence=half)
    assert target == jf.Target("mean", "completion", relative=0.5, confidence=0.5)
    assert {type(target.relative), type(target.confidence)} == {float}
    assert str(target) == "mean of completion ± 50 % at 50 %"
    case = jf.Case(4, network="L=1us,o=200ns", noise="period=1ms,duration=10us")
    study = jf.Study("a", case=case, targets=[target], budget=jf.RealizationBudget(max=50))
    found = jf.run_study(study, tmp_path / "out", batch_seconds=half)
    other = jf.Study("a", case=replace(case, cycles=2), budget=jf.RealizationBudget(max=50)).run()
    assert jf.compare(found, other, confidence=half).confidence == 0.5
    times = np.linspace(1e-6, 2e-6, 50)
    agreement = jf.compare_measured(times, case, confidence=half, realizations=50)
    assert type(agreement.confidence) is float
    assert jf.stats.quantile(times, half, half).value == jf.stats.quantile(times, 0.5, 0.5).value


def test_annotations_may_be_no_text():
    """A module without `from __future__ import annotations` has types there."""

    @frozen_dataclass()
    class Own:
        small: Annotated[int, ["a list has no hash"]]
        other: int = 3

    assert Own(2) == Own(2, other=3)


def public_classes():
    """Every dataclass that users make, by the name that they write."""
    modules = {"jf": jf, "jf.congestion": congestion, "jitterfly_papers": jitterfly_papers,
               "jf.measured": measured, "jf.theory": theory}  # fmt: skip
    return {
        f"{where}.{name}": getattr(module, name)
        for where, module in modules.items()
        for name in module.__all__
        if dataclasses.is_dataclass(getattr(module, name))
    }


def required(kind):
    """Names of the arguments without which a class can not be called."""
    parameters = inspect.signature(kind).parameters.values()
    return [one.name for one in parameters if one.default is one.empty]


@pytest.mark.full_scale
@pytest.mark.slow
def test_what_is_required_is_required_for_a_type_checker(cache, tmp_path):
    """A call without arguments is an error where it is one, and a full call gives plain fields."""
    pytest.importorskip("mypy")
    wanted = {name: required(kind) for name, kind in public_classes().items()}
    wanted = {name: arguments for name, arguments in wanted.items() if arguments}
    assert {"jf.Hockney", "jf.RenewalNoise", "jf.Congestion", "jitterfly_papers.Curve"} <= set(
        wanted
    )
    file = tmp_path / "user.py"
    imports = "import jitterfly as jf\nimport jitterfly.congestion\nimport jitterfly_papers\n"
    imports += "import jitterfly.measured\nimport jitterfly.theory\n"
    lines = [*imports.splitlines(), *(f"{name}()" for name in wanted)]
    file.write_text("\n".join(lines), encoding="utf-8")
    said = told(file, cache)
    for number, (name, arguments) in enumerate(wanted.items(), imports.count("\n") + 1):
        here = [line for line in said if line.startswith(f"{file}:{number}: error: Missing")]
        assert here, name
        assert all(f'"{argument}"' in " ".join(here) for argument in arguments), (name, here)
    file.write_text(
        "import jitterfly as jf\n"
        "reveal_type(jf.Hockney('1us', 0).alpha)\n"
        "reveal_type(jf.RenewalNoise('1ms', jf.Constant(1)).gap)\n"
        "jf.Hockney(alpha=[1], beta=0)\n"
    )
    seconds, gap, wrong, *more = told(file, cache)
    assert 'float"' in seconds
    assert "Distribution" in gap
    assert 'Argument "alpha" to "Hockney"' in wrong
    assert not more


def test_a_field_that_nobody_would_check_is_refused():
    """Its descriptor is named in a way that a class does not see when it is made."""
    module = """
from __future__ import annotations
from typing import TYPE_CHECKING, ClassVar
from jitterfly import units
from jitterfly.fields import frozen_dataclass
if TYPE_CHECKING:
    from jitterfly.units import Seconds as Time

@frozen_dataclass()
class Seen:
    kind: ClassVar[str]
    a: units.Seconds
    n: int
    b: Time = units.Seconds(0.0)

@frozen_dataclass()
class NotSeen:
    a: Time
"""
    name = "jitterfly_test_of_fields"
    made = types.ModuleType(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, made)
        with pytest.raises(TypeError, match=r"NotSeen\.a: name 'Time' is not defined"):
            exec(module, vars(made))
        assert made.Seen("1us", 2, "3us") == made.Seen(1e-6, 2, 3e-6)
        with pytest.raises(ValueError, match="a must be a time"):
            made.Seen("fast", 2)

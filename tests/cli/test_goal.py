"""GOAL export (`export-goal`): dependencies, rules of LogGOPSim, and LogGOPSim itself."""

import os
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from reference import arrival_order
from reference.collectives import GOALS
from support.quick_pictures import quick_pictures
from support.scale import scaled, some

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.goal_export import goal_schedule
from jitterfly.replay import check_size

SIMULATOR = os.environ.get("JITTERFLY_LOGGOPSIM", "")
LATENCY = 1000  # ns
FREE = jf.LogGOPS(L=LATENCY * 1e-9, o=0, gamma=1e-9)  # messages cost no CPU time
OPERATION = re.compile(r"(\w+): (send|recv|calc) (\d+)(?:b (?:to|from) (\d+) tag (\d+))?")


def parse(text):
    """Operations (kind, size, peer, tag) and their requirements, for each rank."""
    head, *parts = re.split(r"\nrank (\d+) \{\n", text)
    assert head == f"num_ranks {len(parts) // 2}\n"
    ranks = []
    for number, body in zip(parts[::2], parts[1::2], strict=True):
        assert int(number) == len(ranks)
        operations, needs = {}, {}
        *lines, end = body.strip().split("\n")
        assert end == "}"
        for line in lines:
            if " requires " in line:
                name, before = line.split(" requires ")
                needs[name].append(before)
                continue
            name, kind, size, peer, tag = OPERATION.fullmatch(line).groups()
            operations[name] = kind, int(size), peer and int(peer), tag and int(tag)
            needs[name] = []
        ranks.append((operations, needs))
    return ranks


def last_end(ranks, starts):
    """When the last operation ends if messages take LATENCY and their CPU time is 0."""
    sends = {}
    for rank, (operations, _) in enumerate(ranks):
        for name, (kind, size, peer, tag) in operations.items():
            if kind == "send":
                assert (rank, peer, tag) not in sends, "a tag is used twice"
                sends[rank, peer, tag] = name, size
    done, received = {}, set()

    def end(rank, name):
        stack = [(rank, name)]
        while stack:
            here = stack[-1]
            operations, needs = ranks[here[0]]
            kind, size, peer, tag = operations[here[1]]
            waits = [(here[0], before) for before in needs[here[1]]]
            if kind == "recv":
                sent, length = sends[peer, here[0], tag]
                assert length == size
                received.add((peer, here[0], tag))
                waits.append((peer, sent))
            missing = [one for one in waits if one not in done]
            assert not set(missing) & set(stack), "a circle"
            if missing:
                stack.append(missing[0])
                continue
            ready = [done[one] for one in waits]
            if kind == "recv":
                ready[-1] += LATENCY
            done[here] = max(*ready, starts[here[0]], 0) + (size if kind == "calc" else 0)
            stack.pop()
        return done[rank, name]

    ends = [end(rank, name) for rank, (ops, _) in enumerate(ranks) for name in ops]
    assert received == set(sends), "a message is not received"
    return max(ends)


@pytest.mark.parametrize("kind", some(sorted(GOALS), 6))
def test_every_delay_is_passed_on(kind):
    """Ranks start at different times, as noise of a compute phase has it."""
    rng = random.Random(f"goal {kind}")
    for _ in range(scaled(30)):
        ranks, n = rng.randint(1, 40), rng.choice([1, 8, 1000])
        algorithm = jf.Algorithm.from_dict({"kind": kind})
        phases = np.array([rng.randrange(100_000) * 1e-9 for _ in range(ranks)])
        noise = jf.PeriodicNoise(1e-4, 2e-5, phases=phases, during="compute")
        skewed = jf.Case(ranks, algorithm=algorithm, network=FREE, message_bytes=n, noise=[noise],
                         compute_time=rng.choice([0, 5e-5]))  # fmt: skip
        starts = np.rint(1e9 * jf.ready_times(skewed)[0]).astype(int).tolist()
        quiet = jf.Case(ranks, algorithm=algorithm, network=FREE, message_bytes=n)
        text = goal_schedule(quiet).text
        assert last_end(parse(text), starts) * 1000 == jf.simulate(skewed, 1).ticks[0, -1]


def test_cycles_and_work():
    case = jf.Case(6, algorithm=jf.RingAllreduce(), network=FREE, message_bytes=60, cycles=3,
                   compute_time="7us")  # fmt: skip
    goal = goal_schedule(case)
    assert last_end(parse(goal.text), [0] * 6) * 1000 == jf.simulate(case, 1).ticks[0, -1]
    assert goal.notes == []
    assert goal.options == ["-L", "1000", "-o", "0", "-g", "0", "-G", "0", "-O", "0",
                            "-S", "2147483647"]  # fmt: skip


def test_rounding_is_told():
    network = jf.LogGOPS(L="1us", o="100ps", G="0.25ns", O="1ns", gamma="0.1ns")
    goal = goal_schedule(jf.Case(4, network=network, message_bytes=8, compute_time="1.5us"))
    assert goal.notes == [
        "combining a message: 0.8 ns became 1 ns",
        next(note for note in goal.notes if note.startswith("O: ")),
        "o: 0.1 ns became 0 ns",
        "G: 0.25 ns became 0 ns, so that each KiB of a message takes 256 ns less on its way: older "
        "versions of LogGOPSim take whole ns a byte; newer ones take fractions, -G 0.25",
    ]
    assert goal.network == "L=1000ns,o=0.1ns,G=0.25ns,O=1ns"
    hockney = goal_schedule(jf.Case(4, network=jf.Hockney("1us", "2ns"), message_bytes=8))
    assert "may tell twice the time" in goal.notes[1]
    assert hockney.options[:8] == ["-L", "1002", "-o", "0", "-g", "2", "-G", "2"]
    assert hockney.notes == []
    assert hockney.network == "L=1002ns,o=0ns,g=2ns,G=2ns"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": jf.Butterfly(copy_levels="all")}, "algorithm: redundant exchanges"),
        ({"algorithm": jf.RingAllreduce(exchanges_after=1)}, "algorithm: redundant exchanges"),
        ({"network": jf.Hockney("1us", 0), "message_bytes": 0}, "message_bytes must be at least 1"),
        ({"ranks": 2**20, "algorithm": jf.RingAllgather()}, "a GOAL schedule holds at most"),
        ({"network": jf.Hierarchy([(4, FREE), FREE])}, "and give the Hierarchy as network to `sim"),
    ],
)
def test_what_is_refused(options, message):
    case = jf.Case(**{"ranks": 8, "network": FREE, "message_bytes": 8} | options)
    with pytest.raises(ValueError, match=message):
        goal_schedule(case)


CASE = """
ranks = 5
message_bytes = 8
algorithm = { kind = "binomial_broadcast" }
network = { kind = "loggops", L = "1us", o = "100ns" }
"""


@pytest.mark.parametrize("text", [CASE, f"[case]\n{CASE}"])
def test_command(text, tmp_path, capsys):
    path, out = tmp_path / "case.toml", tmp_path / "schedule.goal"
    path.write_text(text)
    assert main(["export-goal", str(path)]) == 0
    found = capsys.readouterr()
    assert found.err == (
        "LogGOPSim -L 1000 -o 100 -g 0 -G 0 -O 0 -S 2147483647\n"
        "jitterfly run FILE.goal --network L=1000ns,o=100ns\n"
    )
    assert len(parse(found.out)) == 5
    assert main(["export-goal", str(path), "-o", str(out)]) == 0
    assert out.read_text() == found.out
    assert capsys.readouterr().out == f"written: {out}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks = ", "not valid TOML"),
        ("ranks = 4", "case: key 'network' is missing"),
        (f"seed = 3\n[case]\n{CASE}", "a file with a table [case]: unknown key 'seed'"),
        (CASE.replace("5", "0"), "ranks must be an integer from 1 to"),
    ],
)
def test_bad_files(text, message, tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(text)
    assert main(["export-goal", str(path)]) == 2
    error = capsys.readouterr().err
    assert f"{path}: " in error
    assert message in error
    assert error.count("\n") == 1


STUDY = f"""
name = "some"
realizations = {{ max = 10 }}
[case]
{CASE.replace("ranks = 5", "")}
noise = [{{ kind = "periodic", period = "1ms", duration = "1us" }}]
[axes.ranks]
values = [5, 6]
[variants.short]
[variants.long]
message_bytes = 80
[observables.completion]
kind = "completion"
variant = "short"
"""


def test_a_cell_of_a_study(tmp_path, capsys):
    """As `trace` takes one: by --at, else the first."""
    study, case = tmp_path / "study.toml", tmp_path / "case.toml"
    study.write_text(STUDY)
    case.write_text(CASE.replace("ranks = 5", "ranks = 6").replace("= 8", "= 80"))
    assert main(["export-goal", str(case)]) == 0
    alone = capsys.readouterr()
    assert main(["export-goal", str(study), "--at", "ranks=6", "--at", "variant=long"]) == 0
    found = capsys.readouterr()
    assert found.out == alone.out
    assert found.err == f"cell of the study: ranks=6, variant=long\n{alone.err}"
    assert main(["export-goal", str(study), "--at", "ranks=6,variant=long"]) == 0
    assert capsys.readouterr() == found
    assert main(["export-goal", str(study)]) == 0
    assert capsys.readouterr().err.startswith("cell of the study: ranks=5, variant=short\n")
    assert main(["export-goal", str(study), "--at", "ranks=7"]) == 2
    assert "--at ranks must be one of 5, 6; got '7'" in capsys.readouterr().err
    assert main(["export-goal", str(case), "--at", "ranks=6"]) == 2
    assert f"--at chooses a cell of a study: {case} holds one case" in capsys.readouterr().err
    text = re.sub(r"\[axes(.|\n)*", "", STUDY).replace("[case]", "[case]\nranks = 5")
    text += '[observables.completion]\nkind = "completion"\n'
    study.write_text(text)
    assert main(["export-goal", str(study)]) == 0
    assert capsys.readouterr().err.startswith("LogGOPSim")
    assert main(["export-goal", str(study), "--at", "ranks=5"]) == 2
    assert "some has one cell alone" in capsys.readouterr().err


def test_nothing_is_written_over_the_case(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    for out, message in (
        (path, f"--out must be another file than {path}"),
        (tmp_path / "nowhere" / "x", "nowhere does not exist"),
        (tmp_path, "must be a file"),
    ):
        assert main(["export-goal", str(path), "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert path.read_text() == CASE


@pytest.mark.parametrize("command", ["trace", "export-goal"])
def test_a_schedule_is_no_case(command, tmp_path, capsys):
    """It was an error of TOML."""
    for name in ("app.goal", "app.txt"):
        path = tmp_path / name
        path.write_text("num_ranks 1\nrank 0 {\nl1: calc 10\n}\n")
        assert main([command, str(path), "--out", str(tmp_path / "x.png")]) == 2
        error = capsys.readouterr().err
        assert f"{path} is a schedule of an application, not a case or a study" in error
        assert "jitterfly run and jitterfly explain take it" in error


@quick_pictures
def test_trace_takes_a_case(tmp_path, capsys):
    path = tmp_path / "case.toml"
    path.write_text(
        CASE.replace("ranks = 5", "ranks = 4").replace("binomial_broadcast", "butterfly")
    )
    picture = tmp_path / "a.png"
    assert main(["trace", str(path), "--out", str(picture), "--realization", "0"]) == 0
    assert picture.stat().st_size > 5000
    assert main(["trace", "--ranks", "4", "--bytes", "1KiB", "--out", str(picture)]) == 0
    capsys.readouterr()
    assert main(["trace", str(path), "--at", "ranks=4", "--out", str(picture)]) == 2
    assert "holds one case" in capsys.readouterr().err
    levels = jf.Hierarchy([(2, jf.LogGOPS("1us", "0")), jf.LogGOPS("1us", "0")])
    with pytest.raises(ValueError, match="network must be of one level for a trace"):
        check_size(jf.Case(4, network=levels))
    path.write_text(CASE)
    assert main(["trace", str(path), "--out", str(picture)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("jitterfly: error: ")
    assert error.count("\n") == 1


# --- where LogGOPSim's rules give other times


def by_arrival(case):
    """When the last rank is done by LogGOPSim's rules, in ns; and the notes on the schedule."""
    goal = goal_schedule(case)
    names = goal.options[:-2:2]
    network = {name[1:]: int(ns) for name, ns in zip(names, goal.options[1:-2:2], strict=True)}
    return arrival_order.finish(parse(goal.text), **network), goal.notes


def ns(case):
    return jf.simulate(case, 1).ticks[0, -1] / 1000


# But where a rank receives several messages: in LogGOPSim each byte takes the CPU, and what is
# there first is taken first, before what is still to be sent.
ALIKE = sorted(
    {*GOALS} - {"scatter_allgather_broadcast", "knomial_reduce", "double_binary_tree_allreduce",
                "binary_tree_reduce", "chain_reduce", "linear_alltoall",
                "recursive_multiplying_allreduce", "nccl_tree_allreduce", "sparbit_allgather",
                "circulant_reduce", "split_binary_tree_broadcast"}
)  # fmt: skip


def free_and_alike(kind, rng):
    """Two cases: messages of no time on link and CPU; and ranks that are alike (2^K of them)."""
    algorithm = jf.Algorithm.from_dict({"kind": kind})
    gap = "0ns" if kind == "butterfly" else "250ns"
    long = jf.LogGOPS(L="1us", o="100ns", g=gap, G="1ns", gamma="1ns")
    free = jf.Case(rng.randint(1, 40), algorithm=algorithm, network=FREE,
                   message_bytes=rng.choice([1, 100, 5000]))  # fmt: skip
    alike = jf.Case(2 ** rng.randint(0, 5), algorithm=algorithm, network=long,
                    message_bytes=rng.choice([1, 100, 5000, 50_000]))  # fmt: skip
    return free, alike


@pytest.mark.parametrize("kind", some(sorted(GOALS), 6))
def test_rules_of_loggopsim_agree(kind):
    rng = random.Random(f"arrival {kind}")
    for _ in range(scaled(12)):
        free, alike = free_and_alike(kind, rng)
        assert by_arrival(free) == (ns(free), [])
        assert kind not in ALIKE or by_arrival(alike)[0] == ns(alike)


def test_an_early_message_waits_for_a_late_one():
    """Rank 0 is sent messages that are there at 1 (from 1), 2 (from 2) and 1 us (from 4).

    Each has the link for 0.6 us. As they arrive: 1, 1.6 and 2.2 us. In the order of the algorithm:
    1, 2 and 2.6 us.
    """
    network = jf.LogGOPS(L="1us", o=0, g="0.6us")
    case = jf.Case(5, algorithm=jf.BinomialReduce(), network=network, message_bytes=1)
    assert ns(case) == 2600
    there, notes = by_arrival(case)
    assert there == 2200
    assert [note[:6] for note in notes] == ["order:"]
    alike = jf.Case(8, algorithm=jf.RingAllreduce(), network=network)
    assert by_arrival(alike) == (ns(alike), [])
    one_message = jf.Case(5, algorithm=jf.BinomialBroadcast(), network=network)
    assert by_arrival(one_message) == (ns(one_message), [])


@pytest.mark.parametrize("kind", some(sorted(GOALS), 6))
def test_where_times_differ_there_is_a_note(kind):
    """Of 40 networks and numbers of ranks, O aside."""
    rng = random.Random(f"differ {kind}")
    algorithm = jf.Algorithm.from_dict({"kind": kind})
    gaps = [0] if kind == "butterfly" else [0, 250, 600]
    told = 0
    for _ in range(scaled(40)):
        network = jf.LogGOPS(L="1us", o=rng.choice([0, 100]) * 1e-9, g=rng.choice(gaps) * 1e-9,
                             G=rng.choice([0, 2]) * 1e-9, gamma="1ns")  # fmt: skip
        case = jf.Case(rng.randint(1, 40), algorithm=algorithm, network=network,
                       message_bytes=rng.choice([1, 100, 5000]))  # fmt: skip
        there, notes = by_arrival(case)
        assert there == ns(case) or [note[:6] for note in notes] == ["order:"]
        told += there != ns(case)
    assert told == 0 or kind not in ("binomial_broadcast", "ring_allgather", "ring_allreduce")


def test_cpu_time_per_byte():
    """Here 0.3 + 3 us, 3 + 2.997 on the way, 0.3 + 3; there 0.3, 3, 0.3 and 999 times 3 ns."""
    network = jf.LogGOPS(L="3us", o="0.3us", G="3ns", O="3ns")
    algorithm = jf.BinomialBroadcast()
    case = jf.Case(2, algorithm=algorithm, network=network, message_bytes=1000)
    there, notes = by_arrival(case)
    assert (ns(case), there) == (12_597, 6_597)
    assert [note[:2] for note in notes] == ["O:"]


def loggopsim(case, folder):
    """When LogGOPSim's last rank is done, in ns."""
    goal = goal_schedule(case)
    assert all(note.startswith("order: ") for note in goal.notes)  # nothing is rounded
    text, binary = folder / "schedule.goal", folder / "schedule.bin"
    text.write_text(goal.text)
    converter = Path(SIMULATOR).with_name("txt2bin")
    subprocess.run([converter, "-i", text, "-o", binary], check=True, capture_output=True)
    words = [SIMULATOR, "-f", binary, *goal.options, "-b"]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Maximum finishing time at host \d+: (\d+)", printed)[1])


@pytest.mark.skipif(not SIMULATOR, reason="JITTERFLY_LOGGOPSIM names no LogGOPSim")
@pytest.mark.parametrize("kind", some(sorted(GOALS), 6))
def test_loggopsim_agrees(kind, tmp_path):
    """To the ns where models are the same.

    That is, where messages cost no CPU time, or where ranks are alike (2^K ranks): else LogGOPSim
    charges receives in the order of arrival. Scattered parts arrive at different times, too.
    """
    rng = random.Random(f"loggopsim {kind}")
    for _ in range(12):
        free, alike = free_and_alike(kind, rng)
        for case in [free] if kind == "scatter_allgather_broadcast" else [free, alike]:
            assert loggopsim(case, tmp_path) * 1000 == jf.simulate(case, 1).ticks[0, -1]

"""Tuning files run by a real Open MPI: it sends the messages of the algorithm that they name."""

import ctypes
import os
import re
import shutil
import subprocess
import sys

import pytest
from support import mpi_collective
from support.advice_cases import MACHINE
from support.mpi_libraries import open_mpi
from support.scale import some
from support.schedule_messages import messages_of, simulated
from support.tuning_cases import won_by

from jitterfly.advice import COLLECTIVES, known, write_tuning
from jitterfly.algorithms import library_choice
from jitterfly.algorithms.library_choice import LibraryRules


def reason_to_skip():
    if sys.platform != "linux":
        return "looks for Open MPI as Linux has it"
    if not open_mpi() or shutil.which("ompi_info") is None:
        return "Open MPI is not installed (mpiexec and ompi_info)"
    try:
        ctypes.CDLL(mpi_collective.LIBRARY)
    except OSError:
        return f"Open MPI's {mpi_collective.LIBRARY} is not installed"
    listed = subprocess.run(["ompi_info", "--parsable"], capture_output=True, text=True, check=True)
    if "mca:pml:monitoring:" not in listed.stdout or "mca:coll:tuned:" not in listed.stdout:
        return "Open MPI is without the components pml/monitoring and coll/tuned"
    return ""


@pytest.fixture(scope="module", autouse=True)
def _has_open_mpi():
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)


def sent(tmp_path, collective, count, ranks, rules=None, *, number=None):
    """Messages and bytes from each rank to each other one, as Open MPI counts them.

    By the algorithm that the file `rules` names, or the one of this number.
    """
    out = tmp_path / "monitored"
    out.mkdir()
    chosen = {
        "btl": "self,vader",
        "pml_monitoring_enable": "2",
        "pml_monitoring_enable_output": "3",
        "pml_monitoring_filename": str(out / "sent"),
    }
    if rules is not None or number is not None:
        chosen["coll_tuned_use_dynamic_rules"] = "1"
    if rules is not None:
        chosen["coll_tuned_dynamic_rules_filename"] = str(rules)
    if number is not None:
        chosen[f"coll_tuned_{collective}_algorithm"] = number
    environment = os.environ | {f"OMPI_MCA_{name}": value for name, value in chosen.items()}
    command = [open_mpi(), "--allow-run-as-root", "--oversubscribe", "-n", str(ranks),
               sys.executable, mpi_collective.__file__, collective, str(count)]  # fmt: skip
    environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {}
    for rank in range(ranks):
        text = (out / f"sent.{rank}.prof").read_text()
        for source, target, size, messages in re.findall(
            r"^I\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", text, re.MULTILINE
        ):
            found[int(source), int(target)] = int(messages), int(size)
    shutil.rmtree(out)
    return found


def by_rank(found, ranks):
    """Messages and bytes that ranks send, whichever rank it is."""
    return sorted(
        tuple(sum(part[i] for (source, _), part in found.items() if source == rank) for i in (0, 1))
        for rank in range(ranks)
    )


def test_the_parameters_that_the_file_names_are_there(tmp_path):
    """And tuned decides with them: han has the lower priority, whatever a site sets otherwise."""
    (rules, *_) = won_by("ring", [4], [1024]).write_tuning(tmp_path / "a.rules")
    head = rules.read_text().partition("\n1  # collectives")[0]
    named = set(re.findall(r"coll_(?:han|tuned)_[a-z_]+", head))
    assert named == {"coll_han_priority", "coll_tuned_priority", "coll_tuned_use_dynamic_rules",
                     "coll_tuned_dynamic_rules_filename"}  # fmt: skip
    settings = dict(re.findall(r"(OMPI_MCA_\w+)=(\S+)", head))
    assert settings["OMPI_MCA_coll_han_priority"] == "0"
    info = subprocess.run(["ompi_info", "--all", "--parsable"], env=os.environ | settings,
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    value = dict(re.findall(r":param:(coll_(?:han|tuned)_\w+):value:(.*)", info))
    assert named <= set(value)
    assert int(value["coll_han_priority"]) < int(value["coll_tuned_priority"])
    assert value["coll_tuned_use_dynamic_rules"] == "true"


MIRRORED = {("allreduce", "reduce_broadcast"), ("broadcast", "binomial")}
"""Open MPI's binomial tree numbers its ranks by another bit first: the same tree."""

MAPPED = [
    (collective, name)
    for collective in COLLECTIVES
    for name, candidate in known(collective).items()
    if "Open MPI" in candidate.called and name != "sparbit"  # which it has from 5 on
]


@pytest.mark.parametrize(("collective", "name"), some(MAPPED, 1))
def test_open_mpi_sends_the_messages_of_the_candidate(tmp_path, collective, name):
    """With the file that names it, on 4 ranks, rank by rank: number and bytes.

    Open MPI does not look at the bytes of a scan or exscan, so that no file chooses it.
    """
    if collective in ("scan", "exscan"):
        number = known(collective)[name].called["Open MPI"].split()[0]
        measured = sent(tmp_path, collective, 1024, 4, number=number)
    else:
        (rules,) = won_by(name, [4], [1024], collective).write_tuning(tmp_path / "a.rules")
        measured = sent(tmp_path, collective, 1024, 4, rules)
    expected = simulated(collective, name, 1024, 4)
    if collective == "barrier":  # Open MPI's are empty
        expected = {pair: (count, 0) for pair, (count, _) in expected.items()}
    if (collective, name) in MIRRORED:
        assert by_rank(measured, 4) == by_rank(expected, 4)
    elif (collective, name) == ("alltoall", "linear"):
        assert measured == {}  # it alone has persistent requests, which are not counted
    else:
        assert measured == expected


@pytest.mark.full_scale
def test_open_mpi_chooses_where_nothing_is_known(tmp_path):
    """A ring for 4 ranks and 1024 bytes is not taken below, above, and on fewer ranks."""
    (rules,) = won_by("ring", [4], [1024]).write_tuning(tmp_path / "a.rules")
    ring = {(rank, (rank + 1) % 4): (6, 1536) for rank in range(4)}
    assert sent(tmp_path, "allreduce", 1024, 4, rules) == ring
    for count, ranks in some([(1023, 4), (1025, 4), (1024, 2)], 1):
        free = sent(tmp_path, "allreduce", count, ranks)
        assert sent(tmp_path, "allreduce", count, ranks, rules) == free
        assert free != simulated("allreduce", "ring", count, ranks)


@pytest.mark.full_scale
def test_another_collective_has_no_rules_in_the_file(tmp_path):
    (rules,) = won_by("ring", [4], [1024]).write_tuning(tmp_path / "a.rules")
    assert sent(tmp_path, "barrier", 1, 4, rules) == sent(tmp_path, "barrier", 1, 4)


@pytest.mark.full_scale
def test_open_mpi_takes_a_choice_up_to_the_next_one(tmp_path):
    """Two answers in a file; sizes between those asked for, and ranks between, as well."""
    allreduce = won_by("ring", [2, 8], [512, 4096])
    barrier = won_by("tree", [4], [8], "barrier")
    (rules,) = write_tuning(tmp_path / "a.rules", [barrier, allreduce])
    assert sent(tmp_path, "allreduce", 2048, 4, rules) == simulated("allreduce", "ring", 2048, 4)
    tree = {pair: (count, 0) for pair, (count, _) in simulated("barrier", "tree", 8, 4).items()}
    assert sent(tmp_path, "barrier", 1, 4, rules) == tree


@pytest.mark.full_scale
def test_open_mpi_ignores_a_file_with_a_mistake(tmp_path):
    """So that the tests above are about the file: its reader gives up at the first mistake."""
    (rules,) = won_by("ring", [4], [1024]).write_tuning(tmp_path / "a.rules")
    text = rules.read_text()
    assert "\n0 0 0 0  # below" in text
    rules.write_text(text.replace("\n0 0 0 0  # below", "\n1 0 0 0  # below"))
    free = sent(tmp_path, "allreduce", 1024, 4)
    assert sent(tmp_path, "allreduce", 1024, 4, rules) == free


# Where there are several to choose from, but for those that have no algorithm of their own here.
CHOSEN = [
    ("allreduce", 2, 131072), ("allreduce", 4, 1024), ("allreduce", 4, 8192),
    ("allreduce", 8, 64), ("allreduce", 8, 131072), ("allgather", 2, 1024), ("allgather", 6, 1024),
    ("allgather", 8, 8192), ("barrier", 2, 8), ("barrier", 8, 8), ("broadcast", 2, 64),
    ("broadcast", 2, 131072), ("broadcast", 4, 1024), ("broadcast", 4, 8192), ("broadcast", 8, 64),
    ("reduce", 2, 1024), ("reduce", 8, 8192), ("reduce_scatter", 2, 1024),
    ("reduce", 2, 4), ("reduce", 3, 24), ("reduce", 4, 1024), ("reduce", 7, 1024),
    ("reduce", 6, 8192), ("reduce_scatter", 2, 100_000), ("scatter", 3, 200_000),
    ("reduce_scatter", 4, 8192), ("gather", 4, 1024), ("gather", 4, 8192), ("scatter", 4, 64),
    ("scatter", 4, 8192), ("scan", 4, 64), ("alltoall", 2, 64), ("alltoall", 4, 64),
]  # fmt: skip


@pytest.mark.parametrize(("collective", "ranks", "size"), some(CHOSEN, 3))
def test_open_mpi_sends_the_messages_that_its_rules_say(
    tmp_path, monkeypatch, collective, ranks, size
):
    """Without a file: pair by pair, number and bytes, of elements of one byte."""
    monkeypatch.setattr(library_choice, "_ELEMENT_BYTES", 1)
    chosen = LibraryRules("openmpi-4.1", collective).choice(ranks, MACHINE, size)
    assert not chosen.differs
    expected = messages_of(chosen.algorithm, size, ranks)
    if collective == "barrier":
        expected = {pair: (count, 0) for pair, (count, _) in expected.items()}
    assert sent(tmp_path, collective, size, ranks) == expected

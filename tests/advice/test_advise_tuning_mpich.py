"""Tuning files run by a real MPICH: it sends the messages of the algorithm that they name."""

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support import mpich_collectives
from support.advice_cases import MACHINE
from support.compiler import compiler
from support.mpi_libraries import mpichs
from support.paths import TESTS
from support.scale import some
from support.schedule_messages import messages_of, simulated
from support.tuning_cases import answer, two, won_by

import jitterfly as jf
from jitterfly.advice import known, write_tuning
from jitterfly.advice.tuning.mpich import MPICH
from jitterfly.algorithms import Algorithm, library_choice
from jitterfly.algorithms.algorithm import IRREGULAR
from jitterfly.algorithms.library_choice import LibraryRules

if sys.platform != "linux":
    pytest.skip("looks for MPICH as Linux has it", allow_module_level=True)

LIBRARIES = some(mpichs(), 1)
COLLECTIVES = ("allgather", "allreduce", "broadcast", "reduce")


@pytest.fixture(
    scope="module", params=LIBRARIES or [None], ids=[one.libmpi for one in LIBRARIES] or ["none"]
)
def mpich(request):
    if request.param is None:
        pytest.skip("MPICH is not installed (mpiexec, and libmpi.so.12 or libmpich.so.12)")
    if b"ucp_tag_send_nbx" not in Path(request.param.libmpi).read_bytes():
        pytest.skip(f"{request.param.libmpi} is without UCX, where messages are counted")
    return request.param


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    """The program that counts messages, compiled."""
    out = tmp_path_factory.mktemp("counter") / "count_ucx.so"
    source = TESTS / "support" / "count_ucx.cpp"
    command = [*compiler(), "-O1", "-shared", "-fPIC", "-o", out, source, "-ldl"]
    subprocess.run(command, check=True, timeout=120)
    return out


@pytest.fixture
def sent(tmp_path, mpich, counter):
    """Of several collectives, what MPICH sends: (messages by pair, bytes by rank) of each."""

    def run(ranks, asked, tuning=None, more=()):
        out = tmp_path / "counted"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        chosen = {
            "MPIR_CVAR_DEVICE_COLLECTIVES": "none",
            "MPIR_CVAR_NOLOCAL": "1",  # no shared memory: all messages go through UCX
            "MPIR_CVAR_CH4_NETMOD": "ucx",
            **dict(more),
        }
        if tuning is not None:
            chosen["MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"] = str(tuning)
        program = [sys.executable, mpich_collectives.__file__, mpich.libmpi, str(out / "of")]
        command = [mpich.mpiexec, "-genv", "LD_PRELOAD", str(counter), "-n", str(ranks),
                   *program, *asked]  # fmt: skip
        done = subprocess.run(command, env=os.environ | chosen, capture_output=True, text=True,
                              timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        run.printed = done.stdout
        return [counted(out, number, ranks) for number in range(len(asked))]

    return run


def counted(out, number, ranks):
    """A receive is posted for more than comes, in some algorithms; the sender's tag is its rank."""
    pairs, sizes = Counter(), Counter()
    for rank in range(ranks):
        for line in (out / f"of.{number}.{rank}").read_text().splitlines():
            kind, size, tag = line.split()
            if kind == "send":
                sizes[rank] += int(size)
            else:
                pairs[int(tag[4:8], 16), rank] += 1
    return pairs, sizes


def expected(collective, name, count, ranks):
    """The same of our algorithm."""
    return by_pair_and_rank(simulated(collective, name, count, ranks))


def by_pair_and_rank(found):
    """Messages by pair, bytes by rank."""
    pairs, sizes = Counter(), Counter()
    for (rank, other), (messages, size) in found.items():
        pairs[rank, other] += messages
        sizes[rank] += size
    return pairs, sizes


def names(collective, library):
    """Candidates that the library has, each with a message size of its own."""
    has = [name for name, candidate in known(collective).items() if "MPICH" in candidate.called
           and MPICH().supports(collective, candidate.called["MPICH"], library)]  # fmt: skip
    return {256 * 4**number: name for number, name in enumerate(has)}


def each_at_its_size(collective, chosen, ranks):
    """An answer in which each candidate is the best at its own message size."""
    cells = {}
    for size, name in chosen.items():
        other = next(one for one in chosen.values() if one != name)
        cells |= {(count, size): ("winner", two(name, other, (1.5, 2.0))) for count in ranks}
    return answer(cells, collective)


def test_mpich_sends_the_messages_of_the_candidate(tmp_path, mpich, sent):
    """With one file of three collectives, on 4 ranks: all algorithms that it shares with us."""
    library = MPICH().settings("a.json", libmpi=mpich.libmpi)
    chosen = {collective: names(collective, library) for collective in COLLECTIVES}
    assert sorted(len(of) for of in chosen.values())[0] >= 2
    answers = [each_at_its_size(collective, chosen[collective], [4]) for collective in COLLECTIVES]
    file, _ = write_tuning(tmp_path / "mpich.json", answers, libmpi=mpich.libmpi)
    asked = [(collective, size) for collective in COLLECTIVES for size in chosen[collective]]
    found = sent(4, [f"{collective}:{size}" for collective, size in asked], file)
    for (collective, size), messages in zip(asked, found, strict=True):
        name = chosen[collective][size]
        assert messages == expected(collective, name, size, 4), (collective, name)


@pytest.mark.parametrize(
    ("kind", "variable", "called"),
    [
        ("linear_alltoallv", "ALLTOALLV", "scattered"),
        ("bruck_allgatherv", "ALLGATHERV", "brucks"),
        ("pairwise_reduce_scatterv", "REDUCE_SCATTER", "pairwise"),
        ("recursive_halving_reduce_scatterv", "REDUCE_SCATTER", "recursive_halving"),
        ("linear_gatherv", "GATHERV", "linear"),
        ("linear_scatterv", "SCATTERV", "linear"),
    ],
)
def test_mpich_sends_the_messages_of_counts(sent, kind, variable, called):
    """Of all sizes, and the empty ones or not, as it does."""
    rng = random.Random(kind)
    for ranks in some((4, 5, 6, 8), 2):
        rows = [[rng.choice([0, 0, 1, 700, 30]) for _ in range(ranks)] for _ in range(ranks)]
        counts = rows if "alltoall" in kind else rows[0]
        text = "/".join(",".join(map(str, row)) for row in (rows if counts is rows else rows[:1]))
        chosen = {f"MPIR_CVAR_{variable}_INTRA_ALGORITHM": called}
        (found,) = sent(ranks, [f"{variable.lower()}:{text}"], more=chosen)
        algorithm = Algorithm.from_dict({"kind": kind, "counts": counts})
        assert found == sent_with_counts(algorithm, ranks), (ranks, counts)


def sent_with_counts(algorithm, ranks):
    """Messages by pair and bytes by rank, of elements of one byte."""
    pairs, sizes = Counter(), Counter()
    for step in algorithm.steps(ranks, 1):
        if step.partners is None or not step.sends:
            continue
        messages = zip(step.partners.pairs(ranks), step.sizes(ranks).tolist(), strict=True)
        for (rank, other), size in messages:
            pairs[rank, other] += step.repeat
            sizes[rank] += size * step.repeat
    return pairs, sizes


def test_mpich_sends_the_messages_that_its_rules_say_of_counts(sent):
    """Without any setting: by all bytes, of which one draw has few and the other many."""
    rng = random.Random("rules")
    for ranks in some((3, 4, 5, 6, 8), 2):
        asked, expected = [], []
        for collective in IRREGULAR:
            for longest in (50, 30_000, 300_000):
                pairs = collective == "alltoallv"
                rows = [[rng.randint(1, longest) for _ in range(ranks)]
                        for _ in range(ranks if pairs else 1)]  # fmt: skip
                rules = LibraryRules("mpich", collective, rows if pairs else rows[0])
                choice = rules.choice(ranks, MACHINE, 1)
                if choice.differs:
                    assert choice.called in ("ring", "recursive_doubling")
                    continue
                text = "/".join(",".join(map(str, row)) for row in rows)
                name = "reduce_scatter" if collective == "reduce_scatterv" else collective
                asked.append(f"{name}:{text}")
                expected.append(sent_with_counts(choice.algorithm, ranks))
        assert len(asked) >= 11
        found = sent(ranks, asked)
        for what, messages, ours in zip(asked, found, expected, strict=True):
            if what.startswith("reduce_scatter") and ranks & (ranks - 1):
                messages, ours = of_each(messages, ranks), of_each(ours, ranks)
            assert messages == ours, (what[:40], ranks)


@pytest.mark.full_scale
def test_mpich_chooses_where_nothing_is_known(tmp_path, mpich, sent):
    """Below and above the sizes asked for, on fewer and more ranks, and in other collectives."""
    file, _ = won_by("recursive_doubling", [4], [4096], other="rabenseifner").write_tuning(
        tmp_path / "mpich.json", libmpi=mpich.libmpi
    )
    elsewhere = [
        "allreduce:4095",
        "allreduce:4097",
        "broadcast:4096",
        "allgather:4096",
        "barrier:1",
    ]
    assert sent(4, elsewhere, file) == sent(4, elsewhere)
    for ranks in some((2, 5), 1):
        asked = ["allreduce:4096"]
        assert sent(ranks, asked, file) == sent(ranks, asked)
    # It is taken there alone, and differs from what MPICH takes.
    (taken,), (free,) = sent(4, ["allreduce:4096"], file), sent(4, ["allreduce:4096"])
    assert taken == expected("allreduce", "recursive_doubling", 4096, 4) != free


@pytest.mark.full_scale
def test_an_algorithm_is_taken_where_it_is_right(tmp_path, mpich, sent):
    """Not with fewer elements than ranks, with operations in order, or other numbers of ranks."""
    library = MPICH().settings("a.json", libmpi=mpich.libmpi)
    halves = won_by("rabenseifner", [4], [8, 64], other="recursive_doubling")
    doubling = won_by("recursive_doubling", [2, 4], [64], "allgather", "ring")
    file, _ = write_tuning(tmp_path / "mpich.json", [halves, doubling], libmpi=mpich.libmpi)
    asked = ["allreduce:8", "allreduce_of_doubles:8", "allreduce_in_order:64"]
    taken, few, in_order = sent(4, asked, file)
    assert taken == expected("allreduce", "rabenseifner", 8, 4)
    assert few == expected("allreduce", "recursive_doubling", 8, 4)
    assert in_order == expected("allreduce", "recursive_doubling", 64, 4)
    # A choice for 2 ranks holds on 3, where this algorithm would abort the program.
    assert sent(3, ["allgather:64"], file) == sent(3, ["allgather:64"])
    if MPICH().supports("allreduce", "ring", library):
        ring = won_by("ring", [4], [64])
        file, _ = ring.write_tuning(tmp_path / "mpich.json", libmpi=mpich.libmpi)
        taken, in_order = sent(4, ["allreduce:64", "allreduce_in_order:64"], file)
        assert taken == expected("allreduce", "ring", 64, 4)
        assert in_order == sent(4, ["allreduce_in_order:64"])[0] != taken


@pytest.mark.full_scale
def test_mpich_says_which_file_it_read(tmp_path, mpich, sent):
    """Version 5 prints the source of its decisions where it is asked for a summary."""
    if b"MPII_coll_generic_json\0" not in Path(mpich.libmpi).read_bytes():
        pytest.skip(f"{mpich.libmpi} does not print the source of its decisions")
    file, _ = won_by("recursive_doubling", [2], [8], other="rabenseifner").write_tuning(
        tmp_path / "mpich.json", libmpi=mpich.libmpi
    )
    sent(2, ["allreduce:8"], file, {"MPIR_CVAR_DEBUG_SUMMARY": "1"})
    assert f"MPIR: {file}" in sent.printed.replace("MPIR:  ", "MPIR: ")
    sent(2, ["allreduce:8"], None, {"MPIR_CVAR_DEBUG_SUMMARY": "1"})
    assert "MPII_coll_generic_json" in sent.printed


def test_an_algorithm_that_a_version_has_not_is_not_written(tmp_path, mpich):
    library = MPICH().settings("a.json", libmpi=mpich.libmpi)
    if MPICH().supports("allreduce", "ring", library):
        pytest.skip(f"{mpich.libmpi} has all of them")
    ring = won_by("ring", [4], [8], other="recursive_doubling")
    with pytest.raises(ValueError, match="nothing to write to mpich"):
        ring.write_tuning(tmp_path / "mpich.json", libmpi=mpich.libmpi)


@pytest.mark.parametrize("ranks", some((3, 9), 1))
def test_mpich_sends_the_messages_of_a_radix(ranks, mpich, sent):
    """Of 3, on powers of it, where nothing is folded; messages of its barrier have no bytes."""
    if b"MPIR_Allreduce_intra_k_reduce_scatter_allgather\0" not in Path(mpich.libmpi).read_bytes():
        pytest.skip(f"{mpich.libmpi} does not have all of them")
    algorithms = {
        "allgather:64": jf.BruckAllgather(radix=3),
        "alltoall:64": jf.BruckAlltoall(radix=3),
        "allreduce:5184": jf.RabenseifnerAllreduce(radix=3),
        "barrier:1": jf.DisseminationBarrier(radix=3),
    }
    found = sent(ranks, list(algorithms), more={
        "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM": "k_brucks", "MPIR_CVAR_ALLGATHER_BRUCKS_KVAL": "3",
        "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "k_brucks", "MPIR_CVAR_ALLTOALL_BRUCKS_KVAL": "3",
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "k_reduce_scatter_allgather",
        "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL": "3",
        "MPIR_CVAR_BARRIER_INTRA_ALGORITHM": "k_dissemination",
        "MPIR_CVAR_BARRIER_DISSEM_KVAL": "3",
    })  # fmt: skip
    for (asked, algorithm), (pairs, sizes) in zip(algorithms.items(), found, strict=True):
        size = int(asked.partition(":")[2])
        ours, bytes_sent = by_pair_and_rank(messages_of(algorithm, size, ranks))
        assert pairs == ours, asked
        assert asked == "barrier:1" or sizes == bytes_sent, asked


def test_mpich_sends_the_messages_that_its_rules_say(monkeypatch, sent):
    """Without a file, each rank on a node of its own; of elements of one byte."""
    monkeypatch.setattr(library_choice, "_ELEMENT_BYTES", 1)
    for ranks in some((2, 3, 4, 6, 8), 2):
        asked = [
            (collective, size)
            for collective in (*COLLECTIVES, "alltoall", "scan", "exscan")
            for size in (8, 64, 20_000, 300_000)
            if not LibraryRules("mpich", collective).choice(ranks, MACHINE, size).differs
        ]
        assert len(asked) >= 8
        found = sent(ranks, [f"{collective}:{size}" for collective, size in asked])
        for (collective, size), messages in zip(asked, found, strict=True):
            chosen = LibraryRules("mpich", collective).choice(ranks, MACHINE, size)
            expected = by_pair_and_rank(messages_of(chosen.algorithm, size, ranks))
            if collective in ("allreduce", "reduce") and ranks & (ranks - 1):
                # Of other numbers, MPICH first pairs neighbours: other ranks, the same messages.
                messages, expected = of_each(messages, ranks), of_each(expected, ranks)
            assert messages == expected, (collective, size, ranks, chosen.called)


def of_each(found, ranks):
    """Messages and bytes that ranks send, whichever rank it is."""
    pairs, sizes = found
    return sorted(
        (sum(count for (sender, _), count in pairs.items() if sender == rank), sizes[rank])
        for rank in range(ranks)
    )

"""Tuning files of MPICH and NCCL, read by readers of the documented formats."""

import json

import pytest
from support.advice_cases import ARGUMENTS, MACHINE, run
from support.tuning_cases import (
    TREE,
    answer,
    mpich_library,
    ranked,
    taken_from_tree,
    two,
    undecided,
    won_by,
)

import jitterfly as jf
from jitterfly.advice import tuning_choices, write_tuning
from jitterfly.advice.tuning import mpich

DOUBLING, HALVING, RING = "recursive_doubling", "reduce_scatter_allgather", "ring"


def taken(tree, ranks, size, **facts):
    return taken_from_tree(tree, "allreduce", comm_size=ranks, avg_msg_size=size, **facts)


RINGS, HALVES = two("ring", "recursive_doubling"), two("rabenseifner", "ring")
DOUBLES, UNDECIDED = two("recursive_doubling", "ring"), undecided("ring", "recursive_doubling")

CELLS = {
    (4, 8): ("winner", DOUBLES),
    (4, 1024): ("winner", HALVES),
    (4, 8192): ("winner", RINGS),
    (16, 8): ("no winner", UNDECIDED),
    (16, 1024): ("near best", RINGS),
    (16, 8192): ("no winner", UNDECIDED),
}
OWN, FEW, MANY = "Allreduce_intra_smp", "Allreduce_intra_tree", "Allreduce_intra_recexch"
TAKEN = [
    (1, 8, OWN), (3, 1024, OWN), (3, 8192, FEW), (4, 7, OWN), (4, 8, DOUBLING), (4, 1023, DOUBLING),
    (4, 1024, HALVING), (4, 8191, HALVING), (4, 8192, RING), (4, 8193, FEW), (7, 8193, FEW),
    (8, 8193, MANY), (15, 8, DOUBLING), (16, 8, OWN), (16, 1023, OWN), (16, 1024, RING),
    (16, 8191, RING), (16, 8192, MANY), (16, 8193, MANY), (17, 1024, OWN), (4000, 8192, MANY),
]  # fmt: skip


@pytest.fixture
def libmpi(tmp_path):
    return mpich_library(tmp_path / "libmpi.so.12")


def test_mpichs_tree(tmp_path, libmpi):
    """A choice up to the next ranks and size; elsewhere what the library's own tree says."""
    path, comments = answer(CELLS).write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    assert comments.name == "mpich.json.txt"
    tree = json.loads(path.read_text())
    for ranks, size, name in TAKEN:
        name = name if "_intra_" in name else f"Allreduce_intra_{name}"
        assert taken(tree, ranks, size) == name, (ranks, size)
    for kept in ("collective=allgather", "collective=bcast"):
        assert tree[kept] == TREE[kept]
    inter = tree["collective=allreduce"]["comm_type=inter"]
    assert inter == TREE["collective=allreduce"]["comm_type=inter"]
    text = comments.read_text()
    assert "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=mpich.json" in text
    assert "MPIR_CVAR_DEVICE_COLLECTIVES=none" in text
    assert "tree of libmpi.so.12, sha256 " in text
    assert "4 ranks, 8 B: recursive_doubling: winner, mean" in text


def test_mpich_asks_what_an_algorithm_needs(tmp_path, libmpi):
    made = answer(CELLS)
    path, _ = made.write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    tree = json.loads(path.read_text())
    assert taken(tree, 4, 8192, is_commutative="no") == FEW
    assert taken(tree, 4, 1024, is_op_built_in="no") == OWN
    assert taken(tree, 4, 1024, count=3) == OWN
    assert taken(tree, 4, 1024, count=4) == f"Allreduce_intra_{HALVING}"
    assert taken(tree, 4, 8, is_commutative="no", count=1) == f"Allreduce_intra_{DOUBLING}"


def test_mpich_counts_the_bytes_of_all_ranks(tmp_path, libmpi):
    """In an allgather; its recursive doubling takes powers of two alone."""
    made = won_by("recursive_doubling", [4, 8], [100], "allgather", "ring")
    path, _ = made.write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    tree = json.loads(path.read_text())

    def name(ranks, total):
        return taken_from_tree(tree, "allgather", comm_size=ranks, total_msg_size=total)

    usual, doubling = "Allgather_allcomm_nb", f"Allgather_intra_{DOUBLING}"
    assert [name(4, total) for total in (399, 400, 401)] == [usual, doubling, usual]
    assert [name(ranks, 400) for ranks in (3, 5, 6, 9)] == [usual] * 4
    assert name(8, 800) == doubling
    # Between processes of two groups, the tree is the library's.
    assert taken_from_tree(tree, "allgather", comm_type="inter") == usual


def test_several_collectives_in_mpichs_tree(tmp_path, libmpi):
    made = [won_by("ring", [4], [8]), won_by("bruck", [4], [8], "allgather")]
    path, _ = write_tuning(tmp_path / "a.json", made, "mpich", libmpi=libmpi)
    tree = json.loads(path.read_text())
    assert taken(tree, 4, 8) == "Allreduce_intra_ring"
    assert (
        taken_from_tree(tree, "allgather", comm_size=4, total_msg_size=32)
        == "Allgather_intra_brucks"
    )


def test_no_file_of_mpich_ends_with_a_page(tmp_path, libmpi, monkeypatch):
    made = won_by("ring", [4], [8])
    path, _ = made.write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    size = path.stat().st_size
    monkeypatch.setattr(mpich, "_PAGE", size)
    made.write_tuning(path, libmpi=libmpi)
    assert path.stat().st_size == size + 1


def test_what_mpich_lacks_is_not_written(tmp_path):
    """A version without the ring: the best of the others, if the answer tells it."""
    names = ("Allreduce_intra_recursive_doubling", "Allreduce_intra_reduce_scatter_allgather",
             "Allreduce_intra_ringing")  # fmt: skip
    old = mpich_library(tmp_path / "libmpi.so.12", names=names)
    three = [*RINGS, ranked("rabenseifner", "slower", (1.9, 2.0), "ring")]
    cells = {(4, 8): ("winner", three), (8, 8): ("winner", RINGS)}
    path, comments = answer(cells).write_tuning(tmp_path / "mpich.json", libmpi=old)
    tree = json.loads(path.read_text())
    assert taken(tree, 4, 8) == f"Allreduce_intra_{DOUBLING}"
    assert taken(tree, 8, 8) == OWN
    assert "8 ranks, 8 B: default: fewer than two algorithms of MPICH" in comments.read_text()
    chosen = [choice.candidate for choice in tuning_choices(answer(cells), "mpich", libmpi=old)]
    assert chosen == ["recursive_doubling", ""]
    assert [one.candidate for one in tuning_choices(answer(cells), "mpich")] == ["ring", "ring"]
    with pytest.raises(ValueError, match="that MPICH has as well: of those of allgather here"):
        won_by("ring", [4], [8], "allgather").write_tuning(tmp_path / "mpich.json", libmpi=old)


def test_what_is_no_library_of_mpich(tmp_path):
    made = won_by("ring", [4], [8])
    other = mpich_library(tmp_path / "other.so", tree=None)
    script = tmp_path / "libmpi.so"
    script.write_text("INPUT(libmpi.so.12)\n")
    for path in (other, script):
        with pytest.raises(ValueError, match="`libmpi` must be MPICH's shared library"):
            made.write_tuning(tmp_path / "mpich.json", libmpi=path)
    with pytest.raises(FileNotFoundError):
        made.write_tuning(tmp_path / "mpich.json", libmpi=tmp_path / "none.so")
    with pytest.raises(ValueError, match="libmpi` is for MPICH, not for NCCL"):
        tuning_choices(made, "nccl", libmpi=other)
    assert not list(tmp_path.glob("*.json*"))


def test_mpichs_sizes_have_31_bits(tmp_path, libmpi):
    def made(size, collective="allreduce"):
        return won_by("recursive_doubling", [4], [size], collective, "ring")

    made(2**31 - 1).write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    with pytest.raises(ValueError, match=r"at most 2\^31 - 1 bytes for MPICH's tree"):
        made(2**31).write_tuning(tmp_path / "mpich.json", libmpi=libmpi)
    with pytest.raises(ValueError, match="on 4 ranks together for MPICH's tree"):
        made(2**29, "allgather").write_tuning(tmp_path / "mpich.json", libmpi=libmpi)


# NCCL's tuner plugin.
TREES = two("double_binary_tree", "ring")
ON_GPUS = {
    (8, 1024): ("winner", TREES),
    (8, 2**20): ("winner", two("ring", "double_binary_tree")),
    (64, 1024): ("no winner", undecided("ring", "double_binary_tree")),
    (64, 2**20): ("winner", TREES),
}
NAMED = ["ring", "double_binary_tree"]


def taken_from_lines(text, collective, ranks, size):
    """As the plugin: lines of at most 255 letters, of which the first that fits is taken."""
    lines = [line[i : i + 255] for line in text.splitlines() for i in range(0, len(line), 255)]
    for line in lines:
        fields = line.split(",")
        if line[:1] == "#" or len(fields) < 8:
            continue
        name, least, most, algorithm, protocol, channels, nodes, count = fields
        assert (channels, nodes) == ("-1", "-1")
        if name == collective and int(least) <= size <= int(most) and int(count) == ranks:
            return algorithm, protocol
    return None


def test_nccls_lines(tmp_path):
    made = answer(ON_GPUS, candidates=NAMED)
    (path,) = made.write_tuning(tmp_path / "nccl.csv", protocol="ll128")
    text = path.read_text()
    expected = [(8, 1023, None), (8, 1024, "tree"), (8, 2**20 - 1, "tree"), (8, 2**20, "ring"),
                (8, 2**20 + 1, None), (9, 1024, None), (63, 1024, None), (64, 1024, None),
                (64, 2**20, "tree"), (65, 2**20, None)]  # fmt: skip
    for ranks, size, name in expected:
        found = taken_from_lines(text, "allreduce", ranks, size)
        assert found == (None if name is None else (name, "ll128")), (ranks, size)
    assert "64 ranks, 1 KiB: default: not decided among ring, double_binary_tree" in text
    assert "8 ranks, 1 KiB: double_binary_tree: winner, mean" in text
    assert "512 KiB, which are those of simple, not of ll128" in text
    (path,) = made.write_tuning(tmp_path / "simple.csv", protocol="simple")
    assert "512 KiB" not in path.read_text()


def test_nccls_comments_say_what_a_ring_is_here(tmp_path):
    (path,) = answer(ON_GPUS, candidates=NAMED).write_tuning(tmp_path / "a.csv", protocol="ll")
    text = " ".join(line.removeprefix("# ") for line in path.read_text().splitlines())
    assert "The ring was simulated as one ring over all ranks in order" in text
    assert "NCCL runs several rings" in text


def test_a_long_comment_is_no_line_of_nccl(tmp_path, monkeypatch):
    """What its reader cuts off behind 255 letters would be taken for a line."""
    words = "jitterfly.advice.question.part_in_words"
    line = "allreduce,0,9999999,ring,simple,-1,-1,8,-1,-1"
    monkeypatch.setattr(words, lambda part: "x" * 250 + f" {line} {line}\n{line}")
    made = answer(ON_GPUS, candidates=NAMED)
    (path,) = made.write_tuning(tmp_path / "nccl.csv", protocol="ll")
    assert taken_from_lines(path.read_text(), "allreduce", 8, 1) is None


def test_what_nccl_does_not_take(tmp_path):
    made = answer(ON_GPUS, candidates=NAMED)
    with pytest.raises(ValueError, match="protocol must be one of 'll', 'll128', 'simple'"):
        made.write_tuning(tmp_path / "nccl.csv", protocol="LL")
    with pytest.raises(ValueError, match=r"protocol` must be given for nccl\.csv"):
        made.write_tuning(tmp_path / "nccl.csv")
    with pytest.raises(ValueError, match=r"libmpi` is for mpich\.json, not for nccl\.csv"):
        made.write_tuning(tmp_path / "nccl.csv", protocol="ll", libmpi="a")
    with pytest.raises(ValueError, match=r"nccl\.csv can not choose for barrier, only"):
        won_by("tree", [4], [8], "barrier").write_tuning(tmp_path / "nccl.csv", protocol="ll")
    assert list(tmp_path.iterdir()) == []


def test_a_real_answer_for_nccl(tmp_path):
    """Without noise: a long vector goes around a ring, among many ranks over trees."""
    named = ["ring", "nccl_tree"]
    found = jf.advise("4,256", network=MACHINE, message_bytes="1KiB,1MiB", candidates=named)
    (path,) = found.write_tuning(tmp_path / "nccl.csv", protocol="simple")
    names = {"ring": "ring", "nccl_tree": "tree"}
    for cell in found.cells:
        name, _ = taken_from_lines(path.read_text(), "allreduce", cell.ranks, cell.message_bytes)
        assert name == names[cell.best]
    assert {cell.best for cell in found.cells} == set(names)


def test_command(tmp_path, capsys, libmpi):
    path = tmp_path / "mpich.json"
    quiet = ("--ranks", "4", "--bytes", "8,1MiB", "--network", ARGUMENTS[5])
    assert run(*quiet, "--write", path, "--libmpi", libmpi) == 0
    printed = capsys.readouterr().out
    assert f"written: {path}, {path}.txt (an algorithm in 2 of 2 cells" in printed
    tree = json.loads(path.read_text())
    assert taken(tree, 4, 8) == f"Allreduce_intra_{DOUBLING}"
    path = tmp_path / "gpus.csv"
    assert run(*quiet, "--candidates", ",".join(NAMED), "--write", path, "--protocol", "ll") == 0
    assert "in 2 of 2 cells" in capsys.readouterr().out
    assert run(*quiet, "--write", path, "--protocol", "ll") == 0  # those that NCCL has
    assert "candidates: ring, nccl_tree, which NCCL has" in capsys.readouterr().err
    others = ("--candidates", "ring,rabenseifner")
    assert run(*quiet, *others, "--write", path, "--protocol", "ll") == 2
    error = capsys.readouterr().err
    assert "here it has only ring" in error
    assert run(*quiet, "--write", tmp_path / "mpich.json", "--libmpi", tmp_path / "none") == 2
    assert "none: No such file" in capsys.readouterr().err

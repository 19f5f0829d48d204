"""Tuning files of Open MPI (text and JSON), read by a reader of the documented formats."""

import json

import pytest
from support.advice_cases import ARGUMENTS, MACHINE, run
from support.tuning_cases import answer, ranked, two, undecided, won_by

import jitterfly as jf
from jitterfly.advice import known, tuning_choices, write_tuning
from jitterfly.advice.tuning import tuning_format
from jitterfly.fields import naming_options
from jitterfly.version import __version__

# Ids of collectives and numbers of algorithms, from Open MPI's manual, "Tuning Collectives".
ALLGATHER, ALLREDUCE, ALLTOALL, BARRIER, BROADCAST = 0, 2, 3, 6, 7
RECURSIVE_DOUBLING, RING, RABENSEIFNER = 3, 4, 6


def read_rules(text):
    """{collective: [(communicator size, [(message size, algorithm, fan-out, segment), ...])]}."""
    numbers = iter([int(word) for line in text.splitlines() for word in line.split("#")[0].split()])
    found = {}
    for _ in range(next(numbers)):
        collective, sizes = next(numbers), []
        for _ in range(next(numbers)):
            size, count = next(numbers), next(numbers)
            sizes.append((size, [tuple(next(numbers) for _ in range(4)) for _ in range(count)]))
        found[collective] = sizes
    assert next(numbers, None) is None
    return found


def taken_from_rules(rules, ranks, size):
    """The algorithm for a collective's communicator and message: 0 is the library's own choice."""
    below = [part for part in rules if part[0] <= ranks]
    messages = (
        below[-1][1] if below else rules[0][1]
    )  # the reader takes the first one for all below
    return [message for message in messages if message[0] <= size][-1][1]


def taken_from_json(rules, ranks, size):
    """As above, of Open MPI 6: the first one that fits."""
    for part in rules:
        if part["comm_size_min"] <= ranks <= part["comm_size_max"]:
            for rule in part["rules"]:
                last = rule["msg_size_max"]
                if rule["msg_size_min"] <= size <= (2**63 if last == "inf" else last):
                    return rule["alg"]
            return 0
    return 0


def assert_well_formed(rules):
    """Sizes rise, every list of messages begins with 0, no segments or fan-outs."""
    for sizes in rules.values():
        counts = [size for size, _ in sizes]
        assert counts == sorted(set(counts))
        assert counts[0] == 0
        for _, messages in sizes:
            starts = [message[0] for message in messages]
            assert starts == sorted(set(starts))
            assert starts[0] == 0
            assert {message[2:] for message in messages} == {(0, 0)}


RINGS, HALVES = two("ring", "recursive_doubling"), two("rabenseifner", "ring")
TREES, UNDECIDED = two("tree", "dissemination"), undecided("ring", "recursive_doubling")

CELLS = {
    (4, 8): ("winner", RINGS),
    (4, 1024): ("winner", HALVES),
    (16, 8): ("no winner", UNDECIDED),
    (16, 1024): ("near best", RINGS),
}

TAKEN = [
    (1, 8, 0), (3, 1024, 0), (4, 7, 0), (4, 8, RING), (4, 9, RING), (4, 1023, RING),
    (4, 1024, RABENSEIFNER), (4, 1025, 0), (15, 8, RING), (15, 1024, RABENSEIFNER), (16, 8, 0),
    (16, 500, 0), (16, 1024, RING), (16, 1025, 0), (17, 8, 0), (17, 1024, 0), (4000, 1024, 0),
]  # fmt: skip


def test_rules(tmp_path):
    (path,) = answer(CELLS).write_tuning(tmp_path / "openmpi.rules")
    rules = read_rules(path.read_text())
    assert_well_formed(rules)
    assert list(rules) == [ALLREDUCE]
    for ranks, size, number in TAKEN:
        assert taken_from_rules(rules[ALLREDUCE], ranks, size) == number, (ranks, size)


def test_json(tmp_path):
    path, comments = answer(CELLS).write_tuning(tmp_path / "openmpi.json")
    assert comments.name == "openmpi.json.txt"
    whole = json.loads(path.read_text())
    assert set(whole) == {"rule_file_version", "module", "collectives"}
    assert whole["module"] == "tuned"
    for ranks, size, number in TAKEN:
        assert taken_from_json(whole["collectives"]["allreduce"], ranks, size) == number


def test_what_stands_behind_the_choices(tmp_path):
    """In comments of the text, and in a second file beside JSON."""
    made = answer(CELLS, statistic="p90", confidence=0.9, seed=17, within=0.02)
    (rules,) = made.write_tuning(tmp_path / "a.rules")
    _, second = made.write_tuning(tmp_path / "openmpi.json")
    comments = [line[1:].strip() for line in rules.read_text().splitlines() if line[0] == "#"]
    others = second.read_text().splitlines()
    for lines in (comments, others):
        text = "\n".join(lines)
        assert f"written by jitterfly {__version__}" in text
        assert "allreduce: smallest p90, within 2 %, confidence 90 %, seed 17" in text
        assert "network loggops, L = 1 µs" in text
        assert "noise periodic, period = 1 ms, duration = 10 µs, start = stationary" in text
        assert any(line.startswith("4 ranks, 1 KiB: rabenseifner: winner, p90 2") for line in lines)
        assert "16 ranks, 8 B: default: not decided among ring, recursive_doubling" in lines


def test_a_comment_is_one_line(tmp_path, monkeypatch):
    """A file's name may hold a line break, after which numbers would be rules."""
    monkeypatch.setattr(
        "jitterfly.advice.question.part_in_words", lambda part: "file = a\n7 7 7.noise"
    )
    (path,) = won_by("ring", [4], [8]).write_tuning(tmp_path / "a.rules")
    assert "file = a 7 7 7.noise" in path.read_text()
    assert list(read_rules(path.read_text())) == [ALLREDUCE]


@pytest.mark.parametrize(
    ("collective", "called", "bruck"), [("allgather", ALLGATHER, 2), ("alltoall", ALLTOALL, 3)]
)
def test_the_bytes_of_all_ranks_are_counted(tmp_path, collective, called, bruck):
    made = won_by("bruck", [4, 8], [100, 1000], collective)
    (path,) = made.write_tuning(tmp_path / "a.rules")
    rules = read_rules(path.read_text())[called]
    in_json = json.loads(made.write_tuning(tmp_path / "openmpi.json")[0].read_text())["collectives"]
    expected = [(4, 399, 0), (4, 400, bruck), (4, 4000, bruck), (4, 4001, 0), (8, 799, 0),
                (8, 800, bruck)]  # fmt: skip
    for ranks, size, number in expected:
        assert taken_from_rules(rules, ranks, size) == number
        assert taken_from_json(in_json[collective], ranks, size) == number


def test_a_barrier_has_no_message_size(tmp_path):
    (path,) = won_by("tree", [4], [8, 64], "barrier").write_tuning(tmp_path / "a.rules")
    rules = read_rules(path.read_text())
    assert_well_formed(rules)
    assert taken_from_rules(rules[BARRIER], 4, 0) == 6
    cells = {(4, 8): ("winner", TREES), (4, 64): ("winner", two("dissemination", "tree")),
             (8, 8): ("winner", TREES), (8, 64): ("winner", TREES)}  # fmt: skip
    for name in ("a.rules", "openmpi.json"):
        path = answer(cells, "barrier").write_tuning(tmp_path / name)[0]
        if name == "a.rules":
            found = read_rules(path.read_text())[BARRIER]
            assert [taken_from_rules(found, ranks, 0) for ranks in (4, 8)] == [0, 6]
        else:
            found = json.loads(path.read_text())["collectives"]["barrier"]
            assert [taken_from_json(found, ranks, 0) for ranks in (4, 8)] == [0, 6]


def test_a_barrier_that_is_not_decided_at_every_size(tmp_path):
    """It has one rule for all sizes, so none is written, and none is counted."""
    cells = {(4, 8): ("winner", TREES), (4, 64): ("no winner", UNDECIDED),
             (8, 8): ("winner", TREES), (8, 64): ("winner", TREES)}  # fmt: skip
    choices = tuning_choices(answer(cells, "barrier"))
    found = sorted((choice.ranks, choice.message_bytes, choice.candidate) for choice in choices)
    assert found == [(4, 8, ""), (4, 64, ""), (8, 8, "tree"), (8, 64, "tree")]
    told = "the best one is not decided at every size of the barrier's messages"
    said = {choice.ranks: choice.comment() for choice in choices}
    assert said[4] == f"default: {told}"
    assert said[8].startswith("tree: winner")
    part = answer({place: cells[place] for place in ((4, 8), (4, 64))}, "barrier")
    with pytest.raises(ValueError, match=r"nothing to write to a\.rules"):
        part.write_tuning(tmp_path / "a.rules")


def test_several_collectives_in_a_file(tmp_path):
    made = [won_by("scatter_allgather", [4], [8], "broadcast"), won_by("ring", [4], [8])]
    (path,) = write_tuning(tmp_path / "a.rules", made)
    rules = read_rules(path.read_text())
    assert {c: taken_from_rules(part, 4, 8) for c, part in rules.items()} == {
        ALLREDUCE: RING,
        BROADCAST: 9,
    }
    with pytest.raises(ValueError, match="must be of different collectives, got allreduce, allr"):
        write_tuning(tmp_path / "a.rules", [made[1], made[1]])


@pytest.mark.parametrize(
    "collective", ["allreduce", "barrier", "broadcast", "allgather", "reduce", "reduce_scatter"]
)
def test_every_name_of_open_mpi(tmp_path, collective):
    """What is chosen is called as the list of candidates shows."""
    for name, candidate in known(collective).items():
        if "Open MPI" not in candidate.called:
            continue
        won = won_by(name, [4], [8], collective)
        if name == "sparbit":  # which Open MPI 4 has not: it would end the program
            assert [one.called for one in tuning_choices(won)] == [""]
            assert f'"alg": {candidate.called["Open MPI"].split()[0]}' in written_json(
                won, tmp_path
            )
            continue
        (choice,) = tuning_choices(won)
        assert (choice.candidate, choice.called) == (name, candidate.called["Open MPI"])


def written_json(advice, folder):
    """The rules of Open MPI 6 and later."""
    path, _ = advice.write_tuning(folder / "openmpi.json")  # the other has the comments
    return path.read_text()


# Which of its own a library takes where the best candidate is not one of them.
COPIES = "butterfly_after_1"
DECIDED = [
    # The best one is slower than copies, all others are slower than it.
    ([ranked(COPIES, "best"), ranked("recursive_doubling", "slower", (1.1, 1.2), COPIES),
      ranked("ring", "slower", (1.3, 1.5), "recursive_doubling")], "recursive_doubling"),
    # Both are compared with copies: 1.2 is less than 1.3.
    ([ranked(COPIES, "best"), ranked("recursive_doubling", "slower", (1.1, 1.2), COPIES),
      ranked("ring", "slower", (1.3, 1.5), COPIES)], "recursive_doubling"),
    # 1.2 / 1.195 is within 1 %.
    ([ranked(COPIES, "best"), ranked("recursive_doubling", "slower", (1.1, 1.2), COPIES),
      ranked("ring", "slower", (1.195, 1.5), COPIES)], "recursive_doubling"),
    # 1.2 / 1.15 is not.
    ([ranked(COPIES, "best"), ranked("recursive_doubling", "slower", (1.1, 1.2), COPIES),
      ranked("ring", "slower", (1.15, 1.5), COPIES)], ""),
    # No winner among all, but one among the library's.
    ([ranked(COPIES, "perhaps"), ranked("recursive_doubling", "perhaps", (0.9, 1.2), COPIES),
      ranked("ring", "slower", (1.3, 1.5), "recursive_doubling")], "recursive_doubling"),
    # A bound has no upper end; it is enough for those that are slower.
    ([ranked(COPIES, "best"), ranked("recursive_doubling", "slower", (1.1, 1.2), COPIES),
      ranked("ring", "slower without noise", (3.0, float("inf")), COPIES)], "recursive_doubling"),
    ([ranked(COPIES, "best"),
      ranked("recursive_doubling", "slower without noise", (1.1, float("inf")), COPIES),
      ranked("ring", "slower without noise", (3.0, float("inf")), COPIES)], ""),
    # What is not known decides nothing.
    ([ranked(COPIES, "best"),
      ranked("recursive_doubling", "slower", (float("nan"), float("nan")), COPIES),
      ranked("ring", "slower", (1.3, 1.5), COPIES)], ""),
    # One algorithm alone is no comparison.
    ([ranked(COPIES, "best"), ranked("ring", "slower", (1.1, 1.2), COPIES)], ""),
    ([ranked("ring", "best"), ranked(COPIES, "slower", (1.1, 1.2), "ring")], ""),
]  # fmt: skip


@pytest.mark.parametrize(("ranking", "chosen"), DECIDED)
def test_the_best_of_those_that_the_library_has(tmp_path, ranking, chosen):
    outcome = "winner" if ranking[0].state == "best" else "no winner"
    made = answer({(4, 8): (outcome, ranking)})
    (choice,) = tuning_choices(made)
    assert (choice.candidate, bool(choice.called)) == (chosen, bool(chosen))
    if chosen:
        (path,) = made.write_tuning(tmp_path / "a.rules")
        assert "butterfly" not in path.read_text()
        assert "best of those that Open MPI has" in path.read_text()


def test_the_same_program_by_any_name_is_a_choice(tmp_path):
    """Two ranks send each other one message in every algorithm."""
    found = jf.advise("2,8", network=MACHINE, collective="alltoall", message_bytes=8)
    (path,) = found.write_tuning(tmp_path / "a.rules")
    rules = read_rules(path.read_text())[ALLTOALL]
    assert taken_from_rules(rules, 2, 16) == 3
    assert "2 ranks, 8 B: bruck: alone" in path.read_text()


def test_the_program_of_a_candidate_that_the_library_lacks(tmp_path):
    """It is the library's under its own name; a slower one of the library is not the best."""
    own = {"mine": {"kind": "ring_allreduce"}}
    found = jf.advise(8, network=MACHINE, message_bytes="8MiB", own=own,
                      candidates=["mine", "ring", "recursive_doubling"])  # fmt: skip
    (cell,) = found.cells
    assert cell.best == "mine"
    assert cell.left_out == {"ring": "the same program as mine here"}
    (choice,) = tuning_choices(found)
    assert choice.candidate == "ring"


def test_an_algorithm_of_the_users_own_is_not_the_librarys(tmp_path):
    made = answer({(4, 8): ("winner", two("mine", "ring"))}, own={"mine": {"kind": "butterfly"}},
                  candidates=["mine", "ring", "rabenseifner"])  # fmt: skip
    assert [choice.candidate for choice in tuning_choices(made)] == [""]
    with pytest.raises(
        ValueError, match=r"nothing to write to a\.rules: in no cell is one of Open"
    ):
        made.write_tuning(tmp_path / "a.rules")


@pytest.mark.parametrize(
    ("name", "library", "told"),
    [
        ("a.txt", None, "must end in .rules"),
        ("rules", None, "must end in .rules"),
        ("a.json", None, "`library` must be given for 'a.json'"),
        ("mpich.json", None, "libmpi` must be given for mpich.json"),
        ("mpich.rules", None, "'mpich.rules' begins with MPICH's name: give `library`"),
        ("nccl-a.rules", None, "is for Open MPI, and 'nccl-a.rules' begins with NCCL's name"),
        ("openmpi.csv", None, "ends in .csv is for NCCL, and 'openmpi.csv' begins with Open MPI's"),
        ("a.rules", "mpich", "must end in .json for library = 'mpich'"),
        ("a.csv", "openmpi", "must end in .rules or .json for library = 'openmpi'"),
        ("a.rules", "Open MPI", "library must be one of 'openmpi', 'mpich', 'nccl'"),
    ],
)
def test_unknown_formats(tmp_path, name, library, told):
    with pytest.raises(ValueError, match=told):
        won_by("ring", [4], [8]).write_tuning(tmp_path / name, library)
    assert list(tmp_path.iterdir()) == []
    assert tuning_format("a.json", "openmpi").NAME == "openmpi.json"
    assert tuning_format("mpich.rules", "openmpi").NAME == "openmpi.rules"


def test_nothing_to_write(tmp_path):
    with pytest.raises(ValueError, match=r"nothing to write to a\.rules"):
        answer({(4, 8): ("no winner", UNDECIDED)}).write_tuning(tmp_path / "a.rules")
    cells = {(4, 8): ("winner", [ranked("binomial", "best")])}
    one = answer(cells, "reduce", candidates=["binomial", "pipeline"])
    with pytest.raises(ValueError, match="of those of reduce here it has only binomial"):
        one.write_tuning(tmp_path / "a.rules")
    for name in ("a.rules", "openmpi.json"):
        told = f"{name} can not choose for scan, only for allgather, allreduce,"
        with pytest.raises(ValueError, match=told):
            won_by("linear", [4], [8], "scan").write_tuning(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        won_by("ring", [4], [8]).write_tuning(tmp_path / "none" / "a.rules")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_decided_says_which_candidates_to_compare(tmp_path):
    """A redundant algorithm wins, before the library's own ones are told apart."""
    ranking = [ranked(COPIES, "best"),
               ranked("recursive_doubling", "slower", (1.1, 1.5), COPIES),
               ranked("ring", "slower", (1.1, 1.5), COPIES)]  # fmt: skip
    names = "recursive_doubling,ring,rabenseifner,reduce_broadcast"
    reason = f"not decided among recursive_doubling, ring; best of all is {COPIES}, which Open MPI"
    made = answer({(4, 8): ("winner", ranking), (4, 64): ("winner", RINGS)})
    assert tuning_choices(made)[0].reason.startswith(reason)
    with naming_options(lambda name, here: f"--{name}"):  # as a command does
        (path,) = made.write_tuning(tmp_path / "a.rules")
        with pytest.raises(ValueError, match=f"nothing to write .* the --candidates {names}$"):
            answer({(4, 8): ("winner", ranking)}).write_tuning(tmp_path / "b.rules")
    text = path.read_text()
    assert reason in text
    assert f"To compare these alone give jitterfly advise the `candidates` {names}" in text
    with pytest.raises(ValueError, match=f"nothing to write .* the `candidates` {names}$"):
        answer({(4, 8): ("winner", ranking)}).write_tuning(tmp_path / "b.rules")
    alone = answer({(4, 8): ("no winner", UNDECIDED)}, candidates=names.split(","))
    with pytest.raises(ValueError, match="More cells are decided with more `realizations`"):
        alone.write_tuning(tmp_path / "b.rules")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ((), ["recursive_doubling", "ring", "rabenseifner", "reduce_broadcast"]),
        (("--candidates", "ring,butterfly,rabenseifner"), ["ring", "butterfly", "rabenseifner"]),
    ],
)
def test_a_tuning_file_compares_what_the_library_has(tmp_path, capsys, arguments, names):
    noise = ("--noise", "period=1ms,duration=10us", "--realizations", "100")
    asked = ("--ranks", "4", "--bytes", "1MiB", "--network", ARGUMENTS[5], *noise, *arguments)
    assert run(*asked, "--write", tmp_path / "openmpi.rules", "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["candidates"] == names
    told = f"candidates: {', '.join(names)}, which Open MPI has, as --write is given"
    assert (told in captured.err) == (not arguments)


def test_a_real_answer(tmp_path):
    """Exact without noise: a long vector is halved, a short one is not."""
    found = jf.advise("4,16", network=MACHINE, message_bytes="8,1MiB")
    (path,) = found.write_tuning(tmp_path / "a.rules")
    rules = read_rules(path.read_text())[ALLREDUCE]
    assert taken_from_rules(rules, 16, 8) == RECURSIVE_DOUBLING
    assert taken_from_rules(rules, 16, 2**20) in (RING, RABENSEIFNER)
    for cell in found.cells:
        number = taken_from_rules(rules, cell.ranks, cell.message_bytes)
        assert known("allreduce")[cell.best].called["Open MPI"].startswith(f"{number} ")


def test_command(tmp_path, capsys):
    path = tmp_path / "openmpi.rules"
    quiet = ("--ranks", "4", "--bytes", "8,1MiB", "--network", ARGUMENTS[5], "--write", path)
    assert run(*quiet) == 0
    printed = capsys.readouterr().out
    assert f"written: {path} (an algorithm in 2 of 2 cells, the library's own choice" in printed
    assert_well_formed(read_rules(path.read_text()))
    assert run(*quiet, "--json") == 0
    assert json.loads(capsys.readouterr().out)["written"] == [str(path)]
    # Refused before anything is simulated; what is not decided, after the answer.
    for file, more, told in (
        (path, ("--library", "nccl"), "must end in .csv for library = 'nccl'"),
        (path, ("--library", "gloo"), "library must be one of 'openmpi', 'mpich', 'nccl'"),
        (path, ("--libmpi", "a.so"), "--libmpi is for mpich.json, not for openmpi.rules: leave it"),
        (path, ("--protocol", "ll"), "--protocol is for nccl.csv, not for openmpi.rules"),
        (tmp_path / "mpich.json", (), "--libmpi must be given for mpich.json"),
        (tmp_path / "nccl.csv", (), "--protocol must be given for nccl.csv"),
        (
            path,
            ("--collective", "reduce", "--candidates", "binomial,pipeline"),
            "takes two candidates or more that Open MPI has",
        ),
        (tmp_path / "a.txt", (), "must end in .rules"),
        (tmp_path / "a.json", (), "--library must be given for 'a.json'"),
        (tmp_path / "mpich.rules", (), "begins with MPICH's name: give --library, or another name"),
        (
            tmp_path / "mpich.json",
            ("--libmpi", __file__),
            "--libmpi must be MPICH's shared library",
        ),
        (tmp_path / "none" / "a.rules", (), "none"),
    ):
        assert run(*quiet[:-1], file, *more) == 2
        captured = capsys.readouterr()
        assert told in captured.err
        assert captured.out == ""
    for option, value in (("--library", "openmpi"), ("--libmpi", "a"), ("--protocol", "ll")):
        assert run(*ARGUMENTS[:6], option, value) == 2
        assert f"{option} is for --write FILE" in capsys.readouterr().err
    path.unlink()
    assert run(*ARGUMENTS, "--candidates", "recursive_doubling,reduce_broadcast", "--seconds",
               "1e-9", "--write", path) == 2  # fmt: skip
    captured = capsys.readouterr()
    assert "nothing to write to openmpi.rules" in captured.err
    assert "nothing known yet" in captured.out or "no winner" in captured.out
    assert not path.exists()


@pytest.mark.parametrize("name", ["openmpi.rules", "openmpi.json"])
def test_open_mpi_s_files_say_who_decides_on_several_nodes(tmp_path, name):
    """Component han has the higher priority there, from version 5 on, and reads no such file."""
    *_, last = won_by("ring", [4], [1024]).write_tuning(tmp_path / name)
    head = " ".join(last.read_text().replace("# ", "").split())
    assert "OMPI_MCA_coll_han_priority=0 OMPI_MCA_coll_tuned_use_dynamic_rules=1" in head
    assert "On several nodes Open MPI 5 and later take the component han instead" in head
    assert "coll_han_priority (35) is above coll_tuned_priority (30)" in head

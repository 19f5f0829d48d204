"""Commands `jitterfly explain` and `jitterfly compare-measured`."""

import json
import re

import pytest
from support.paths import EXAMPLES
from support.small_study import STUDY

from jitterfly.cli import main
from jitterfly.files import digests

CASE = ["--ranks", "16", "--network", "L=1us,o=200ns", "--algorithm", "dissemination_barrier"]
NOISE = "--noise=period=1ms,duration=10us"
PREDICT = ["predict", "times.txt", *CASE, "--to=64"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(STUDY)
    return "small.toml"


def as_json(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_seed_is_the_study_s_or_that_which_is_given(study, capsys):
    assert as_json(capsys, "explain", study, "--realizations", "5")["seed"] == 5
    for seed in (0, 3):
        found = as_json(capsys, "explain", study, "--realizations", "5", "--seed", str(seed))
        assert found["seed"] == seed


def test_causes_of_a_cell(study, capsys):
    found = as_json(capsys, "explain", study, "--at", "ranks=8", "--realizations", "50")
    assert found["cell"] == "ranks=8"
    assert found["case"]["ranks"] == 8
    means = sum(row["mean"]["value"] for row in found["causes"])
    assert means == pytest.approx(found["mean_delay"])


def test_ranks_and_the_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    late = ["--arrival", "kind=one_late,delay=1ms,rank=7", "--realizations", "2"]
    found = as_json(capsys, "explain", *CASE, *late, "--ranks-csv", "ranks.csv")
    assert found["written"] == ["ranks.csv"]
    waits = {row["rank"]: row["waits_for_others"] for row in found["ranks"]}
    assert sorted(waits) == list(range(16))
    assert min(waits, key=waits.get) == 7
    headings = [heading for table in found["tables"] for heading in table["header"]]
    assert any(heading.startswith("arrives late, ") for heading in headings)  # in a line, unlike
    assert not any("\n" in heading for heading in headings)  # what is printed
    assert found["all_ranks"]["waits_for_others"] == pytest.approx(sum(waits.values()) / 16)
    assert [row["cause"] for row in found["path"]] == [
        "compute", "message CPU", "combining", "on the way",
    ]  # fmt: skip
    lines = (tmp_path / "ranks.csv").read_text().splitlines()
    assert lines[0].startswith("rank,late_s,work_s,noise_s,waits_for_others_s")
    assert len(lines) == 17
    assert main(["explain", *CASE, *late]) == 0
    told = capsys.readouterr().out
    assert re.search(r"waits for .*\n.* others, ", told)
    assert main(["explain", *CASE, *late, "--ranks-csv", "missing/ranks.csv"]) == 2
    assert "missing" in capsys.readouterr().err


GOAL = """num_ranks 2
rank 0 {
a: calc 500000
b: send 8b to 1
b requires a
}
rank 1 {
a: recv 8b from 0
}
"""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["explain", *CASE], "explain"),
        (["explain", "two.goal"], "explain"),
        (["compare-measured", "times.txt", *CASE], "compare_measured"),
    ],
)
def test_an_answer_goes_into_a_directory(tmp_path, monkeypatch, capsys, command, name):
    """As those of `slowdown` and `predict` do: table, JSON and picture, which a report takes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.goal").write_text(GOAL)
    (tmp_path / "times.txt").write_text("\n".join(["7e-6"] * 90 + ["2e-5"] * 10))
    given = [*command, "--noise", "period=1ms,duration=10us", "-q", "--out", "a"]
    assert main([*given, "--realizations", "50"]) == 0
    written = ", ".join(f"a/{name}.{ending}" for ending in ("csv", "json", "png"))
    assert capsys.readouterr().out.endswith(f"\nwritten: {written}\n")
    assert main([*given, "--realizations", "60", "--picture", "b.png"]) == 0  # the same question
    assert "b.png" in capsys.readouterr().out
    assert main([*given, "--seed", "1"]) == 2
    assert "(its seed is 0, here it is 1)" in capsys.readouterr().err
    assert main([*given, "--seed", "1", "--force"]) == 0
    assert json.loads((tmp_path / "a" / f"{name}.json").read_text())["seed"] == 1
    assert main([*given[:-2], "--force"]) == 2
    assert "--force is for --out DIR" in capsys.readouterr().err
    assert main(["report", "a", "--out", "page.html"]) == 0
    assert "data:image/png" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("command", "file", "name"),
    [
        (["explain", "two.goal", NOISE], "two.goal", "explain"),
        (["explain", "study.toml"], "two.goal", "explain"),
        (["compare-measured", "times.txt", *CASE, NOISE], "times.txt", "compare_measured"),
        ([*PREDICT], "times.txt", "predict"),
        ([*PREDICT, "--measured-there=more.txt"], "more.txt", "predict"),
        ([*PREDICT, "--size=8=more.txt"], "more.txt", "predict"),
    ],
)
def test_a_file_with_another_content_is_another_question(
    tmp_path, monkeypatch, capsys, command, file, name
):
    """Under the same path; the answer to the first is not replaced."""
    monkeypatch.chdir(tmp_path)
    times = "\n".join(["7e-6"] * 90 + ["2e-5"] * 10)
    texts = {"two.goal": GOAL, "times.txt": times, "more.txt": times.replace("7e", "7.1e")}
    texts["study.toml"] = (
        'name = "x"\nrealizations = { max = 10 }\n[case]\nschedule = "two.goal"\n'
        'network = "L=1us,o=200ns"\nnoise = ["period=1ms,duration=10us"]\n'
    )
    for path, text in texts.items():
        (tmp_path / path).write_text(text)
    given = [*command, "-q", "--realizations=500", "--out=a"]
    assert main(given) == 0
    assert main(given) == 0  # the same question
    before = (tmp_path / "a" / f"{name}.json").read_bytes()
    changed = texts[file].replace("500000", "900000").replace("2e-5", "3e-5")
    assert changed != texts[file]
    (tmp_path / file).write_text(changed)
    capsys.readouterr()
    assert main(given) == 2
    what = "sha256" if command[0] == "explain" else f"sha256.{file}"
    assert f"(its {what} is " in capsys.readouterr().err
    assert (tmp_path / "a" / f"{name}.json").read_bytes() == before
    assert main([*given, "--force"]) == 0


@pytest.mark.parametrize("command", [["explain", "two.goal", NOISE], [*PREDICT],
                                     ["compare-measured", "times.txt", *CASE, NOISE]])  # fmt: skip
def test_files_are_hashed_where_something_has_the_digest(tmp_path, monkeypatch, capsys, command):
    """A schedule may have gigabytes: what is printed as text does not need the digest."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.goal").write_text(GOAL)
    (tmp_path / "times.txt").write_text("\n".join(["7e-6"] * 90 + ["2e-5"] * 10))
    hashed = []

    def count(paths):
        hashed.extend(paths)
        return digests(paths)

    monkeypatch.setattr("jitterfly.cli.output.digests", count)
    given = [*command, "-q", "--realizations=500"]
    assert main(given) == 0
    assert not hashed
    assert main([*given, "--json"]) == 0
    assert [str(path) for path in hashed] == [command[1]]


def test_a_late_rank_by_options(capsys):
    arrival = ["--arrival", "kind=one_late,delay=1ms,rank=7"]
    found = as_json(capsys, "explain", *CASE, *arrival, "--realizations", "2")
    assert found["mean_delay"] == pytest.approx(1e-3)
    assert found["culprits"] == [{"rank": 7, "share": 1.0}]
    speed = ["--speed", "kind=slow_nodes,factor=2,node_ranks=4", "--compute-time", "10us"]
    found = as_json(capsys, "explain", *CASE, *speed, "--realizations", "2")
    assert found["mean_delay"] == pytest.approx(1e-5)
    assert [(row["cause"], row["share"]) for row in found["causes"]] == [("speed", 1), ("path", 0)]


def test_measured_times(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "times.txt").write_text("\n".join(["8.0"] * 50 + ["9.5"] * 50))
    noise = ["--noise", "kind=step,delay=1us,probability=0.1"]
    found = as_json(capsys, "compare-measured", "times.txt", "--unit", "us", *CASE, *noise,
                    "--seed", "0", "--realizations", "100")  # fmt: skip
    assert found["rows"][0]["measured"]["value"] == pytest.approx(8.75e-6)
    assert 0 <= found["distance"]["low"] <= found["distance"]["value"] <= 1
    assert main(["compare-measured", "missing.txt", *CASE, *noise]) == 2
    assert "missing.txt" in capsys.readouterr().err


def test_many_messages_are_followed_in_fewer_realizations(capsys, monkeypatch):
    """By default in as many as take about 20 s; here messages are few for that."""
    noise = [*CASE, "--noise", "period=1ms,duration=25us"]
    assert as_json(capsys, "explain", *noise)["realizations"] == 1000
    for messages, count in ((64 * 50, 50), (1, 4)):
        monkeypatch.setattr("jitterfly.cli.case_commands._DEFAULT_MESSAGES", messages)
        assert main(["explain", *noise]) == 0
        told = capsys.readouterr()
        assert f"{count} realizations, as each has 64 messages; --realizations takes" in told.err
        assert f"\n{count} realizations, seed 0" in told.out
        assert as_json(capsys, "explain", *noise, "--realizations", "70")["realizations"] == 70


def test_a_short_recording_is_a_note(capsys):
    """Once, as of a schedule; for programs under `doubts`."""
    asked = ["--ranks", "256", "--algorithm", "ring_allreduce", "--compute-time", "5ms", "--noise",
             str(EXAMPLES / "vm.noise"), "--realizations", "2"]  # fmt: skip
    assert main(["explain", *asked]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("vm.noise: the recording (5 s, 3,918 detours) is short") == 1
    assert "the recording" not in shown.err
    assert (
        "vm.noise: the recording (5 s, 3,918 detours) is short"
        in as_json(capsys, "explain", *asked)["doubts"][0]
    )


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("message_bytes=8 MB", "message_bytes=8000000"),
        ("message_bytes=8MB", "message_bytes=8000000"),
        ("message_bytes=1M", "message_bytes=1048576"),
        ("ranks=2^4", "ranks=16"),
        ("ranks=16", "ranks=16"),
        ("network.alpha=2 µs", "network.alpha=2us"),
        ("network.alpha=0.5us", "network.alpha=5e-07"),
    ],
)
def test_a_cell_by_what_the_study_and_its_tables_show(study, tmp_path, capsys, text, cell):
    """Sizes and times with units; labels are values as Python writes them."""
    axes = """
[axes.message_bytes]
values = ["1MiB", "8MB"]
[axes."network.alpha"]
values = ["2us", 5e-7]
"""
    text_of_study = STUDY.replace('alpha = "100ns", ', "")
    (tmp_path / "small.toml").write_text(
        text_of_study.replace("[axes.ranks]", axes + "[axes.ranks]")
    )
    found = as_json(capsys, "explain", study, "--at", text, "--realizations", "2")
    assert cell in found["cell"].split(", ")
    wrong = text.partition("=")[0]
    assert main(["explain", study, "--at", f"{wrong}=3 MB"]) == 2
    assert f"--at {wrong} must be one of " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["ranks=20001", "network.alpha=20.0001us", "ranks=16,20000"])
def test_a_value_that_looks_like_another_is_no_cell(study, tmp_path, capsys, text):
    axes = '[axes."network.alpha"]\nvalues = ["20us"]\n[axes.ranks]\nvalues = [16, 20000]\n'
    head, _, rest = STUDY.replace('alpha = "100ns", ', "").partition("[axes.ranks]\n")
    (tmp_path / "small.toml").write_text(head + axes + rest.partition("\n")[2])
    assert main(["explain", study, "--at", text]) == 2
    assert "must be one of" in capsys.readouterr().err

"""`jitterfly report`: one HTML page of runs, saved answers and noise files."""

import base64
import json
import re

import pytest
from support.html_reader import Reader
from support.small_study import STUDY

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.measured import noisefile
from jitterfly.measured.measurements import Detours, Measured
from jitterfly.report import Section, page, text

HOSTILE = '<script>alert("x")</script>'
NOISE = ["--noise", "period=1ms,duration=25us,start=stationary"]
SLOWDOWN = ["slowdown", *NOISE, "--ranks", "64,256", "--realizations", "60", "-q"]


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run, an answer with its picture, one that was printed, and a noise file."""
    path = tmp_path_factory.mktemp("mine")
    (path / "small.toml").write_text(STUDY.replace('claims = ["M4"]\n', ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        assert main(["run", "small.toml", "--out", "run", "-q"]) == 0
        assert main([*SLOWDOWN, "--out", "slow"]) == 0
    part = Detours([10**9 * k for k in range(1, 400)], [10**6 + k for k in range(399)], 4 * 10**11)
    source = {"machine": "node & <b>1</b>", "command": "jitterfly noise record --seconds 1"}
    noisefile.write(Measured((part,), "jitterfly", source=source), path / "node.noise")
    return path


@pytest.fixture
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["report", "run", "slow", "node.noise", "-o", "all.html"]) == 0
    return read(folder / "all.html")


def test_a_page_has_a_section_for_each_result_and_needs_nothing_else(whole):
    assert [one["href"] for one in whole.all("a")] == ["#result-1", "#result-2", "#result-3"]
    assert [one["id"] for one in whole.all("section")] == ["result-1", "result-2", "result-3"]
    assert "Report of 3 results" in whole.said
    for _, attributes in whole.elements:
        for name in ("src", "href"):
            if name in attributes:
                assert attributes[name].startswith(("data:", "#"))
    assert not whole.all("script")
    policy = [one for one in whole.all("meta") if "http-equiv" in one]
    assert policy[0]["content"].startswith("default-src 'none'")


def test_every_picture_has_a_text_in_its_place(whole):
    pytest.importorskip("matplotlib")
    images = whole.all("img")
    assert len(images) == 3
    assert all(len(image["alt"]) > 20 for image in images)


def test_the_numbers_are_those_of_the_answers(there, whole):
    rows = json.loads((there / "slow" / "slowdown.json").read_text())["tables"][0]["rows"]
    assert len(rows) == 2
    for row in rows:
        assert all(cell in whole.said for cell in row)
    store = jf.Store.open(there / "run")
    for cell in jf.Store.open(there / "run").cells:
        mean = store.estimate(cell, "gain", "mean")
        assert f"{mean.value:.4g} [" in whole.said


def test_it_says_how_each_result_is_made_again_and_by_which_version(whole):
    assert "jitterfly run run/study.toml --out run" in whole.said
    assert "jitterfly " + " ".join([*SLOWDOWN, "--out", "slow"]) in whole.said
    assert "jitterfly noise record --seconds 1" in whole.said
    assert f"version: {jf.__version__}" in whole.said
    assert "versions: jitterfly" in whole.said


def test_notes_are_there_and_cautions_stand_first(there):
    asked = ["slowdown", *NOISE, "--ranks", "256", "--realizations", "40", "-q", "--bytes", "1MiB"]
    assert main([*asked, "--algorithm", "butterfly", "--out", "bad"]) == 0
    saved = json.loads((there / "bad" / "slowdown.json").read_text())
    assert saved["cautions"] == 1
    assert main(["report", "bad", "-o", "bad.html"]) == 0
    found = read(there / "bad.html")
    assert len([one for one in found.all("p") if one.get("class") == "caution"]) == 1
    words = found.said
    for note in saved["notes"]:
        # What is set as code has no marks.
        assert " ".join(note.replace("`", "").split()) in words
    assert words.index(saved["notes"][0][:40]) < words.index("slowdown (mean)")


def test_a_name_that_holds_html_is_text(tmp_path):
    """Also in pictures, whose texts are comments of the drawing, too."""
    pytest.importorskip("matplotlib")
    text = STUDY.replace('claims = ["M4"]\n', "").replace(
        'title = "A small study"', f"title = '{HOSTILE}'"
    )
    (tmp_path / "small.toml").write_text(text)
    store = jf.load_study(tmp_path / "small.toml").run(tmp_path / "run")
    source = {"machine": HOSTILE, "untrusted": HOSTILE, "command": HOSTILE}
    part = Detours([10**9, 2 * 10**9], [10**6, 10**6], 4 * 10**9, cpu=HOSTILE)
    recording = Measured((part,), "jitterfly", source, (HOSTILE,))
    jf.report([store, recording], tmp_path / "x.html", title=HOSTILE)
    source = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script" not in source
    found = read(tmp_path / "x.html")
    assert found.said.count('<script>alert("x")</script>') > 6
    drawings = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", source)
    assert len(drawings) == 2
    for drawing in drawings:
        svg = re.sub(r"<!--.*?-->", "", base64.b64decode(drawing).decode(), flags=re.DOTALL)
        assert "<script" not in svg


def test_commands_and_paths_are_as_they_are(tmp_path, monkeypatch, capsys):
    """They are copied: nothing in them is set as in print, unlike in sentences."""
    monkeypatch.chdir(tmp_path)
    name = "2^3 -> -inf ... T_comm"
    assert main(["slowdown", *NOISE, "--ranks", "2^3", "--realizations", "20", "-q",
                 "--out", name]) == 0  # fmt: skip
    noisefile.write(Measured((Detours([10**9], [10**6], 4 * 10**9),), "jitterfly",
                             {"machine": name}), tmp_path / f"{name}.noise")  # fmt: skip
    assert main(["report", name, f"{name}.noise", "-o", "x.html"]) == 0
    words = read(tmp_path / "x.html").said
    assert f"--ranks '2^3' --realizations 20 -q --out '{name}'" in words
    assert f"answer: {name}/slowdown.json" in words
    assert f"measured: {name}.noise" in words
    assert f"jitterfly noise show '{name}.noise'" in words
    assert words.count(f"Noise of {name}") >= 2  # a link, and the title
    assert text("2^3, `a -> 2^3`") == "2<sup>3</sup>, <code>a -&gt; 2^3</code>"


@pytest.mark.parametrize(
    "told", ["jitterfly noise record; rm -r x", "./sysjitter --runtime 2^3", "jitterfly 'noise"]
)
def test_what_another_tool_ran_is_not_how_to_make_it_again(tmp_path, told):
    part = Detours([10**9], [10**6], 4 * 10**9)
    noisefile.write(Measured((part,), "jitterfly", {"command": told}), tmp_path / "a.noise")
    words = read(jf.report(tmp_path / "a.noise", tmp_path / "x.html")).said
    assert f"recorded by: {told}" in words
    assert f"To make it again: jitterfly noise show {tmp_path}/a.noise" in words


def test_python_takes_objects(tmp_path):
    found = jf.slowdown("period=1ms,duration=25us", 64, realizations=60)
    path = jf.report(found, tmp_path / "one.html")
    words = read(path).said
    assert path == tmp_path / "one.html"
    assert found.title() in words
    assert str(found.shown_tables()[0].rows[0][-1]) in words
    with pytest.raises(ValueError, match="results must be paths, runs, answers and measurements"):
        jf.report([3], tmp_path / "two.html")
    with pytest.raises(ValueError, match="at least one result"):
        jf.report([], tmp_path / "two.html")


def test_advice_and_causes_have_tables(tmp_path):
    network = jf.LogGOPS(L="1us", o="0.2us", G="0.1ns")
    noise = jf.PeriodicNoise(period="1ms", duration="25us", start="stationary")
    advice = jf.advise([16], network=network, noise=[noise], realizations=100,
                       candidates=["butterfly", "ring_allreduce"])  # fmt: skip
    causes = jf.explain(jf.Case(16, network=network, noise=[noise]), realizations=60)
    words = read(jf.report([advice, causes], tmp_path / "both.html")).said
    assert "candidate" in words
    assert advice.cells[0].ranking[0].name in words
    for table in (*advice.shown_tables(), *causes.shown_tables()):
        for row in table.rows:
            assert all(" ".join(cell.split()) in words for cell in row)


VARIED = """
name = "varied"
title = "Durations"
realizations = { max = 40 }
[case]
ranks = 16
message_bytes = 64
network = { kind = "loggops", L = "1us", o = "200ns" }
noise = [{ kind = "periodic", period = "1s", start = "stationary" }]
[axes.duration]
path = "noise.0.duration"
values = ["10us", "500us"]
[observables]
slowdown = { kind = "slowdown", T = 0 }
"""


def test_a_run_says_which_noise_it_is_of_where_that_varies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "varied.toml").write_text(VARIED)
    assert main(["run", "varied.toml", "--out", "run", "-q"]) == 0
    assert main(["report", "run", "-o", "x.html"]) == 0
    words = read(tmp_path / "x.html").said
    assert "period = 1 s, duration = ?, start = stationary" in words
    assert "64 B" in words


def test_a_run_says_what_its_points_set_and_what_all_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = jf.Study(
        "spare", case={"network": jf.LogGOPS(L="1us", o="200ns"), "cycles": 10},
        axes=[jf.Axis("cores", points={"used": {"ranks": 48, "compute_time": "1ms"},
                                "spared": {"ranks": 47, "compute_time": "1.02ms"}})],
        budget=jf.RealizationBudget(max=2),
    )  # fmt: skip
    study.run("out")
    assert main(["report", "out", "-o", "x.html"]) == 0
    words = " ".join(read(tmp_path / "x.html").said.split())
    assert "ranks = 48, compute_time = 1ms" in words
    assert "ranks = 47, compute_time = 1.02ms" in words
    assert "cycles: 10" in words


def test_a_run_that_is_not_finished_says_so(there, tmp_path, capsys):
    import shutil

    shutil.copytree("run", tmp_path / "part")
    for record in (tmp_path / "part" / "records").iterdir():
        record.unlink()
    (tmp_path / "part" / "numbers.npz").unlink(missing_ok=True)
    assert main(["report", str(tmp_path / "part"), "-o", str(tmp_path / "x.html")]) == 0
    words = read(tmp_path / "x.html").said
    assert "Unfinished: 0 of 3 cells done" in words
    assert "No cell has any data yet" in words
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("results", "out", "said"),
    [
        (["nothing"], "x.html", "nothing: No such file or directory"),
        (["empty"], "x.html", "empty holds no run (no store.json in it)"),
        (["slow/slowdown.csv"], "x.html", "of a saved answer: give its directory, slow"),
        (["slow/slowdown.png"], "x.html", "of a saved answer: give its directory, slow"),
        (["small.toml"], "x.html", "small.toml is no result: if it is a study, run it"),
        (
            ["run/study.toml"],
            "x.html",
            "run/study.toml is a file of a run: give its directory, run",
        ),
        (
            ["run/summary.csv"],
            "x.html",
            "run/summary.csv is a file of a run: give its directory, run",
        ),
        (
            ["run/numbers.npz"],
            "x.html",
            "run/numbers.npz is a file of a run: give its directory, run",
        ),
        (
            ["some.html"],
            "x.html",
            "some.html is no result; a result is the directory of a run, the ",
        ),
        (["some.bin"], "x.html", "some.bin is not text: byte 2 is 0; a result is the directory"),
        (["cut"], "x.html", "cut/slowdown.png is damaged: delete it, or run the command that drew"),
        (["nothing.json"], "x.html", "nothing.json is damaged: run its command again"),
        (["infinite.json"], "x.html", "infinite.json is damaged: run its command again"),
        (["info.json"], "x.html", "what `jitterfly info` printed"),
        (["broken.json"], "x.html", "broken.json is damaged: run its command again"),
        (["run"], "x.pdf", "must end in .html or .htm"),
        (["run"], "gone/x.html", "the directory gone does not exist"),
        (["run"], "there.html", "there.html exists; --force replaces it"),
    ],
)
def test_errors_are_one_line(there, results, out, said, capsys):
    (there / "info.json").write_text(json.dumps({"command": "info", "jitterfly": "0.2.0"}))
    broken = {"jitterfly": "0.2.0", "title": 3, "tables": [], "notes": []}
    (there / "broken.json").write_text(json.dumps(broken))
    table = {"title": "t", "header": [], "rows": [], "notes": [], "left": 1}
    nothing = broken | {"title": "x", "tables": [table]}
    (there / "nothing.json").write_text(json.dumps(nothing))
    (there / "infinite.json").write_text(json.dumps(nothing | {"tables": [], "cautions": 1e999}))
    (there / "there.html").write_text("mine")
    (there / "some.html").write_text("<html></html>")
    (there / "some.bin").write_bytes(b"ab\0c")
    (there / "empty").mkdir(exist_ok=True)
    (there / "cut").mkdir(exist_ok=True)
    (there / "cut" / "slowdown.json").write_bytes((there / "slow" / "slowdown.json").read_bytes())
    (there / "cut" / "slowdown.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    before = {path.name for path in there.iterdir()}
    assert main(["report", *results, "-o", out]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert {path.name for path in there.iterdir()} == before
    assert (there / "there.html").read_text() == "mine"


def test_force_replaces_the_page(there, capsys):
    (there / "old.html").write_text("mine")
    asked = ["report", "node.noise", "-o", "old.html", "--force", "--title", "New", "--json"]
    capsys.readouterr()
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out)["written"] == ["old.html"]
    assert "New" in read(there / "old.html").said


def test_what_a_command_printed_is_an_answer(there, capsys):
    assert main([*SLOWDOWN, "--json"]) == 0
    (there / "printed.json").write_text(capsys.readouterr().out)
    assert main(["report", "printed.json", "-o", "printed.html", "--force"]) == 0
    found = read(there / "printed.html")
    assert "jitterfly " + " ".join([*SLOWDOWN, "--json"]) in found.said
    assert not found.all("img")
    # Nor the picture of another answer that has its name.
    (there / "printed.png").write_bytes((there / "slow" / "slowdown.png").read_bytes())
    assert main(["report", "printed.json", "-o", "printed.html", "--force"]) == 0
    assert not read(there / "printed.html").all("img")


# Two curves, of three points each.
CURVE = "series,ranks,latency_us\na,2,3.9\na,4,8.1\na,16,18.2\nb,2,3.9\nb,4,8.5\nb,16,18.2\n"
TWO = ["--model", "two-bernoulli", "--json"]
BUDGET = ["budget", "--ranks", "64", "--latency", "50us", "--step", "2us"]


@pytest.mark.parametrize(
    ("command", "result", "sections", "said"),
    [
        (["fit", "curve.csv", "--out", "answer"], "answer", 2, "measured / model"),
        (["fit", "curve.csv", "--json"], "", 1, "b: 3 points, 2 to 16 ranks"),
        (["fit", "curve.csv", "--series", "a", *TWO], "", 1, "p2 D2"),
        ([*BUDGET, "--delay", "25us", "--out", "answer"], "answer", 1, "at most p, mean rank"),
        ([*BUDGET, "--delay", "25us", "--json"], "", 1, "with L = 2 µs a step: at most p = "),
        ([*BUDGET, "--noise", "a.noise", "--json"], "", 1, "a detour in every step"),
        (["network", "run", "--tree", "144", "--realizations", "20", "--json"], "", 1, "72 of 144"),
    ],
)
def test_each_question_that_is_saved_has_a_page(
    command, result, sections, said, folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "curve.csv").write_text(CURVE)
    (tmp_path / "a.noise").write_bytes((folder / "node.noise").read_bytes())
    assert main([*command, "-q"]) == 0
    if not result:
        (tmp_path / "printed.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["report", result or "printed.json", "-q", "--out", "page.html"]) == 0
    page = read(tmp_path / "page.html")
    assert len(page.all("section")) == sections
    assert len(page.all("img")) == (sections if result else 0)
    assert said in page.said
    assert " ".join(command[:2]) in page.said  # to make it again


def test_without_matplotlib_the_page_says_so(there, monkeypatch):
    from jitterfly.plots import draw

    monkeypatch.setattr(draw, "can_draw", lambda: False)
    assert main(["report", "run", "-o", "plain.html", "-q"]) == 0
    found = read(there / "plain.html")
    assert "Without pictures: matplotlib is not installed" in found.said
    assert not found.all("img")


def test_a_long_table_is_closed_and_a_very_long_one_is_cut():
    from jitterfly.answer import ShownTable

    def table(rows):
        return ShownTable("t", ("a",), tuple((f"{i}",) for i in range(rows)))

    assert "<details>" not in page([Section("x", tables=(table(60),))])
    assert "t (61 rows)" in page([Section("x", tables=(table(61),))])
    cut = page([Section("x", tables=(table(2001),))])
    assert "t (2,001 rows, the first 2,000 of which are here)" in cut
    assert cut.count("<tr>") == 2001  # with the head

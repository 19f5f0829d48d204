"""`jitterfly reproduce`: choice of studies, report, resume after stops and failures."""

import io
import json

import pytest
from support import small_reproduction
from support.quick_pictures import quick_pictures

from jitterfly.cli import main
from jitterfly.plots import draw
from jitterfly.report import text as as_html
from jitterfly.store.numbers import Numbers
from jitterfly.studies import toml
from jitterfly.sweep import CellsFailed, Stopped
from jitterfly_papers import hsl09_settings as networks
from jitterfly_papers.claims import CLAIMS, VERDICTS, count_verdicts, show_counts
from jitterfly_papers.report import hsl09
from jitterfly_papers.report import reproduce as module
from jitterfly_papers.report.reproduce import PAGE, reproduce, shipped_folder, studies

pytest.importorskip("matplotlib")
real_run = module.run


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The small studies in place of the real ones; the directory for the run."""
    sweeps = tmp_path / "sweeps"
    sweeps.mkdir()
    small_reproduction.write(sweeps)
    monkeypatch.setattr(module, "shipped_folder", lambda: sweeps)
    return tmp_path / "out"


@pytest.fixture
def said():
    return io.StringIO()


@pytest.fixture
def undrawn(monkeypatch):
    """An empty picture in the place of each study's, for what is not about pictures."""
    monkeypatch.setattr(draw, "draw", lambda results, path, **options: path.write_text("<svg/>"))


@pytest.mark.full_scale
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_the_studies_cover_every_claim_in_order(quick):
    chosen = studies(quick=quick)
    told = {claim for study in chosen for claim in study.claims}
    assert not told & set(hsl09.NAMES.values())
    assert told | set(hsl09.NAMES.values()) == set(CLAIMS)
    order = [list(CLAIMS).index(study.claims[0]) for study in chosen]
    assert order == sorted(order)
    files = shipped_folder().glob("*.toml")
    assert {study.name for study in chosen} == {path.stem for path in files}


def test_only_chooses(small):
    assert [study.name for study in studies(quick=True)] == list(small_reproduction.NAMES)
    assert [study.name for study in studies(quick=True, only=["first"])] == ["first"]
    assert studies(quick=True, only=["hsl09_n5"]) == []
    told = "`only` must be one of 'first', 'second', 'hsl09_n1', .*'hsl09_n5', got 'third'"
    with pytest.raises(ValueError, match=told):
        studies(quick=True, only=["first", "third"])


def test_only_can_be_repeated(monkeypatch):
    seen = {}

    def note(out, **given):
        seen.update(given)
        return module.Reproduction(out / PAGE, ())

    monkeypatch.setattr(module, "reproduce", note)
    assert main(["reproduce", "--only", "hsl09_n1", "ms12_fig12", "--only", "hsl09_n5"]) == 0
    assert seen["only"] == ["hsl09_n1", "ms12_fig12", "hsl09_n5"]


@quick_pictures
def test_writes_a_report_of_all_studies(small, said):
    page, sections = reproduce(small, quick=True, stream=said)
    assert page == small / PAGE
    assert [section.name for section in sections] == list(small_reproduction.NAMES)
    text = page.read_text(encoding="utf-8")
    assert "A partial report" not in text
    for words in ('id="second"', 'id="first"', 'id="second-M4"', 'id="first-M6"', ">quick<"):
        assert words in text
    assert text.index('id="second"') < text.index('id="first"')
    assert "mean of gain ± 5 % at 95 %: met in" in text
    assert text.count("data:image/svg+xml;base64,") >= 2
    assert 'id="few-runs"' in text
    assert "study 2 of 2: MS12 Fig. 21, small" in said.getvalue()
    assert said.getvalue().count("  tables, pictures and verdicts\n") == 2
    assert (small / "first" / "summary.csv").is_file()
    kept = json.loads((small / "parts.json").read_text(encoding="utf-8"))["sections"]
    assert list(kept) == ["second", "first"]
    assert kept["second"]["run"]["sizes"] == "quick"
    assert [claim["name"] for claim in kept["first"]["claims"]] == ["M6"]
    parts = kept["second"]["claims"][0]["parts"]
    assert {part["verdict"] for part in parts} <= set(VERDICTS)
    assert all(as_html(part["found"]) in text for part in parts)
    assert Numbers.read_cached(small / "first") is not None  # so that `export` is quick


def test_its_verdicts_in_json(small, undrawn, capsys):
    """Those of every study of the report, also where nothing is left to run."""
    for _ in range(2):
        capsys.readouterr()
        assert main(["reproduce", "--quick", "--only", "first", "--out", str(small), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["command"], found["written"]) == ("reproduce", [str(small / PAGE)])
        (study,) = found["studies"]
        assert study["name"] == "first"
        assert study["claims"]
        for claim in study["claims"]:
            assert claim["name"] in CLAIMS
            verdicts = [part["verdict"] for part in claim["parts"]]
            assert verdicts
            assert claim["counts"] == {one: verdicts.count(one) for one in VERDICTS}
            limits = [part["whose"] for part in claim["parts"] if part["verdict"] == "reproduced"]
            ours = limits.count("ours")
            assert claim["reproduced_by"] == {"paper": len(limits) - ours, "ours": ours}


def test_a_second_call_runs_nothing_again(small, undrawn, said):
    reproduce(small, quick=True, stream=said)
    records = {path: path.read_bytes() for path in small.rglob("*.jfr")}
    times = json.loads((small / "times.json").read_text())
    reproduce(small, quick=True, stream=said)
    assert {path: path.read_bytes() for path in small.rglob("*.jfr")} == records
    assert json.loads((small / "times.json").read_text()) == times


def test_damaged_times_are_no_reason_to_fail(small, undrawn, said):
    small.mkdir()
    (small / "times.json").write_text("[1")
    reproduce(small, quick=True, only=["first"], stream=said)
    assert set(json.loads((small / "times.json").read_text())) == {"first"}


def test_a_stop_leaves_a_partial_report(small, undrawn, said, monkeypatch):
    def stops_at_the_second(study, *arguments, **options):
        if study.name == "first":
            raise Stopped("0 of 3 cells are finished")
        return real_run(study, *arguments, **options)

    monkeypatch.setattr(module, "run", stops_at_the_second)
    with pytest.raises(Stopped, match=r"1 of 2 studies are finished \(.*report.html\).*0 of 3"):
        reproduce(small, quick=True, stream=said)
    text = (small / PAGE).read_text(encoding="utf-8")
    assert "A partial report: 1 of 2 studies are complete." in text
    assert "MS12 Fig. 21, small" in text
    monkeypatch.setattr(module, "run", real_run)
    reproduce(small, quick=True, stream=said)
    assert "A partial report" not in (small / PAGE).read_text(encoding="utf-8")


def test_a_study_that_fails_in_part_does_not_stop_the_others(small, undrawn, said, monkeypatch):
    def fails(study, out, **options):
        store = real_run(study, out, **options)
        if study.name == "second":
            raise CellsFailed({"ranks=4": "no memory"}, 3, out)
        return store

    monkeypatch.setattr(module, "run", fails)
    with pytest.raises(CellsFailed, match="second, ranks=4: no memory"):
        reproduce(small, quick=True, stream=said, on_error="finish")
    assert 'id="first"' in (small / PAGE).read_text(encoding="utf-8")


def test_without_matplotlib_nothing_runs(small, said, monkeypatch):
    monkeypatch.setattr(draw, "can_draw", lambda: False)
    with pytest.raises(ValueError, match="matplotlib is not installed"):
        reproduce(small, quick=True, stream=said)
    assert not small.exists()


def test_studies_of_the_package_come_first(tmp_path, monkeypatch):
    monkeypatch.setattr(toml, "_PACKAGE", tmp_path / "a" / "b" / "jitterfly")
    with pytest.raises(FileNotFoundError, match="no studies in"):
        shipped_folder()
    for sweeps in (tmp_path / "a" / "sweeps", tmp_path / "a" / "b" / "jitterfly" / "sweeps"):
        sweeps.mkdir(parents=True)
        small_reproduction.write(sweeps)
        assert shipped_folder() == sweeps


# --- HSL09's figures


def few(chosen, count, *arguments, **options):
    """HSL09's settings with a few realizations, however many are asked for."""
    return networks.run_settings(chosen, 20, *arguments, **options)


@quick_pictures
def test_networks_are_judged_beside_the_studies(small, undrawn, said, monkeypatch):
    monkeypatch.setattr(hsl09, "run_settings", few)
    page, _ = reproduce(small, quick=True, only=["hsl09_n5", "first", "hsl09_n2"], stream=said)
    text = page.read_text(encoding="utf-8")
    assert "A partial report" not in text
    assert text.index('id="first"') < text.index('id="hsl09_n2"') < text.index('id="hsl09_n5"')
    assert 'id="hsl09_n2-N2"' in text
    assert 'id="theory"' not in text
    points = few(networks.settings("N2", quick=True), 500, 0)
    told = show_counts(count_verdicts(CLAIMS["N2"].check(points)))
    assert f"  N2: {told}\n" in said.getvalue()
    for point in points:
        found = point.slowdown
        assert f"{found.value:.1f} [{found.low:.1f}, {found.high:.1f}]" in text
    assert "study 3 of 3: HSL09 abstract" in said.getvalue()
    assert "MS12, CS14, HM18 and HSL09 run again" in text
    assert (small / "hsl09_n2" / "simulated_size.svg").is_file()


@quick_pictures
def test_networks_are_run_once(small, said, monkeypatch):
    runs = []

    def counted(*arguments, **options):
        runs.append(arguments)
        return few(*arguments, **options)

    monkeypatch.setattr(hsl09, "run_settings", counted)
    reproduce(small, quick=True, only=["hsl09_n5"], stream=said)
    first = (small / "report.html").read_text(encoding="utf-8")
    times = (small / "times.json").read_text()
    assert len(runs) == 1
    runs.clear()
    reproduce(small, quick=True, only=["hsl09_n5"], stream=said)
    again = (small / "report.html").read_text(encoding="utf-8")
    assert runs == []
    assert (small / "times.json").read_text() == times
    assert _of(again, "hsl09_n5") == _of(first, "hsl09_n5")
    points = small / "hsl09_n5" / "points.npz"
    for damage in (points.read_bytes()[:200], b"", None):
        points.unlink()
        if damage is not None:
            points.write_bytes(damage)
        reproduce(small, quick=True, only=["hsl09_n5"], stream=said)
        again = (small / "report.html").read_text(encoding="utf-8")
        assert _of(again, "hsl09_n5")[1:] == _of(first, "hsl09_n5")[1:]
    assert len(runs) == 3
    monkeypatch.setattr(hsl09, "SEED", 1)
    reproduce(small, quick=True, only=["hsl09_n5"], stream=said)
    assert len(runs) == 4
    assert [len(arguments[0]) for arguments in runs] == [4] * 4


def _of(page, name):
    """What a page has of a section: its head (with the time), its table, its claims."""
    section = page[page.index(f'<section id="{name}"') :]
    return [part for part in section.partition("</section>")[0].split("<table") if part]


@pytest.mark.full_scale
def test_all_networks_have_a_full_and_a_quick_size(small, undrawn, said, monkeypatch):
    asked = []

    def run(chosen, count, seed, told, **engine):
        asked.append((len(chosen), count, engine))
        return networks.run_settings(chosen[:3], 2, seed, told, **engine)

    monkeypatch.setattr(hsl09, "run_settings", run)
    for quick in (True, False):
        if not quick:  # the same pictures again: of the three settings above
            monkeypatch.setattr(hsl09, "figures", lambda name, points: [])
        which = {"with_networks": True} if quick else {"only": list(hsl09.NAMES)}
        reproduce(small, quick=quick, stream=said, backend="cpu", threads=1, **which)
        for number, name in enumerate(networks.FIGURES):
            cells, count, engine = asked[number]
            assert cells == len(networks.settings(name, quick=quick))
            assert count == ((100 if name in ("N3", "N4") else 500) if quick else 1000)
            assert engine == {"backend": "cpu", "threads": 1}
        asked.clear()
    text = (small / "report.html").read_text(encoding="utf-8")
    assert all(f'id="{name}-{claim}"' in text for name, claim in hsl09.NAMES.items())
    assert set(hsl09.TITLES) == set(networks.FIGURES)


@quick_pictures
def test_a_network_that_fails_does_not_stop_the_others(small, said, monkeypatch):
    def fails(chosen, *arguments, **options):
        if chosen[0].figure == "N2":
            raise ValueError("no memory")
        return networks.run_settings(chosen[:2], 2)

    monkeypatch.setattr(hsl09, "run_settings", fails)
    names = ["hsl09_n2", "hsl09_n5"]
    with pytest.raises(CellsFailed, match=r"HSL09 slide 9.*: no memory"):
        reproduce(small, quick=True, only=names, stream=said, on_error="finish")
    assert 'id="hsl09_n5"' in (small / PAGE).read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"^no memory$"):
        reproduce(small, quick=True, only=names, stream=said)


@quick_pictures
def test_a_stop_among_networks_leaves_a_partial_report(small, said, monkeypatch):
    def stops(chosen, *arguments, **options):
        if chosen[0].figure == "N5":
            raise KeyboardInterrupt
        return networks.run_settings(chosen[:2], 2)

    monkeypatch.setattr(hsl09, "run_settings", stops)
    with pytest.raises(Stopped, match="1 of 2 studies are finished"):
        reproduce(small, quick=True, only=["hsl09_n2", "hsl09_n5"], stream=said)
    text = (small / PAGE).read_text(encoding="utf-8")
    assert "A partial report: 1 of 2 studies are complete." in text
    assert hsl09.TITLES["N5"] in text


def test_workers_are_checked_for_networks_too(small, said):
    with pytest.raises(ValueError, match="workers must be 'gpus', 'sockets', 'mpi' or a number"):
        reproduce(small, quick=True, only=["hsl09_n5"], stream=said, workers="many")

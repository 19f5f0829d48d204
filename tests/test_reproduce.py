"""Reproduction: which studies, the report they leave, and going on after stops and failures."""

import io
import json

import pytest
import small_reproduction

from jitterfly.claims import CLAIMS
from jitterfly.plots import draw
from jitterfly.report import reproduce as module
from jitterfly.report.reproduce import PAGE, folder, reproduce, studies
from jitterfly.sweep import PlacesFailed, Stopped

pytest.importorskip("matplotlib")
real_run = module.run


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The small studies in place of the real ones; the directory for the run."""
    place = tmp_path / "sweeps"
    place.mkdir()
    small_reproduction.write(place)
    monkeypatch.setattr(module, "folder", lambda: place)
    return tmp_path / "out"


@pytest.fixture
def said():
    return io.StringIO()


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_the_studies_cover_every_claim_in_order(quick):
    chosen = studies(quick=quick)
    assert {claim for study in chosen for claim in study.claims} == set(CLAIMS)
    order = [list(CLAIMS).index(study.claims[0]) for study in chosen]
    assert order == sorted(order)
    assert {study.name for study in chosen} == {path.stem for path in folder().glob("*.toml")}


def test_only_chooses(small):
    assert [study.name for study in studies(quick=True)] == list(small_reproduction.NAMES)
    assert [study.name for study in studies(quick=True, only=["first"])] == ["first"]
    with pytest.raises(ValueError, match="--only must be one of 'first', 'second', got 'third'"):
        studies(quick=True, only=["first", "third"])


def test_writes_a_report_of_all_studies(small, said):
    page = reproduce(small, quick=True, stream=said)
    assert page == small / PAGE
    text = page.read_text(encoding="utf-8")
    assert "A partial report" not in text
    for words in ('id="second"', 'id="first"', 'id="second-M4"', 'id="first-M6"', ">quick<"):
        assert words in text
    assert text.index('id="second"') < text.index('id="first"')
    assert "mean of gain ± 5 % at 95 %: met in" in text
    assert text.count("data:image/svg+xml;base64,") >= 2
    assert 'id="few-runs"' in text
    assert "study 2 of 2: MS12 Fig. 21, small" in said.getvalue()
    assert (small / "first" / "summary.csv").is_file()


def test_a_second_call_runs_nothing_again(small, said):
    reproduce(small, quick=True, stream=said)
    records = {path: path.read_bytes() for path in small.rglob("*.jfr")}
    times = json.loads((small / "times.json").read_text())
    reproduce(small, quick=True, stream=said)
    assert {path: path.read_bytes() for path in small.rglob("*.jfr")} == records
    assert json.loads((small / "times.json").read_text()) == times


def test_damaged_times_are_no_reason_to_fail(small, said):
    small.mkdir()
    (small / "times.json").write_text("[1")
    reproduce(small, quick=True, only=["first"], stream=said)
    assert set(json.loads((small / "times.json").read_text())) == {"first"}


def test_a_stop_leaves_a_partial_report(small, said, monkeypatch):
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


def test_a_study_that_fails_in_part_does_not_stop_the_others(small, said, monkeypatch):
    def fails(study, out, **options):
        store = real_run(study, out, **options)
        if study.name == "second":
            raise PlacesFailed({"ranks=4": "no memory"}, 3, out)
        return store

    monkeypatch.setattr(module, "run", fails)
    with pytest.raises(PlacesFailed, match="second, ranks=4: no memory"):
        reproduce(small, quick=True, stream=said, on_error="finish")
    assert 'id="first"' in (small / PAGE).read_text(encoding="utf-8")


def test_without_matplotlib_nothing_runs(small, said, monkeypatch):
    monkeypatch.setattr(draw, "can_draw", lambda: False)
    with pytest.raises(ValueError, match="matplotlib is not installed"):
        reproduce(small, quick=True, stream=said)
    assert not small.exists()


def test_studies_of_the_package_come_first(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PACKAGE", tmp_path / "a" / "b" / "jitterfly")
    with pytest.raises(FileNotFoundError, match="no studies in"):
        folder()
    for place in (tmp_path / "a" / "sweeps", tmp_path / "a" / "b" / "jitterfly" / "sweeps"):
        place.mkdir(parents=True)
        small_reproduction.write(place)
        assert folder() == place

"""`jitterfly theory`: the HTML page of theory, and its place in a reproduction."""

import contextlib
import dataclasses
import io
import json
import shutil

import pytest
from support import scale, small_reproduction
from support.quick_pictures import quick_pictures

from jitterfly.cli import main
from jitterfly.plots import draw
from jitterfly_papers.report import reproduce as reproduction
from jitterfly_papers.report import theory

pytest.importorskip("matplotlib")
SMALL = theory.Sizes(one=60, last=60, largest=60, rounds=4, points=2**8)


def make_small(patch):
    patch.setattr(theory, "QUICK", SMALL)
    patch.setattr(theory, "ROUNDS", 5)


@pytest.fixture
def small(monkeypatch):
    make_small(monkeypatch)


@pytest.fixture(scope="module")
@quick_pictures
def made(tmp_path_factory):
    """What the command leaves in its folder, of small sizes."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as told:
        make_small(patch)
        if not scale.FULL:  # the figures are made, and not drawn
            patch.setattr(draw, "save", lambda _, path: path.write_text("<svg/>"))
        assert main(["theory", "--out", str(folder)]) == 0
    assert "the largest of N: exponential" in told.getvalue()
    return folder / "theory"


@pytest.mark.full_scale
def test_the_command(made, small, tmp_path, capsys):
    shutil.copytree(made, tmp_path / "new" / "theory")
    assert main(["theory", "--out", str(tmp_path / "new")]) == 0
    out, told = capsys.readouterr()
    page = (tmp_path / "new" / "theory.html").read_text(encoding="utf-8")
    assert "theory.html" in out
    assert "largest of N" not in told  # kept
    assert page.count("data:image/svg+xml;base64,") == len(theory._PICTURES)
    for words in ("Theory beside simulation", "Kolmogorov", "Pareto from 1 µs, shape 3, at the s"):
        assert words in page
    rows = json.loads((made / "numbers.json").read_text())["rows"]
    assert len(rows) == 10
    assert all(float(distance) < float(allowed) for _, _, distance, allowed, *_ in rows)


def test_other_sizes_are_asked_for(made, small, monkeypatch):
    assert theory._earlier_rows(made, quick=True)
    monkeypatch.setattr(theory, "QUICK", dataclasses.replace(SMALL, one=61))
    assert theory._earlier_rows(made, quick=True) is None


def test_one_that_was_killed_leaves_no_pictures_of_other_sizes(made, small, tmp_path, monkeypatch):
    folder = tmp_path / "theory"
    shutil.copytree(made, folder)

    def kill(*_):
        (folder / "ends.svg").write_text("of other sizes")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(theory, "QUICK", dataclasses.replace(SMALL, one=61))
        patch.setattr(theory, "_make", kill)
        with pytest.raises(KeyboardInterrupt):
            theory.section(tmp_path, quick=True, tell=print)
    assert theory._earlier_rows(folder, quick=True) is None


@pytest.mark.full_scale
def test_other_sizes_are_made_anew(made, small, tmp_path, monkeypatch, capsys):
    shutil.copytree(made, tmp_path / "new" / "theory")
    before = theory.section(tmp_path / "new", quick=True, tell=print)
    monkeypatch.setattr(theory, "QUICK", dataclasses.replace(SMALL, one=61))
    assert main(["theory", "--out", str(tmp_path / "new")]) == 0
    assert "the largest of N: exponential" in capsys.readouterr().err
    assert before.tables != theory.section(tmp_path / "new", quick=True, tell=print).tables


def test_a_damaged_file_is_no_reason_to_fail(tmp_path):
    (tmp_path / "theory").mkdir()
    for text in ("[1", "[" * 10**5, "{}", '{"rows": 1}'):
        (tmp_path / "theory" / "numbers.json").write_text(text)
        assert theory._earlier_rows(tmp_path / "theory", quick=True) is None


def test_the_section_of_a_reproduction(made, small, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "out" / "theory")
    place = tmp_path / "sweeps"
    place.mkdir()
    small_reproduction.write(place)
    monkeypatch.setattr(reproduction, "shipped_folder", lambda: place)
    # Those of the studies are not looked at here.
    monkeypatch.setattr(draw, "draw", lambda results, path, **options: path.write_text("<svg/>"))
    page, sections = reproduction.reproduce(
        tmp_path / "out", quick=True, with_theory=True, stream=io.StringIO()
    )
    assert [section.name for section in sections] == [*small_reproduction.NAMES, "theory"]
    text = page.read_text(encoding="utf-8")
    assert text.index('id="first"') < text.index('id="theory"') < text.index('id="method"')

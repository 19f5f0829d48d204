"""The page on theory: what it holds, that it is made once, and its place in a reproduction."""

import dataclasses
import io
import json

import pytest
from support import small_reproduction

from jitterfly.cli import main
from jitterfly.report import reproduce as reproduction
from jitterfly.report import theory

pytest.importorskip("matplotlib")
SMALL = theory.Sizes(one=60, last=60, largest=60, rounds=4, points=2**8)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(theory, "QUICK", SMALL)
    monkeypatch.setattr(theory, "ROUNDS", 5)


def test_the_command(small, tmp_path, capsys):
    assert main(["theory", "--out", str(tmp_path / "new")]) == 0
    out, told = capsys.readouterr()
    page = (tmp_path / "new" / "theory.html").read_text(encoding="utf-8")
    assert "theory.html" in out
    assert "the largest of N: exponential" in told
    assert page.count("data:image/svg+xml;base64,") == len(theory._PICTURES)
    for words in ("Theory beside simulation", "Kolmogorov", "Pareto from 1 µs, shape 3, at the s"):
        assert words in page

    assert main(["theory", "--out", str(tmp_path / "new")]) == 0
    assert "largest of N" not in capsys.readouterr().err  # kept


def test_other_sizes_are_made_anew(small, tmp_path, monkeypatch):
    first = theory.section(tmp_path, quick=True)
    rows = json.loads((tmp_path / "theory" / "numbers.json").read_text())["rows"]
    assert len(rows) == 10
    assert all(float(distance) < float(allowed) for _, _, distance, allowed, *_ in rows)
    monkeypatch.setattr(theory, "QUICK", dataclasses.replace(SMALL, one=61))
    second = theory.section(tmp_path, quick=True)
    assert first.tables != second.tables


def test_a_damaged_file_is_no_reason_to_fail(tmp_path):
    (tmp_path / "theory").mkdir()
    (tmp_path / "theory" / "numbers.json").write_text("[1")
    assert theory._earlier_rows(tmp_path / "theory", quick=True) is None


def test_the_section_of_a_reproduction(small, tmp_path, monkeypatch):
    place = tmp_path / "sweeps"
    place.mkdir()
    small_reproduction.write(place)
    monkeypatch.setattr(reproduction, "shipped_folder", lambda: place)
    page, sections = reproduction.reproduce(
        tmp_path / "out", quick=True, with_theory=True, stream=io.StringIO()
    )
    assert [section.name for section in sections] == [*small_reproduction.NAMES, "theory"]
    text = page.read_text(encoding="utf-8")
    assert text.index('id="first"') < text.index('id="theory"') < text.index('id="method"')

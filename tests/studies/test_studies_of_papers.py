"""Studies of the papers' figures: settings as published."""

import re
from functools import cache

import pytest
from support.paths import SWEEPS
from support.scale import full_scale, some

from jitterfly.results.figures import check_figure, figure_kind
from jitterfly.studies import load_study, parse_study
from jitterfly.theory import round_time
from jitterfly_papers.claims import CLAIMS, check_claims

FILES = sorted(SWEEPS.glob("*.toml"))
MS12 = [path for path in FILES if path.stem.startswith("ms12_")]


@cache  # nothing of a study can be changed, and those of the papers have thousands of cases
def loaded(path, full):
    return load_study(path, full=full)


def cases(name, full=False):
    study = loaded(SWEEPS / f"{name}.toml", full)
    return [(cell, variant.case) for cell in study.cells() for variant in cell.variants]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("full", [False, full_scale(True)])
def test_study(path, full):
    study = loaded(path, full)
    assert study.name == path.stem
    assert (study.full, study.where) == (full, str(path))
    if full:
        assert study.text.startswith("# The study as it was run: the sizes of the table [full].\n")
    else:
        assert study.text == path.read_text("utf-8")
    assert study.title
    assert study.source
    check_figure(study)
    check_claims(study)
    assert figure_kind(study) == study.figure
    assert study.claims
    cells = study.cells()
    # More than the 30 runs of the papers; but on 2^23 ranks so much of the noise is met in each of
    # 8 realizations that they give a recovery to 0.01.
    largest = study.name == "cs14_fig9"
    least = 8 if largest else 40
    assert all(cell.least >= least for cell in cells)
    # On two cores at some 1e9 rank-rounds a second, all of them take a few minutes.
    assert full or sum(cell.limit * cell.work for cell in cells) < (1.5e11 if largest else 3e10)


@pytest.mark.parametrize("path", some(FILES, 2), ids=lambda path: path.stem)
@pytest.mark.parametrize("full", [False, full_scale(True)])
def test_its_description_is_the_same_study(path, full):
    study = loaded(path, full)
    assert parse_study(study.to_toml()) == study


def test_every_claim_has_its_study():
    claims = {claim for path in FILES for claim in loaded(path, False).claims}
    assert claims == {name for name, claim in CLAIMS.items() if claim.of_study}


def test_the_list_is_complete():
    text = (SWEEPS / "README.md").read_text(encoding="utf-8").partition("## The format")[0]
    listed = re.findall(r"^\| `(\w+)\.toml` \|.*", text, re.MULTILINE)
    assert sorted(listed) == [path.stem for path in FILES]
    for path in FILES:
        (line,) = re.findall(rf"^\| `{path.stem}\.toml` \|.*", text, re.MULTILINE)
        missing = [claim for claim in loaded(path, False).claims if claim not in line]
        assert not missing, f"{path.stem}: its line in sweeps/README.md lacks {missing}"


def test_the_example_of_the_format():
    (text,) = re.findall(r"```toml\n(.*?)```", (SWEEPS / "README.md").read_text("utf-8"), re.DOTALL)
    for full in some((False, True), 1):
        study = parse_study(text, full=full)
        check_figure(study, "curves")
        assert [axis.name for axis in study.axes] == ["ranks", "alpha", "duration", "machine"]
        assert len(study.cells()) == (22 if full else 17) * 12
        assert all(cell.noisy for cell in study.cells())
        assert all(case.costs.combine for cell in study.cells() for case in cell.cases.values())


@pytest.mark.parametrize(
    ("name", "alpha", "period", "duration"),
    [("ms12_fig05_07", 1e-6, 1e-3, 1e-5), ("ms12_fig08_11", 1e-7, 1e-2, 1e-4)],
)
def test_message_size_is_swept(name, alpha, period, duration):
    for cell, case in cases(name):
        assert case.network.alpha == alpha
        assert (case.network.beta, case.network.gamma) == (1e-9, 1e-10)
        assert {(n.period, n.duration) for n in case.noise} == {(period, duration)}
        assert case.noise[0].start == "fresh"
        wanted = cell.coordinates["message"]
        assert round_time(case) / duration == pytest.approx(wanted, rel=0.005)


def test_duration_is_swept():
    periods = set()
    for cell, case in cases("ms12_fig13_20"):
        assert (case.message_bytes, case.network.alpha) == (8, 1e-6)
        assert len({(n.period, n.duration) for n in case.noise}) == 1
        noise = case.noise[0]
        periods.add(noise.period)
        assert noise.duration / noise.period == pytest.approx(cell.coordinates["duration"])
    assert periods == {1e-3, 1e-2}


def test_one_ratio():
    for name in ("ms12_fig12", "ms12_fig21"):
        for _, case in cases(name):
            noise = case.noise[0]
            if name == "ms12_fig12":
                assert round_time(case) / noise.duration == pytest.approx(1e-2, rel=0.09)
            else:
                assert (noise.duration / noise.period, case.message_bytes) == (0.01, 8)
            assert {source.duration for source in case.noise} == {noise.duration}


@pytest.mark.parametrize("path", some(MS12, 2), ids=lambda path: path.stem)
def test_network_jitter_in_its_readings(path):
    """A, rate 1/P, and B, none, side by side; C, that source alone, where it is chosen."""
    wanted = {"A": ["periodic", "jitter"], "B": ["periodic"], "C": ["jitter"]}
    for readings in (None, "AB", "C", "ABC"):
        study = loaded(path, False)
        if readings:
            study = load_study(path, choose={"jitter": list(readings)})
        kinds = {
            cell.labels["jitter"][0]: [n.kind for n in cell.variants[0].case.noise]
            for cell in study.cells()
        }
        assert kinds == {reading: wanted[reading] for reading in readings or "AB"}
        assert len(study.cells()) % len(kinds) == 0


def test_a_tenth_of_alpha():
    assert {case.network.alpha for _, case in cases("ms12_alpha")} == {1e-6, 1e-7}


@pytest.mark.parametrize("name", ["cs14_fig8", "cs14_fig9"])
def test_cycles(name):
    for _, case in cases(name):
        assert (case.cycles, case.message_bytes) == (10, 1)
        noise = case.noise[0]
        assert (noise.period, noise.duration, case.compute_time) in [
            (1e-2, 1e-4, 0.0), (1e-2, 1e-4, 0.00666667), (1e-1, 1e-4, 0.0666667),
        ]  # fmt: skip
    assert max(case.ranks for _, case in cases(name, full=True)) == 2**23
    if name == "cs14_fig9":
        assert {case.ranks for _, case in cases(name)} == {2**23}

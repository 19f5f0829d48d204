"""Merge of shards: bit for bit what one run makes; disagreements are refused."""

import json

import pytest
from support.scale import full_scale, scaled
from support.small_store import STUDY, TWO, content, make, numbers, put, study, ticks

from jitterfly.observables import Summary
from jitterfly.store import Store, merge

MOST = scaled(3000)
SUMMARIES = STUDY.replace("max = 200", f"max = {MOST}, raw_bytes = 640")
TARGETED = 'targets = ["mean of completion ± 3 %"]\n' + SUMMARIES


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def shards(out, described, parts=((0, 3), (1,), (2,)), sizes=(20, 300, 64)):
    names = [out / f"shard-{i + 1}-of-{len(parts)}" for i in range(len(parts))]
    for path, part, size in zip(names, parts, sizes, strict=True):
        make(path, described, part, size)
    return names


@pytest.mark.parametrize("text", [*map(full_scale, [STUDY, TWO, SUMMARIES]), TARGETED])
def test_shards_are_one_run(out, text):
    paths = shards(out, study(text))
    merged = merge(out)
    expected = numbers(make(out.with_name("one"), study(text)))
    assert numbers(merged) == numbers(Store.open(out)) == expected
    assert merged.meta["backend"] == ["cpu"]
    before = content(out / "records")
    merge(out, paths)
    merge(out, reversed([*paths, *paths]))
    assert content(out / "records") == before  # nothing twice
    assert numbers(make(out, study(text))) == expected  # nothing left to run


@pytest.mark.parametrize("text", [full_scale(STUDY), SUMMARIES])
def test_overlaps_that_agree(out, text):
    """However they were cut."""
    described = study(text)
    limit = study(text).budget.max
    for name, cuts, size in (("a", (0, 120), 50), ("b", (60, limit), 1000), ("c", (90, 130), 7)):
        with Store.create(out.with_name(name), described) as store:
            for cell in store.cells:
                put(store, cell, cuts[0], cuts[1] - cuts[0], size)
    merged = merge(out, [out.with_name(name) for name in "abc"])
    assert all(merged.complete(cell) for cell in merged.cells)
    assert numbers(merged) == numbers(make(out.with_name("one"), described))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [("± 3 %", "± 4 %", "targets"), (f"max = {MOST}", "max = 4000", "budget")],
)
def test_shards_with_other_aims_are_refused(out, old, new, key):
    """Of two precisions one would be lost."""
    make(out.with_name("a"), study(TARGETED), (0,), 40)
    make(out.with_name("b"), study(TARGETED.replace(old, new)), (1,), 40)
    with pytest.raises(ValueError, match=f"were run with other {key} "):
        merge(out, [out.with_name("a"), out.with_name("b")])
    assert not out.exists()


@pytest.mark.parametrize("realization", [60, 77, 119])
def test_samples_that_disagree(out, realization):
    described = study(TWO)
    make(out.with_name("a"), described, (0, 1), 40)
    with Store.create(out.with_name("b"), described) as store:
        cell = store.cells[1]
        found = ticks(cell, 50, 100)
        found.values[realization - 50, 3] += 1
        store.append(cell, 50, found, None, 100)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        merge(out, [out.with_name("a"), out.with_name("b")])
    message = str(caught.value)
    assert f"disagree about ranks=4, duration=10us, T=1, realization {realization}: " in message
    assert f"slow_{described.cells()[1].variants[1].hash}.jfr" in message
    was = ticks(cell, realization, 1).values[0, 3]
    assert message.endswith(f"{was} and {was + 1} ps")
    assert "\n" not in message
    assert not out.exists()  # nothing is written


def test_summaries_that_disagree(out):
    described = study(SUMMARIES, f"max = {MOST}", "max = 1200")
    make(out.with_name("a"), described, (0,), 20)
    with Store.create(out.with_name("b"), described) as store:
        cell = store.cells[0]
        found = ticks(cell, 1024, 64)
        found.values[-1, 0] += 1
        summary = Summary.of(found, described.measures(cell))
        store.append(cell, 1024, None, summary, 64)
    for order in ("ab", "ba"):
        with pytest.raises(
            ValueError, match=r"disagree about ranks=4, duration=1us, realizations 1,024 to 1,087$"
        ):
            merge(out, [out.with_name(name) for name in order])
    merge(out, [out.with_name("a")])
    with pytest.raises(ValueError, match="disagree about"):
        merge(out, [out.with_name("b")])  # with what is in `out` already


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 5", "seed = 6", "hold different runs .seed 5, not 6"),
        ('name = "small"', 'name = "other"', "study small, not other"),
        ('"1us", "10us"', '"1us", "20us"', "2 stored cases that"),
    ],
)
def test_other_studies(out, old, new, message):
    make(out.with_name("a"))
    make(out.with_name("b"), study(old=old, new=new))
    with pytest.raises(ValueError, match=message):
        merge(out, [out.with_name("a"), out.with_name("b")])
    assert not out.exists()


def test_other_versions_and_places(out):
    a = out.with_name("a")
    make(a)
    meta = json.loads((a / "store.json").read_text())
    (a / "store.json").write_text(json.dumps(meta | {"stream": 9}))
    with pytest.raises(ValueError, match="another version of jitterfly"):
        merge(out, [a])
    with pytest.raises(ValueError, match="holds no run"):
        merge(out, [out.with_name("b")])
    out.mkdir()
    with pytest.raises(ValueError, match="holds no shards"):
        merge(out)
    (out / "thesis.tex").write_text("years of work")
    make(out.with_name("c"))
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        merge(out, [out.with_name("c")])


def test_the_larger_study_stays(out):
    a, b = out.with_name("a"), out.with_name("b")
    make(a)
    large = study(old="values = [4, 8]", new="values = [4, 8, 16]")
    make(b, large, (4, 5))
    for order in ((a, b), (b, a)):
        merged = merge(out, order)
        assert len(merged.cells) == 6
        assert numbers(merged) == numbers(make(out.with_name("one"), large))
    merge(b, [a])
    assert numbers(Store.open(b)) == numbers(merged)
    merge(out.with_name("again"), [a, b])


def test_cells_that_a_source_has_no_longer_do_not_count(out):
    """It was larger once, so it has more cells on record than the others hold."""
    shrunk, other = out.with_name("shrunk"), out.with_name("other")
    make(shrunk)
    one_duration = STUDY.replace('"1us", "10us"', '"1us"')
    make(shrunk, study(one_duration, "[4, 8]", "[4]"))
    make(other, study(one_duration))
    merged = merge(out, [shrunk, other])
    assert len(merged.cells) == 2
    assert all(merged.complete(cell) for cell in merged.cells)


def test_sources_are_only_read(out):
    paths = shards(out.with_name("shards"), study(SUMMARIES))
    before = content(out.with_name("shards"))
    merge(out, paths)
    assert content(out.with_name("shards")) == before


def test_a_shard_with_damage_gives_what_is_whole(out, capsys):
    described = study()
    paths = shards(out, described)
    record = next((paths[1] / "records").iterdir())
    record.write_bytes(record.read_bytes()[:-5])
    merged = merge(out)
    assert "is no whole record; it counts as missing" in capsys.readouterr().err
    assert [merged.complete(cell) for cell in merged.cells] == [True, False, True, True]
    assert numbers(make(out, described)) == numbers(make(out.with_name("one"), described))

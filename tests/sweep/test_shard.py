"""Shards of a study, Slurm arrays: each cell in one shard; merged shards are the whole."""

import json
import re
from pathlib import Path

import pytest
from support import sweep_cases
from support.scale import full_scale

from jitterfly.cli import main
from jitterfly.fields import counted
from jitterfly.store import Store, merge
from jitterfly.store.cell_progress import run_progress
from jitterfly.sweep import Shard, run


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
def test_every_place_is_in_one_shard(count):
    cells = sweep_cases.study().cells()
    parts = [Shard(i, count).of(cells) for i in range(1, count + 1)]
    assert sorted(cell.index for part in parts for cell in part) == list(range(len(cells)))
    work = [max((cell.work for cell in part), default=0) for part in parts]
    assert work == sorted(work, reverse=True)
    assert all(part == sorted(part, key=lambda cell: cell.index) for part in parts)


@pytest.mark.parametrize(
    "text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "", "1/2000000", (1, 2), 1]
)
def test_no_shard(text, tmp_path):
    for make in (Shard.parse, lambda shard: run(sweep_cases.study(), tmp_path, shard=shard)):
        with pytest.raises(ValueError, match=re.escape("shard must be i/n with 1 <= i <= n")):
            make(text)


def slurm(**values):
    return {f"SLURM_ARRAY_TASK_{key}": str(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("environment", "shard"),
    [
        ({}, None),
        (slurm(ID=3, COUNT=4, MIN=1, MAX=4, STEP=1), Shard(3, 4)),
        (slurm(ID=0, COUNT=4, MIN=0, MAX=3, STEP=1), Shard(1, 4)),
        (slurm(ID=14, COUNT=3, MIN=10, MAX=18, STEP=4), Shard(2, 3)),
        (slurm(ID=5, COUNT=1, MIN=5, MAX=5, STEP=1), Shard(1, 1)),
        (slurm(ID=2, COUNT=8), Shard(2, 8)),
    ],
)
def test_slurm_array(environment, shard):
    assert Shard.from_slurm(environment) == shard


@pytest.mark.parametrize(
    "environment",
    [
        slurm(ID=7, COUNT=3, MIN=1, MAX=7, STEP=1),
        slurm(ID=2, COUNT=3, MIN=1, MAX=7, STEP=1),
        slurm(ID=2),
        slurm(ID="x", COUNT=3),
        slurm(ID=2, COUNT=4, MIN=1, MAX=7, STEP=2),
    ],
)
def test_slurm_array_that_tells_no_shard(environment):
    with pytest.raises(ValueError, match="give `shard` i/n"):
        Shard.from_slurm(environment)


def test_shard_of_the_environment(monkeypatch):
    for key, value in slurm(ID=2, COUNT=3).items():
        monkeypatch.setenv(key, value)
    assert Shard.from_slurm() == Shard(2, 3)


@pytest.mark.parametrize("text", [sweep_cases.STUDY, full_scale(sweep_cases.PLAIN)])
def test_shards_make_the_whole(tmp_path, text):
    """Bit for bit, also with targets and beyond the samples that are kept raw."""
    study = sweep_cases.study(text)
    run(study, tmp_path / "whole")
    parts = [Shard(1, 2), Shard(2, 2)]
    for shard in parts:
        store = run(study, tmp_path / "parts", shard=shard, batch_seconds=0.01)
        assert store.path == shard.folder(tmp_path / "parts")
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {
        "shard-1-of-2",
        "shard-2-of-2",
    }
    merge(tmp_path / "parts", [shard.folder(tmp_path / "parts") for shard in parts])
    assert sweep_cases.contents(tmp_path / "parts") == sweep_cases.contents(tmp_path / "whole")


def test_more_shards_than_places(tmp_path):
    store = run(sweep_cases.study(sweep_cases.PLAIN), tmp_path, shard="5/5")
    assert store.path == Path(tmp_path / "shard-5-of-5")
    assert not any(store.available(cell) for cell in store.cells)


def test_shards_that_go_on_after_an_early_merge(tmp_path, capsys):
    """What may be looked at before all is there says how, and that there is more later."""
    study = sweep_cases.study(sweep_cases.PLAIN)
    run(study, tmp_path, shard="1/2")
    with pytest.raises(ValueError, match="it has shards, which `jitterfly merge"):
        Store.open(tmp_path)
    merge(tmp_path, [tmp_path / "shard-1-of-2"])
    assert not run_progress(tmp_path).shards_hold_more
    run(study, tmp_path, shard="2/2")
    assert main(["status", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"shards in it have gone on since they were joined: jitterfly merge {tmp_path}" in told
    merge(tmp_path, [tmp_path / f"shard-{i}-of-2" for i in (1, 2)])
    assert not run_progress(tmp_path).shards_hold_more


def test_a_task_that_is_sent_again_by_itself(tmp_path, monkeypatch, capsys):
    """Of an array of one task all cells would be its own."""
    (tmp_path / "study.toml").write_text(sweep_cases.PLAIN)
    out = tmp_path / "out"
    command = ["run", "-q", str(tmp_path / "study.toml"), "--out", str(out)]
    assert main([*command, "--shard", "3/4"]) == 0
    for key, value in slurm(ID=4, COUNT=1, MIN=4, MAX=4, STEP=1).items():
        monkeypatch.setenv(key, value)
    assert main(command) == 2
    assert f"{out} has shard-3-of-4: give --shard i/n" in capsys.readouterr().err
    assert main([*command, "--shard", "4/4"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["shard-3-of-4", "shard-4-of-4"]


def test_status_of_shards_that_are_not_merged(tmp_path, capsys):
    """Each cell as its shard has it, a line for each shard, and the sum."""
    study = sweep_cases.study(sweep_cases.PLAIN)
    cells = len(study.cells())
    for shard in ("1/3", "3/3"):
        run(study, tmp_path, shard=shard)
    (tmp_path / "shard-2-of-3").mkdir()  # it has just begun
    progress = run_progress(tmp_path)
    done = [sum(cell.complete for cell in shard.cells) for shard in progress.shards]
    assert sum(cell.complete for cell in progress.cells) == sum(done) < cells
    assert main(["status", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"{sum(done)} of {cells} cells finished" in told
    for name, count in zip(("shard-1-of-3", "shard-3-of-3"), done, strict=True):
        assert f"{name}: {counted(count, 'cell')} finished" in told
    assert "not there: shard-2-of-3" in told
    assert main(["status", str(tmp_path), "--json", "--open"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [shard["finished"] for shard in found["shards"]] == done
    assert (found["finished"], found["cells"]) == (sum(done), cells)
    assert (found["missing"], found["running"]) == (["shard-2-of-3"], None)
    assert len(found["rows"]) == cells - sum(done)

    run(study, tmp_path, shard="2/3")
    assert all(cell.complete for cell in run_progress(tmp_path).cells)
    other = tmp_path / "other"
    run(sweep_cases.study(sweep_cases.STUDY), other, shard="2/3")
    (other / "shard-2-of-3").rename(tmp_path / "shard-1-of-4")
    with pytest.raises(ValueError, match=r"shard-1-of-4 are of different studies"):
        run_progress(tmp_path)

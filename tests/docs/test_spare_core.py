"""The guide on a core of each node for the system: its study, and the numbers that it tells."""

import re
from pathlib import Path

import pytest

import jitterfly as jf
from jitterfly.studies import load_study

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "spare_core.md"


def test_a_node_has_as_many_ranks_as_cores_that_work(tmp_path):
    text = GUIDE.read_text()
    (tmp_path / "spare.toml").write_text(re.search(r"<<'END'\n(.*?)^END$", text, re.S | re.M)[1])
    study = load_study(tmp_path / "spare.toml")
    quiet = {}
    for cell in study.cells():
        ((_, case),) = cell.cases.items()
        (node,) = case.network.spans
        assert case.ranks == 32 * node
        # The work of a node is the same, however many cores do it.
        assert case.compute_time * node == pytest.approx(64e-3, rel=1e-6)
        quiet[tuple(cell.labels.values())] = jf.simulate(case, 1).noise_free[-1]
    longer = (
        quiet["spared", "recursive_doubling_allreduce"]
        / quiet["used", "recursive_doubling_allreduce"]
    )
    assert f"{100 * (longer - 1):.1f} % longer without noise" in text

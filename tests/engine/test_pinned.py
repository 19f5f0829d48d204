"""Regression test: digests of all results, bit for bit, as in tests/data/pinned_results.json.

Oracles that know the model are elsewhere. This is what makes it safe to rebuild the engine: any
other way of computing the same thing has to give these bits, on any backend. If a result has to
change, for a fault that was found, `pinned_cases.py` says how the digests are made anew, and
CHANGELOG says what changed for a seed.
"""

import json

import pytest
from support.paths import DATA
from support.pinned_cases import FAMILIES, digest
from support.scale import some

PINNED = json.loads((DATA / "pinned_results.json").read_text())


@pytest.mark.parametrize(
    "backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)  # fmt: skip
@pytest.mark.parametrize("family", FAMILIES)
def test_every_bit_is_as_it_was(family, backend):
    cases = dict(FAMILIES[family]())
    assert cases.keys() == PINNED[family].keys()
    chosen = some(cases.items(), len(cases) // 8)
    found = {name: digest(case.ticks(backend)) for name, case in chosen}
    assert {name for name in found if found[name] != PINNED[family][name]} == set()


def test_the_corpus_is_large():
    assert sum(map(len, PINNED.values())) >= 400
    together = [code for family in PINNED.values() for code in family.values()]
    # Nearly each has a result of its own: there are few on one rank, or without any noise.
    assert len(set(together)) > 0.9 * len(together)

"""Philox random numbers: Random123's known answers, cuRAND's host generator, uniforms."""

import ctypes
import importlib.metadata
import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import philox

import jitterfly as jf
from jitterfly import _core
from jitterfly.simulate import noise_phases

ONES = 0xFFFFFFFF
# Random123, tests/kat_vectors: philox 4x32, 10 rounds.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
WORDS = st.integers(0, ONES)


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter, key, answer):
    assert tuple(philox.philox4x32(counter, key)) == answer
    assert tuple(_core.philox(counter, key)) == answer


@given(st.tuples(WORDS, WORDS, WORDS, WORDS), st.tuples(WORDS, WORDS))
def test_engine_equals_plain_python(counter, key):
    assert tuple(_core.philox(counter, key)) == philox.philox4x32(counter, key)


def test_a_stream_has_the_same_numbers_however_many_are_drawn_at_once():
    stream = philox.Pairs(3 << 60, 5, 7, 9)
    known = [philox.pair64(3 << 60, 5, 7, 9, number) for number in range(2000)]
    assert [stream(number) for number in range(2000)] == known
    assert philox.Pairs(3 << 60, 5, 7, 9)(1999) == known[-1]
    assert stream(40) == known[40]


def host_library():
    """cuRAND from the package nvidia-curand, whose host generators need no GPU; None without."""
    for package in ("nvidia-curand", "nvidia-curand-cu12"):
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name.startswith("libcurand.so"):
                return ctypes.CDLL(str(file.locate()))
    return None


class HostGenerator:
    """curandCreateGeneratorHost(CURAND_RNG_PSEUDO_PHILOX4_32_10)."""

    def __init__(self, library, seed):
        self._library = library
        self._handle = ctypes.c_void_p()
        philox4_32_10 = 161
        self._call("CreateGeneratorHost", ctypes.byref(self._handle), philox4_32_10)
        self._call("SetPseudoRandomGeneratorSeed", self._handle, ctypes.c_ulonglong(seed))

    def _call(self, name, *arguments):
        status = getattr(self._library, f"curand{name}")(*arguments)
        assert status == 0, f"curand{name}: status {status}"

    def generate(self, count):
        out = np.zeros(count, dtype=np.uint32)
        address = ctypes.c_void_p(out.ctypes.data)
        self._call("Generate", self._handle, address, ctypes.c_size_t(count))
        return out

    def close(self):
        self._call("DestroyGenerator", self._handle)


@pytest.fixture
def curand():
    library = host_library()
    if library is None:
        required = sys.platform == "linux" and os.environ.get("CI")
        (pytest.fail if required else pytest.skip)("nvidia-curand is not installed")
    return library


@pytest.mark.parametrize("seed", [0, 7, 0x123456789ABCDEF0, 2**64 - 1])
def test_curand_host_generator(curand, seed):
    """Every counter that cuRAND's default ordering visits gives cuRAND's words.

    Found by search, not documented: the ordering takes one block of four words from each of 65536
    subsequences in turn, then the next block of each. Value n is word n mod 4 of the block with
    counter (n div 2^18, 0, n div 4 mod 2^16, 0); the key is the seed, low word first.
    """
    generator = HostGenerator(curand, seed)
    values = generator.generate(3 << 18)
    generator.close()
    key = seed & ONES, seed >> 32
    numbers = [*range(64), *range(2**18 - 8, 2**18 + 8), *range(3 * 2**18 - 8, 3 * 2**18)]
    numbers += [int(n) for n in np.random.default_rng(seed).integers(0, 3 * 2**18, 2000)]
    for n in numbers:
        counter = n >> 18, 0, n >> 2 & 0xFFFF, 0
        assert _core.philox(counter, key)[n & 3] == values[n]


def case(ranks, **options):
    noise = jf.PeriodicNoise(**{"period": 1e-3, "duration": 1e-5, **options})
    return jf.Case(ranks, network=jf.Hockney(1e-6, 1e-9), noise=[noise])


@pytest.mark.filterwarnings("ignore::jitterfly.LongTimeWarning")
@pytest.mark.parametrize("shared", [False, 4, 64, "machine"])
@pytest.mark.parametrize("period", [1e-3, 12.345e-9, 3e-12, 5000.0])
def test_phases_equal_plain_python(period, shared):
    seed, realization = 0xFEDCBA9876543210, 2**32 - 5
    noise = {"period": period, "duration": period / 3, "shared": shared}
    found = noise_phases(case(64, **noise), seed=seed, realization=realization)
    nodes = {False: 1, "machine": 64}.get(shared, shared)
    ticks = round(period * 1e12)
    expected = [philox.periodic_phase(seed, realization, i, ticks, nodes) for i in range(64)]
    np.testing.assert_array_equal(found, np.array(expected) / 1e12)


def test_uniform_numbers_are_dense_near_zero():
    """The smallest of 2^16 phases in 2^60 ticks must not sit on a coarse grid.

    24- or 32-bit uniforms would leave the low 36 or 28 bits of every phase 0; here each of the low
    28 bits is set in half of the phases. 6 standard deviations, 56 counts: false alarms below 2e-7.
    """
    ranks, period = 2**16, 2**60
    program = _core.Program(log2_ranks=16, steps=np.array([[1, 0, 2, *[0] * 7, 1]], dtype=np.int32),
                            rows=1, send=0, receive=0, transit=1, combine=0, work=0,
                            forward=0)  # fmt: skip
    program.add_periodic(period=period, duration=1, stationary=False, node_ranks=1)
    phases = _core.phases(program, 11, 0)
    smallest = np.sort(phases)[: ranks // 64]  # near zero, where the tail of a maximum comes from
    for values in (phases, smallest):
        for bit in range(28):
            ones = int((values >> bit & 1).sum())
            assert abs(ones - len(values) / 2) < 6 * (len(values) / 4) ** 0.5

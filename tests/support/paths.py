"""Paths of the repository's folders."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
CUDA = ROOT / "cuda"
SWEEPS = ROOT / "sweeps"
EXAMPLES = SWEEPS / "examples"
DATA = TESTS / "data"
NOISE_SAMPLES = DATA / "noise"
NETWORK_MAPS = DATA / "network-maps"
EMULATION = TESTS / "emulation"
PTX = TESTS / "ptx"

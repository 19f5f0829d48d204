"""One call of the butterfly under periodic noise on a GPU, for a profiler: ranks, realizations."""

import sys

from bench import measure

from jitterfly import simulate

case = measure.programs(int(sys.argv[1]), measure.NOISES["periodic"])["butterfly"]
simulate(case, int(sys.argv[2]), seed=7, backend="cuda")

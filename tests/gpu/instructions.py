"""Instructions of a thread per rank-round, from what ncu counted of `butterfly.py`.

Those that warps executed, times 32 threads, over the rank-rounds; all kernels of the call together.
The last line is what `python -m bench --instructions` takes. Arguments: ncu's CSV file, ranks and
realizations.
"""

import csv
import sys
from pathlib import Path

from bench import measure

path, ranks, realizations = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
case = measure.programs(ranks, measure.NOISES["periodic"])["butterfly"]
work = case.rank_rounds() * realizations
with path.open() as file:
    rows = list(csv.DictReader(line for line in file if line.startswith('"')))
kernels: dict[str, float] = {}
for row in rows:
    if row["Metric Name"] == "smsp__inst_executed.sum":
        warps = float(row["Metric Value"].replace(",", ""))
        name = row["Kernel Name"].split("(")[0]
        kernels[name] = kernels.get(name, 0) + warps
for name, warps in kernels.items():
    print(f"{ranks} ranks, {name}: {32 * warps / work:.2f} instructions per rank-round")
total = 32 * sum(kernels.values()) / work
if not total:
    sys.exit("the profiler counted nothing")
print(f"counted {ranks}={total:.3f}")

"""`jitterfly bench`: throughput of the engine here, beside NumPy and the machine's limit.

`measure` times, `limits` says what the machine allows, `benchmark` makes results and the report.
`cli.bench` has the options, `plots.bench` draws. What judges the engine itself (goals, peers,
comparison of two results) is a tool of its developers, in tests/bench.
"""

from .benchmark import report, run, to_csv
from .measure import DisagreementError, Plan

__all__ = ["DisagreementError", "Plan", "report", "run", "to_csv"]

"""`jitterfly bench`: how fast the engine is on this machine, beside NumPy and beside its limit.

`measure` times, `limits` says what the machine allows, `benchmark` makes results and the report.
`cli.bench` has the options, `plots.bench` draws. What judges the engine itself (goals, peers,
comparison of two results) is a tool of its developers, in tests/bench.
"""

from .benchmark import report, run, to_csv
from .measure import DisagreementError, Plan

__all__ = ["DisagreementError", "Plan", "report", "run", "to_csv"]

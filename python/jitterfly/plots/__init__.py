"""The figures of studies: one module for each kind, found here by its name.

A module has `draw(results) -> matplotlib Figure`. matplotlib is imported only when one is drawn.
"""

FIGURES = {
    "slowdown": "slowdown",
    "overhead": "overhead",
    "cycles": "cycles",
}

"""The figures of studies: one module for each kind, found by its name (`analysis.figures`).

A module has `draw(results, observable) -> matplotlib Figure`. matplotlib is imported only when one
is drawn.
"""

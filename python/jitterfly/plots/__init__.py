"""The figures of studies: one module for each kind of study, found by its name.

A module has `draw(results) -> matplotlib Figure`. matplotlib is imported only when one is drawn.
"""

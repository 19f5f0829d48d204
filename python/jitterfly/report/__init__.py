"""The report of a reproduction: every figure beside its claims, in one HTML file.

`model` is what a report holds, `page` turns it into HTML and knows nothing of studies and stores,
`collect` fills it from a run, `reproduce` runs the studies.
"""

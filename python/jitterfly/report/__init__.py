"""HTML report of `jitterfly reproduce`: every figure of the papers beside its claims.

`document` is what a report holds, `page` turns it into HTML and knows nothing of studies and
stores, `sections` fills it from runs, `hsl09` and `theory` add what no study is, and `reproduce`
runs the studies.
"""

"""HTML report of `jitterfly reproduce`: every figure of the papers beside its claims.

`report_content` is what a report holds, `html_page` turns it into HTML and knows nothing of studies
and stores, `claims_table` is that of all claims, `sections` fills a report from runs, `hsl09` and
`theory` add what no study is, and `reproduce` runs the studies.
"""

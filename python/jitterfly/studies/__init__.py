"""Studies: a description of many cases, its run, its records, and what they say."""

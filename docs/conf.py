"""Configuration of Sphinx (documentation build).

`sphinx-build -W --keep-going docs docs/_build/html` builds the pages.
"""

import sys
from pathlib import Path

import jitterfly

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "jitterfly"
author = "The jitterfly developers"
project_copyright = author
release = version = jitterfly.__version__

extensions = [
    "file_tree",
    "mathml",
    "myst_parser",
    "public_names",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # included files begin with headings of the second level

# Text in single quotes of docstrings is the name of an object where there is one.
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_rtype = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "jitterfly"
html_static_path = ["_static"]
html_css_files = ["output.css"]
html_copy_source = False

linkcheck_timeout = 20
linkcheck_ignore = [r"https://doi\.org/.*"]  # publishers refuse programs

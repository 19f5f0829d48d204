"""Last module of the fork server: what is imported by then is no garbage to search for.

Otherwise each forked process goes through all of it once or twice, and so gets copies of its pages,
which takes longer than most of what it is forked for.
"""

import gc
import os

gc.collect()
gc.freeze()
# The server alone needed the first one, to find this module.
_, _, others = os.environ.pop("PYTHONPATH").partition(os.pathsep)
if others:
    os.environ["PYTHONPATH"] = others

"""Fork server: a process with jitterfly imported, which forks for each of a test's processes.

To start Python and import the modules takes longer than most of what tests do in a process. All
tests share this one: it is started once, with what was asked for before.
"""

import multiprocessing

FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["jitterfly.sweep", "jitterfly.store.export", "scipy.special"])

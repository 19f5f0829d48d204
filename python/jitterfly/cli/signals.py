"""Signals: Ctrl-C (SIGINT), SIGTERM (`kill`, Slurm's time limit) end a long run in order.

The engine stops where it polls: `cpu/thread_pool.cpp` and `noise/walk.h`, on a GPU `Pace` of
`gpu/batch_size.h`, all in cuda. A second signal ends the process wherever it is. Python does not
answer that one, since its handlers wait until code in C has returned. While the command still loads
it is `interrupts_while_loading`. What a command that was stopped prints and returns is in
`cli/__init__.py`; what is kept of its run, in `sweep.driver`.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from ..backends import core
from ..interrupts_while_loading import stop_at_once

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A launcher may pass on a signal that this process has had already: that is no second request.
_SAME = 0.5


class Stopping:
    """A context in which the first signal raises KeyboardInterrupt, and the second one ends.

    What catches KeyboardInterrupt, to keep what there is and to say so, so serves both signals.
    In a thread other than the main one nothing is changed: Python handles no signal there.

    Where the process ends `with_process`, nothing is left for a signal to stop: the first one would
    show a traceback while Python clears up.
    """

    def __init__(self, *, with_process: bool = False) -> None:
        self.with_process = with_process
        self.by: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        # A signal that is ignored (`nohup`, a background job of a script) stays so.
        usual = (signal.SIG_DFL, signal.default_int_handler, stop_at_once)
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if handler in usual:
                try:
                    signal.signal(number, self._stop)
                except ValueError:  # not the main thread
                    break
                self.before[number] = handler
        if self.before:
            core.end_on_second_signal(list(self.before), _SAME)
        return self

    def __exit__(self, *_: object) -> None:
        if self.with_process and self.by is not None:
            return  # the next one ends the process
        for number, handler in self.before.items():
            signal.signal(number, signal.SIG_DFL if self.with_process else handler)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if self.by is None:  # else it is the same once more, or both came at once
            self.by = number
            raise KeyboardInterrupt(*(["SIGTERM"] if number == signal.SIGTERM else []))

    def code(self, code: int) -> int:
        """The exit code of a command that ended with `code`: 143 in place of 130 after SIGTERM."""
        if self.by is not None:
            # Where the last string that was executed (as an import of SciPy does hundreds of times)
            # ended by KeyboardInterrupt, `python -m` kills itself by SIGINT in the end, though the
            # exception was caught. Another string that is executed clears this mark of Python's.
            exec("")
        return 143 if code == 130 and self.by == signal.SIGTERM else code

"""Reference state machine of one rank in the butterfly: data held, messages arrived, next step.

The butterfly and the forwards after it are two machines of the same rank. The butterfly goes on
when a forward has already brought the final data: other ranks still wait for this rank's messages
(docs/model.md, "Limits").
"""

# Order of the events of one instant (of one cycle). Third entry: lower levels and stages first.
ENTER = (0,)
ARRIVE = (1,)
TAKE_ORIGINAL = (2,)


def take_copy(level):
    return 3, level


ASK = (8,)  # only if nothing has come by then


def hold_own(stage):
    return 4, stage, 0


def hold_forwarded(stage):
    return 4, stage, 1  # on a tie a rank keeps its own data


class Collective:
    """State machine of `rank` in the collective of `cycle`."""

    def __init__(self, run, rank, cycle):
        self.run = run
        self.rank = rank
        self.cycle = cycle
        self.level = None  # None: still computing
        self.busy = None  # when the CPU is free again
        self.data = {0: frozenset([rank])}  # level -> the ranks whose input is in it
        self.originals = {}  # inbox: round -> (arrival, data)
        self.copies = {}  # inbox: (level, xor of mirror) -> (arrival, data the sender holds)
        self.ready = {}  # level -> when its data can be read
        self.questions = {}  # level -> those who wait for its data: what to call with the time
        self.stages = set()  # forward steps of which the final data is held; 0 = the butterfly's
        self._plan = 0

    # The butterfly.

    def enter_at(self, t):
        self.run.at(t, self.cycle, ENTER, self._enter)

    def _enter(self, now):
        if self.cycle == 0:
            self.run.record(0, self.rank, now)
        self.level = 0
        self.busy = now
        if self.run.levels == 0:
            self._finish_butterfly(now)
        else:
            self._send_original(0)
            self._wait()
            self._look(now)

    def _send_original(self, number):
        """Send the message of a round from `busy` on, to the partner of that round."""
        run, peer = self.run, self.rank ^ 1 << number
        self.busy = run.noise.send(self.rank, self.busy, run.costs.send, self.cycle, number)
        there = run.arrival(self.busy, "original", self.rank, peer, self.cycle, number)
        data = self.data[number]

        def arrive(now):
            receiver = run.machine(peer, self.cycle)
            receiver.originals[number] = now, data
            receiver._look(now)

        run.at(there, self.cycle, ARRIVE, arrive)

    def _send_copies(self, level):
        """Send all that is held to each mirror in turn, which may adopt `level` from it."""
        run, data = self.run, dict(self.data)
        for number, mask in enumerate(run.mirrors):
            if mask < 1 << level:
                self.busy = run.noise.pass_on(self.rank, self.busy, run.costs.send)
                self._copy(level, mask, number, self.busy, data)

    def _copy(self, level, mask, number, left, data):
        run, receiver = self.run, self.rank ^ mask
        there = run.arrival(left, "copy", self.rank, receiver, self.cycle, level - 1, number)

        def arrive(now):
            machine = run.machine(receiver, self.cycle)
            machine.copies[level, mask] = now, data
            machine._look(now)

        run.at(there, self.cycle, ARRIVE, arrive)

    # Copies on demand: the network of the mirror answers, its CPU has no part in it.

    def _wait(self):
        """From `busy` on the rank waits for its next level, with the run's patience."""
        run, level = self.run, self.level
        if level + 1 in run.asked:
            run.at(
                self.busy + run.costs.patience, self.cycle, ASK, lambda now: self._ask(level, now)
            )

    def _ask(self, level, now):
        if self.level != level or self.originals.get(level, (now + 1,))[0] <= now:
            return
        run, mirror = self.run, self.run.machine(self.rank ^ 1, self.cycle)
        self.busy = run.noise.pass_on(self.rank, now, run.costs.ask)
        run.questions_asked += 1

        def reach_mirror(now):
            if level + 1 in mirror.data:
                answer(max(now, mirror.ready[level + 1]))
            else:
                mirror.questions.setdefault(level + 1, []).append(answer)

        def answer(time):
            mirror._copy(level + 1, 1, 0, time, dict(mirror.data))

        run.at(self.busy + run.costs.request, self.cycle, ARRIVE, reach_mirror)
        self._look(now)

    def _choice(self):
        """The message to take next as (arrival, kind, level, mask), None if nothing useful is here.

        The earliest arrival wins; on a tie the original, then the copy of the lower level. Who
        takes a copy sends the data of the levels between from it: the mirror's must be the same.
        """
        useful = [
            (arrival, 1, level, mask)
            for (level, mask), (arrival, _) in self.copies.items()
            if level > self.level and mask < 2 << self.level
        ]
        if self.level in self.originals:
            useful.append((self.originals[self.level][0], 0, self.level + 1, 0))
        return min(useful, default=None)

    def _look(self, now):
        """Plan the next message to take; an older plan is void, since something has changed."""
        self._plan += 1
        if self.level is None or (choice := self._choice()) is None:
            return
        plan = self._plan

        def take(now):
            if plan == self._plan:
                _, is_copy, level, mask = choice
                if is_copy:
                    self._take_copy(level, mask, now)
                else:
                    self._take_original(level, now)
                self._look(now)

        order = take_copy(self.level) if choice[1] else TAKE_ORIGINAL
        self.run.at(max(self.busy, now), self.cycle, order, take)

    def _take_original(self, level, now):
        run = self.run
        received = self.originals[level - 1][1]
        mine = self.data[level - 1]
        assert mine.isdisjoint(received), "an input would be combined twice"
        work = run.costs.receive + run.slowed(self.rank, run.costs.combine, now)
        ready = run.noise.receive(self.rank, now, work, self.cycle, level - 1)
        self._reach(level, mine | received, ready)
        self.busy = ready
        if level == run.levels:
            self._finish_butterfly(ready)
        else:
            self._send_original(level)
            if level in run.within:
                self._send_copies(level)
            self._wait()

    def _take_copy(self, level, mask, now):
        run = self.run
        received = self.copies[level, mask][1]
        ready = run.noise.receive(self.rank, now, run.costs.receive, self.cycle, level - 1)
        self.busy = ready
        passed = range(self.level + 1, level + 1)
        for reached in passed:  # the copy brings the levels that are skipped, too
            self._reach(reached, received[reached], ready)
        for reached in passed:
            if reached < run.levels:
                self._send_original(reached)
        if level == run.levels:
            self._finish_butterfly(ready)
        else:
            self._wait()
        run.copies_taken += 1
        run.levels_skipped += len(passed) - 1

    def _reach(self, level, data, ready):
        block = self.rank >> level << level
        assert data == frozenset(range(block, block + (1 << level))), "wrong inputs combined"
        self.level = level
        self.data[level] = data
        self.ready[level] = ready
        for answer in self.questions.pop(level, []):
            answer(ready)
        row = self.cycle * self.run.rows_per_cycle + level
        self.run.record(row, self.rank, ready)

    def _finish_butterfly(self, ready):
        data = self.data[self.run.levels]
        self.run.at(ready, self.cycle, hold_own(0), lambda now: self._hold(0, now, now, data))

    # Forwards after the butterfly: the data of stage m is what stage m-1 had or what its message
    # brought, whichever is first. A message may come before the rank's own stage m-1; that stage is
    # then reached later, as it is what other stages and the butterfly's statistics are made of.

    def _hold(self, stage, now, free, data):
        """Hold the final data of a stage; `free` is when the CPU is done with its sends."""
        if stage in self.stages:
            return  # too late
        run = self.run
        assert data == run.everyone, "the result lacks a rank's input"
        self.stages.add(stage)
        first = self.cycle * run.rows_per_cycle + run.final_row
        if stage:
            run.record(first + stage, self.rank, now)
        if stage == run.after:
            run.record(first + stage + 1, self.rank, now)
            run.start_cycle(self.rank, self.cycle + 1, free)
        elif stage + 1 not in self.stages:  # else it came from the partner: not sent back
            self._forward(stage + 1, now, free, data)

    def _forward(self, stage, now, free, data):
        run, peer = self.run, self.rank ^ 1 << stage - 1
        if peer >= run.ranks:  # nobody to exchange with
            run.at(now, self.cycle, hold_own(stage), lambda t: self._hold(stage, t, free, data))
            return
        free = run.noise.pass_on(self.rank, free, run.costs.forward)
        there = run.arrival(free, "forward", self.rank, peer, self.cycle, stage - 1)
        receiver = run.machine(peer, self.cycle)
        run.at(now, self.cycle, hold_own(stage), lambda t: self._hold(stage, t, free, data))
        adopt = hold_forwarded(stage)
        run.at(there, self.cycle, adopt, lambda t: receiver._hold(stage, t, t, data))


def labels_of(run):
    labels = [*run.labels, *(f"forward {m}" for m in range(1, run.after + 1)), "end"]
    if run.cycles > 1:
        labels = [f"cycle {c}, {label}" for c in range(1, run.cycles + 1) for label in labels]
    return ["start", *labels]

"""Reference of GOAL schedules by LogGOPSim's rules, messages taken as they arrive (ns).

A GOAL schedule is executed event by event. A send needs the CPU, for o + (n - 1) O, and the link
out, for g + (n - 1) G; its message is there o + L later, whatever O is. It takes the link in, for
g + (n - 1) G, and the CPU, for o and the larger of (n - 1) O and (n - 1) G, as soon as both are
free: in the order of arrival. All times are ns.
"""

import heapq


def finish(ranks, L, o=0, g=0, G=0, O=0):  # noqa: E741
    """When the last rank is done; `ranks` has operations and requirements as a GOAL text has."""
    return Run(ranks, L, o, g, G, O).execute()


class Run:
    def __init__(self, ranks, L, o, g, G, O):  # noqa: E741
        self.ranks = ranks
        self.latency, self.overhead, self.gap = L, o, g
        self.per_byte, self.cpu_per_byte = G, O
        self.cpu, self.link_out, self.link_in = ([0] * len(ranks) for _ in range(3))
        self.left = [{name: set(needs[name]) for name in ops} for ops, needs in ranks]
        self.posted, self.taken = {}, set()
        self.events, self.count = [], 0

    def push(self, time, *event):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, event))

    def start_free(self, rank):
        free = [name for name, needs in self.left[rank].items() if not needs]
        for name in free:
            del self.left[rank][name]
            self.push(self.cpu[rank], "operation", rank, name)

    def done(self, rank, name):
        for needs in self.left[rank].values():
            needs.discard(name)
        self.start_free(rank)

    def execute(self):
        for rank in range(len(self.ranks)):
            self.start_free(rank)
        while self.events:
            time, _, (kind, *what) = heapq.heappop(self.events)
            getattr(self, kind)(time, *what)
        assert not any(self.left)
        assert not self.posted
        return max(self.cpu)

    def operation(self, time, rank, name):
        kind, size, peer, tag = self.ranks[rank][0][name]
        if kind == "recv":
            message = peer, rank, tag
            if message in self.taken:
                self.done(rank, name)
            else:
                self.posted[message] = name
            return
        free = self.cpu[rank] if kind == "calc" else max(self.cpu[rank], self.link_out[rank])
        if free > time:
            self.push(free, "operation", rank, name)
        elif kind == "calc":
            self.cpu[rank] = time + size
            self.done(rank, name)
        else:
            self.cpu[rank] = time + self.overhead + (size - 1) * self.cpu_per_byte
            self.link_out[rank] = time + self.gap + (size - 1) * self.per_byte
            self.push(time + self.overhead + self.latency, "arrival", rank, peer, tag, size)
            self.done(rank, name)

    def arrival(self, time, sender, rank, tag, size):
        free = max(self.cpu[rank], self.link_in[rank])
        if free > time:
            self.push(free, "arrival", sender, rank, tag, size)
            return
        further = (size - 1) * max(self.cpu_per_byte, self.per_byte)
        self.cpu[rank] = time + self.overhead + further
        self.link_in[rank] = time + self.gap + (size - 1) * self.per_byte
        self.taken.add((sender, rank, tag))
        name = self.posted.pop((sender, rank, tag), None)
        if name is not None:
            self.done(rank, name)

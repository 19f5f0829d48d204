"""Schedule files: LogGOPSim's binary, and damaged files."""

import random
import struct

from reference.schedules import as_text, random_schedule

SAMPLE_RANKS = random_schedule(random.Random("sample"), 3, 25, 2, 2)
SAMPLE = as_text(SAMPLE_RANKS).encode()


def loggopsim_binary(ranks):
    """What LogGOPSim's txt2bin makes: see cuda/schedule/loggopsim_binary.cpp for the format."""
    numbers = {"send": 1, "recv": 2, "calc": 3}
    cpus = [op.cpu for ops in ranks for op in ops]
    nics = [op.nic for ops in ranks for op in ops]
    head = struct.pack("<QIBB", 4223, len(ranks), max(cpus, default=0), max(nics, default=0))
    place, table, bodies = 6 + 16 * len(ranks), b"", b""
    for ops in ranks:
        roots = [i for i, op in enumerate(ops) if not op.needs and not op.starts]
        body, appendix = struct.pack(f"<II{len(roots)}I", len(ops), len(roots), *roots), []
        for i, op in enumerate(ops):
            body += struct.pack("<IBIQIBB", len(op.needs) + len(op.starts), numbers[op.kind],
                                op.peer, op.size, op.tag, op.cpu, op.nic)  # fmt: skip
            for how in ("needs", "starts"):
                after = [j for j, other in enumerate(ops) if i in getattr(other, how)]
                body += struct.pack("<II", len(after), len(appendix))
                appendix += after
        body += struct.pack(f"<{len(appendix)}I", *appendix)
        table += struct.pack("<QQ", place, place + len(body))
        place += len(body)
        bodies += body
    return head + table + bodies


def mutated(rng, content):
    """Some bytes changed, cut out, or put elsewhere."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        match rng.randrange(4):
            case 0:
                content[at : at + 1] = bytes([rng.choice([0, 10, 32, 45, 58, 123, 125, 255])])
            case 1:
                del content[at : at + rng.choice([1, 5, 50])]
            case 2:
                begin = rng.randrange(len(content) + 1)
                content[at:at] = content[begin : begin + rng.choice([1, 4, 8, 30])]
            case 3:
                content[at : at + 4] = rng.getrandbits(32).to_bytes(4, "little")
    return bytes(content)

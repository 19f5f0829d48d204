"""Random cases of congestion, for the engine and for the reference."""

from reference import congestion as plain

from jitterfly.congestion import PATTERNS, PERTURBATIONS, CongestionCase, FatTree
from jitterfly.congestion.network_map import parse_links

ROUTINGS = ("d-mod-k", "s-mod-k", "hash", "random")


def random_tree(random, most=80):
    while True:
        height = random.randint(1, 4)
        m = [random.randint(1, 6) for _ in range(height)]
        w = [random.randint(1, 3) for _ in range(height)]
        p = [random.choice([1, 1, 2, 3]) for _ in range(height)]
        routing = random.choice(ROUTINGS)
        salt = random.randrange(2**64) if routing == "hash" else 0
        tree = plain.Tree(m, w, p, routing, salt)
        if 2 <= tree.hosts <= most:
            return tree, FatTree(m, w, p, routing, salt)


def random_graph(random, path):
    """A connected network of switches, shortest routes with random choices, in a file."""
    hosts, switches = random.randint(2, 20), random.randint(1, 6)
    links = [(hosts + i, hosts + random.randrange(i)) for i in range(1, switches)]
    links += [(hosts + random.randrange(switches), hosts + random.randrange(switches))
              for _ in range(random.randint(0, 6))]  # fmt: skip
    links += [(host, hosts + random.randrange(switches)) for host in range(hosts)]
    edges = [e for a, b in links if a != b for e in ((a, b), (b, a))]
    random.shuffle(edges)
    reach = [None if tail < hosts else set() for tail, _ in edges]
    for d in range(hosts):
        far = {d: 0}
        for node in (queue := [d]):
            for tail, head in edges:
                if head == node and tail not in far:
                    far[tail] = far[node] + 1
                    queue.append(tail)
        for node in range(hosts, hosts + switches):
            ways = [i for i, (t, h) in enumerate(edges) if t == node and far[h] == far[node] - 1]
            for way in random.sample(ways, random.randint(1, len(ways))):
                reach[way].add(d)
    names = [f"H{host:03}" for host in range(hosts)] + [f"S{i}" for i in range(switches)]
    words = ["*" if r is None else ", ".join(names[d] for d in sorted(r)) for r in reach]
    lines = [
        f'"{names[t]}" -> "{names[h]}" [comment="{comment}"];'
        for (t, h), comment in zip(edges, words, strict=True)
    ]
    path.write_text("digraph network {\n" + "\n".join(lines) + "\n}\n")
    return plain.Graph(hosts, [(t, h, r) for (t, h), r in zip(edges, reach, strict=True)])


def random_case(random, network):
    """A case, and its rule is "bandwidth" where pattern "none" wants one."""
    while True:
        ranks = random.choice([network.hosts, random.randint(2, network.hosts)])
        perturbation = random.choice(PERTURBATIONS)
        name = random.choice(PATTERNS)
        others = random.randint(0, ranks) if name != "none" else ranks
        if ranks - others < 2 and name != "none":
            continue
        if name == "none" and perturbation == "none":
            continue
        if others == 1 and perturbation != "none":
            continue
        return CongestionCase(
            network,
            pattern=name,
            perturbation=perturbation,
            ratio=others / ranks,
            rule="bandwidth" if name == "none" else random.choice(["orcs", "ready"]),
            ranks=ranks,
        )


def as_discovered(text):
    """The network in a digraph as ibnetdiscover and ibroute print it."""
    links = parse_links(text, "map")
    ports = {}  # of each node, in order: its edges
    for edge, tail in enumerate(links.tails):
        ports.setdefault(tail, []).append(edge)
    number = {edge: i for edges in ports.values() for i, edge in enumerate(edges, 1)}
    between = {}
    for edge, ends in enumerate(zip(links.tails, links.heads, strict=True)):
        between.setdefault(ends, []).append(edge)
    back = {
        edge: between[b, a][i] for (a, b), edges in between.items() for i, edge in enumerate(edges)
    }
    count = len(links.hosts)
    names = [f"{'H' if n < count else 'S'}-{n:016x}" for n in range(links.nodes)]
    topo, lfts = [], []
    for node in range(links.nodes):
        kind = "Ca" if node < count else "Switch"
        topo += ["", f"switchguid={node:#x}({node:x})"][: 1 + (node >= count)]
        topo.append(f'{kind}\t64 "{names[node]}"\t\t# "name" lid {node + 1} lmc 0')
        for edge in ports[node]:
            other = number[back[edge]]
            lid = f"lid {node + 1} lmc 0" if node < count else '"name" lid 1'
            topo.append(f'[{number[edge]}]\t"{names[links.heads[edge]]}"[{other}]\t\t# {lid} 4xQDR')
        if node >= count:
            lfts.append(f"Unicast lids [0x0-0xff] of switch Lid 1 guid {node:#018x} (name):")
            taken = {}
            for edge in reversed(ports[node]):
                taken |= dict.fromkeys(links.reach[edge], edge)
            lfts += [f"{d + 1:#06x} {number[e]:03} : (x)" for d, e in sorted(taken.items())]
    return "\n".join(topo), "\n".join(lfts)

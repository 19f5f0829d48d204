"""Commands `jitterfly network ...`: fat trees, InfiniBand maps, congestion, LogGP parameters."""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import extensions
from ..answer import ShownTable, show
from ..fields import check_choice, naming_fields, shorten
from ..units import parse_seconds
from .options import add_backend, count, share, size, value
from .output import add_json, print_json, show_phases

if TYPE_CHECKING:
    from ..congestion import Topology

_MAX_CHILDREN = 512  # of a switch in a tree that an error names


def add_parser(commands: Any) -> None:
    """Add the command and its own to argparse's."""
    added = [name for name in extensions.names(extensions.COMMANDS) if name.startswith("network.")]
    short = [name.removeprefix("network.") for name in added]
    network = commands.add_parser(
        "network",
        help="L, o, g, G from a measurement; congestion in fat trees and networks from files",
    )
    actions = network.add_subparsers(
        dest="action",
        metavar=f"{{{','.join(['parameters', 'info', 'run', *short])}}}",
        required=True,
        parser_class=type(network),
    )
    parameters = actions.add_parser(
        "parameters",
        help="L, o, g, G from a benchmark's output, to paste after --network",
        description="Reads the output of Netgauge's loggp or one_one, of OSU's latency test "
        "(osu_latency), of IMB's PingPong, of perftest's latency tests (ib_write_lat), of "
        "fi_pingpong, or of ucx_perftest with its commands. What --network takes goes to standard "
        "output; what the file determines of it, and what not, to standard error.",
    )
    parameters.add_argument("file", metavar="FILE")
    parameters.add_argument(
        "--bytes",
        dest="most_bytes",
        metavar="N",
        help="the largest message that is used (default: all)",
    )
    parameters.add_argument(
        "--from-bytes",
        dest="least_bytes",
        metavar="N",
        help="the smallest, of a ping-pong (default: 1)",
    )
    parameters.add_argument(
        "--overhead",
        metavar="TIME",
        help="o, which OSU and IMB do not measure: without it o=? is to be filled in",
    )
    parameters.add_argument(
        "--quantile",
        type=share,
        metavar="Q",
        help="of the times of each size, such as 0.5, instead of their mean, which holds the noise "
        "of the machine (osu_latency -z has 0.5, 0.9 and 0.99, Netgauge's one_one all)",
    )
    add_json(parameters)
    parameters.set_defaults(run=_parameters)
    info = actions.add_parser("info", help="hosts, switches, effective bisection bandwidth")
    _add_map_options(info)
    add_json(info)
    info.set_defaults(run=_info)
    run = actions.add_parser(
        "run", help="slowdown of a pattern on random hosts by others' traffic, with its interval"
    )
    _add_map_options(run)
    run.add_argument(
        "--pattern",
        default="tree",
        help="tree (default), reduce, bruck, recdbl, ring, gather or scatter",
    )
    run.add_argument("--perturbation", default="rand", help="rand (default), bisect or bisect_fb")
    run.add_argument(
        "--ratio",
        type=share,
        default=0.5,
        help="perturbing ranks / ranks of both patterns, --ranks (default: 0.5)",
    )
    run.add_argument(
        "--rule",
        default="orcs",
        help="orcs (default), orcs1, ready, level_sync or sum_max_cong",
    )
    run.add_argument(
        "--ranks",
        type=count,
        metavar="N",
        help="of both patterns, the collective and the others (default: all hosts)",
    )
    add_json(run)
    run.set_defaults(run=_run_network)
    extensions.add_commands(actions, added)


def _parameters(chosen: argparse.Namespace) -> None:
    """Print L, o, g and G from a file of measured times: `network parameters`."""
    from ..measured.network_parameters import read_parameters

    overhead = chosen.overhead and parse_seconds(chosen.overhead, "--overhead")
    most = None if chosen.most_bytes is None else size(chosen.most_bytes, "bytes")
    least = None if chosen.least_bytes is None else size(chosen.least_bytes, "from-bytes")
    for name, given in (("--bytes", most), ("--from-bytes", least)):
        if given == 0:
            raise ValueError(f"{name} must be from 1, got 0")
    if most is not None and least is not None and least > most:
        raise ValueError(f"--from-bytes must be at most --bytes {most}, got {least}")
    with naming_fields("quantile"):
        found = read_parameters(
            chosen.file,
            least_bytes=least,
            most_bytes=most,
            overhead=overhead,
            quantile=chosen.quantile,
        )
    if chosen.json:
        overhead = found.o if found.overhead_known else None
        values = {"L": found.L, "o": overhead, "g": found.g, "G": found.G}
        print_json(
            "network parameters", file=chosen.file, network=found.line, **values, notes=found.notes
        )
        return
    print(f"--network {found.line}")
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)


def _add_map_options(parser: argparse.ArgumentParser) -> None:
    """Add what `network info` and `network run` share: the map, routing, realizations, backend."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("file", nargs="?", help="a digraph of ORCS, or output of ibnetdiscover")
    where.add_argument(
        "--tree",
        metavar="HOSTS|M:W[:P]",
        help="a fat tree: 144 to 20736 hosts, or children, parents and cables of each level, such "
        "as 16,12,24:1,8,12",
    )
    parser.add_argument("--tables", metavar="FILE", help="forwarding tables, with ibnetdiscover")
    parser.add_argument("--routing", help="of --tree: d-mod-k (default), s-mod-k, hash or random")
    parser.add_argument(
        "--realizations", type=count, metavar="N", default=1000, help="default: 1000"
    )
    parser.add_argument("--seed", type=count, metavar="N", default=0)
    add_backend(parser, type=count)


def _network(chosen: argparse.Namespace) -> Topology:
    """Read the network that the options name: a file with its tables, or a fat tree."""
    from ..congestion import FatTree, NetworkMap
    from ..congestion.topology import NAMED

    if chosen.tree is None:
        if chosen.routing is not None:
            raise ValueError("--routing is for --tree: a file has its own")
        return NetworkMap.read(chosen.file, chosen.tables)
    if chosen.tables is not None:
        raise ValueError("--tables is for a file, not for --tree")
    routing = chosen.routing or "d-mod-k"
    parts = chosen.tree.split(":")
    numbers = [[value(number) for number in part.split(",")] for part in parts]
    if len(parts) == 1 and len(numbers[0]) == 1:
        if numbers[0][0] not in NAMED:
            raise ValueError(_no_tree(numbers[0][0]))
        return FatTree.of(numbers[0][0], routing=routing)
    if not 2 <= len(parts) <= 3 or any(isinstance(n, str) for part in numbers for n in part):
        raise ValueError(
            "--tree must be a number of hosts, or M:W or M:W:P such as 16,12,24:1,8,12; got "
            f"{shorten(chosen.tree)}"
        )
    p = numbers[2] if len(numbers) == 3 else None
    return FatTree(numbers[0], numbers[1], p, routing=routing)


def _no_tree(hosts: Any) -> str:
    """Say that `--tree` has no network of this size, and name the nearest one."""
    from ..congestion.topology import NAMED

    known = ", ".join(map(str, NAMED))
    below = range(min(math.isqrt(hosts), _MAX_CHILDREN), 1, -1) if isinstance(hosts, int) else ()
    leaf = next((m for m in below if hosts % m == 0 and hosts // m <= _MAX_CHILDREN), None)
    way = "any other is M:W, children and parents of each level, such as "
    way += f"{leaf},{hosts // leaf}:1,{leaf}" if leaf else "16,12,24:1,8,12"
    return f"--tree: hosts must be one of {known}, got {shorten(hosts)}; {way}"


def _engine(chosen: argparse.Namespace) -> dict[str, Any]:
    return {"backend": chosen.backend, "threads": chosen.threads}


def _info(chosen: argparse.Namespace) -> None:
    """Print the size of a network and its effective bisection bandwidth: `network info`."""
    from ..congestion import FatTree, NetworkMap, bisection_bandwidth

    network = _network(chosen)
    assert isinstance(network, (FatTree, NetworkMap))
    with show_phases() as phases:
        report = partial(phases, "random bisections")
        found = bisection_bandwidth(
            network, chosen.realizations, chosen.seed, progress=report, **_engine(chosen)
        )
    if chosen.json:
        print_json(
            "network info",
            hosts=network.hosts,
            switches=network.switches,
            directed_links=network.edges,
            routing=network.routing_name,
            routes_dropped=network.dropped if isinstance(network, NetworkMap) else 0,
            bisection_bandwidth=found,
        )
        return
    print(f"hosts: {network.hosts}, switches: {network.switches}, directed links: {network.edges}")
    dropped = f", {network.dropped} routes dropped" if isinstance(network, NetworkMap) else ""
    print(f"routing: {network.routing_name}{dropped}")
    print(
        f"effective bisection bandwidth: {found:.4f} of a link's (half of the hosts send to "
        "the others: mean of 1 / w, w the messages on the busiest link of a route; 95 %, "
        f"{chosen.realizations} realizations)"
    )


def _run_network(chosen: argparse.Namespace) -> None:
    from ..congestion import CongestionCase, simulate_congestion, slowdown_percent
    from ..congestion.case import PATTERNS, PERTURBATIONS, SLOWED

    for name, known in (("pattern", PATTERNS), ("perturbation", PERTURBATIONS), ("rule", SLOWED)):
        allowed = [word for word in known if word != "none"]  # of which there is no slowdown
        check_choice(getattr(chosen, name), f"--{name}", allowed)
    case = CongestionCase(
        _network(chosen),
        pattern=chosen.pattern,
        perturbation=chosen.perturbation,
        ratio=chosen.ratio,
        rule=chosen.rule,
        ranks=chosen.ranks,
    )
    both = []
    with show_phases() as phases:
        for each, name in ((case, "with the others' traffic"), (case.unperturbed(), "without it")):
            report = partial(phases, name)
            both.append(
                simulate_congestion(
                    each, chosen.realizations, chosen.seed, progress=report, **_engine(chosen)
                )
            )
    name, hosts = case.network.routing_name, case.network.hosts
    title = f"{case.pattern} against {case.perturbation}, rule {case.rule}, routing {name}"
    where = (
        f"z = {case.z} of {case.ranks} ranks (ratio {case.ratio:g}) on {hosts} hosts, "
        f"{chosen.realizations} realizations"
    )
    times = [show(each.mean(), digits=4) for each in both]
    slower = slowdown_percent(both[0], both[1])
    slowdown = f"{show(slower)} %"
    if chosen.json:
        rows = (("time, messages", times[0]), ("time without the others, messages", times[1]),
                ("slowdown", slowdown))  # fmt: skip
        print_json(
            "network run",
            pattern=case.pattern,
            perturbation=case.perturbation,
            rule=case.rule,
            routing=name,
            hosts=hosts,
            ranks=case.ranks,
            z=case.z,
            ratio=case.ratio,
            seed=chosen.seed,
            time_messages=both[0].mean(),
            unperturbed_messages=both[1].mean(),
            slowdown_percent=slower,
            title=title,
            notes=[where, "intervals are of 95 %"],
            tables=[ShownTable("", (), rows)],
        )
        return
    print(f"{title}\n{where}")
    print(f"time: {times[0]}, unperturbed {times[1]} (messages)")
    print(f"slowdown: {slowdown} (95 %)")

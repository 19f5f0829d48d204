"""Parsers of network files (DOT, ibnetdiscover, forwarding tables): content, errors, fuzzing."""

import gzip
import re

import numpy as np
import pytest
from support import fuzz_maps
from support.congestion_cases import as_discovered
from support.paths import ROOT
from support.scale import at_most, some

import jitterfly.congestion as jc
from jitterfly import memory
from jitterfly.congestion.network_map import forwarding, parse_links, read_text

DIGRAPH, DISCOVERED, TABLES = fuzz_maps.DIGRAPH, fuzz_maps.DISCOVERED, fuzz_maps.TABLES


def test_digraph(tmp_path):
    path = tmp_path / "map.dot.gz"
    path.write_bytes(gzip.compress(DIGRAPH.encode()))
    network = jc.NetworkMap.read(path)
    assert (network.host_names, network.switch_names) == (("H1", "H2", "H3", "H4"), ("S1", "S2"))
    assert [network.edge_name(e) for e in network.route(0, 3)] == [
        "H1 -> S1",
        "S1 -> S2",
        "S2 -> H4",
    ]
    assert [w.tolist() for w in jc.route_messages(network, [[[0, 2], [1, 3], [2, 3]]])] == [
        [2, 2, 2]
    ]


def test_first_edge_that_has_the_destination_is_taken():
    text = 'digraph { H1 -> a [comment="*"]; H2 -> a [comment="*"]; a -> H1 [comment="H1"];\n'
    text += 'a -> b [comment="H2"]; a -> H2 [comment="H2"]; b -> H2 [comment="H2"] }'
    table, _ = forwarding(parse_links(text, "map"))
    assert table[2, 1] == 3


def test_ibnetdiscover(tmp_path):
    (tmp_path / "topo").write_text(DISCOVERED)
    (tmp_path / "lfts").write_text(TABLES)
    network = jc.NetworkMap.read(tmp_path / "topo", tmp_path / "lfts")
    assert network.host_names == tuple(f"H-00000000000000{x}0" for x in "bcd")
    assert network.switches == 2
    assert network.edges == 8
    assert [network.edge_name(e)[-5:] for e in network.route(0, 2)] == ["000a1", "000a2", "000d0"]
    assert jc.Topology.from_dict(network.to_dict()) == network


def grouped(text):
    """The same network as ``ibnetdiscover -g`` prints it: by chassis, with ports on their panel."""
    text = re.sub(r"^\[(\d+)\](.*\"S-)", r"[\1][ext 1\1]\2", text, flags=re.M)
    text = re.sub(r"(\"S-\w+\"\[(\d+)\])", r"\1[ext 1\2]", text)
    text = re.sub(r"^(switchguid=\S+)", r"\1\t# Line 1 Line 1 Chip 1", text, flags=re.M)
    text = re.sub(r"^(sysimgguid=\S+)", r"\1\t\t# Chassis 1 (node7) slot 2", text, flags=re.M)
    begin = text.index("switchguid")
    switch = text[begin : text.index("switchguid", begin + 1)]
    head = "\nChassis 1 (guid 0x10)\nHostname: node7\n\n# Spine Nodes\n# Line Nodes\n"
    # Switches of a chassis are there once more at its end.
    middle = f"\n# Chassis Switches\n{switch}\n# Chassis CAs\n\nNon-Chassis Nodes\n"
    return text[:begin] + head + switch + middle + text[begin + len(switch) :]


def test_a_network_grouped_by_chassis():
    plain = parse_links(DISCOVERED, "topo", (TABLES, "lfts"))
    text = grouped(DISCOVERED)
    assert text.count("[ext 1") > 2
    found = parse_links(text, "topo", (TABLES, "lfts"))
    assert (found.hosts, found.switches) == (plain.hosts, plain.switches)
    assert (found.tails, found.heads, found.reach) == (plain.tails, plain.heads, plain.reach)
    again = text.index("# Chassis Switches")
    port = re.search(r"^\[\d+\].*\n", text[again:], re.M)
    other = text[:again] + text[again:].replace(port[0], "", 1)
    with pytest.raises(ValueError, match=r"line \d+: 'S-\w+' is there twice, and not the same"):
        parse_links(other, "topo", (TABLES, "lfts"))


def test_real_maps_as_ibnetdiscover_prints_them():
    """The networks of network-maps, written in that format with LIDs, are the same networks."""
    from support.paths import NETWORK_MAPS

    text = read_text(NETWORK_MAPS / "loginoff_updn.dot.gz")
    topo, lfts = as_discovered(text)
    links, again = parse_links(text, "map"), parse_links(topo, "topo", (lfts, "lfts"))
    found, expected = (forwarding(x)[0] for x in (again, links))
    ways = [
        np.where(t == 2**32 - 1, -1, np.append(x.heads, 0)[np.minimum(t, len(x.heads))])
        for t, x in ((found, again), (expected, links))
    ]
    assert (ways[0] == ways[1]).all()


TWO_UPLINKS = """digraph two {
"H1" -> "a" [comment="*"]; "H2" -> "a" [comment="*"];
"H3" -> "b" [comment="*"]; "H4" -> "b" [comment="*"];
"a" -> "H1" [comment="H1"]; "a" -> "H2" [comment="H2"];
"b" -> "H3" [comment="H3"]; "b" -> "H4" [comment="H4"];
"a" -> "t" [comment="FIRST"]; "a" -> "u" [comment="SECOND"]; "b" -> "t" [comment="*"];
"t" -> "a" [comment="H1,H2"]; "t" -> "b" [comment="H3,H4"];
"u" -> "a" [comment="H1,H2"]; "u" -> "b" [comment="H3,H4"];
}
"""


def test_an_uplink_that_is_never_used_is_told(tmp_path):
    """Both for all hosts: the first one takes all messages. Each for its hosts: no warning."""
    path = tmp_path / "two.dot"
    path.write_text(TWO_UPLINKS.replace("FIRST", "*").replace("SECOND", "*"))
    with pytest.warns(RuntimeWarning, match=r"'a' -> 'u' is for all hosts, as one before it is"):
        network = jc.NetworkMap.read(path)
    ways = [network.route(a, b) for a in (0, 1) for b in (2, 3)]
    assert len({tuple(way)[1] for way in ways}) == 1
    path.write_text(TWO_UPLINKS.replace("FIRST", "H3").replace("SECOND", "H4"))
    network = jc.NetworkMap.read(path)  # a warning is an error here
    assert network.route(0, 2)[1] != network.route(0, 3)[1]


def test_the_map_of_the_tutorial(tmp_path):
    page = (ROOT / "docs" / "tutorials" / "congestion.md").read_text(encoding="utf-8")
    path = tmp_path / "page.dot"
    path.write_text(re.search(r"```text\n(digraph .*?)```", page, re.DOTALL)[1])
    network = jc.NetworkMap.read(path)
    assert (network.hosts, network.switch_names) == (2, ("a", "b"))
    assert len(network.route(0, 1)) == 3


def test_a_loop_is_dropped_with_a_warning(tmp_path):
    """H3 hangs on b, which sends what is for it back to a."""
    path = tmp_path / "loop.dot"
    path.write_text(fuzz_maps.LOOP)
    with pytest.warns(RuntimeWarning, match=r"loop\.dot, line 2: 2 of 6 routes lead into a "
                      r"loop and are dropped, such as 'H1' -> 'H3' at 'a'$"):  # fmt: skip
        network = jc.NetworkMap.read(path)
    assert network.dropped == 2
    assert network.route(0, 2) == []
    (w,) = jc.route_messages(network, [[[0, 2], [1, 2], [0, 1], [2, 0]]])
    assert w.tolist() == [0, 0, 1, 1]
    case = jc.CongestionCase(network, pattern="gather", perturbation="none", ratio=0,
                             rule="bandwidth")  # fmt: skip
    found = jc.simulate_congestion(case, 20, seed=1, histogram=True)
    assert found.histogram[0] > 0
    assert found.histogram.sum() == 20 * 2


def changed(text, old, new):
    assert text.count(old) >= 1
    return text.replace(old, new, 1)


MALFORMED = [
    ("", None, "neither a Graphviz digraph nor"),
    ("graph { a -- b }", None, "neither a Graphviz digraph nor"),
    ("digraph {", None, "line 1: expected a node, got 'the end of the file'"),
    ("digraph { a -> }", None, "line 1: expected a node, got '}'"),
    ("digraph {\n S1 -> S2 [comment=x] }", None, "line 1: there is no host"),
    ("digraph {\n H1 -> S [comment=\"*\"]; }", None, "line 2: at least two hosts are needed"),
    ("strict digraph { }", None, "line 1: strict: parallel cables"),
    ("digraph {\n subgraph x { } }", None, "line 2: subgraphs are not supported"),
    (changed(DIGRAPH, '"H3, H4"', '"H3, H5"'), None, "line 4: comment names 'H5'"),
    (changed(DIGRAPH, '"H3, H4"', '"H3, S2"'), None, "line 4: comment names 'S2'"),
    (changed(DIGRAPH, '"H3, H4"', '"H3"'), None, "line 2: 'S1' has no edge to 'H4', on the way"),
    (changed(DIGRAPH, "S1 -> S2", "S1 -> S1"), None, "line 4: an edge from 'S1' to itself"),
    (changed(DIGRAPH, 'H4 -> S2 [comment="*"]', ""), None, "line 9: .H4. has no edge to 'H1'"),
    (changed(DIGRAPH, "-> H4", "-- H4"), None, "line 9: unexpected '-- H4"),
    (changed(DIGRAPH, '"H4" ]', '"H4 ]'), None, "line"),
    (DIGRAPH, TABLES, "tables must be left out"),
    (DISCOVERED, None, "give tables"),
    (changed(DISCOVERED, '"S-00000000000000a2"[3]', '"S-00000000000000a9"[3]'), TABLES,
     "line 9: unknown node 'S-00000000000000a9'"),
    (changed(DISCOVERED, '"S-00000000000000a2"[3]', '"S-00000000000000a2"[2]'), TABLES,
     "line 9: port 2 of 'S-00000000000000a2' does not lead back"),
    (changed(DISCOVERED, "[4]", "[5]"), TABLES, "line 9: 'S-00000000000000a1' has no port 5"),
    (changed(DISCOVERED, "# lid 3 lmc 0", "#"), TABLES,
     "line 26: the first port of a Ca must have a lid"),
    (changed(DISCOVERED, "# lid 2 lmc 0", "# lid 1 lmc 0"), TABLES, "lid 1 is another adapter's"),
    (changed(DISCOVERED, "vendid", "vend id"), TABLES, "line 4: unexpected 'vend id=0x2c9'"),
    (changed(DISCOVERED, "switchguid=0xa1", "switchguid=a1"), TABLES, "line 5: switchguid must be"),
    (DISCOVERED, "", "tables has no forwarding table"),
    (DISCOVERED, changed(TABLES, "guid 0x00000000000000a2", "guid 0x00000000000000a3"),
     "tables has no table of switch 'S-00000000000000a2' .map, line 12."),
    (DISCOVERED, changed(TABLES, "0x0003 004", "0x0003 003"),
     "tables, line 6: lid 3 goes to port 3"),
    (DISCOVERED, changed(TABLES, "0x0003 004", "0x0003 255"), "map, line 6: .* has no edge to"),
    (DISCOVERED, changed(TABLES, "0x0003 004", "0x0002 004"), "tables, line 6: a second entry"),
    (DISCOVERED, changed(TABLES, "0x0003 004", "0x0003 x"), "tables, line 6: unexpected"),
    (DISCOVERED, changed(TABLES, "0x0003 004", "0x0003 256"), "tables, line 6: port must be 0 to"),
    (DISCOVERED, "\n".join(TABLES.split("\n")[1:]), "tables, line 3: an entry before any"),
    (DISCOVERED, changed(TABLES, "00a2", "00a1"), "tables, line 9: a second table of switch"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tables", "message"), MALFORMED)
def test_malformed(text, tables, message):
    with pytest.raises(ValueError, match=message) as found:
        forwarding(parse_links(text, "map", None if tables is None else (tables, "tables")))
    assert "\n" not in str(found.value)


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "map.dot"
    path.write_bytes(b"digraph {\n H1 -> \xff }")
    with pytest.raises(ValueError, match=r"map\.dot, line 2: not text"):
        jc.NetworkMap.read(path)
    path.write_bytes(gzip.compress(DIGRAPH.encode())[:-20])
    with pytest.raises(ValueError, match="damaged gzip file"):
        jc.NetworkMap.read(path)
    with pytest.raises(OSError, match="nothing"):
        jc.NetworkMap.read(tmp_path / "nothing")
    with pytest.raises(ValueError, match="file must be the path"):
        jc.NetworkMap(3)


@pytest.mark.slow
def test_no_broken_file_breaks_a_parser(monkeypatch):
    available = memory.available_bytes()  # asked each time: four tenths of the time
    monkeypatch.setattr(memory, "available_bytes", lambda: available)
    numbers = some(range(100_000), 2000)
    ends, findings = fuzz_maps.run(numbers, seed=4)
    assert not findings
    assert min(ends.values()) > len(numbers) / 100  # every end is met


def test_no_broken_real_map_breaks_a_parser():
    from support.paths import NETWORK_MAPS

    names = [f"loginoff_{engine}.dot.gz" for engine in ("minhop", "updn", "dfsssp")]
    texts = [read_text(NETWORK_MAPS / name) for name in names]
    samples = [(text, None) for text in texts] + [as_discovered(text) for text in texts]
    count = at_most(600, 40)
    ends, findings = fuzz_maps.run(range(count), seed=5, samples=samples)
    assert not findings
    assert min(ends["read"], ends["error"]) > count // 20

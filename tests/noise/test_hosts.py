"""Noise that acts on given hosts only: which these are, draws that stay, closed forms, errors."""

from dataclasses import replace

import numpy as np
import pytest
from support.commands import error_of
from support.scale import scaled

import jitterfly as jf
from jitterfly.cli import main
from jitterfly.imbalance import OnNodes, OnRanks, OnShare, SlowShare
from jitterfly.unseen_noise import expected_hits

NETWORK = jf.LogGOPS(L="1us", o="100ns", G="0.1ns", gamma="1ns")
TRACE = {"starts": [1e-5, 4e-5], "durations": [1e-6, 2e-6], "length": 1e-4}
SOURCES = [
    jf.PeriodicNoise("50us", "3us", start="stationary"),
    jf.RenewalNoise("30us", jf.Exponential("5us"), shared=4),
    jf.TraceNoise(**TRACE),
    jf.StepNoise("14us", 0.3),
    jf.MessageNoise(jf.Exponential("2us"), shared=2),
    jf.NetworkJitter("3us", "1us"),
    jf.LateArrival(jf.Exponential("5us")),
    jf.SpeedNoise(jf.Lognormal(median=2, sigma=0.2)),
]
KINDS = [source.kind for source in SOURCES]
HOSTS = [OnRanks([0, 5]), OnNodes([1, 3], node_ranks=4), OnNodes(1, every=3), OnShare(0.4, seed=2)]


def test_parts_of_a_source_are_taken_as_text():
    """As a command line writes them; what is no such text is told the form."""
    on = jf.PeriodicNoise("1ms", "5us", hosts=" nodes(nodes=17) ", bursts="onoff(on=1s,off=9s)")
    assert on.hosts == OnNodes(17)
    assert on.bursts == jf.OnOff(on="1s", off="9s")
    for text, told in (
        ("17", "as text nodes"),
        ("nodes(node=1)", "did you mean 'nodes'"),
        ("nodes(17)", r"hosts must name what it gives, such as nodes\(NAME=VALUE\); got 'nodes"),
    ):
        with pytest.raises(ValueError, match=told):
            jf.PeriodicNoise("1ms", "5us", hosts=text)


def case(*noise, **options):
    usual = {"network": NETWORK, "algorithm": "recursive_doubling_allreduce", "cycles": 2}
    return jf.Case(16, noise=noise, compute_time="20us", **usual | options)


@pytest.mark.parametrize("hosts", HOSTS)
@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
def test_as_a_table_and_as_text(source, hosts):
    limited = replace(source, hosts=hosts)
    again = jf.Noise.from_dict(limited.to_dict())
    assert again == limited
    assert again.hosts == hosts
    assert limited.identity()["hosts"] == hosts.to_dict()
    assert "hosts" not in source.identity()  # stored runs keep their identity
    words = ",".join(f"{key}={' '.join(map(str, value)) if isinstance(value, list) else value}"
                     for key, value in hosts.to_dict().items() if key != "kind")  # fmt: skip
    text = f"period=1ms,duration=10us,hosts={hosts.kind}({words})"
    assert case(text).noise[0].hosts == hosts


@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
def test_all_hosts_are_no_limit_and_none_are_no_noise(source):
    whole = jf.simulate(case(source), 20, seed=4).ticks
    on_all = replace(source, hosts=OnNodes(0, every=1))
    np.testing.assert_array_equal(jf.simulate(case(on_all), 20, seed=4).ticks, whole)
    with pytest.warns(jf.IneffectiveNoiseWarning, match="hosts has drawn none of the 16 ranks"):
        none = jf.simulate(case(replace(source, hosts=OnShare(0))), 20, seed=4)
    assert (none.ticks == none.noise_free[None] * 1e12).all()
    some = jf.simulate(case(replace(source, hosts=OnRanks([3, 4]))), 20, seed=4).ticks
    assert (some != whole).any()
    assert (some != none.ticks).any()


@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
def test_a_realization_is_the_same_in_whatever_batch(source):
    one = case(replace(source, hosts=HOSTS[1]))
    whole = jf.simulate(one, 9, seed=7).ticks
    parts = [jf.simulate(one, n, seed=7, first_realization=at).ticks for at, n in ((0, 4), (4, 5))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(jf.simulate(one, 9, seed=7, threads=2).ticks, whole)


@pytest.mark.parametrize("source", SOURCES[:3], ids=KINDS[:3])
def test_intervals_stay_on_the_hosts_and_are_gone_elsewhere(source):
    hosts = HOSTS[1]
    acts = hosts.acts_on(16)
    for rank in range(16):
        there = jf.noise_intervals(case(source), rank, "1ms", seed=3)
        found = jf.noise_intervals(case(replace(source, hosts=hosts)), rank, "1ms", seed=3)
        np.testing.assert_array_equal(found, there if acts[rank] else there[:0])
        assert len(there)


def test_a_share_is_that_of_slow_nodes():
    for seed in range(20):
        slow = SlowShare(4, share=0.3, node_ranks=3, seed=seed).of_ranks(100) > 1
        np.testing.assert_array_equal(OnShare("30%", 3, seed).acts_on(100), slow)


def test_the_largest_of_late_hosts():
    """The last of M late ranks: of exponential delays, mu H_M on average, and known from its draws.

    The collective takes no time, so that it ends when the last rank has arrived.
    """
    network = jf.Hockney(alpha=0, beta=0)
    late = jf.LateArrival(jf.Exponential("100us"), hosts=OnNodes(0, node_ranks=4, every=8))
    one = jf.Case(256, network=network, noise=[late])
    members = int(late.acts_on(256).sum())
    assert members == 32
    count = scaled(20_000, 2000)
    times = jf.simulate(one, count, seed=1).samples[:, 0]
    mean = 100e-6 * sum(1 / n for n in range(1, members + 1))
    deviation = 100e-6 * sum(1 / n**2 for n in range(1, members + 1)) ** 0.5
    assert abs(times.mean() - mean) < 5 * deviation / count**0.5  # fails once in 10^6 seeds
    assert abs(times.std() - deviation) < 0.1 * deviation


def test_a_daemon_on_one_node_hits_as_often_as_that_node_works():
    """P(hit) of one rank under stationary periodic noise is (D + w) / P; others add nothing."""
    daemon = jf.PeriodicNoise("1ms", "20us", start="stationary", during="compute",
                              hosts=OnRanks([5]))  # fmt: skip
    one = jf.Case(64, network=jf.Hockney(alpha=0, beta=0), noise=[daemon], compute_time="80us")
    count = scaled(20_000, 2000)
    hit = jf.simulate(one, count, seed=1).samples[:, 0] > 80e-6 + 1e-12
    assert abs(hit.mean() - 0.1) < 5 * (0.09 / count) ** 0.5


@pytest.mark.parametrize("source", SOURCES, ids=KINDS)
def test_expected_hits_are_those_of_the_hosts(source):
    source = replace(source, shared=False)
    [of_all] = expected_hits(case(source), 1e8)
    [of_some] = expected_hits(case(replace(source, hosts=OnNodes(0, every=4))), 1e8)
    if of_all.hits is not None:
        assert of_some.hits.number == pytest.approx(of_all.hits.number / 4)
        assert of_some.hits.delay == of_all.hits.delay


def test_explain_names_the_source_that_acts_on_the_host():
    daemon = jf.StepNoise("100us", during="compute", hosts=OnRanks([6]))
    tick = jf.StepNoise("1us", during="compute")
    found = jf.explain(case(daemon, tick, cycles=1), realizations=5)
    daemons, ticks, path = (row.mean.value for row in found.rows())
    assert daemons == pytest.approx(100e-6)
    assert ticks == pytest.approx(1e-6)  # on the same rank, for which all others wait
    assert path == 0
    assert found.culprits() == [(6, 1.0)]


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (OnRanks([16]), "noise: hosts: of 16 ranks, numbered from 0, there is no rank 16"),
        (
            OnNodes([4, 1], node_ranks=4),
            "noise: hosts: 16 ranks are 4 nodes of 4 ranks, numbered from 0; there is no node 4",
        ),
    ],
)
def test_hosts_that_are_not_there(hosts, message):
    for source in SOURCES:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
            case(replace(source, hosts=hosts))
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OnRanks([]), "ranks must be a list of integers from 0"),
        (lambda: OnRanks([1, 1]), "each once"),
        (lambda: OnNodes([0], node_ranks=0), "node_ranks must be an integer from 1"),
        (lambda: OnNodes([0], every=0), "every must be an integer from 1"),
        (lambda: OnShare(1.5), "share must be a number from 0 to 1"),
        (lambda: OnShare("much"), "share must be"),
        (lambda: OnShare(0.5, seed=-1), "seed must be an integer from 0"),
        (lambda: jf.StepNoise("1us", hosts=[1]), "hosts must be Hosts such as"),
        (lambda: jf.StepNoise("1us", hosts={"kind": "racks"}), "kind"),
        (lambda: case("period=1ms,duration=1us,hosts=17"), "hosts must be Hosts such as"),
    ],
)
def test_what_is_no_host(make, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared)
        make()
    assert message in str(caught.value)


def test_hosts_that_a_schedule_does_not_have(tmp_path, capsys):
    goal = tmp_path / "one.goal"
    goal.write_text("num_ranks 2\nrank 0 {\nl1: calc 1000\n}\nrank 1 {\nl1: calc 1000\n}\n")
    noise = "kind=step,delay=1us,hosts=nodes(nodes=7)"
    options = ["-q", "--realizations=20", "--network=L=1us,o=200ns", f"--noise={noise}"]
    assert error_of(capsys, "run", goal, *options) == (
        "--noise: hosts: 2 ranks are 2 nodes of 1 rank, numbered from 0; there is no node 7"
    )


def test_theory_refuses_hosts():
    noise = jf.StepNoise("1us", 0.1, hosts=OnRanks([1]))
    network = jf.Hockney(alpha="1us", beta=0)
    with pytest.raises(ValueError, match="hosts must be left out for this recursion"):
        jf.theory.one_rank(jf.Case(16, network=network, noise=[noise]))


def test_on_the_command_line(capsys):
    daemon = (
        "kind=renewal,gap=1ms,duration=300us,start=stationary,hosts=nodes(nodes=1,node_ranks=4)"
    )
    options = ["slowdown", "--ranks=64", "--realizations=50", "-q", "--json"]
    assert main([*options, "--noise", daemon]) in (0, None)
    assert '"hosts"' in capsys.readouterr().out
    beyond = daemon.replace("nodes=1", "nodes=99")
    assert error_of(capsys, *options, "--noise", beyond) == (
        "--noise: hosts: 64 ranks are 16 nodes of 4 ranks, numbered from 0; there is no node 99"
    )


FEW = jf.StepNoise("80us", 0.5, hosts=OnShare(0.01))  # none of the first 64 ranks, 2 of 256
NOBODY = "hosts has drawn none"


def test_noise_on_no_host_is_refused():
    """By whatever would answer with the numbers of a quiet machine; `simulate` warns."""
    network = jf.LogGOPS(L="1us", o="200ns")
    quiet = jf.Case(16, network=network, noise=[FEW])
    asked = {"network": network, "realizations": 200}
    for ask in (
        lambda: jf.slowdown([FEW], [16, 64], **asked),
        lambda: jf.advise([16, 64], noise=[FEW], **asked),
        lambda: jf.Study("x", case=quiet, budget=jf.RealizationBudget(max=10)),
    ):
        with pytest.raises(ValueError, match=rf"^noise.0 \(step\) can hit nothing .*{NOBODY}"):
            ask()


def test_ranks_without_a_host_are_named():
    """Their times are those without noise, for certain: more realizations would bring nothing."""
    network = jf.LogGOPS(L="1us", o="200ns")
    found = jf.slowdown([FEW], [16, 64, 256], network=network, realizations=50)
    [said] = [note for note in found.notes() if note.code == "no_hosts"]
    assert said == (f"noise.0 (step) on 16, 64 ranks: {NOBODY}, so that it is without effect there")
    assert not any(note.code == "no_event" for note in found.notes())
    advice = jf.advise([16, 256], network=network, noise=[FEW], candidates=["ring"],
                       realizations=100)  # fmt: skip
    assert any(f"noise.0 (step) on 16 ranks: {NOBODY}" in note for note in advice.notes())
    for row in found.rows[:2]:
        assert tuple(row.slowdown) == (1, 1, 1)
    assert found.rows[2].slowdown.low > 1
    base = jf.Case(16, network=network, noise=[FEW])
    with pytest.warns(jf.IneffectiveNoiseWarning, match=f"{NOBODY} of the 64 ranks"):
        jf.Study("x", case=base, axes=[jf.Axis("ranks", [64, 256])],
                 budget=jf.RealizationBudget(max=10))  # fmt: skip


def test_explain_says_that_noise_is_on_no_host():
    case = jf.Case(16, network=jf.LogGOPS(L="1us", o="200ns"), noise=[FEW])
    with pytest.warns(jf.IneffectiveNoiseWarning, match=NOBODY):
        found = jf.explain(case, realizations=10)
    assert any(NOBODY in note for note in found.notes())


def test_nodes_that_the_network_does_not_have_are_told():
    """Of ranks, unless node_ranks is given; the network's are of 8."""
    levels = "8: L=300ns,o=100ns; L=1us,o=200ns"
    for hosts, told in (
        (OnNodes(0, every=8), True),
        (OnNodes(0, every=8, node_ranks=8), False),
        (OnShare(0.5), False),  # single CPUs are legitimate
    ):
        noise = jf.PeriodicNoise("1ms", "10us", start="stationary", hosts=hosts)
        notes = jf.slowdown(noise, 64, network=levels, realizations=20).notes()
        words = "hosts counts nodes of 1 rank, and the network has nodes of 8: give node_ranks=8"
        assert any(words in note for note in notes) == told


@pytest.mark.parametrize("field", ["speed", "L_factor", "G_factor"])
@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("kind=slow_nodes,factor=2", 8),
        ("kind=slow_nodes,factor=2,node_ranks=4", None),
        ("kind=slow_share,factor=2,share=0.9", None),  # each rank by itself
        ("kind=slow_share,factor=2,share=0.9,node_ranks=2", 2),
        ("kind=drawn,sigma=0.1", None),
        ("kind=drawn,sigma=0.1,node_ranks=3", 3),
    ],
)
def test_slow_nodes_that_the_network_does_not_have_are_told(field, part, told):
    network = "4: L=300ns,o=100ns,G=1ns; L=1us,o=200ns,G=1ns"
    case = jf.Case(16, network=network, compute_time="1us", **{field: part})
    words = [f"{field} counts nodes of {told} rank{'s' * (told != 1)}, and the network has nodes "
             "of 4: give node_ranks=4"] if told else []  # fmt: skip
    assert case.doubts() == words


def test_answers_say_how_many_ranks_a_node_of_hosts_and_speeds_has():
    noise = jf.PeriodicNoise("1ms", "10us", start="stationary", hosts=OnNodes(0))
    speed = "kind=slow_nodes,factor=2"
    found = jf.slowdown(noise, 16, speed=speed, compute_time="1us", realizations=20)
    assert "hosts = (nodes, nodes = [0], node_ranks = 1)" in found.title()
    assert (
        "speed of the ranks: slow_nodes, factor = 2.0, node_ranks = 8, nodes = [0]" in found.notes()
    )

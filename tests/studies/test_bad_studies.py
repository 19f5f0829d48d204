"""Validation of studies in TOML and Python: one error before anything runs."""

import pytest
from support.study_cases import GOOD, LOGGOPS, mine

import jitterfly as jf
from jitterfly.observables import Completion, Gain, Overhead, Recovery
from jitterfly.studies import Axis, RealizationBudget, Study, load_study, parse_study
from jitterfly.studies.toml import load_case

BASE = GOOD.partition("[full]")[0]
VARIANTS = '[variants.conventional]\n[variants.redundant]\n"algorithm.copy_levels" = "all"\n'
BUDGET = "realizations = { min = 10, max = 1000, rank_rounds = 640 }"


def refused(text, message):
    with pytest.raises(ValueError, match=f"^my.toml: .*{message}"):
        parse_study(text, where="my.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # axes
        ("log2 = [2, 4]", "values = []", "axes.ranks is empty: give it at least one value"),
        ("log2 = [2, 4]", "log2 = [4, 2]", r"axes.ranks.log2 must be .*got \[4, 2\]"),
        ("log2 = [2, 4]", "log2 = [2, 4, 2]", 'every second power: values = "16..4096/2"'),
        ("log2 = [2, 4]", "log2 = 4", "axes.ranks.log2 must be a list, got 4"),
        ("log2 = [2, 4]", "values = [4, 4]", "axes.ranks has the value '4' twice"),
        ("log2 = [2, 4]", "values = 4", "axes.ranks.values must be a list, got 4"),
        ("log2 = [2, 4]", "", "axes.ranks must have one of log2, .*; got none"),
        ("log2 = [2, 4]", "log3 = [2, 4]", "axes.ranks: unknown key 'log3' .*'log2'"),
        ("log2 = [2, 4]", "log2 = [2, 4]\nvalues = [4]", "axes.ranks must have one of"),
        ("log2 = [2, 4]", "zip = { cycles = [1, 2], ranks = [4] }", "lists of one length, got cyc"),
        ("log2 = [2, 4]", "zip = { ranks = 4 }", "axes.ranks.zip.ranks must be a list, got 4"),
        ("log2 = [2, 4]", 'zip = { ranks = [4] }\npath = "x"', "axes.ranks.path goes with values"),
        ("log2 = [2, 4]", "points = { a = 3 }", "axes.ranks.points.a must be a table of"),
        ("[axes.ranks]", '[axes.low]\npath = "ranks"', "axes.low: tables of results have a column"),
        (
            "[axes.ranks]",
            '[axes."a=b"]\npath = "ranks"',
            "name of an axis must be text without '='",
        ),
        # fields of the case
        (
            '"noise.0.duration" =',
            "ranks =",
            "axes.reading and axes.ranks both set the field 'ranks'",
        ),
        ('"noise.0.duration"', '"noise..duration"', "points.long must be a path such as"),
        (
            '"noise.0.duration"',
            '"observe"',
            "axes.reading: the field 'observe' follows from the obs",
        ),
        ("[axes.ranks]", "[axes.rank]", r"unknown key 'rank' .did you mean 'ranks'.*\[at rank=4, "),
        ('"noise.0.duration"', '"noise.1.duration"', "noise is a list of 1, no entry '1'"),
        ('"noise.0.duration"', '"noise.0.size"', r"noise\[0\]: unknown key 'size'.*reading=long\]"),
        ('"noise.0.duration"', '"message_bytes.x"', "message_bytes must be an integer"),
        ('"100ns"', '"fast"', r"alpha must be a time.*\[at ranks=4, reading=short\]"),
        ("alpha", "alfa", "unknown key 'alfa'.*'alpha'"),
        (
            "log2 = [2, 4]",
            "values = [4, 0]",
            r"ranks must be an integer from 1 to 2\^30, got 0 \[at ranks=0",
        ),
        ('"0.1 ms"', '"2 ms"', "duration must be shorter than period"),
        ('"0.1 ms"', '"10us"', "the cells .*reading=short and .*reading=long have the same cases"),
        ("[case]", "[case]\nranks = 1979-05-27", "case.ranks must be a number, text"),
        (
            "[case]",
            '[case]\nobserve = "rounds"',
            "case: observe must be 'completion', 'spread', 'arrival' or 'own'",
        ),
        ("[case]", '[case]\nobserve = "rank 0"', "case: observe must be .*, got 'rank 0'"),
        # budget
        (BUDGET, "", "the budget is missing: .realizations. with max"),
        (BUDGET, 'targets = ["mean of slowdown ± 1 %"]', "budget is missing, and targets need one"),
        ("max = 1000, ", "", "realizations lacks the key 'max'"),
        ("min = 10", "min = 0", "realizations.min must be an integer from 1 to 1000, got 0"),
        ("min = 10", "min = 2000", "realizations.min must be .* 1 to 1000, got 2000"),
        ("max = 1000", "max = 2.0", r"realizations.max must be an integer from 1 to 2\^32"),
        ("min = 10", "mini = 10", "realizations: unknown key 'mini'.*'min'"),
        ("rank_rounds = 640", "rank_rounds = 0.5", "realizations.rank_rounds must be a number of"),
        ("rank_rounds = 640", "rank_rounds = nan", "realizations.rank_rounds must be a number of"),
        ("rank_rounds = 640", f"rank_rounds = 0x{'f' * 4000}", "rank_rounds must be a number"),
        ("rank_rounds = 640", "raw_bytes = -1", "realizations.raw_bytes must be an integer"),
        # the rest
        ("seed = 5", "sed = 5", r"unknown key 'sed' .did you mean 'seed'.*allowed keys: "),
        ("seed = 5", "seed = -1", "seed must be an integer from 0"),
        ("seed = 5", "seed = true", "seed must be an integer"),
        ("seed = 5", "claims = 5", "claims must be a list, got 5"),
        ('name = "small"', 'name = "a/b"', "name must be"),
        ('name = "small"', "", "lacks the key 'name'"),
        (
            "seed = 5",
            'figure = "curvs"',
            r"figure must be one of .*'curvs' \(did you mean 'curves'",
        ),
        ("seed = 5", 'claims = [["M4"]]', "claims must be a list of names"),
        ("seed = 5", "seed = = 5", r"not valid TOML.*line"),
        ("seed = 5", f"seed = {'9' * 5000}", "not valid TOML"),
        ("seed = 5", f"seed = {'[' * 20000}", "nested too deeply"),
        ("log2 = [2, 4]", f"values = [{'[' * 400}{']' * 400}]", ""),
        ("seed = 5", f"seed = 0x{'f' * 5000}", "seed must be an integer"),
        ("seed = 5", f"seed = '{'x' * 5000}'", r"seed must be an integer, got 'x+ \.\.\. \(str\)$"),
    ],
)
def test_bad_studies(old, new, message):
    assert old in BASE
    refused(BASE.replace(old, new, 1), message)


def test_full_overrides_what_is_there():
    refused(GOOD.replace("[full]", "[full]\nsee = 1"), "full: unknown key 'see'")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mean of slow ± 1 %", "is about 'slow', and .* 'completion', 'slowdown' .did you mean"),
        ("avg of slowdown ± 1 %", "statistic must be one of mean, .*got 'avg'"),
        ("p100 of slowdown ± 1 %", "statistic must be one of mean, .*got 'p100'"),
        ("max of slowdown ± 1 %", "statistic must have an interval, got 'max'"),
        ("mean of slowdown", "must be such as 'mean of gain ± 1 % at 95 %'"),
        ("mean of slowdown ± -2 %", "width must be above 0, got -2 %"),
        (
            "mean of slowdown ± 1 % at 101 %",
            "confidence must be above 0 % and below 100 %, got 101",
        ),
        ("mean of completion ± 2", r"completion is a time, .* unit \(s, ms, us, ns\).*, got 2$"),
        ("mean of slowdown ± 1us", "slowdown is not a time, so ± 1e-06 s is no width"),
        ("win probability of slowdown ± 1 %", "no win probability: slowdown compares nothing"),
    ],
)
def test_bad_targets(target, message):
    refused(BASE.replace("seed = 5", f'targets = ["{target}"]'), f"targets: .*{message}")


def test_targets_are_a_list_without_repetition():
    text = "targets = ['mean of slowdown ± 1 %', 'mean of slowdown ± 2 %']"
    refused(BASE.replace("seed = 5", text), "targets: mean of slowdown is there twice")
    refused(BASE.replace("seed = 5", "targets = 'x'"), "targets must be a list, got 'x'")
    refused(BASE.replace("seed = 5", "targets = [1]"), "targets: target must be such as .*got 1")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("kind = 'gian'", "x: kind must be one of .*, got 'gian' .did you mean 'gain'"),
        ("of = 'a'", "x: key 'kind' is missing; kinds: 'completion'"),
        ("kind = 'gain', of = {T = 1}", "x: key 'over' is missing"),
        ("kind = 'gain', of = {t = 1}, over = {T = 0}", "x: of: unknown key 't'"),
        ("kind = 'gain', of = {T = 'bst'}, over = {T = 0}", "x: of.T must be an .*; got 'bst'"),
        ("kind = 'gain', of = 3, over = {T = 0}", "x: of must be the name of a variant or a table"),
        ("kind = 'gain', of = {T = 1}, over = {T = 1}", "x: of and over must be different"),
        (
            "kind = 'gain', of = {T = 'best'}, over = {T = 'best'}",
            "x: T must not be 'best' in both",
        ),
        ("kind = 'gain', of = {T = 1}, over = {T = 0}, rank = 1", "x: rank must be one of 'last'"),
        (
            "kind = 'completion', T = 9",
            r"x: no cell has T = 9: algorithm\..* gives T up to 4$",
        ),
        ("kind = 'completion', T = -1", "x: T must be an integer from 0 to 30, or one of 'last'"),
        (
            "kind = 'completion', cycle = 2",
            "x: no cell has cycle = 2: cycles is up to 1$",
        ),
        (
            "kind = 'gain', of = {T = 5}, over = {T = 0}",
            "x: no cell has of.T = 5: algorithm.exchanges_after gives T up to 4$",
        ),
        ("kind = 'completion', cycle = 0", "x: cycle must be an integer from 1"),
        ("kind = 'completion', variant = 'a'", "x: the study has no variants, got variant 'a'"),
        ("kind = 'completion', size = 1", "x: unknown key 'size'"),
        ("kind = 'overhead', over = 'noisfree'", "x.over: .*'noisfree' .did you mean 'noise-free'"),
        ("kind = 'overhead', over = true", "x: over must be .* variant, 'noise-free' or a table"),
        ("kind = 'recovery'", "x.conventional: the study has no variants"),
        ("kind = 'recovery', conventional = {T = 'best'}", "x: conventional.T must not be 'best'"),
    ],
)
def test_bad_observables(table, message):
    refused(f"{BASE}[observables]\nx = {{ {table} }}\n", f"observables.{message}")


def test_names_of_observables():
    for name in ("a, b", "p ± 1", "", " a"):
        refused(f"{BASE}[observables]\n'{name}' = {{ kind = 'completion' }}\n", "a name must be")
    refused(f"{BASE}[observables]\nx = 3\n", "observables.x must be an observable or a table")


@pytest.mark.parametrize(
    ("table", "target", "message"),
    [
        ("kind = 'recovery', conventional = {T = 0}, redundant = {T = 1}, noiseless = 'noise-free'",
         "p99 of x", "x has no p99: recovery is a value of all realizations together"),
        ("kind = 'optimal_T'", "p50 of x", "x has no p50: optimal_T is"),
        ("kind = 'completion', T = 'each'", "p50 of x", "about 'x', .* are 'x, T=0', 'x, T=1', "),
        ("kind = 'completion', T = 'each'", "p50 of x, T=5", "'x, T=5', .*did you mean 'x, T=4'"),
    ],
)  # fmt: skip
def test_targets_that_an_observable_has_not(table, target, message):
    text = BASE.replace("seed = 5", f'targets = ["{target} ± 1 %"]')
    refused(f"{text}[observables]\nx = {{ {table} }}\n", message)
    good = f"{text.replace(target, 'mean of x, T=4' if 'each' in table else 'mean of x')}"
    if "optimal_T" in table:
        refused(
            f"{good}[observables]\nx = {{ {table} }}\n", "x .optimal_T. can have no target: a set"
        )
    else:
        parse_study(f"{good}[observables]\nx = {{ {table} }}\n")


def test_a_T_that_no_place_has_says_why():
    text = BASE.replace('exchanges_after = "all"', "exchanges_after = 0")
    for T, told in (("5", "T = 5"), ("'best'", "T = 'best', which is from 1 on")):
        refused(
            f"{text}[observables]\nx = {{ kind = 'slowdown', T = {T} }}\n",
            f"observables.x: no cell has {told}: algorithm.exchanges_after gives T up to 0$",
        )


def test_units_of_targets():
    """Of a win probability the width is a number whatever the unit of the observable."""
    for width in ("2us", "1 %"):
        parse_study(BASE.replace("seed = 5", f'targets = ["mean of completion ± {width}"]'))
    gain = "[observables.x]\nkind = 'gain'\nof = { T = 1 }\nover = { T = 0 }\n"
    for target, bad in (("win probability of x ± 0.1", 0), ("win probability of x ± 1us", 1)):
        text = BASE.replace("seed = 5", f'targets = ["{target}"]') + gain
        if bad:
            refused(text, "win probability of x is not a time, so ± 1e-06 s is no width")
        else:
            parse_study(text)


def test_noise_without_anything_to_hit():
    text = BASE.replace(", gamma = 1e-10", "")
    assert text != BASE
    refused(text, r"noise.0 \(periodic\) can hit nothing in any cell: .*give network.gamma")
    parse_study(text.replace("[case]", "[case]\ncompute_time = 1e-6"))
    some = "[axes.g]\npath = 'network.gamma'\nvalues = [0, 1e-10]\n"
    parse_study(text + some)
    alone = BASE.replace("log2 = [2, 4]", "values = [1]")
    refused(alone, r"noise.0 \(periodic\) can hit nothing in any cell: .*one rank exchanges")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'period = "1ms"',
            'perod = "1ms"',
            r"noise\[0\]: unknown key 'perod' .did you mean 'period'",
        ),
        (', period = "1ms"', "", "noise.0.period is missing"),
        ('kind = "hockney"', 'kind = "hockney", gama = 1', "network: unknown key 'gama'"),
        ("[case]", "[case]\ncompute_tme = 1", "unknown key .* .did you mean .compute_time"),
    ],
)
def test_misspelled_keys_under_derived_axes(old, new, message):
    derived = '[axes.d]\nderived = "D / P"\nby = "noise.0.duration"\nvalues = [0.1]\n'
    text = BASE.partition("[axes.reading")[0].replace(', duration = "10us"', "") + derived
    parse_study(text)
    assert old in text
    refused(text.replace(old, new), message)


def test_what_within_may_be_is_said_in_words_of_toml():
    refused(
        BASE.replace('exchanges_after = "all"', 'copy_levels = "al"'),
        "copy_levels must be 'all', a list of distinct levels .*, or left out, got 'al'",
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("[variants.a]\n[variants.b]", "variants.a and variants.b are the same case"),
        ("[variants.'a, b']", "variants: where the study has no observables, a name must be let"),
        ("[variants.noise-free]", "variants: 'noise-free' can not be the name of one"),
        ("[variants.a]\nranks = 4", "variants and axes.ranks both set the field 'ranks'"),
        ("[variants]\na = 3", "variants.a must be a table of"),
        ('[variants.a]\n"algorithm.with" = 3', r"unknown key 'with'.*reading=short, a\]"),
        (VARIANTS + "[observables.x]\nkind = 'completion'",
         "x: variant is missing; the study has conventional, redundant"),
        (VARIANTS + "[observables.x]\nkind = 'completion'\nvariant = 'redundnt'",
         "x: variant must be one of 'conventional', .*'redundnt' .did you mean 'redundant'"),
        (VARIANTS + "[observables.x]\nkind = 'recovery'",
         "x.noiseless: variant must be one of 'conventional', 'redundant', got 'noiseless'"),
    ],
)  # fmt: skip
def test_bad_variants(extra, message):
    refused(BASE + extra, message)


@pytest.mark.parametrize(
    ("rule", "by", "values", "message"),
    [
        ("T_comm / D", "message_bytes", "[0.001]",
         r"T_comm / D = 0.001 is out of reach: by message_bytes it goes from 0.01 to .*D is 10 µs"),
        ("T_comm / D", "message_bytes", "[1e30]", "T_comm / D = 1e.30 is out of reach"),
        ("W / P", "compute_time", "[1e-30]", "W / P = 1e-30 is out of reach"),
        ("T_comm / D", "message_bytes", "[0]", "values must be numbers above 0, got 0"),
        ("T_comm / D", "message_bytes", "['1us']", "values must be numbers above 0, got '1us'"),
        ("T_comm / D", "message_bytes", "[]", "is empty"),
        ("T_comm / D", "message_bytes", "[0.02, 0.02]", "has the value '0.02' twice"),
        ("T_comm / D", "message_bytes", "[0.02, 0.0200001]", "0.02 and .* have the same cases"),
        ("T_com / D", "message_bytes", "[1]", "derived must be one of 'T_comm', .*got 'T_com'"),
        ("T_comm", "message_bytes", "[1]", "derived must be a ratio such as"),
        ("D / D", "noise.0.duration", "[1]", "derived must be a ratio of two times"),
        ("D / P", "message_bytes", "[1]", "by must be a field that sets D or P .*'message_bytes'"),
        ("D / P", "noise.0.duration", "[0.1]", "message and axes.reading both set"),
        ("T_comm / W", "message_bytes", "[1]", r"compute_time must be a time above 0.*message=1\]"),
    ],
)  # fmt: skip
def test_bad_derived_axes(rule, by, values, message):
    text = f'[axes.message]\nderived = "{rule}"\nby = "{by}"\nvalues = {values}\n'
    refused(BASE + text, message)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('derived = "T_comm / D"\nvalues = [1]', "axes.m must have .*; it lacks 'by'"),
        ('by = "message_bytes"\nvalues = [1]', "axes.m must have .*; it lacks 'derived'"),
        ('derived = "T_comm / D"\nby = "message_bytes"\nlog2 = [1, 2]', "it lacks 'values'"),
        ('derived = "T_comm / D"\nby = "message_bytes"\nvalues = [1]\npath = "x"', "has 'path'"),
        ('derived = "T_comm / W"\nby = "message_bytes"\nvalues = [1]\n'
         '[axes.n]\nderived = "W / T_comm"\nby = "compute_time"\nvalues = [1]',
         "axes.m and axes.n are derived from each other"),
        ('derived = "T_comm / D"\nby = "message_bytes"\nvalues = [1]\n'
         '[variants.a]\n"network.alpha" = 1e-6\n[variants.b]',
         "variants.a sets 'network.alpha', from which axes.m .T_comm / D. is derived"),
        ('derived = "T_comm / D"\nby = "message_bytes"\nvalues = [1]\n'
         "[variants.a]\nmessage_bytes = 1\n[variants.b]",
         "variants and axes.m both set the field 'message_bytes'"),
    ],
)  # fmt: skip
def test_derived_axes_with_others(extra, message):
    refused(f"{BASE}[axes.m]\n{extra}\n", message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mine(budget=None), "the budget is missing, and targets need one"),
        (
            lambda: mine(budget={"max": 3}),
            r"budget must be a RealizationBudget\(max=...\), got \{'max': 3\}",
        ),
        (lambda: RealizationBudget(), "lacks the key 'max'"),
        (
            lambda: RealizationBudget(max=3, min=4),
            "realizations.min must be an integer from 1 to 3, got 4",
        ),
        (lambda: mine(axes={"ranks": [16]}), "axes must be a list, got"),
        (lambda: mine(axes=[("ranks", [16])]), r"axes must be a list of Axis\(...\), got"),
        (
            lambda: mine(axes=[Axis("ranks", [16]), Axis("ranks", [32])]),
            "axes.ranks is there twice",
        ),
        (lambda: mine(axes=[Axis("ranks", [16]), Axis("r", [32], path="ranks")]), "both set"),
        (lambda: mine(axes=[Axis("D", ["1us", 1e-6], path="noise.0.duration")]), "the same cases"),
        (lambda: Axis("ranks"), "axes.ranks must have one of .*; got none"),
        (
            lambda: Axis("ranks", [4], log2=[1, 2]),
            "axes.ranks must have one of .*; got log2 and val",
        ),
        (lambda: Axis("ranks", " "), "axes.ranks.values must be a list, got ' '"),
        (
            lambda: Axis("ranks", [None]),
            "axes.ranks.values.0 must be a number, text, .*got None; to leave "
            "a field as it is, give points= with an empty table",
        ),
        (lambda: Axis("", [4]), "the name of an axis must be"),
        (lambda: Axis.derived("T_comm / D", 3, [1]), "by must be a list, got 3"),
        (
            lambda: Axis.derived("D / T_comm", ["message_bytes", "noise.0.duration"], [1]),
            "one time",
        ),
        (lambda: mine(variants=["a"]), "variants must be a table of names"),
        (lambda: mine(observables=[3]), "observables must be a table of names"),
        (lambda: mine(case=3), "case must be a Case, a ScheduleCase or a table, got 3"),
        (lambda: mine(case={"noise": [{"kind": "periodic", "period": 1}]}), "'network' is missing"),
        (lambda: mine(seed=2**64), "seed must be an integer from 0"),
        (lambda: mine(title=3), "title must be text, got 3"),
        (lambda: mine(claims="M4"), "claims must be a list, got 'M4'"),
        (lambda: Gain(of="a", over="a"), "of and over must be different"),
        (lambda: Completion(rank=0), "rank must be one of 'last', 'mean', got 0"),
        (lambda: Completion(variant=3), "variant must be a name, got 3"),
        (lambda: Overhead(T="best", over={"T": "best"}), "over.T must not be 'best'"),
        (lambda: Recovery(noiseless=None), "noiseless must be .* 'noise-free' or a table"),
    ],
)
def test_bad_studies_in_python(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_case_must_be_one():
    with pytest.raises(ValueError, match="ranks must be an integer from 1 to"):
        Study("x", case=jf.Case(0, network=LOGGOPS), budget=RealizationBudget(max=1))


def test_a_byte_order_mark_is_left_out(tmp_path):
    """Some editors write one."""
    path = tmp_path / "x.toml"
    study = Study("x", case=jf.Case(4, network=LOGGOPS), budget=RealizationBudget(max=1))
    path.write_bytes(b"\xef\xbb\xbf" + study.to_toml().encode())
    assert load_study(path) == study
    path.write_bytes(b"\xef\xbb\xbfranks = 4\nnetwork = 'L=1us,o=200ns'\n")
    assert load_case(path).ranks == 4


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(ValueError, match=r"x\.toml: not a text file in UTF-8"):
        load_study(path)
    with pytest.raises(OSError, match=r"y\.toml"):
        load_study(tmp_path / "y.toml")

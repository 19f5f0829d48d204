"""Two tiny studies for tests of `jitterfly reproduce`."""

STUDY = """
name = "{name}"
title = "MS12 Fig. {figure}, small"
source = "Matsumoto & Suda 2012"
figure = "slowdown"
claims = ["{claim}"]
seed = 5
targets = ["mean of gain ± 5 %"]
realizations = {{ min = 40, max = {most} }}

[case]
algorithm = {{ kind = "butterfly", exchanges_after = "all" }}
network = {{ kind = "hockney", alpha = "100ns", beta = 1e-9, gamma = 1e-10 }}
noise = [{{ kind = "periodic", period = "100us", duration = "10us" }}]

[axes.ranks]
log2 = [2, 4]

[observables]
slowdown = {{ kind = "slowdown", T = 0 }}
slowdown_redundant = {{ kind = "slowdown", T = "best" }}
gain = {{ kind = "gain", of = {{ T = "best" }}, over = {{ T = 0 }} }}
optimal_T = {{ kind = "optimal_T" }}

[full]
realizations = {{ min = 80, max = {most} }}
"""

#: In the order of their claims, not of their names.
NAMES = ("second", "first")


def write(folder):
    """Put the studies into a folder; M6 has too small a budget for its target."""
    for name, figure, claim, most in (("second", 12, "M4", 2000), ("first", 21, "M6", 40)):
        text = STUDY.format(name=name, figure=figure, claim=claim, most=most)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")

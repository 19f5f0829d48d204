r"""A ReFrame check of an allreduce: it is as slow as the nodes' noise makes it, and no slower.

OSU's `osu_allreduce` is run, and its mean held to what jitterfly predicts from the noise that was
recorded on the nodes and from the network. A mean outside the bounds says that something other
than the known noise slows the machine down, or that its noise has changed.

    reframe -c packaging/reframe/allreduce.py -C SETTINGS.py --run \
        -S noise=$PWD/node.noise -S network='L=1.1us,o=250ns,G=0.09ns'
"""

import json
import subprocess
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    parameter,
    performance_function,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import ReframeError


@rfm.simple_test
class OsuAllreduceCheck(rfm.RunOnlyRegressionTest):
    """`osu_allreduce` on several nodes, its mean held to a simulation under the nodes' noise."""

    descr = "the mean of MPI_Allreduce against a simulation under the noise of the nodes"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    num_nodes = parameter([1, 2, 4])
    ranks_per_node = variable(int, value=1)
    message_bytes = variable(int, value=8)
    iterations = variable(int, value=10_000)

    # As `jitterfly compare-measured` takes them: what `noise record` wrote on a node, and the
    # network that `network parameters` prints.
    noise = variable(str)
    network = variable(str)
    library = variable(
        str, value="mpich"
    )  # or openmpi, openmpi-4.1, ...: whose choice is simulated
    tolerance = variable(float, value=0.3)  # of the predicted mean, downwards and upwards

    executable = "osu_allreduce"

    @run_before("run")
    def set_size(self):
        """Ask for the ranks, and for one size of message."""
        self.num_tasks = self.num_nodes * self.ranks_per_node
        if self.num_tasks < 2:
            self.skip("an allreduce needs two ranks")
        self.num_tasks_per_node = self.ranks_per_node
        bytes_ = str(self.message_bytes)
        self.executable_opts = ["-m", f"{bytes_}:{bytes_}", "-i", str(self.iterations), "-f"]

    @sanity_function
    def has_row(self):
        """See that the benchmark printed its size."""
        return sn.assert_found(rf"^\s*{self.message_bytes}\s+\S+", self.stdout)

    @performance_function("us")
    def mean(self):
        """The mean over the ranks and iterations."""
        row = rf"^\s*{self.message_bytes}\s+(?P<mean>\S+)"
        return sn.extractsingle(row, self.stdout, "mean", float)

    @run_before("performance")
    def predict(self):
        """Simulate what OSU timed, by its clock: that mean is the reference."""
        output = Path(self.stagedir) / self.stdout.evaluate()
        command = ["jitterfly", "compare-measured", output, "--json", "--backend", "cpu"]
        command += ["--noise", self.noise, "--network", self.network]
        command += ["--nodes", str(self.num_nodes), "--per-node", str(self.ranks_per_node)]
        command += ["--algorithm", self.library]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ReframeError(done.stderr)
        (row,) = json.loads(done.stdout)["rows"]
        microseconds = row["simulated"]["value"] * 1e6
        self.reference = {"*": {"mean": (microseconds, -self.tolerance, self.tolerance, "us")}}

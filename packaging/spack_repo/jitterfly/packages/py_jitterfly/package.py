"""Spack's recipe: builds the checkout that it lies in, or a published archive once there is one."""

from pathlib import Path

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyJitterfly(PythonPackage, CudaPackage):
    """Monte Carlo simulation of how operating-system noise, slow ranks and network congestion
    delay MPI and NCCL collectives, on the CPU or a GPU."""

    # The repository that this file lies in: Spack clones it, as it would one on the network.
    git = str(Path(__file__).resolve().parents[5])

    license("Apache-2.0", checked_by="jitterfly")

    # In a copy of this recipe elsewhere: `version("0.2.0", sha256=...)` of an sdist.
    version("main", branch="main")

    variant("plot", default=True, description="Draw pictures and show progress bars")
    variant("data", default=False, description="Export to xarray, pandas, netCDF and zarr")
    variant("mpi", default=False, description="Run sweeps on the workers of an MPI job")
    variant("dask", default=False, description="Run sweeps on Dask's workers")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.11:", type="build")
    depends_on("py-pybind11@2.13:", type=("build", "link"))
    depends_on("cmake@3.24:", type="build")
    depends_on("ninja", type="build")

    depends_on("py-numpy@1.23:", type="run")
    depends_on("py-scipy@1.10:", type="run")
    depends_on("py-tomli-w@1:", type="run")
    depends_on("py-tomli@2:", type="run", when="^python@:3.10")

    with when("+plot"):
        depends_on("py-matplotlib@3.6:", type="run")
        depends_on("py-tqdm@4.66.3:", type="run")
    with when("+data"):
        depends_on("py-netcdf4@1.6:", type="run")
        depends_on("py-pandas@2:", type="run")
        depends_on("py-pyarrow@14.0.1:", type="run")
        depends_on("arrow+parquet", type="run")
        depends_on("py-xarray@2023.6:", type="run")
        depends_on("py-zarr@2.16:", type="run")
    depends_on("py-mpi4py@3.1:", type="run", when="+mpi")
    depends_on("py-distributed@2024.12:", type="run", when="+dask")
    depends_on("cuda@12:", type=("build", "link", "run"), when="+cuda")

    conflicts("%gcc@:10", msg="jitterfly is written in C++20: it needs g++ 11 or newer")
    conflicts("%clang", msg="jitterfly needs g++: clang has no __builtin_shuffle")
    conflicts("platform=darwin", msg="jitterfly runs on Linux")
    conflicts("platform=windows", msg="jitterfly runs on Linux")

    import_modules = ["jitterfly", "jitterfly.cli", "jitterfly_papers"]

    def setup_build_environment(self, env):
        # Without this, the build would take any nvcc that it finds.
        env.set("JITTERFLY_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF")
        env.set("CMAKE_BUILD_PARALLEL_LEVEL", str(make_jobs))
        # For the tests after the install: what is being installed is not yet where Python looks.
        env.prepend_path("PYTHONPATH", join_path(self.prefix, self.python_spec.package.platlib))
        if self.spec.satisfies("+cuda"):
            env.set("CUDACXX", self.spec["cuda"].prefix.bin.nvcc)
            chosen = self.spec.variants["cuda_arch"].value
            if "none" not in chosen:
                env.set("JITTERFLY_CUDA_ARCHITECTURES", ",".join(chosen))

    def test_slowdown(self):
        """Slow an allreduce down by noise: a seed gives the same numbers everywhere."""
        jitterfly = Executable(self.prefix.bin.jitterfly)
        noise = "period=1ms,duration=25us"
        text = jitterfly(
            "slowdown", "--ranks", "64", "--noise", noise, "--backend", "cpu", output=str
        )
        assert "2.41 [2.33, 2.49]" in text, text

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def test_after_install(self):
        self.test_slowdown()

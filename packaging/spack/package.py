"""A recipe for Spack. Copy it to packages/mpix-rma/ of a repository of your own, and install from a checkout:

    spack dev-build --source-path CHECKOUT mpix-rma@develop

It has not been run.
"""
from spack.package import *


class MpixRma(CMakePackage):
    """One-sided communication for MPI by rank and address, with ARMCI and MPI's windows on the same engine."""

    license("BSD-3-Clause", checked_by="")

    version("develop")

    variant("nam", default=True, description="Memory server mpix-namd and its tools")
    variant("fortran", default=True, description="Fortran modules")
    variant("trace", default=True, description="Traces in the format OTF2")
    variant("python", default=False, description="Package for Python, beside mpi4py and NumPy")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    # The component is compiled against Open MPI's internal headers: its installation must have been configured with
    # --with-devel-headers, as distributions' packages are. Declare such a one as an external package.
    depends_on("mpi")
    depends_on("openmpi@4.1:5", when="^[virtuals=mpi] openmpi")
    depends_on("ucx@1.11:")
    depends_on("libsodium@1.0.18:")
    depends_on("cli11@2:")
    depends_on("spdlog")
    depends_on("nlohmann-json@3:")
    depends_on("sqlite@3", when="+nam")
    depends_on("libseccomp", when="+nam")
    depends_on("otf2@3:", when="+trace")
    with when("+python"):
        extends("python")
        depends_on("py-mpi4py", type=("build", "run"))
        depends_on("py-numpy", type=("build", "run"))
        depends_on("py-pybind11", type="build")

    generator("ninja")

    def cmake_args(self):
        options = [
            self.define("MPIX_BUILD_TESTS", False),
            self.define("MPIX_BUILD_BENCH", False),
            self.define("MPIX_BUILD_EXAMPLES", False),
            self.define_from_variant("MPIX_BUILD_NAM", "nam"),
            self.define_from_variant("MPIX_BUILD_TRACE", "trace"),
            self.define_from_variant("MPIX_BUILD_PYTHON", "python"),
        ]
        if self.spec.satisfies("+python"):
            options.append(self.define("MPIX_PYTHON", self.spec["python"].command.path))
        if self.spec.satisfies("~fortran"):
            options.append(self.define("CMAKE_Fortran_COMPILER", "NOTFOUND"))
        return options

    def setup_run_environment(self, env):
        component = join_path(self.prefix.lib, "mpix-rma", "openmpi")
        env.set("OMPI_MCA_mca_base_component_path", f"{component}:SYSTEM_DEFAULT")

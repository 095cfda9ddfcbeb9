"""The requirements on the machine that a block can name in `<!-- needs: ... -->`."""
import os
import shutil
import subprocess


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


NEEDS = {
    "Open MPI 5": lambda: "Open MPI v5" in output("ompi_info", "--version"),
    "environment modules": lambda: os.path.exists("/usr/share/modules/init/bash"),
    "Global Arrays": lambda: shutil.which("ga-config") is not None,
    "Fortran": lambda: shutil.which("mpifort") is not None,
    "MPICH": lambda: shutil.which("mpicc.mpich") is not None and shutil.which("mpirun.mpich") is not None,
    "Global Arrays for MPICH": lambda: os.path.exists("/usr/lib/x86_64-linux-gnu/ga/mpich/bin/ga-config"),
    "Python package": lambda: subprocess.run(
        ["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True).returncode == 0
        and os.path.exists("/usr/include/pybind11/pybind11.h"),
    "pip": lambda: subprocess.run(["/usr/bin/python3", "-c", "import setuptools, wheel, pip, venv, ensurepip"],
                                  capture_output=True).returncode == 0,
    "matplotlib": lambda: subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"],
                                         capture_output=True).returncode == 0,
    "mpi4py": lambda: subprocess.run(["/usr/bin/python3", "-c", "import mpi4py, numpy"], capture_output=True).returncode == 0,
}


def missing(needs):
    return [need for need in needs if not NEEDS[need]()]

"""Builds the extension against an installed library, which pkg-config finds as mpix-rma; pyproject.toml has the rest."""
import glob
import shlex
import subprocess

import mpi4py
import numpy
import setuptools


def pkg_config(*options):
    try:
        found = subprocess.run(["pkg-config", *options, "mpix-rma"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit("mpix-rma was not found by pkg-config: install the library, and put PREFIX/lib/pkgconfig into "
                         "PKG_CONFIG_PATH (or . PREFIX/share/mpix-rma/env.sh)") from error
    return shlex.split(found)


def pybind11_include():
    """Of the Python module, where there is one: distributions have the headers in the compiler's directories."""
    try:
        import pybind11
    except ImportError:
        return []
    return [pybind11.get_include()]


setuptools.setup(ext_modules=[setuptools.Extension(
    "mpix_rma._core", sorted(glob.glob("src/*.cpp")), language="c++",
    include_dirs=["src", numpy.get_include(), mpi4py.get_include(), *pybind11_include()],
    extra_compile_args=["-std=c++20", "-fvisibility=hidden", "-g0", *pkg_config("--cflags")],
    extra_link_args=pkg_config("--libs"))])

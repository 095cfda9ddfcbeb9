"""Prints, separated by semicolons, what CMake needs to build the extension for this interpreter: the suffix of its
file, the directory of packages below a prefix, and the directories of headers."""
import sys
import sysconfig

import mpi4py
import numpy

print(sysconfig.get_config_var("EXT_SUFFIX"), f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages",
      sysconfig.get_path("include"), numpy.get_include(), mpi4py.get_include(), sep=";", end="")

# Around the snippet of docs/nam.md: reads what nam_producer has left.
import sys

import numpy
from mpi4py import MPI

port = sys.argv[1]
rank = 1
info = MPI.Info.Create()
# snippet 1
assert list(values) == [1, 101]  # noqa: F821
window.Free()  # noqa: F821

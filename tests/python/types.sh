#!/bin/sh
# Checks the annotations of the package and its examples with mypy, and the stub of the extension module against that
# module.
# usage: types.sh PYTHON SOURCE-DIR PACKAGE-DIR
# Exit status 77: mypy is missing, or mpi4py has other annotations than those of 3.1, which the package's follow.
set -eu
python=$1 source=$2 package=$3
"$python" -c "import mypy" 2> /dev/null || { echo "skipped: mypy is missing"; exit 77; }
"$python" -c "import mpi4py; assert mpi4py.__version__.startswith('3.')" 2> /dev/null ||
  { echo "skipped: the annotations follow those of mpi4py 3.1"; exit 77; }
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export MYPYPATH="$source/python" PYTHONPATH="$package" MYPY_CACHE_DIR="$cache" PYTHONDONTWRITEBYTECODE=1
"$python" -m mypy --strict -p mpix_rma
"$python" -m mypy "$source"/examples/python/*.py
"$python" -m mypy.stubtest mpix_rma._core --ignore-missing-stub --allowlist "$source/tests/python/stub_exceptions.txt"

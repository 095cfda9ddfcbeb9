#!/bin/sh
# Installs the library into a temporary prefix, and the package by pip into a virtual environment with the system's
# packages, without any package index; then runs an example on it.
# usage: pip.sh CMAKE BUILD-DIR PYTHON SOURCE-DIR MPIRUN
# Exit status 77: a package of the system is missing.
set -eu
cmake=$1 build=$2 python=$3 source=$4 mpirun=$5
"$python" -c "import setuptools, wheel, pip, venv, ensurepip" 2> /dev/null ||
  { echo "skipped: python3-venv, python3-pip, python3-setuptools or python3-wheel is missing"; exit 77; }
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$cmake" --install "$build" --prefix "$directory/prefix" > /dev/null
cp -r "$source/python" "$directory/python"
"$python" -m venv --system-site-packages "$directory/venv"
# Not optimised: it is compiled sooner.
export CFLAGS=-O0 PKG_CONFIG_PATH="$directory/prefix/lib/pkgconfig" PIP_DISABLE_PIP_VERSION_CHECK=1 HOME="$directory"
"$directory/venv/bin/pip" install --no-index --no-build-isolation "$directory/python"
cd "$directory"
"$mpirun" --oversubscribe -np 2 "$directory/venv/bin/python" "$source/examples/python/work_queue.py" |
  grep "result correct"
"$directory/venv/bin/python" -c "import mpix_rma; assert '/venv/' in mpix_rma.__file__, mpix_rma.__file__"

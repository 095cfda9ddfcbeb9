#!/usr/bin/env bash
# Builds the Debian packages, checks them with lintian, installs them, and uses each as a reader of docs/installing.md
# does. Changes the system: run by scripts/in-debian, in a chroot.
# usage: packages.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 DEBIAN_FRONTEND=noninteractive
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

fail() {
  echo "packages.sh: $*" >&2
  exit 1
}
quiet() { # COMMAND...: prints its output if it fails
  "$@" > "$work/log" 2>&1 < /dev/null || { tail -n 40 "$work/log" >&2; fail "failed: $*"; }
}
expect() { # TEXT COMMAND...: its output has TEXT
  local text=$1 output
  shift
  output=$("$@" 2>&1 < /dev/null) || { echo "$output" >&2; fail "failed: $*"; }
  case "$output" in *"$text"*) ;; *) echo "$output" >&2; fail "no \"$text\" in the output of: $*" ;; esac
}

quiet apt-get update
quiet apt-get install -y --no-install-recommends build-essential dpkg-dev lintian
mkdir -p "$work/source"
tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$work/source" -xf -
cd "$work/source"
quiet apt-get build-dep -y --no-install-recommends ./
begin=$SECONDS
quiet dpkg-buildpackage -b -us -uc
echo "built in $((SECONDS - begin)) s: $(cd .. && echo *.deb)"
quiet lintian --allow-root --fail-on error ../*.changes
grep -E '^[EW]:' "$work/log" || :

quiet apt-get install -y --no-install-recommends ../*.deb openmpi-bin mpich gfortran pkg-config man-db
mkdir "$work/use"
cd "$work/use"
examples=$root/examples

quiet cc "$examples/work_queue.c" $(pkg-config --cflags --libs mpix-rma) -o queue
expect "result correct" mpirun.openmpi -np 2 ./queue
quiet cc "$examples/work_queue.c" $(pkg-config --cflags --libs mpix-rma-mpich) -o queue_mpich
expect "result correct" mpirun.mpich -np 2 ./queue_mpich
quiet gfortran "$examples/fortran_work_queue.f90" $(pkg-config --cflags --libs mpix-rma-fortran) -o queue_fortran
quiet mpirun.openmpi -np 2 ./queue_fortran
quiet c++ -std=c++20 "$examples/cpp_work_queue.cpp" $(pkg-config --cflags --libs mpix-rma) -o queue_cpp
expect "result correct" mpirun.openmpi -np 2 ./queue_cpp
quiet mpirun.openmpi -np 2 /usr/bin/python3 "$examples/python/work_queue.py"
quiet cc "$examples/calls/armci.c" $(pkg-config --cflags --libs armci) -o calls_armci
quiet mpirun.openmpi -np 2 ./calls_armci

# A program that does not know the library.
quiet mpicc.openmpi "$root/examples/windows.c" -o windows
quiet sh -c 'eval "$(mpix-rma env)" && mpirun.openmpi -np 2 ./windows > windows.txt'
grep -q mpix windows.txt || { cat windows.txt >&2; fail "the windows of a program are not the component's"; }

expect "Open MPI" mpix-rma info
for page in mpix_rma MPIX_RMA_xfer mpix-rma mpix-nam mpix-namd; do quiet man -w "$page"; done
expect "usage" sh -c 'mpix-nam --help | tr U u'
expect "usage" sh -c 'mpix-namd --help | tr U u'
[ -f /usr/lib/systemd/system/mpix-namd.service ] || [ -f /lib/systemd/system/mpix-namd.service ] || fail "no systemd unit"

# Nothing stays behind.
for package in "$work"/*.deb; do dpkg-deb -W --showformat='${Package}\n' "$package"; done > "$work/names"
quiet apt-get purge -y $(cat "$work/names")
left=$(find /usr /etc -name '*mpix*' ! -path "$root/*" ! -path '/usr/src/*' 2> /dev/null || :)
[ -z "$left" ] || fail "files that a purge leaves: $left"
echo "packages.sh: built, checked, installed, used and purged"

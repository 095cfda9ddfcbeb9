#!/usr/bin/env bash
# Windows from Python.
. "$(dirname "$0")/lib.sh"
need_packages python3-mpi4py python3-numpy

for ranks in 2 3 $([ "$long" = yes ] && echo 1 4 8); do
  on_ours "$ranks" /usr/bin/python3 "$here/windows.py" > output 2>&1 || fail "mpi4py, $ranks ranks" output
done
echo "mpi4py: all right"
[ "$long" = yes ] || exit 0
code=0
on_two_hosts 1 /usr/bin/python3 "$here/windows.py" > output 2>&1 || code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 77 ] || fail "mpi4py on two hosts" output

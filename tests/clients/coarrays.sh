#!/usr/bin/env bash
# Coarray Fortran: a program of puts, gets, events, atomics and collectives; and the tests that OpenCoarrays brings.
. "$(dirname "$0")/lib.sh"
need_packages libcoarrays-openmpi-dev gfortran

gfortran -fcoarray=lib "$here/coarrays.f90" -o coarrays $(pkg-config --cflags --libs caf-openmpi) -lmpi_mpifh 2> compile ||
  gfortran -fcoarray=lib "$here/coarrays.f90" -o coarrays $(pkg-config --libs caf-openmpi) 2> compile ||
  fail "gfortran does not translate the program" compile
for ranks in 2 3 $([ "$long" = yes ] && echo 1 4 8); do
  on_ours "$ranks" ./coarrays > output 2>&1 || fail "coarrays, $ranks images" output
  grep -q '^all right$' output || fail "coarrays, $ranks images" output
done
echo "coarrays: all right"
[ "$long" = yes ] || exit 0
code=0
on_two_hosts 1 ./coarrays > output 2>&1 || code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 77 ] || fail "coarrays on two hosts" output

# OpenCoarrays' own tests that pass on the stock components pass on ours.
tests=$(dpkg -L libcoarrays-openmpi-dev | grep -m 1 'OpenCoarrays-.*-tests$')
failed=""
for program in "$tests"/*; do
  name=$(basename "$program")
  case "$name" in *fail*|*stopped*) continue ;; esac # images that die are not MPI's
  timeout 60 "$mpirun" --oversubscribe --bind-to none -np 4 --mca osc "$stock" "$program" > stock 2>&1 < /dev/null || continue
  on_ours 4 timeout 60 "$program" > ours 2>&1 || { failed="$failed $name"; tail -n 5 ours; }
done
[ -z "$failed" ] || fail "OpenCoarrays' tests:$failed"

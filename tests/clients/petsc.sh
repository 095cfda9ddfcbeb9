#!/usr/bin/env bash
# PETSc's star forest on windows, by each of its three synchronisations: the same result as without windows.
. "$(dirname "$0")/lib.sh"
need_packages libpetsc-real-dev

mpicc.openmpi "$here/star_forest.c" -o star_forest $(pkg-config --cflags --libs petsc) -Wno-date-time 2> compile ||
  fail "the program does not compile" compile
for ranks in 2 $([ "$long" = yes ] && echo 1 3 4 8); do
  for flavour in create $([ "$long" = yes ] && echo allocate); do # this PETSc has no broadcasts on dynamic ones
    for synchronisation in fence active lock; do
      on_ours "$ranks" ./star_forest -sf_type window -sf_window_flavor "$flavour" -sf_window_sync "$synchronisation" \
        > output 2>&1 || fail "star forest, $ranks ranks, $flavour, $synchronisation" output
    done
  done
done
echo "star forest: all right"

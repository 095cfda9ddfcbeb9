#!/usr/bin/env bash
# PETSc's star forest on windows, by each of its three synchronisations: the same result as without windows.
. "$(dirname "$0")/lib.sh"
need_packages libpetsc-real-dev

mpicc.openmpi "$here/star_forest.c" -o star_forest $(pkg-config --cflags --libs petsc) -Wno-date-time 2> compile ||
  fail "the program does not compile" compile
for ranks in 2 $([ "$long" = yes ] && echo 1 3 4 8); do
  for synchronisation in fence active lock; do
    # This PETSc has broadcasts on created windows only.
    on_ours "$ranks" ./star_forest -sf_type window -sf_window_flavor create -sf_window_sync "$synchronisation" \
      > output 2>&1 || fail "star forest, $ranks ranks, $synchronisation" output
  done
done
echo "star forest: all right"

#!/usr/bin/env bash
# Debian's ARMCI-MPI, and Global Arrays on it: ga_matmul prints on our windows what it prints on the stock components,
# and ga_taskloop succeeds.
. "$(dirname "$0")/lib.sh"
need_packages libarmci-mpi-dev libglobalarrays-dev libscalapack-openmpi-dev

libraries="-lga-openmpi -larmci-openmpi -lscalapack-openmpi -llapack -lblas -lgfortran -lm -lquadmath -lpthread"
mpicc.openmpi "$here/../../examples/ga_matmul.c" -o ga_matmul $(ga-config --cppflags) $libraries 2> compile ||
  fail "the Global Arrays program does not compile" compile
mpicc.openmpi "$here/../../examples/ga_taskloop.c" -o ga_taskloop $(ga-config --cppflags) $libraries 2> compile ||
  fail "the Global Arrays program does not compile" compile
untimed() { sed -E 's/[0-9.]+ (s|ms|us)\b/TIME/' "$1"; }
for ranks in 2 $([ "$long" = yes ] && echo 1 3 4); do
  for program in ga_matmul ga_taskloop; do
    on_stock "$ranks" "./$program" > stock 2> errors || fail "$program fails on the stock components" errors
    for shared in 1 0; do # windows that share memory, and others
      on_ours "$ranks" -x ARMCI_USE_WIN_ALLOCATE="$shared" "./$program" > ours 2> errors || fail "$program, $ranks ranks" errors
      [ "$program" != ga_matmul ] || [ "$(untimed ours)" = "$(untimed stock)" ] || { diff stock ours; fail "$program prints something else"; }
    done
  done
done
echo "ARMCI-MPI, Global Arrays: all right"

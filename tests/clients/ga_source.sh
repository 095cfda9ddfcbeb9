#!/usr/bin/env bash
# Builds Global Arrays from Debian's source on this library as it is installed, by Global Arrays' own option
# --with-armci, and runs a program, which checks its result, on one host and on two.
# usage: ga_source.sh BUILD-DIRECTORY
# MPIX_GA_ARCHIVES may name a directory with an archive of the source. Exit status 77: the source or a tool is missing.
set -eu
build=${1:?"$0: where was the library built?"}
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cmake --install "$build" --prefix "$dir/prefix" > "$dir/install.log"
"$root/scripts/peers" ${MPIX_GA_ARCHIVES:+--sources "$MPIX_GA_ARCHIVES"} --runtimes armci --prefix "$dir/prefix" --work "$dir"
ga=$dir/ga-armci
mpicc.openmpi -O2 -I"$ga/include" -c "$root/bench/bench_ga.c" -o "$dir/program.o"
# shellcheck disable=SC2046 # several words
mpifort.openmpi "$dir/program.o" $("$ga/bin/ga-config" --ldflags --libs) -L"$dir/prefix/lib" -Wl,-rpath,"$dir/prefix/lib" \
  -lm -o "$dir/program"
. "$dir/prefix/share/mpix-rma/env.sh"
ldd "$dir/program" | grep -q "$dir/prefix/lib/libarmci" || { echo "the program is not linked with the installed libarmci"; exit 1; }
for ranks in 2 4; do
  mpirun.openmpi --oversubscribe --bind-to none -np "$ranks" "$dir/program" | grep -q "^ga,ga,application,allocated,$ranks,"
done
if [ "$(id -u)" -eq 0 ]; then
  status=0
  "$root/scripts/two-hosts" --ranks-per-host 1 -- "$dir/program" > "$dir/two-hosts.log" || status=$?
  # 77: this machine does not permit network namespaces.
  [ "$status" -eq 77 ] || grep -q '^ga,ga,application,allocated,2,' "$dir/two-hosts.log"
fi

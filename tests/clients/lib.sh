# Shared by the scripts of this directory but ga_source.sh. Each runs a client of MPI's windows that knows nothing of
# this library: on this library's windows, and for comparisons on the stock components.
# usage of each: SCRIPT [--long] COMPONENT-DIRECTORY
# Exit status 77: a package is missing.
set -eu
long=no
if [ "${1:-}" = --long ]; then long=yes; shift; fi
component=${1:?"$0: where is mca_osc_mpix.so?"}
here=$(cd "$(dirname "$0")" && pwd)
two_hosts=$here/../../scripts/two-hosts
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
# The components that ours is compared with: only those present, because Open MPI 5 ends a program if a named one is
# missing.
present() { "$(command -v ompi_info.openmpi || command -v ompi_info)" | sed -n 's/^ *MCA osc: \([a-z0-9]*\) .*/\1/p'; }
stock=${MPIX_TEST_STOCK:-$(present | grep -xE 'sm|rdma|ucx|pt2pt' | paste -sd,)}
ours=${MPIX_TEST_OURS:-mpix}                 # another component here shows what a script reports
export PMIX_MCA_mca_base_component_path=$component/.. # as in share/env.sh.in
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

need_packages() { # NAME...
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' ||
      { echo "skipped: the Debian package $package is missing"; exit 77; }
  done
}

# on_ours RANKS COMMAND...; ours takes every window, or the program fails
on_ours() {
  local ranks=$1
  shift
  OMPI_MCA_mca_base_component_path=$component:SYSTEM_DEFAULT "$mpirun" --oversubscribe --bind-to none -np "$ranks" \
    --mca osc "$ours" "$@" < /dev/null
}
# on_stock RANKS COMMAND...
on_stock() {
  local ranks=$1
  shift
  "$mpirun" --oversubscribe --bind-to none -np "$ranks" --mca osc "$stock" "$@" < /dev/null
}
# on_two_hosts RANKS-PER-HOST COMMAND...; on ours
on_two_hosts() {
  local ranks=$1
  shift
  OMPI_MCA_mca_base_component_path=$component:SYSTEM_DEFAULT "$two_hosts" --ranks-per-host "$ranks" -- --mca osc "$ours" "$@"
}

fail() { echo "FAILED: $1"; [ -z "${2:-}" ] || tail -n 30 "$2"; exit 1; }

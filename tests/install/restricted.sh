#!/usr/bin/env bash
# Uses the installed files on machines that forbid things: with Docker's default seccomp profile and a /dev/shm of 64 MiB.
# usage: restricted.sh CMAKE BUILD-DIR SOURCE-DIR MPIRUN MPICC
# Exit status 77: the machine does not permit mounts.
set -euo pipefail
cmake=$1 build=$2 source=$3 mpirun=$4 mpicc=$5
if [ -z "${restricted_inside-}" ]; then
  unshare --mount true 2> /dev/null || { echo "restricted.sh: skipped: no mount namespaces" >&2; exit 77; }
  restricted_inside=yes exec unshare --mount --propagation private "$0" "$@"
fi
mount -t tmpfs -o size=64m tmpfs /dev/shm
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset "${!OMPI_MCA_@}" "${!PMIX_MCA_@}"

fail() {
  cat "$dir/log"
  echo "restricted.sh: $*" >&2
  exit 1
}
"$cmake" --install "$build" --prefix "$dir/prefix" > /dev/null
. "$dir/prefix/share/mpix-rma/env.sh"
cc -Wall -Wextra "$source/tests/install/restricted.c" -o "$dir/restricted"
"$mpicc" "$source/examples/windows.c" -o "$dir/windows"
# shellcheck disable=SC2046
cc "$source/examples/work_queue.c" $(pkg-config --cflags --libs mpix-rma) -o "$dir/work_queue"

"$dir/restricted" mpix-rma info > "$dir/log" 2>&1 || fail "mpix-rma info"
grep -q '^  no *cross-memory copies (process_vm_readv): process_vm_readv: Operation not permitted' "$dir/log" || fail "info: seccomp"
grep -q 'remedy: permit process_vm_readv\|remedy: sysctl kernel.yama.ptrace_scope=0' "$dir/log" || fail "info: remedy"
grep -q '^  limited  /dev/shm: .* of 64 MiB' "$dir/log" || fail "info: /dev/shm"
for program in windows work_queue; do
  timeout 100 "$dir/restricted" "$mpirun" --oversubscribe --bind-to none -np 3 "$dir/$program" > "$dir/log" 2>&1 < /dev/null ||
    fail "$program"
  [ $program != windows ] || grep -q 'windows of osc/mpix' "$dir/log" || fail "the windows are not taken"
done
"$dir/restricted" mpix-rma check "$dir/windows" > "$dir/log" 2>&1 < /dev/null || fail "mpix-rma check"
echo "all right"

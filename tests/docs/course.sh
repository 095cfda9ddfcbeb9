#!/usr/bin/env bash
# The course of examples: each program is correct. If its comment gives a command with --without, which leaves out what
# the program explains, that command shows errors.
set -euo pipefail
mpirun=$1
programs=$2
sources=$3

run() {
  timeout 300 $mpirun --oversubscribe --bind-to none "$@"
}

# broken SOURCE: runs the command of the comment. A run may be correct by chance, and most are while other programs
# use the cores.
broken() {
  local command
  command=$(tr '\n' ' ' < "$sources/$1.c" | sed 's/ \*\/.*//; s/ \* / /g; s/  */ /g' | grep -o 'mpirun .* --without') || return 0
  for _ in {1..64}; do
    (cd "$programs" && run ${command#mpirun }) > "$1.broken" 2>&1 || true
    grep -q "$1 --without: [1-9]" "$1.broken" && return
  done
  echo "$1: \"$command\" shows no error:" >&2
  cat "$1.broken" >&2
  exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for program in put_get overlap data_then_flag lost_updates lock attributes errors memory halo_by_notification beside_windows; do
  run -np 3 "$programs/$program" > "$program.out" || { cat "$program.out" >&2; exit 1; }
  grep -qx "$program: 0 wrong" "$program.out" || { cat "$program.out" >&2; exit 1; }
  [ "$program" = errors ] || broken "$program"
done
if (cd "$programs" && run -np 2 ./errors --without) > errors.broken 2>&1; then
  echo "errors --without does not end the job" >&2
  exit 1
fi
grep -q "MPIX_RMA_xfer: target_rank" errors.broken || { cat errors.broken >&2; exit 1; }

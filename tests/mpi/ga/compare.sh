#!/bin/sh
# A Global Arrays program on this library's ARMCI has to print what it prints on ARMCI-MPI. Times are not compared.
# usage: compare.sh PROGRAM-ON-OURS PROGRAM-ON-ARMCI-MPI MPIRUN RANKS [two-hosts-script]
set -eu
ours=$1 peer=$2 mpirun=$3 ranks=$4 two_hosts=${5:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case "$mpirun" in
  *mpich* | *hydra*) placement= ;;
  *) placement="--oversubscribe --bind-to none" ;;
esac
run() {
  # shellcheck disable=SC2086
  "$mpirun" $placement -np "$ranks" "$1" < /dev/null
}
untimed() {
  sed -E 's/[0-9.]+ (s|ms|us)\b/TIME/' "$1"
}
if [ -n "$two_hosts" ]; then
  code=0
  "$two_hosts" --ranks-per-host "$((ranks / 2))" -- "$ours" > "$dir/ours" < /dev/null || code=$?
  [ "$code" -eq 77 ] && exit 77
  [ "$code" -eq 0 ] || { cat "$dir/ours"; exit 1; }
else
  run "$ours" > "$dir/ours"
fi
run "$peer" > "$dir/peer"
untimed "$dir/ours" > "$dir/ours.lines"
untimed "$dir/peer" > "$dir/peer.lines"
grep -q . "$dir/peer.lines" || { echo "nothing to compare"; exit 1; }
diff "$dir/ours.lines" "$dir/peer.lines"

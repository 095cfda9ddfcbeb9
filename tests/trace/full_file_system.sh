#!/usr/bin/env bash
# The records of a trace fit into the file system, and the trace does not: the job ends as without a trace, and the
# records are converted once there is room.
# usage: full_file_system.sh MPIX_RMA TRACED_PROGRAM LAUNCHER... (2 ranks)
set -eu
unshare -m true 2> /dev/null || exit 77
if [ "${FULL_FILE_SYSTEM:-}" = "" ]; then
  FULL_FILE_SYSTEM=$(mktemp -d)
  export FULL_FILE_SYSTEM
  trap 'rm -rf "$FULL_FILE_SYSTEM"' EXIT
  unshare -m sh -c 'mount -t tmpfs -o size=8M none "$FULL_FILE_SYSTEM" && exec "$@"' sh "$0" "$@"
  exit
fi
tool=$1
program=$2
shift 2
trace=$FULL_FILE_SYSTEM/trace
fail() {
  echo "full_file_system.sh: $*" >&2
  exit 1
}

MPIX_RMA_TRACE=$trace "$@" "$program" many 2> "$FULL_FILE_SYSTEM/errors" || fail "the job fails"
cat "$FULL_FILE_SYSTEM/errors"
line="is not converted to OTF2: No space left on device; its records stay there$"
grep -q "$line" "$FULL_FILE_SYSTEM/errors" || fail "there is no line about it"
! grep -v "$line" "$FULL_FILE_SYSTEM/errors" || fail "there are other lines"  # two lines if both processes end at once
[ "$(ls "$trace")" = records ] || fail "parts of a trace are left"
mount -o remount,size=64M "$FULL_FILE_SYSTEM"
"$tool" timeline "$trace" -o "$FULL_FILE_SYSTEM/page.html"
operations=$(otf2-print "$trace/traces.otf2" | grep -c '^RMA_\(PUT\|GET\|ATOMIC\) ')
expected=$((100 * 20 * 9 * 2 * 2))
[ "$operations" -eq "$expected" ] || fail "$operations operations instead of $expected"

#!/bin/sh
# Runs a test that starts jobs, up to three times where MPI_Comm_spawn does not return: Open MPI 4.1 with PMIx 4.2 now
# and then never starts what it is asked to, and mpirun may not end then.
# Usage: spawning.sh COMMAND...
set -u
output=$(mktemp)
trap 'rm -f "$output"' EXIT
for attempt in 1 2 3; do
  timeout --kill-after=5 70 "$@" > "$output" 2>&1
  result=$?
  grep -q 'MPI_Comm_spawn does not return' "$output" || break
done
cat "$output"
# mpirun --enable-recovery is content with ranks that were killed.
if [ $result -eq 0 ] && ! grep -q '\[  PASSED  \]' "$output"; then
  echo "spawning.sh: the test ended before its end"
  result=1
fi
exit $result

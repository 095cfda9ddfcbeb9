#!/bin/sh
# Runs a test that starts jobs, up to three times where MPI_Comm_spawn does not return: Open MPI 4.1 with PMIx 4.2
# sometimes never starts the spawned program. mpirun may hang then, and is killed as soon as the test says so.
# Usage: spawning.sh COMMAND...
set -u
output=$(mktemp)
trap 'rm -f "$output"' EXIT
gave_up() { grep -q 'MPI_Comm_spawn does not return' "$output"; }
for attempt in 1 2 3; do
  timeout --kill-after=5 70 "$@" > "$output" 2>&1 &
  run=$!
  while kill -0 $run 2> /dev/null; do
    if gave_up; then
      sleep 1
      kill $run 2> /dev/null
      break
    fi
    sleep 0.2
  done
  wait $run
  result=$?
  gave_up || break
done
cat "$output"
[ $result -eq 0 ] || echo "spawning.sh: exit status $result in attempt $attempt"
# mpirun --enable-recovery succeeds even if ranks were killed.
if [ $result -eq 0 ] && ! grep -q '\[  PASSED  \]' "$output"; then
  echo "spawning.sh: the test ended early"
  result=1
fi
case $* in
  *spawn_test*) # All operations have succeeded.
    if grep -q 'failed without being reported' "$output"; then
      echo "spawning.sh: failures were reported"
      result=1
    fi ;;
esac
exit $result

#!/bin/bash
# descriptors.sh MPIRUN PROGRAM [ARGUMENT...]: two ranks, one of which may open few files only. The job ends in time,
# and passes or says that it lacks descriptors.
if [ "$1" = --limited ]; then
  shift
  [ "$OMPI_COMM_WORLD_RANK" = 0 ] && ulimit -n "$MPIX_TEST_DESCRIPTORS"
  exec "$@"
fi

mpirun=$1
shift
passed=0
for limit in 20 24 26 30 34 38 64 128; do
  output=$(MPIX_TEST_DESCRIPTORS=$limit timeout 100 "$mpirun" --oversubscribe --bind-to none -np 2 \
             "$0" --limited "$@" 2>&1)
  code=$?
  if [ $code = 0 ]; then
    passed=$((passed + 1))
  elif { [ $code -gt 128 ] && [ $code -le 192 ]; } || grep -q "exited on signal" <<<"$output"; then
    echo "$output"
    echo "limit $limit: a process was killed"
    exit 1
  elif [ $code = 124 ] || ! grep -qE "file descriptors|Too many open files|number of files" <<<"$output"; then
    echo "$output"
    echo "limit $limit: exit code $code, without a message about descriptors"
    exit 1
  fi
  echo "limit $limit: exit code $code"
done
[ $passed != 0 ]

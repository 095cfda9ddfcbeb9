#!/bin/sh
# Failures that a program does not ask for are reported when MPI ends. Tested on both hosts, and with windows.
# usage: unreported_failures.sh PROGRAM WINDOWS_PROGRAM|none MPIRUN [OPTION...]
set -eu
program=$1
windows=$2
shift 2
mpirun=$*
log=$(mktemp)
trap 'rm -f "$log"' EXIT

fail() {
  echo "$1; the output:" >&2
  cat "$log" >&2
  exit 1
}
run() {
  status=0
  $mpirun -np 2 "$program" "$1" > "$log" 2>&1 || status=$?
}
export MPIX_PATH=message OMPI_MCA_osc_mpix_path=message

told="MPI_Finalize: 3 operations failed without being reported; the first:"
operation="an accumulate of 24 bytes at address 0x[0-9a-f]*"

run return
grep -q "$told $operation of rank 1 failed: " "$log" || fail "no line about accumulates"
[ "$status" -eq 0 ] || fail "exit status $status though errors return"
run fatal
grep -q "$told $operation of rank 1 failed: " "$log" || fail "no line about accumulates where errors are fatal"
[ "$status" -ne 0 ] || fail "exit status 0 though errors are fatal"
run communicator
grep -q "$told $operation of rank 1 of MPI_COMM_WORLD failed: " "$log" || fail "no line about operations of a communicator that is freed"
run request
[ "$status" -eq 0 ] || fail "the failure of a freed request is lost"
if grep -q "without being reported" "$log"; then fail "a failure is told twice"; fi

told="MPI_Finalize: 1 operation failed without being reported; the first: [a-z ]* of 8 bytes at"
run seen
grep -q "$told address 0x[0-9a-f]* of rank 1 failed: " "$log" || fail "no line about a request that is freed when MPI has seen it"
run waited
[ "$status" -eq 0 ] || fail "MPI_Wait does not tell the failure"
if grep -q "without being reported" "$log"; then fail "what MPI_Wait has told is told again"; fi
hosts=public
if [ "$windows" != none ]; then
  hosts="component public"
  MPIX_HOST=public run seen
  grep -q "$told address 0x[0-9a-f]* of rank 1 failed: " "$log" || fail "no line about such a request on the public host"
fi
for host in $hosts; do
  export MPIX_HOST=$host
  run asked
  [ "$status" -eq 0 ] || fail "MPI_Request_get_status reports the failure on the $host host"
  grep -q "$told address 0x[0-9a-f]* of rank 1 failed: " "$log" || fail "no line about a request whose status was asked for, on the $host host"
  for mode in object object_twice; do
    run $mode
    [ "$status" -eq 0 ] || fail "$mode fails on the $host host"
    grep -q "$told address 0x[0-9a-f]* of rank 1 failed: " "$log" || fail "no line about a request object ($mode, $host host)"
  done
  run object_waited
  [ "$status" -eq 0 ] || fail "MPI_Wait does not tell the failure of a request object on the $host host"
  if grep -q "without being reported" "$log"; then fail "what MPI_Wait has told of a request object is told again on the $host host"; fi
done
unset MPIX_HOST
[ "$windows" != none ] || exit 0
program=$windows
run free
[ "$status" -eq 0 ] || fail "a call on the window fails"
grep -q "$told displacement [0-9]* of rank 1 failed: " "$log" || fail "no line about a request that outlives its window"
run wait
[ "$status" -eq 0 ] || fail "MPI_Wait does not tell the failure behind the window"
if grep -q "without being reported" "$log"; then fail "what MPI_Wait has told behind the window is told again"; fi

#!/bin/bash
# Jobs that find each other's data at one memory server: a producer and consumers of other sizes, jobs that count in one
# window at the same time, and a job that kills itself while it holds the lock. The data are read from Python, too,
# where there are mpi4py and NumPy.
#
# usage: tests/nam/jobs.sh MPIRUN BIN PRODUCER CONSUMER COUNTER READER
set -euo pipefail
mpirun=("$1" --oversubscribe --bind-to none --mca osc mpix)
bin=$2 producer=$3 consumer=$4 counter=$5 reader=$6
. "$(dirname "$0")/server.sh" "$bin"

"${mpirun[@]}" -np 3 "$producer" field | grep -q "^The window's port name: mpix-nam://"
"${mpirun[@]}" -np 1 "$consumer" field > "$directory/first" &
first=$!
"${mpirun[@]}" -np 2 "$consumer" field
wait "$first"
grep -q "created the NAM window: 3, of 9 values wrong: 0" "$directory/first"
if /usr/bin/python3 -c "import mpi4py, numpy" 2> /dev/null; then
  port=$("$bin/mpix-nam" lookup field)
  "${mpirun[@]}" -np 2 /usr/bin/python3 "$reader" "$port" | grep -qx "3 regions, values wrong: 0"
else
  echo "without the Python reader: python3-mpi4py or python3-numpy is missing"
fi

port=$("${mpirun[@]}" -np 1 "$counter" make)
"${mpirun[@]}" -np 2 "$counter" "$port" count 50 &
first=$!
"${mpirun[@]}" -np 2 "$counter" "$port" count 50 &
second=$!
wait "$first"
wait "$second"
"${mpirun[@]}" -np 1 "$counter" "$port" hold > /dev/null 2>&1 && exit 1
"${mpirun[@]}" -np 1 "$counter" "$port" expect 200

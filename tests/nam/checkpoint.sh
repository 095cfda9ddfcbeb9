#!/bin/bash
# A Global Arrays program that ends in the middle of a checkpoint resumes from the previous checkpoint, with other
# numbers of processes.
#
# usage: tests/nam/checkpoint.sh MPIRUN BIN PROGRAM
set -euo pipefail
mpirun=("$1" --oversubscribe --bind-to none --mca osc mpix)
program=$3
. "$(dirname "$0")/server.sh" "$2" --storage file

"${mpirun[@]}" -np 3 "$program" plate 100 40 > "$directory/first" 2> /dev/null && exit 1
grep -qx "Ends in the middle of the checkpoint of step 40" "$directory/first"
"${mpirun[@]}" -np 2 "$program" plate 50 | tee "$directory/second"
grep -qx "Global Arrays: steps 31 to 50 on 2 processes: result correct" "$directory/second"
"${mpirun[@]}" -np 4 "$program" plate 100 | tee "$directory/third"
grep -qx "Global Arrays: steps 51 to 100 on 4 processes: result correct" "$directory/third"

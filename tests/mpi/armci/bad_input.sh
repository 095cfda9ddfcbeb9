#!/bin/sh
# Each bad call must end the job with one clear message, and soon. usage: bad_input.sh MPIRUN PROGRAM
mpirun=$1
program=$2
status=0
"$program" --list | while read -r name; do
  output=$(timeout 30 "$mpirun" --oversubscribe --bind-to none -np 2 "$program" "$name" 2>&1 < /dev/null)
  code=$?
  expected=$("$program" --expect "$name")
  if [ "$code" -eq 0 ] || [ "$code" -eq 124 ] || ! printf '%s' "$output" | grep -qF "$expected"; then
    printf 'bad input "%s": exit status %s, expected a message with "%s":\n%s\n' "$name" "$code" "$expected" "$output"
    exit 1
  fi
done || status=1
exit $status

#!/bin/sh
# Each bad call must give one clear message, and soon: through a return value, after which the program goes on, or by
# the end of the job where the call has none. usage: bad_input.sh MPIRUN PROGRAM
mpirun=$1
program=$2
status=0
"$program" --list | while read -r name; do
  output=$(timeout 100 "$mpirun" --oversubscribe --bind-to none -np 2 "$program" "$name" 2>&1 < /dev/null)
  code=$?
  expected=$("$program" --expect "$name")
  if "$program" --ends "$name"; then
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && right=yes || right=no
  else
    [ "$code" -eq 0 ] && right=yes || right=no
  fi
  if printf '%s' "$output" | grep -qF 'Sanitizer:'; then right=no; fi
  if [ "$right" = no ] || ! printf '%s' "$output" | grep -qF "$expected"; then
    printf 'bad input "%s": exit status %s, expected a message with "%s":\n%s\n' "$name" "$code" "$expected" "$output"
    exit 1
  fi
done || status=1
exit $status

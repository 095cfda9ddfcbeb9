#!/bin/sh
# Each bad call must soon give one clear message. If the call has a return value, it returns an error and the program
# continues; otherwise the job ends. usage: bad_input.sh MPIRUN PROGRAM
mpirun=$1
program=$2
status=0

# The calls that return are all made by one job, which looks for their messages itself.
returning=$("$program" --list | while read -r name; do "$program" --ends "$name" || echo "$name"; done)
if [ -n "$returning" ]; then
  count=$(printf '%s\n' "$returning" | wc -l)
  output=$(timeout 300 "$mpirun" --oversubscribe --bind-to none -np 2 "$program" --returning 2>&1 < /dev/null)
  code=$?
  if [ "$code" -ne 0 ] || ! printf '%s' "$output" | grep -qF "$count calls returned" ||
    printf '%s' "$output" | grep -qF 'Sanitizer:'; then
    printf 'calls that return: exit status %s, expected %s calls with their messages:\n%s\n' "$code" "$count" "$output"
    exit 1
  fi
fi

"$program" --list | while read -r name; do
  "$program" --ends "$name" || continue
  output=$(timeout 100 "$mpirun" --oversubscribe --bind-to none -np 2 "$program" "$name" 2>&1 < /dev/null)
  code=$?
  expected=$("$program" --expect "$name")
  [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && right=yes || right=no
  # After a call that wrote its message and returned, the program ends the job, too.
  if printf '%s' "$output" | grep -qF -e 'Sanitizer:' -e 'the call returned 0'; then right=no; fi
  if [ "$right" = no ] || ! printf '%s' "$output" | grep -qF "$expected"; then
    printf 'bad input "%s": exit status %s, expected a message with "%s":\n%s\n' "$name" "$code" "$expected" "$output"
    exit 1
  fi
done || status=1
exit $status

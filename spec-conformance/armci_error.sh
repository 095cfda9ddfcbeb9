#!/bin/sh
# A_22: ARMCI_Error prints the message and the code on stdout, and again on stderr, and ends the job with the code.
# usage: armci_error.sh MPIRUN PROGRAM
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
timeout 100 "$1" --oversubscribe --bind-to none -np 2 "$2" error > "$dir/stdout" 2> "$dir/stderr" < /dev/null
code=$?
[ "$code" -eq 7 ] || { echo "exit status $code in place of 7"; cat "$dir/stdout" "$dir/stderr"; exit 1; }
for stream in stdout stderr; do
  grep -qx '[01]: the text that ends it 7' "$dir/$stream" || { echo "$stream has no message:"; cat "$dir/$stream"; exit 1; }
done

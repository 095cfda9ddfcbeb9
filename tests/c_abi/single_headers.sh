#!/usr/bin/env bash
# Each header that mpix_rma.h includes refuses to be included alone, except no_cxx_bindings.h.
# usage: single_headers.sh INCLUDE-DIR C-COMPILER
set -euo pipefail
failed=0 count=0
while read -r header; do
  case $header in */no_cxx_bindings.h) continue ;; esac
  count=$((count + 1))
  if output=$(echo "#include <$header>" | "$2" -fsyntax-only "-I$1" -x c - 2>&1); then
    echo "$header can be included alone"
    failed=1
  elif ! grep -q 'error: .*include mpix_rma.h, of which this header is a part' <<< "$output"; then
    echo "$header does not name mpix_rma.h:"
    echo "$output"
    failed=1
  fi
done < <(sed -nE 's/^#include "(mpix_rma\/.*)"$/\1/p' "$1/mpix_rma.h")
[ "$count" -ge 13 ] || { echo "found $count headers only"; failed=1; }
exit $failed

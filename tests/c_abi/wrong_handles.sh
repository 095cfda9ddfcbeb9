#!/usr/bin/env bash
# Compiles every call with the right handle, and with each wrong one, which the compiler must refuse.
# usage: wrong_handles.sh SOURCE INCLUDE-DIR C-COMPILER C++-COMPILER MPI-INCLUDE-DIR...
set -euo pipefail
source=$1 include=$2 cc=$3 cxx=$4
shift 4
flags=(-fsyntax-only "-I$include" "${@/#/-I}")

compiles() { # LANGUAGE CALL WRONG-HANDLE
  case $1 in
    C) "$cc" -std=c11 "${flags[@]}" -Werror=incompatible-pointer-types "-DCALL=$2" "-DWRONG_HANDLE=$3" "$source" ;;
    C++) "$cxx" -std=c++17 -x c++ "${flags[@]}" "-DCALL=$2" "-DWRONG_HANDLE=$3" "$source" ;;
  esac > /dev/null 2>&1
}
failed=0
for language in C C++; do
  for call in {0..7}; do
    wrong=(1 2 3)
    [ "$call" -lt 6 ] || wrong=(4 5)
    compiles $language "$call" 0 || { echo "$language: call $call does not compile with the right handle"; failed=1; }
    for handle in "${wrong[@]}"; do
      ! compiles $language "$call" "$handle" || { echo "$language: call $call compiles with wrong handle $handle"; failed=1; }
    done
  done
done
exit $failed

#!/usr/bin/env bash
# Compiles every call with the right handle, and with each wrong one, which the compiler must refuse in its own line.
# usage: wrong_handles.sh SOURCE INCLUDE-DIR C-COMPILER C++-COMPILER MPI-INCLUDE-DIR...
set -euo pipefail
source=$1 include=$2 cc=$3 cxx=$4
shift 4
flags=(-fsyntax-only "-I$include" "${@/#/-I}")

case $("$cc" --version) in *clang*) flags+=(-ferror-limit=0) ;; esac

compile() { # LANGUAGE FLAG...
  case $1 in
    C) "$cc" -std=c11 "${flags[@]}" -Werror=incompatible-pointer-types "${@:2}" "$source" ;;
    C++) "$cxx" -std=c++17 -x c++ "${flags[@]}" "${@:2}" "$source" ;;
  esac 2>&1
}
wanted=$(grep -nF '/* wrong */' "$source" | cut -d: -f1)
[ "$(wc -w <<< "$wanted")" -eq 22 ] || { echo "not 22 lines are marked as wrong"; exit 1; }
failed=0
for language in C C++; do
  errors=$(compile $language) || { echo "$language: right handles are refused: $errors"; failed=1; }
  ! errors=$(compile $language -DWRONG) || { echo "$language: wrong handles are accepted"; failed=1; }
  refused=$(sed -nE "s|^$source:([0-9]+):[0-9]+: error: .*|\1|p" <<< "$errors" | sort -nu)
  [ "$refused" = "$wanted" ] || { echo "$language: errors in lines" $refused ", expected in" $wanted; echo "$errors"; failed=1; }
done
exit $failed

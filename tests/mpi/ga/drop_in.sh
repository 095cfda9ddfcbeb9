#!/bin/sh
# Installs into a temporary directory and builds Global Arrays programs with ga-config's flags, once unchanged and
# once with this library's flags before those for the linker; both programs have to print the same.
# usage: drop_in.sh CMAKE BUILD-DIR PROGRAM.F90 PROGRAM.c MPIRUN [GA-CONFIG PACKAGE]
set -eu
cmake=$1 build=$2 fortran=$3 c=$4 mpirun=$5 ga_config=${6:-ga-config} package=${7:-armci}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$cmake" --install "$build" --prefix "$dir/prefix" > /dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name "$package.pc")")
export PKG_CONFIG_PATH
drop_in=$(pkg-config --variable=drop_in "$package")

# shellcheck disable=SC2046,SC2086
for with in "" "$drop_in"; do
  name=${with:+ours}
  $("$ga_config" --f77) $("$ga_config" --fflags --cppflags) "$fortran" $with $("$ga_config" --ldflags --libs) \
    -o "$dir/fortran-${name:-peer}"
  $("$ga_config" --cc) $("$ga_config" --cflags --cppflags) "$c" $with $("$ga_config" --ldflags --libs --flibs) \
    -o "$dir/c-${name:-peer}"
done
for program in fortran c; do
  ldd "$dir/$program-ours" | grep -q "$dir/prefix.*/lib$package.so" || { echo "$program: our library is not linked"; exit 1; }
  "$(dirname "$0")/compare.sh" "$dir/$program-ours" "$dir/$program-peer" "$mpirun" 2
done

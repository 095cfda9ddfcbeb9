#!/bin/sh
# Installs into a temporary directory and builds a program against it in the ways a user would.
# usage: consumer.sh CMAKE BUILD-DIR PROGRAM.c MPIRUN
set -eu
cmake=$1 build=$2 program=$3 mpirun=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$cmake" --install "$build" --prefix "$dir/prefix" > /dev/null
# Moved: nothing may depend on where it was installed first.
mv "$dir/prefix" "$dir/moved"
libdir=$(dirname "$(find "$dir/moved" -name libmpix_rma.so)")

mkdir "$dir/project"
cp "$program" "$dir/project/program.c"
cat > "$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(MPIXRMA REQUIRED)
add_executable(program program.c)
target_link_libraries(program MPIXRMA::mpix_rma)
add_library(with_armci SHARED program.c)
target_link_libraries(with_armci MPIXRMA::armci)
add_executable(static_program program.c)
target_link_libraries(static_program MPIXRMA::mpix_rma_static)
add_executable(with_armci_static program.c)
target_link_libraries(with_armci_static MPIXRMA::armci_static)
END
"$cmake" -S "$dir/project" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/moved" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$cmake" --build "$dir/cmake" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$mpirun" --oversubscribe --bind-to none -np 2 "$dir/cmake/program" < /dev/null
"$mpirun" --oversubscribe --bind-to none -np 2 "$dir/cmake/static_program" < /dev/null

PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc "$program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/program"
"$mpirun" --oversubscribe --bind-to none -np 2 "$dir/program" < /dev/null
echo 'int main(void) { return ARMCI_Initialized(); }' > "$dir/armci.c"
# shellcheck disable=SC2046
cc -include armci.h "$dir/armci.c" $(pkg-config --cflags --libs armci) -o "$dir/armci"
"$dir/armci"

#!/bin/sh
# Installs into a temporary directory, and builds a program against the libraries for MPICH in the ways a user would.
# usage: consumer.sh CMAKE BUILD-DIR PROGRAM.c MPIRUN
set -eu
cmake=$1 build=$2 program=$3 mpirun=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$cmake" --install "$build" --prefix "$dir/prefix" > /dev/null
mv "$dir/prefix" "$dir/moved"

mkdir "$dir/project"
cp "$program" "$dir/project/program.c"
echo 'int main(void) { return ARMCI_Initialized(); }' > "$dir/project/armci.c"
cat > "$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(MPIXRMA REQUIRED COMPONENTS MPICH)
add_executable(program program.c)
target_link_libraries(program MPIXRMA::mpix_rma_mpich)
add_executable(armci armci.c)
target_compile_options(armci PRIVATE -include armci.h)
target_link_libraries(armci MPIXRMA::armci_mpich)
END
{
  "$cmake" -S "$dir/project" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/moved" && "$cmake" --build "$dir/cmake"
} > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }

PKG_CONFIG_PATH=$(dirname "$(find "$dir/moved" -name mpix-rma-mpich.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
{
  cc "$program" $(pkg-config --cflags --libs mpix-rma-mpich) -o "$dir/program"
  cc -include armci.h "$dir/project/armci.c" $(pkg-config --cflags --libs armci-mpich) -o "$dir/armci"
}
for built in "$dir/cmake" "$dir"; do
  timeout 60 "$mpirun" -np 2 "$built/program" < /dev/null
  "$built/armci"
  if ldd "$built/program" | grep libmpi.so; then echo "consumer.sh: linked with two MPIs"; exit 1; fi
done

#!/bin/sh
# Installs into a temporary directory and builds a program against it in the ways a user would.
# usage: consumer.sh CMAKE BUILD-DIR PROGRAM.c PROGRAM.cpp MPIRUN
set -eu
cmake=$1 build=$2 program=$3 cxx_program=$4 mpirun=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$cmake" --install "$build" --prefix "$dir/prefix" > /dev/null
# Moved: nothing may depend on where it was installed first.
mv "$dir/prefix" "$dir/moved"
libdir=$(dirname "$(find "$dir/moved" -name libmpix_rma.so)")

mkdir "$dir/project"
cp "$program" "$dir/project/program.c"
cp "$cxx_program" "$dir/project/program.cpp"
cat > "$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer C CXX)
find_package(MPIXRMA REQUIRED)
add_executable(cxx_program program.cpp)
target_link_libraries(cxx_program MPIXRMA::mpix_rma)
add_executable(cxx_static_program program.cpp)
target_link_libraries(cxx_static_program MPIXRMA::armci_static MPIXRMA::mpix_rma_static)
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
run() { # program [argument...]
  timeout 60 "$mpirun" --oversubscribe --bind-to none -np 2 "$@" < /dev/null
}
fail() {
  echo "consumer.sh: $*" >&2
  exit 1
}
run "$dir/cmake/program"
run "$dir/cmake/static_program"
run "$dir/cmake/cxx_program"
run "$dir/cmake/cxx_static_program"

PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
{
  cc "$program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/program"
  cc "$program" $(pkg-config --static --cflags --libs mpix-rma) -o "$dir/static_program"
  c++ "$cxx_program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/cxx_program"
  c++ -include mpi.h "$cxx_program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/cxx_mpi_first"
}
# The headers alone: a program that is compiled by other flags than the package's.
mpi_cflags=$(pkg-config --cflags mpix-rma | sed 's/-DOMPI_SKIP_MPICXX=1//')
# shellcheck disable=SC2046,SC2086
c++ "$cxx_program" $mpi_cflags $(pkg-config --libs mpix-rma) -o "$dir/cxx_plain"
run "$dir/program"
run "$dir/static_program"
run "$dir/cxx_program"
run "$dir/cxx_mpi_first"
run "$dir/cxx_plain"

echo 'int main(void) { return ARMCI_Initialized(); }' > "$dir/armci.c"
# shellcheck disable=SC2046
{
  cc -include armci.h "$dir/armci.c" $(pkg-config --cflags --libs armci) -o "$dir/armci"
  cc -include armci.h "$dir/armci.c" $(pkg-config --static --cflags --libs armci) -o "$dir/static_armci"
  c++ -x c++ -include armci.h "$dir/armci.c" -x none $(pkg-config --cflags --libs armci) -o "$dir/cxx_armci"
}
"$dir/armci"
"$dir/static_armci"
"$dir/cxx_armci"
for static in static_program static_armci; do
  if readelf -d "$dir/$static" | grep -E 'NEEDED.*(libmpix_rma|libarmci)'; then fail "$static is linked to a shared library"; fi
done

#!/bin/sh
# Installs into a temporary directory and builds a program against it in the ways a user would.
# usage: consumer.sh CMAKE BUILD-DIR PROGRAM.c PROGRAM.cpp PROBE.c MPIRUN [PROGRAM.f FORTRAN-COMPILER]
# PROBE.c prints the error class of its first call of the library.
set -eu
cmake=$1 build=$2 program=$3 cxx_program=$4 probe=$5 mpirun=$6 fortran_program=${7:-} fortran=${8:-}
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
target_link_libraries(cxx_program MPIXRMA::mpix_rma_cpp)
add_executable(cxx_static_program program.cpp)
target_link_libraries(cxx_static_program MPIXRMA::armci_static MPIXRMA::mpix_rma_static)
target_compile_features(cxx_static_program PRIVATE cxx_std_20)
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
run_ranks() { # ranks program [argument...]
  timeout 100 "$mpirun" --oversubscribe --bind-to none -np "$@" < /dev/null
}
run() { run_ranks 2 "$@"; }
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
  c++ -std=c++20 "$cxx_program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/cxx_program"
  c++ -std=c++20 -include mpi.h "$cxx_program" $(pkg-config --cflags --libs mpix-rma) -o "$dir/cxx_mpi_first"
  cc "$probe" $(pkg-config --cflags --libs mpix-rma) -o "$dir/probe"
}
# Without the package's flag against MPI's C++ bindings, the headers alone have to exclude these.
mpi_cflags=$(pkg-config --cflags mpix-rma | sed 's/-DOMPI_SKIP_MPICXX=1//')
# shellcheck disable=SC2046,SC2086
c++ -std=c++20 "$cxx_program" $mpi_cflags $(pkg-config --libs mpix-rma) -o "$dir/cxx_plain"
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
if [ "$fortran_program" ]; then
  cat > "$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(consumer Fortran)
find_package(MPIXRMA REQUIRED COMPONENTS Fortran)
foreach(library mpix_rma_fortran mpix_rma_fortran_static)
  add_executable(with_${library} program.f)
  target_link_libraries(with_${library} MPIXRMA::${library})
endforeach()
END
  cp "$fortran_program" "$dir/project/program.f"
  "$cmake" -S "$dir/project" -B "$dir/fortran" -DCMAKE_PREFIX_PATH="$dir/moved" -DCMAKE_Fortran_COMPILER="$fortran" > "$dir/log" 2>&1 &&
    "$cmake" --build "$dir/fortran" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
  # shellcheck disable=SC2046
  {
    "$fortran" "$fortran_program" $(pkg-config --cflags --libs mpix-rma-fortran) -o "$dir/fortran_program"
    "$fortran" "$fortran_program" $(pkg-config --static --cflags --libs mpix-rma-fortran) -o "$dir/static_fortran"
  }
  run "$dir/fortran/with_mpix_rma_fortran"
  run "$dir/fortran/with_mpix_rma_fortran_static"
  run "$dir/fortran_program"
  run "$dir/static_fortran"
fi
# Manual pages, also for file systems that do not tell capitals from others.
find "$dir/moved" -path '*/man3/*' | sed 's|.*/||' > "$dir/pages"
for page in armci ARMCI_PutS ARMCI_GetS armci_msg_dgop MPIX_RMA_xfer MPIX_RMA_attribute_keys; do
  grep -qx "$page.3" "$dir/pages" || fail "no manual page for $page"
done
if tr '[:upper:]' '[:lower:]' < "$dir/pages" | sort | uniq -d | grep .; then fail 'pages that differ in case only'; fi
sed -n '/^\.SS Fortran/,/^\.SH/p' "$(find "$dir/moved" -name MPIX_RMA_xfer.3)" | grep -q 'integer(MPI_COUNT_KIND), .* origin_count' ||
  fail 'no synopsis for Fortran'
for static in static_program static_armci ${fortran:+static_fortran}; do
  if readelf -d "$dir/$static" | grep -E 'NEEDED.*(libmpix_rma|libarmci)'; then fail "$static is linked to a shared library"; fi
done

# A configuration that cannot work does not stop MPI, and the first call of the library says why.
expect() { # text in the output of the probe, [what is put before the probe, such as env NAME=VALUE]
  text=$1
  shift
  run_ranks 1 "$@" "$dir/probe" ${probe_argument:-} > "$dir/log" 2>&1 || { cat "$dir/log"; fail "the probe failed"; }
  grep -qF -- "$text" "$dir/log" || { cat "$dir/log"; fail "no word of: $text"; }
}
refused() { # parameter value text
  expect "osc_mpix_$1 $3" env "OMPI_MCA_osc_mpix_$1=$2"
  grep -qF 'class transport' "$dir/log" || fail "the first call succeeds with osc_mpix_$1=$2"
}
# tests/engine/runtime/parameters_test.cpp has the others.
refused credit 0 'is 0 bytes; expected 256 to 1073741824'
refused heap_size abc 'is abc bytes; expected 65536 to'
refused idle_memory abc 'is abc bytes; expected 0 to'
refused process_memory 70000 'is 70000 bytes; expected at least target_memory, 8388608 bytes'
expect 'osc_mpix_rdma has the name osc_mpix_network now' env OMPI_MCA_osc_mpix_rdma=never
expect 'osc_mpix_path has "agent", whose name is now "ring,message"' env OMPI_MCA_osc_mpix_path=agent
refused mailbox_us 1001 'has the name osc_mpix_ring_us now'
refused path direct,telepathy 'has "telepathy", which is none of'
probe_argument=without-descriptors
expect 'out of file descriptors'
probe_argument=
# The user's own component path, with a directory that does not exist.
components=$(ompi_info --path pkglibdir --parsable | sed 's/^path:pkglibdir://')
expect 'class 0' env "OMPI_MCA_mca_base_component_path=/nonexistent:$components"
mv "$libdir/mpix-rma/openmpi" "$dir/away"
expect "mca_osc_mpix.so was not found in $libdir/mpix-rma/openmpi"
expect 'class 0' env "OMPI_MCA_mca_base_component_path=$dir/away:SYSTEM_DEFAULT"
mkdir "$libdir/mpix-rma/openmpi"
expect "mca_osc_mpix.so was not found in $libdir/mpix-rma/openmpi"

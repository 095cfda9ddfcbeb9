#!/usr/bin/env bash
# The tests of windows that come with MPICH's source, as Debian has it, built for this MPI library. Long only.
. "$(dirname "$0")/lib.sh"
[ "$long" = yes ] || { echo "skipped: --long only"; exit 77; }
need_packages gfortran
mpicc=$(command -v mpicc.openmpi || command -v mpicc)
mpifort=$(command -v mpifort.openmpi || command -v mpifort)

# Uses the mirrors of this machine's apt, and leaves apt's own state alone.
fetch_source() { # PACKAGE
  local state=$PWD/apt file
  mkdir -p "$state"/lists/partial "$state"/cache/archives/partial "$state"/sources
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -f "$file" ] || sed -E 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" > "$state/sources/${file##*/}"
  done
  cat > "$state/apt.conf" <<CONF
APT::Sandbox::User "";
Debug::NoLocking "true";
Dir::Etc::SourceList "$state/sources/sources.list";
Dir::Etc::SourceParts "$state/sources";
Dir::State::Lists "$state/lists";
Dir::Cache "$state/cache";
CONF
  APT_CONFIG=$state/apt.conf apt-get update -qq &&
    APT_CONFIG=$state/apt.conf apt-get source -qq --download-only "$1"
}
fetch_source mpich > fetched 2>&1 || { tail -n 3 fetched; echo "skipped: MPICH's source cannot be fetched"; exit 77; }
mkdir source
tar xf mpich_*.orig.tar.* -C source --strip-components=1
cd source/test/mpi

# Calls and constants of MPI-1 that MPI-3 has removed.
sed -i -E 's/MPI_Type_(hvector|hindexed|struct)\(/MPI_Type_create_\1(/; s/\bMPI_[LU]B\b/MPI_DATATYPE_NULL/g' dtpools/src/*.c util/*.c
# The compiler has to accept buffers of all types. One Fortran test does not compile: it repeats declarations of mpif.h.
lax=-fallow-argument-mismatch
build_tests() {
  local part
  ./configure --with-mpi=/usr CC="$mpicc" MPICC="$mpicc" F77="$mpifort" FC="$mpifort" MPIF77="$mpifort" MPIFC="$mpifort" \
    FFLAGS=$lax FCFLAGS=$lax --enable-fortran=f77,f90 --disable-cxx || return
  for part in dtpools util rma threads/rma errors/rma f90/rma; do make -C "$part" || return; done
  make -k -C f77/rma || [ -x f77/rma/winscale1f ]
}
build_tests > build 2>&1 ||
  fail "MPICH's tests do not build" build

# Tests that fail on Open MPI's own components, too, because of checks in its MPI layer, or do not build with it.
known="rmanull badrma aintf"
run=0
failed=""
for list in rma threads/rma errors/rma f77/rma f90/rma; do
  while read -r program ranks rest; do
    case " # $known " in *" ${program:-#} "*) continue ;; esac
    case $program in \#*) continue ;; esac
    run=$((run + 1))
    arguments=$(grep -oE 'arg=[^ ]+' <<< "$rest" | sed 's/^arg=//' | tr '\n' ' ' || true)
    # shellcheck disable=SC2086 # several words
    on_ours "$ranks" timeout 300 "$list/$program" $arguments > output 2>&1 && grep -q 'No Errors' output ||
      { failed="$failed $program"; echo "FAILED: $list/$program, $ranks ranks"; tail -n 5 output; }
  done < "$list/testlist"
done
[ -z "$failed" ] || fail "of $run of MPICH's tests:$failed"
echo "MPICH's tests of windows: all $run right"

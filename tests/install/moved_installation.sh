#!/usr/bin/env bash
# Uses the installed files like a user who has got the installation from another place: installs into a temporary
# prefix with a space in its name, moves it, and then uses nothing else.
# usage: moved_installation.sh CMAKE BUILD-DIR SOURCE-DIR MPIRUN MPICC [FORTRAN-COMPILER]
set -euo pipefail
cmake=$1 build=$2 source=$3 mpirun=$4 mpicc=$5 fortran=${6:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The installation's own files set these.
unset MANPATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH "${!OMPI_MCA_@}" "${!PMIX_MCA_@}"

fail() {
  echo "moved_installation.sh: $*" >&2
  exit 1
}
expect() { # TEXT COMMAND...: its stdout or stderr has TEXT
  local text=$1 output
  shift
  output=$("$@" 2>&1 < /dev/null) || { echo "$output"; fail "failed: $*"; }
  case "$output" in *"$text"*) ;; *) echo "$output"; fail "no word of \"$text\" from: $*" ;; esac
}
refuse() { # TEXT COMMAND...: fails with one line, which has TEXT
  local text=$1 output
  shift
  ! output=$("$@" 2>&1 < /dev/null) || { echo "$output"; fail "succeeded: $*"; }
  case "$output" in *$'\n'*) echo "$output"; fail "more than one line from: $*" ;; *"$text"*) ;;
    *) echo "$output"; fail "no word of \"$text\" from: $*" ;; esac
}

# Files that are written at installation have the prefix without DESTDIR.
DESTDIR=$dir/stage "$cmake" --install "$build" --prefix "/opt/it's 100% mine" > /dev/null
staged="$dir/stage/opt/it's 100% mine"
grep -qF "ExecStart=\"/opt/it's 100%% mine/bin/mpix-namd\"" "$staged/lib/systemd/system/mpix-namd.service" ||
  fail "the unit does not have its prefix"
! grep -rlF "$dir/stage" "$staged" || fail "files with DESTDIR in them"
# A shell that cannot tell where the file is takes the prefix that was written into it.
(sed -n '/^\[ -n.*mpix_rma_prefix=/p' "$staged/share/mpix-rma/env.sh" > "$dir/fallback" &&
  mpix_rma_prefix='' && . "$dir/fallback" && [ "$mpix_rma_prefix" = "/opt/it's 100% mine" ]) ||
  fail "env.sh does not have its prefix"

mv "$staged" "$dir/moved here"
rm -r "$dir/stage"
prefix="$dir/moved here"
export here=$prefix

# In each available shell: the file, sourced twice, and the command set exactly the variables, and leave nothing else
# behind.
show='printf "%s|" "$PATH" "$MANPATH" "$PKG_CONFIG_PATH" "$CMAKE_PREFIX_PATH" "$LD_LIBRARY_PATH"
  printf "%s|" "$OMPI_MCA_mca_base_component_path" "$PMIX_MCA_mca_base_component_path"; set | grep "^mpix_rma" || :'
wanted="$prefix/bin:/usr/bin:/bin|$prefix/share/man:|$prefix/lib/pkgconfig|$prefix|$prefix/lib|"
wanted+="$prefix/lib/mpix-rma/openmpi:SYSTEM_DEFAULT:USER_DEFAULT|$prefix/lib/mpix-rma|"
clean() { env PATH=/usr/bin:/bin "$@"; }
for shell in bash zsh dash ksh93; do
  [ -n "$(command -v $shell)" ] || { echo "not tried, because it is missing: $shell"; continue; }
  for how in '. "$here/share/mpix-rma/env.sh"; . "$here/share/mpix-rma/env.sh"' 'eval "$("$here/bin/mpix-rma" env)"' \
    'cd "$here/share"; . ./mpix-rma/env.sh'; do
    found=$(clean $shell -euc "$how; $show") || fail "$shell: $how"
    [ "$found" = "$wanted" ] || fail "$shell: $how
found  $found
wanted $wanted"
  done
  expect "$prefix" clean $shell -euc '(. "$here/share/mpix-rma/env.sh"; echo "$CMAKE_PREFIX_PATH")'
  # The user's own choice of components stays: an exclusion as it is, a list with mpix added.
  expect 'sm,mpix.' clean OMPI_MCA_osc=sm $shell -euc '. "$here/share/mpix-rma/env.sh"; echo $OMPI_MCA_osc.'
  expect '^sm.' clean OMPI_MCA_osc=^sm $shell -euc '. "$here/share/mpix-rma/env.sh"; echo $OMPI_MCA_osc.'
  expect "dropped from OMPI_MCA_mca_base_component_path" clean OMPI_MCA_mca_base_component_path=/none:SYSTEM_DEFAULT $shell -euc \
    '. "$here/share/mpix-rma/env.sh"; [ "$OMPI_MCA_mca_base_component_path" = "$here/lib/mpix-rma/openmpi:SYSTEM_DEFAULT" ]'
done
! command -v fish > /dev/null ||
  expect "$prefix/bin /usr/bin" clean fish -c 'eval "$($here/bin/mpix-rma env --shell fish)"; echo $PATH'
! command -v tcsh > /dev/null ||
  expect "$prefix/bin:/usr/bin" clean tcsh -fc 'eval "`'"'$prefix/bin/mpix-rma'"' env --shell csh`"; echo "$PATH"'

# The path of a missing component is never given to Open MPI.
mv "$prefix/lib/mpix-rma/openmpi" "$dir/away"
for shell in bash dash zsh; do
  [ -n "$(command -v $shell)" ] || continue
  refuse "holds no component mca_osc_mpix.so" $shell -c '. "$here/share/mpix-rma/env.sh" || exit 1'
  refuse "holds no component mca_osc_mpix.so" $shell -ec '. "$here/share/mpix-rma/env.sh"; echo "$OMPI_MCA_mca_base_component_path"'
done
expect 'path= MANPATH=' sh -c '. "$here/share/mpix-rma/env.sh" 2> /dev/null;
  echo "path=${OMPI_MCA_mca_base_component_path-} MANPATH=${MANPATH-}"'
mv "$dir/away" "$prefix/lib/mpix-rma/openmpi"

# Environment modules, where they are installed.
modules=/usr/share/modules/init
if [ -e $modules/bash ]; then
  found=$(clean bash -c ". $modules/bash; module use \"\$here/share/modulefiles\"; module load mpix-rma; $show")
  [ "$found" = "$wanted" ] || fail "module load:
found  $found
wanted $wanted"
  expect '.mpix-rma..' clean bash -c ". $modules/bash; module use \"\$here/share/modulefiles\"; module load mpix-rma
    module unload mpix-rma; case \"\$PATH\$OMPI_MCA_mca_base_component_path\" in *moved*) exit 1 ;; esac; echo .mpix-rma.."
else
  echo "not tried, because it is missing: environment modules"
fi

# From here on in this shell.
. "$prefix/share/mpix-rma/env.sh"
run() { timeout 60 "$mpirun" --oversubscribe --bind-to none -np 2 "$@"; }

# A windows program as it is: with the file, without, and with the module.
"$mpicc" -Wall -Wextra "$source/examples/windows.c" -o "$dir/windows"
expect 'windows of osc/mpix' run "$dir/windows"
expect 'windows of another component' env -u OMPI_MCA_mca_base_component_path timeout 60 "$mpirun" --oversubscribe -np 1 "$dir/windows"
[ ! -e $modules/bash ] || expect 'windows of osc/mpix' env -u OMPI_MCA_mca_base_component_path bash -c \
  ". $modules/bash; module use \"\$here/share/modulefiles\"; module load mpix-rma; '$mpirun' --oversubscribe -np 1 '$dir/windows'"

# pkg-config quotes the spaces in the prefix, so that its output needs eval.
eval "cc '$source/examples/work_queue.c' $(pkg-config --cflags --libs mpix-rma) -o '$dir/program'"
eval "cc '$source/examples/work_queue.c' $(pkg-config --static --cflags --libs mpix-rma) -o '$dir/static_program'"
(unset LD_LIBRARY_PATH && run "$dir/program" && run "$dir/static_program") < /dev/null > "$dir/log" 2>&1 || { cat "$dir/log"; fail "pkg-config"; }
if [ -n "$fortran" ]; then
  eval "'$fortran' '$source/examples/fortran_work_queue.f90' $(pkg-config --cflags --libs mpix-rma-fortran) -o '$dir/fortran'"
  expect '' run "$dir/fortran"
fi

# CMake finds the package by CMAKE_PREFIX_PATH of the environment.
mkdir "$dir/project"
cp "$source/examples/work_queue.c" "$dir/project/program.c"
cat > "$dir/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(stranger C)
find_package(MPIXRMA REQUIRED)
add_executable(program program.c)
target_link_libraries(program MPIXRMA::mpix_rma)
END
("$cmake" -S "$dir/project" -B "$dir/cmake" && "$cmake" --build "$dir/cmake") > "$dir/log" 2>&1 < /dev/null || { cat "$dir/log"; fail "CMake"; }
expect '' run "$dir/cmake/program"

# Manual pages.
if command -v man > /dev/null; then
  for page in mpix-rma MPIX_RMA_xfer ARMCI_Put MPIX_Win_order; do
    expect "$prefix/share/man" man -w "$page"
  done
fi

# Contention, measured on this installation alone.
expect 'results and a description of the machine' "$source/bench/many-cores" --prefix "$prefix" --ranks 2 \
  --launcher "'$mpirun' --oversubscribe --bind-to none -np {ranks}" --output "$dir/many-cores.json"
grep -q '"counters", *$' "$dir/many-cores.json" || fail "no additions were measured"

# The tools, by name.
expect "$prefix" bash -c 'command -v mpix-rma'
expect 'mpix-rma 0.' mpix-rma --version
expect "prefix $prefix" mpix-rma info
# Methods of copies: measured for all sizes, kept, and shown.
expect 'not measured: no valid file' env XDG_CACHE_HOME="$dir/cache" mpix-rma info
expect "kept in $dir/cache/mpix-rma/copies-" env XDG_CACHE_HOME="$dir/cache" mpix-rma tune
expect "measured, cached in $dir/cache/mpix-rma/copies-" env XDG_CACHE_HOME="$dir/cache" mpix-rma info
expect '  2m          string   string' env XDG_CACHE_HOME="$dir/cache" OMPI_MCA_osc_mpix_copy=2m=string mpix-rma info
! XDG_CACHE_HOME=/dev/null/cache mpix-rma tune > "$dir/log" 2>&1 || fail "mpix-rma tune keeps nothing"
grep -q 'cannot be written; use parameter osc_mpix_copy=' "$dir/log" || { cat "$dir/log"; fail "mpix-rma tune"; }
for word in 'parameter "osc_mpix_statistics"' 'performance "osc_mpix_operations_direct"'; do
  expect "$word" "$(command -v ompi_info.openmpi || echo ompi_info)" --param osc mpix --level 9
done
expect 'windows of osc/mpix' mpix-rma check "$dir/windows"
mpix-rma check "$mpirun" --oversubscribe -np 1 "$dir/windows" > "$dir/log" 2>&1 < /dev/null || { cat "$dir/log"; fail "mpix-rma check"; }
grep -Eq '^mpix-rma: +0 +1 +1 ' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check does not count the window"; }
grep -Eq 'network +ring +message$' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check does not name the protocols"; }
grep -Eq '^mpix-rma: +0 +1 +1( +[0-9]+){5}$' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check does not count each protocol"; }
! OMPI_MCA_osc_mpix_windows=none mpix-rma check "$mpirun" -np 1 "$dir/windows" > "$dir/log" 2>&1 < /dev/null || fail "check is satisfied"
grep -q 'left to other components' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check does not see windows of others"; }
status=0
mpix-rma check "$mpirun" -np 1 sh -c 'echo kept; exit 127' > "$dir/log" 2>&1 < /dev/null || status=$?
[ "$status" -eq 127 ] && grep -q '^kept$' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check loses output and status"; }
! mpix-rma check "$dir/absent/mpirun" > "$dir/log" 2>&1 < /dev/null || fail "mpix-rma check starts a program that is absent"
grep -q 'absent/mpirun cannot be executed: No such file' "$dir/log" || { cat "$dir/log"; fail "mpix-rma check gives no reason"; }
! OMPI_MCA_osc=rdma,pt2pt PATH=$PATH mpix-rma ps $$ > "$dir/log" 2>&1 || fail "mpix-rma ps finds an engine in a shell"
grep -q 'has no engine' "$dir/log" || { cat "$dir/log"; fail "mpix-rma ps"; }
# Files of different versions are reported, in one line.
cp "$prefix/lib/mpix-rma/openmpi/mca_osc_mpix.so" "$dir/component"
LC_ALL=C sed -i 's|osc/mpix version [0-9]|osc/mpix version 9|' "$prefix/lib/mpix-rma/openmpi/mca_osc_mpix.so"
(mpix-rma info || :) > "$dir/log" 2>&1 < /dev/null
[ "$(grep -c 'The versions differ: component osc/mpix' "$dir/log")" = 1 ] || { cat "$dir/log"; fail "info does not see the version"; }
(run "$dir/windows" || :) > "$dir/log" 2>&1 < /dev/null
[ "$(grep -c 'osc/mpix has version 9[0-9.]* and .* use both from one installation' "$dir/log")" = 1 ] ||
  { cat "$dir/log"; fail "no word of the versions"; }
cp "$dir/component" "$prefix/lib/mpix-rma/openmpi/mca_osc_mpix.so"
# The lock for which a hanging job waits.
"$mpicc" -Wall -Wextra "$source/tests/install/hang.c" -o "$dir/hang"
timeout 100 "$mpirun" --oversubscribe --bind-to none -np 2 "$dir/hang" "$dir/go" > "$dir/hang.log" 2>&1 < /dev/null &
job=$!
for _ in $(seq 600); do # if "ready" never comes, the job ends by its own timeout
  ! grep -q ready "$dir/hang.log" || break
  sleep 0.1
done
pid_of_rank() {
  local directory
  for directory in /proc/[0-9]*; do
    [ "$(readlink "$directory/exe" 2> /dev/null)" = "$dir/hang" ] || continue
    ! tr '\0' '\n' < "$directory/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" || { echo "${directory#/proc/}"; return; }
  done
}
holder=$(pid_of_rank 0) waiter=$(pid_of_rank 1)
for _ in $(seq 600); do # until the request has arrived
  mpix-rma ps "$holder" > "$dir/log" 2>&1 || { cat "$dir/log"; fail "mpix-rma ps"; }
  ! grep -q 'lock 0: process 1, owner 1 waits for it, exclusive' "$dir/log" || break
  sleep 0.1
done
grep -q 'lock 0: process 1, owner 1 waits for it, exclusive' "$dir/log" || { cat "$dir/log"; fail "ps shows nobody who waits"; }
grep -Eq "lock 0: held by (pid $holder|process 0)," "$dir/log" || { cat "$dir/log"; fail "ps shows no holder"; }
expect 'to process 0: request of lock 0 by owner 1 (exclusive)' mpix-rma ps "$waiter"
expect 'process 0, same host: operations direct not counted, cross_memory 0' mpix-rma ps "$waiter"
kill -STOP "$waiter"
until grep -q '^State:.*T' "/proc/$waiter/status"; do sleep 0.1; done
! mpix-rma ps "$waiter" > "$dir/log" 2>&1 || { cat "$dir/log"; fail "a stopped process answers"; }
grep -q 'the process is stopped' "$dir/log" || { cat "$dir/log"; fail "ps does not see that the process is stopped"; }
kill -CONT "$waiter"
touch "$dir/go"
wait "$job" || { cat "$dir/hang.log"; fail "the job that hung"; }

if [ -e "$prefix/bin/mpix-namd" ]; then
  expect 'Grants memory' mpix-nam --help
  # The unit for this prefix, and the command line that it has, as systemd reads it.
  mpix-rma env --systemd > "$dir/mpix-namd.service"
  command=$(sed -n 's/^ExecStart=//p' "$dir/mpix-namd.service" | sed 's/%%/%/g')
  printf 'size = "1M"\n' > "$dir/mpix-namd.toml"
  case "$command" in '"'"$prefix/bin/mpix-namd"'" --config /etc/mpix-namd.toml') ;; *) fail "the unit runs $command" ;; esac
  eval "timeout 10 ${command/\/etc\/mpix-namd.toml/'"$dir/mpix-namd.toml"'} --help" > "$dir/log" || { cat "$dir/log"; fail "$command"; }
  if command -v systemd-analyze > /dev/null && [ "$(id -u)" -eq 0 ]; then
    systemd-analyze verify --man=no "$dir/mpix-namd.service" > "$dir/log" 2>&1 || { cat "$dir/log"; fail "systemd refuses the unit"; }
    ! grep -F mpix-namd.service: "$dir/log" || fail "systemd complains of the unit"
  fi
fi
echo "all right"

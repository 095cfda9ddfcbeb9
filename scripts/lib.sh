# Shared by scripts/quickstart and scripts/test: steps with progress, packages, configure and build.
# Expects: root (the checkout), log (a file for details).

step_number=0
step_started=$SECONDS

# step TITLE COMMAND...: runs it with its output in the log; on failure shows the end of the log and stops.
step() {
  local title=$1 began=$SECONDS
  shift
  step_number=$((step_number + 1))
  printf '[%d] %s ... ' "$step_number" "$title"
  if "$@" >> "$log" 2>&1 < /dev/null; then
    printf 'done (%d s)\n' $((SECONDS - began))
  else
    local code=$?
    printf '[%d] %s ... ' "$step_number" "$title"
    fail_step "$title" "$code"
  fi
}

fail_step() { # title exit-status
  printf 'FAILED\nThe step "%s" failed with exit status %d. The end of %s:\n' "$1" "$2" "$log" >&2
  tail -n 25 "$log" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    echo "root is needed to install packages: run as root, or install sudo" >&2
    return 1
  fi
}

missing_packages() { # list...
  local package
  (cd "$root/scripts" && grep -hv '^#' "$@") | while read -r package; do
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'install ok installed' || echo "$package"
  done
}

# packages_title [list...]: the title of the step that installs them, which is silent for minutes
packages_title() {
  echo "installing missing packages ($(missing_packages "${@:-packages.txt}" | wc -l))"
}

install_packages() { # [list...]: files in scripts/
  local missing
  missing=$(missing_packages "${@:-packages.txt}")
  [ -n "$missing" ] || { echo "all packages are installed"; return 0; }
  echo "installing:" $missing
  command -v apt-get > /dev/null || { echo "this is not Debian: install these packages' equivalents by hand:" $missing; return 1; }
  as_root apt-get update || return 1
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}

configure() { # preset [CMAKE-ARGUMENT...]
  cmake --preset "$1" -S "$root" "${@:2}"
}

# show_progress TITLE: reads ninja's output and prints how far the build has come: in one line on a terminal,
# elsewhere a line for each tenth.
show_progress() {
  local title=$1 line number total shown=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    number=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    if [ -t 1 ]; then
      printf '\r[%d] %s %d of %d ... ' "$step_number" "$title" "$number" "$total"
    elif [ $((number * 10 / total)) -gt "$shown" ]; then
      shown=$((number * 10 / total))
      printf '[%d] %s %d of %d\n' "$step_number" "$title" "$number" "$total"
    fi
  done
}

# build_step TITLE DIRECTORY [TARGET...]: like step, and shows how many commands of the build have ended.
build_step() {
  local title=$1 directory=$2 began=$SECONDS
  shift 2
  step_number=$((step_number + 1))
  if NINJA_STATUS='[%f/%t] ' cmake --build "$directory" -j "${jobs:-$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)}" ${1:+--target "$@"} < /dev/null 2>&1 |
    tee -a "$log" | show_progress "$title"; then
    printf '%s[%d] %s ... done (%d s)\n' "$([ ! -t 1 ] || printf '\r')" "$step_number" "$title" $((SECONDS - began))
  else
    fail_step "$title" $?
  fi
}

# Open MPI refuses to run as root unless told twice.
allow_root() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
}

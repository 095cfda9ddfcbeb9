#!/bin/bash
# Jobs of several users at one memory server of root: each has what the mode of the window says. Exit code 77: this
# process is not root, or other users cannot start the programs.
#
# MPIX_TEST_NAM_TCP=1: they reach the server over TCP, as jobs on other hosts do, after they have fetched their secrets.
# Such users have names.
#
# usage: tests/nam/users.sh MPIRUN BIN GUEST [OPTION OF THE SERVER...]
set -euo pipefail
mpirun=$1 bin=$2 guest=$3
owner=64021 group=64022 member=64023 stranger=64024
if [ "$(id -u)" != 0 ]; then
  echo "skipped: other users need root"
  exit 77
fi
network=()
if [ -n "${MPIX_TEST_NAM_TCP:-}" ]; then
  if [ -z "${MPIX_TEST_USERS:-}" ]; then
    unshare --mount true || exit 77
    users=$(mktemp -d)
    { cat /etc/passwd; printf 'mpix-%s:x:%d:%d::/:/bin/false\n' owner $owner $group member $member $group \
      stranger $stranger $stranger; } > "$users/passwd"
    { cat /etc/group; printf 'mpix-group:x:%d:\n' $group; } > "$users/group"
    status=0
    MPIX_TEST_USERS=$users unshare --mount "$0" "$@" || status=$?
    rm -r "$users"
    exit $status
  fi
  for file in passwd group; do mount --bind "$MPIX_TEST_USERS/$file" "/etc/$file"; done
  set -- "${@:1:3}" --listen 127.0.0.1:0 --interfaces 127.0.0.0/8 "${@:4}"
  network=(--mca osc_mpix_interfaces 127.0.0.0/8)
fi
as() { # USER GROUP COMMAND...
  local home=$directory/home-$1
  install -d -m 0700 -o "$1" -g "$2" "$home"
  (cd "$home" && HOME=$home TMPDIR=$home exec setpriv --reuid "$1" --regid "$2" --clear-groups -- "${@:3}")
}
job() { # USER GROUP RANKS ARGUMENT...
  as "$1" "$2" "$mpirun" --oversubscribe --bind-to none --mca osc mpix "${network[@]}" -np "$3" "$guest" "${@:4}"
}

. "$(dirname "$0")/server.sh" "$bin" "${@:4}"
chmod 0755 "$directory"
if ! as "$stranger" "$stranger" test -x "$guest"; then
  echo "skipped: other users cannot start $guest"
  exit 77
fi
MPIX_NAM_ALLOCATION=$("$bin/mpix-nam" grant --owner "$owner" 8M)
export MPIX_NAM_ALLOCATION
if [ -n "${MPIX_TEST_NAM_TCP:-}" ]; then
  for user in "$owner $group" "$member $group" "$stranger $stranger"; do
    read -r number primary <<< "$user"
    as "$number" "$primary" "$bin/mpix-nam" secret > /dev/null
  done
  export MPIX_NAM_TCP=1
fi

port=$(job "$owner" "$group" 2 make 0640)
job "$member" "$group" 2 "$port" reader
job "$stranger" "$stranger" 1 "$port" refused
job "$owner" "$group" 1 "$port" writer
as "$owner" "$group" "$bin/mpix-nam" chmod 0664 "$port"
job "$stranger" "$stranger" 1 "$port" reader
job "$member" "$group" 2 "$port" writer
as "$stranger" "$stranger" "$bin/mpix-nam" chmod 0666 "$port" && exit 1
as "$owner" "$group" "$bin/mpix-nam" publish field "$port"
[ "$(as "$stranger" "$stranger" "$bin/mpix-nam" lookup --user "$owner" field)" = "$port" ]

# Both maps and requests: all count in the same memory.
job "$owner" "$group" 2 "$port" count 50 &
first=$!
job "$member" "$group" 2 "$port" count 50 &
second=$!
wait "$first"
wait "$second"
job "$stranger" "$stranger" 1 "$port" expect 200
as "$owner" "$group" "$bin/mpix-nam" chmod 0600 "$port"
job "$member" "$group" 1 "$port" refused

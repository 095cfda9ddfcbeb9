#!/bin/bash
# Jobs of several users at one memory server of root: each user has the rights that the window's mode gives. Exit code
# 77: this process is not root, or other users cannot start the programs.
#
# usage: tests/nam/users.sh MPIRUN BIN GUEST [OPTION OF THE SERVER...]
set -euo pipefail
mpirun=$1 bin=$2 guest=$3
owner=64021 group=64022 member=64023 stranger=64024
. "$(dirname "$0")/as_user.sh"
. "$(dirname "$0")/server.sh" "$bin" --max-windows 2 "${@:4}"
chmod 0755 "$directory"
if ! as "$stranger" "$stranger" test -x "$guest"; then
  echo "skipped: other users cannot start $guest"
  exit 77
fi
MPIX_NAM_ALLOCATION=$("$bin/mpix-nam" grant --owner "$owner" 8M)
export MPIX_NAM_ALLOCATION

port=$(job "$owner" "$group" 2 make 0640)
job "$member" "$group" 2 "$port" reader
job "$stranger" "$stranger" 1 "$port" refused
job "$owner" "$group" 1 "$port" writer
as "$owner" "$group" "$bin/mpix-nam" chmod 0664 "$port"
job "$stranger" "$stranger" 1 "$port" reader
job "$stranger" "$stranger" 1 "$port" locks 2
job "$member" "$group" 2 "$port" writer
as "$stranger" "$stranger" "$bin/mpix-nam" chmod 0666 "$port" && exit 1
as "$owner" "$group" "$bin/mpix-nam" publish field "$port"
[ "$(as "$stranger" "$stranger" "$bin/mpix-nam" lookup --user "$owner" field)" = "$port" ]

# The owner's job maps the memory, the member's job sends requests: both count in the same memory.
job "$owner" "$group" 2 "$port" count 50 &
first=$!
job "$member" "$group" 2 "$port" count 50 &
second=$!
wait "$first"
wait "$second"
job "$stranger" "$stranger" 1 "$port" expect 200
as "$owner" "$group" "$bin/mpix-nam" chmod 0600 "$port"
job "$member" "$group" 1 "$port" refused

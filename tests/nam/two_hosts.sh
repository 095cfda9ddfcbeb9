#!/bin/bash
# A job on two hosts, of which the first also runs the memory server: its process maps the window, the other one
# reaches it over the network. The second host does not see the server's socket.
#
# usage: tests/nam/two_hosts.sh BIN COUNTER ROUNDS
set -euo pipefail

if [ -z "${OMPI_COMM_WORLD_RANK:-}" ]; then
  MPIX_TEST_DIRECTORY=$(mktemp -d)
  export MPIX_TEST_DIRECTORY MPIX_NAM_SECRET_FILE=$MPIX_TEST_DIRECTORY/secret
  trap 'rm -rf "$MPIX_TEST_DIRECTORY"' EXIT
  mkdir "$MPIX_TEST_DIRECTORY/server"
  "$(dirname "$0")/../../scripts/two-hosts" -- --mca osc mpix "$0" "$@" > "$MPIX_TEST_DIRECTORY/output"
  cat "$MPIX_TEST_DIRECTORY/output"
  grep -qx "process 0 maps the memory" "$MPIX_TEST_DIRECTORY/output"
  grep -qx "process 1 does not map the memory" "$MPIX_TEST_DIRECTORY/output"
  exit
fi

# Once for each process, on its host.
bin=$1 program=("$2" share "$3")
server=$MPIX_TEST_DIRECTORY/server
locator=$MPIX_TEST_DIRECTORY/locator
if [ "$OMPI_COMM_WORLD_RANK" -eq 0 ]; then
  address=$(ip -o -4 addr show scope global | awk '{ split($4, parts, "/"); print parts[1]; exit }')
  mkfifo "$server/life"
  exec 9<>"$server/life"
  "$bin/mpix-namd" --size 64M --listen "$address:0" --interfaces "${address%.*}.0/24" --directory "$server/state" \
    --socket "$server/socket" --log-file "$MPIX_TEST_DIRECTORY/log" --watch-stdin < "$server/life" 9<&- &
  trap 'kill $!; wait $! || true' EXIT
  export MPIX_NAM_SERVER=$server/socket
  for ((i = 0; i < 500; ++i)); do
    "$bin/mpix-nam" list > /dev/null 2>&1 && break
    sleep 0.02
  done
  "$bin/mpix-nam" secret > /dev/null
  "$bin/mpix-nam" grant 16M > "$locator.made"
  mv "$locator.made" "$locator"
  unset MPIX_NAM_SERVER
  MPIX_NAM_ALLOCATION=$(cat "$locator") "${program[@]}"
else
  for ((i = 0; i < 1000; ++i)); do
    [ -e "$locator" ] && break
    sleep 0.02
  done
  export MPIX_NAM_ALLOCATION
  MPIX_NAM_ALLOCATION=$(cat "$locator")
  exec unshare --mount bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$server" "${program[@]}"
fi

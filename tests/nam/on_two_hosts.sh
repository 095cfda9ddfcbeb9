#!/bin/bash
# Runs a program on two hosts, of which the first one, or each, also runs a memory server. A host does not see the
# socket of the other host's server.
#
# usage: tests/nam/on_two_hosts.sh BIN SERVERS RANKS-PER-HOST COMMAND [ARGUMENT...]
set -euo pipefail
bin=$1 servers=$2 ranks=$3

if [ -z "${OMPI_COMM_WORLD_RANK:-}" ]; then
  MPIX_TEST_DIRECTORY=$(mktemp -d)
  export MPIX_TEST_DIRECTORY MPIX_NAM_SECRET_FILE=$MPIX_TEST_DIRECTORY/secret
  trap 'rm -rf "$MPIX_TEST_DIRECTORY"' EXIT
  mkdir "$MPIX_TEST_DIRECTORY/server0" "$MPIX_TEST_DIRECTORY/server1"
  "$(dirname "$0")/../../scripts/two-hosts" --ranks-per-host "$ranks" -- --mca osc mpix "$0" "$@"
  exit
fi

# The following is run by each process, on its host.
host=$((OMPI_COMM_WORLD_RANK / ranks))
server=$MPIX_TEST_DIRECTORY/server$host
locator=$MPIX_TEST_DIRECTORY/locator
if [ "$host" -lt "$servers" ] && [ "$OMPI_COMM_WORLD_LOCAL_RANK" -eq 0 ]; then
  address=$(ip -o -4 addr show scope global | awk '{ split($4, parts, "/"); print parts[1]; exit }')
  mkfifo "$server/life"
  exec 9<>"$server/life"
  "$bin/mpix-namd" --size 64M --listen "$address:0" --interfaces "${address%.*}.0/24" --directory "$server/state" \
    --socket "$server/socket" --log-file "$MPIX_TEST_DIRECTORY/log$host" --watch-stdin < "$server/life" 9<&- &
  trap 'kill $!; wait $! || true' EXIT
  export MPIX_NAM_SERVER=$server/socket
  for ((i = 0; i < 500; ++i)); do
    "$bin/mpix-nam" list > /dev/null 2>&1 && break
    sleep 0.02
  done
  "$bin/mpix-nam" secret > /dev/null
  "$bin/mpix-nam" grant 16M > "$locator$host.made"
  mv "$locator$host.made" "$locator$host"
  unset MPIX_NAM_SERVER
fi
for ((i = 0; i < 1000; ++i)); do
  [ -e "$locator$((servers - 1))" ] && [ -e "${locator}0" ] && break
  sleep 0.02
done
MPIX_NAM_ALLOCATION=$(cat "${locator}0")
[ "$servers" -eq 1 ] || MPIX_NAM_ALLOCATION+=,$(cat "${locator}1")
export MPIX_NAM_ALLOCATION
unshare --mount bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$MPIX_TEST_DIRECTORY/server$((1 - host))" "${@:4}"

#!/bin/bash
# A job on two hosts, of which the first one, or each, also runs a memory server: a process maps the regions that the
# server of its host has, and reaches others over the network. A host does not see the socket of another one's server.
#
# usage: tests/nam/two_hosts.sh BIN COUNTER ROUNDS SERVERS
set -euo pipefail
bin=$1 program=("$2" share "$3") servers=$4

if [ -z "${OMPI_COMM_WORLD_RANK:-}" ]; then
  MPIX_TEST_DIRECTORY=$(mktemp -d)
  export MPIX_TEST_DIRECTORY MPIX_NAM_SECRET_FILE=$MPIX_TEST_DIRECTORY/secret
  trap 'rm -rf "$MPIX_TEST_DIRECTORY"' EXIT
  mkdir "$MPIX_TEST_DIRECTORY/server0" "$MPIX_TEST_DIRECTORY/server1"
  "$(dirname "$0")/../../scripts/two-hosts" -- --mca osc mpix "$0" "$@" > "$MPIX_TEST_DIRECTORY/output"
  cat "$MPIX_TEST_DIRECTORY/output"
  for process in 0 1; do
    for region in 0 1; do
      maps="maps"
      [ "$process" -eq $((region % servers)) ] || maps="does not map"
      grep -qx "process $process $maps region $region" "$MPIX_TEST_DIRECTORY/output"
    done
  done
  exit
fi

# Once for each process, on its host.
rank=$OMPI_COMM_WORLD_RANK
server=$MPIX_TEST_DIRECTORY/server$rank
locator=$MPIX_TEST_DIRECTORY/locator
if [ "$rank" -lt "$servers" ]; then
  address=$(ip -o -4 addr show scope global | awk '{ split($4, parts, "/"); print parts[1]; exit }')
  mkfifo "$server/life"
  exec 9<>"$server/life"
  "$bin/mpix-namd" --size 64M --listen "$address:0" --interfaces "${address%.*}.0/24" --directory "$server/state" \
    --socket "$server/socket" --log-file "$MPIX_TEST_DIRECTORY/log$rank" --watch-stdin < "$server/life" 9<&- &
  trap 'kill $!; wait $! || true' EXIT
  export MPIX_NAM_SERVER=$server/socket
  for ((i = 0; i < 500; ++i)); do
    "$bin/mpix-nam" list > /dev/null 2>&1 && break
    sleep 0.02
  done
  "$bin/mpix-nam" secret > /dev/null
  "$bin/mpix-nam" grant 16M > "$locator$rank.made"
  mv "$locator$rank.made" "$locator$rank"
  unset MPIX_NAM_SERVER
fi
for ((i = 0; i < 1000; ++i)); do
  [ -e "$locator$((servers - 1))" ] && [ -e "${locator}0" ] && break
  sleep 0.02
done
MPIX_NAM_ALLOCATION=$(cat "${locator}0")
[ "$servers" -eq 1 ] || MPIX_NAM_ALLOCATION+=,$(cat "${locator}1")
export MPIX_NAM_ALLOCATION
unshare --mount bash -c 'mount -t tmpfs none "$0" && exec "$@"' "$MPIX_TEST_DIRECTORY/server$((1 - rank))" "${program[@]}"

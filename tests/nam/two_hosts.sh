#!/bin/bash
# A job on two hosts, of which the first one, or each, also runs a memory server: a process maps the regions that the
# server of its host has, and reaches others over the network.
#
# usage: tests/nam/two_hosts.sh BIN COUNTER ROUNDS SERVERS
set -euo pipefail
bin=$1 counter=$2 rounds=$3 servers=$4

output=$("$(dirname "$0")/on_two_hosts.sh" "$bin" "$servers" 1 "$counter" share "$rounds")
echo "$output"
for process in 0 1; do
  for region in 0 1; do
    maps="maps"
    [ "$process" -eq $((region % servers)) ] || maps="does not map"
    grep -qx "process $process $maps region $region" <<< "$output"
  done
done

#!/bin/bash
# Jobs of the owner of a grant while eight other users together take as much as the server gives over TCP: connections,
# sessions of grants of their own and of the owner's window, descriptors, processor time. Exit code 77: this process is
# not root, other users cannot start the programs, or the system knows fewer than nine users besides root.
#
# usage: tests/nam/colluders.sh MPIRUN BIN GUEST COLLUDER
set -euo pipefail
mpirun=$1 bin=$2 guest=$3 colluder=$4
. "$(dirname "$0")/as_user.sh"
# Over TCP a user needs an account.
mapfile -t users < <(getent passwd | cut -d: -f3 | awk '$1 > 0 && $1 < 65536' | sort -n | head -9)
if [ "${#users[@]}" -lt 9 ]; then
  echo "skipped: the system knows ${#users[@]} users besides root"
  exit 77
fi
owner=${users[8]} colluders=("${users[@]:0:8}")

export MPIX_TEST_NAM_LISTEN=127.0.0.1:0
. "$(dirname "$0")/server.sh" "$bin" --interfaces lo --self-service 1M --max-connections 256 --max-sessions 256
chmod 0755 "$directory"
if ! as "$owner" "$owner" test -x "$guest" || ! as "$owner" "$owner" test -x "$colluder"; then
  echo "skipped: other users cannot start $guest and $colluder"
  exit 77
fi
MPIX_NAM_ALLOCATION=$("$bin/mpix-nam" grant --owner "$owner" 16M)
export MPIX_NAM_ALLOCATION
for user in "${users[@]}"; do
  as "$user" "$user" "$bin/mpix-nam" secret > /dev/null
done
port=$(job "$owner" "$owner" 2 make 0644)

started=()
for user in "${colluders[@]}"; do
  as "$user" "$user" "$colluder" "$port" > "$directory/colluder-$user" 2>&1 < "$directory/life" 9<&- &
  started+=($!)
done
for user in "${colluders[@]}"; do
  timeout 300 sh -c 'until grep -q ^ready "$0"; do sleep 0.1; done' "$directory/colluder-$user"
  cat "$directory/colluder-$user"
done

# Each job opens sessions. A put or get that never completes exceeds the time limit of the test.
for tcp in 0 1; do
  job_options=(-x MPIX_NAM_TCP=$tcp)
  for action in writer "count 20"; do
    read -ra words <<< "$action"
    job "$owner" "$owner" 2 "$port" "${words[@]}"
  done
  as "$owner" "$owner" env MPIX_NAM_TCP=$tcp "$bin/mpix-nam" names
done
for process in "${started[@]}"; do
  kill -0 "$process" || { echo "a colluder has ended"; exit 1; }
done
exec 9<&-
wait

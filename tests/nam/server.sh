# To be sourced: a memory server for the life of the script, with a directory of its own ($directory), and a grant of
# 16 MiB.
#
# MPIX_TEST_NAM_LISTEN: the TCP address at which the server also listens.
#
# usage: . tests/nam/server.sh BIN [OPTION...]
bin=$1
directory=$(mktemp -d)
mkfifo "$directory/life"
exec 9<>"$directory/life"
"$bin/mpix-namd" --size 64M --listen "${MPIX_TEST_NAM_LISTEN:-none}" --directory "$directory/state" --socket "$directory/socket" \
  --log-file "$directory/log" --watch-stdin "${@:2}" < "$directory/life" 9<&- &
server=$!
finish() {
  kill "$server" 2> /dev/null && wait "$server" 2> /dev/null
  rm -rf "$directory"
}
trap finish EXIT
export MPIX_NAM_SERVER=$directory/socket
# A loop rather than --wait, because tools of earlier revisions, which are run for comparison, lack that option.
for ((tries = 0; tries < 600; ++tries)); do
  MPIX_NAM_ALLOCATION=$("$bin/mpix-nam" grant 16M 2> "$directory/refusal") && break
  sleep 0.1
done
[ "$tries" -lt 600 ] || { cat "$directory/refusal" >&2; exit 1; }
export MPIX_NAM_ALLOCATION

#!/bin/sh
# Runs a program under mpirun on a machine that refuses something.
# usage: machine.sh CASE MPIRUN PROGRAM [ARGUMENT...]; exit status 77: this machine does not permit the case
set -eu
case=$1 mpirun=$2
shift 2
launch() { "$mpirun" --oversubscribe --bind-to none "$@" < /dev/null; }

case $case in
  small_shm)
    # Ten MiB are as little for three processes as Docker's default of 64 MiB is for 16. Open MPI's own transport has
    # its files elsewhere: it checks the free space before it maps them, and gets a SIGBUS if UCX takes the space
    # meanwhile.
    export OMPI_MCA_btl_vader_backing_directory="${TMPDIR:-/tmp}" OMPI_MCA_btl_sm_backing_directory="${TMPDIR:-/tmp}"
    unshare -m true 2> /dev/null || exit 77
    exec unshare -m sh -c 'mount -t tmpfs -o size=10M none /dev/shm && exec "$@"' sh \
      "$mpirun" --oversubscribe --bind-to none -np 3 "$@" < /dev/null ;;
  no_shm)
    export OMPI_MCA_reachable=weighted # TCP within the host, as in CMakeLists.txt
    unshare -m true 2> /dev/null || exit 77
    exec unshare -m sh -c 'mount -t tmpfs -o size=100k none /dev/shm && exec "$@"' sh \
      "$mpirun" --oversubscribe --bind-to none -np 3 "$@" < /dev/null ;;
  user_namespaces)
    unshare -Ur true 2> /dev/null || exit 77
    launch -np 2 unshare -Ur "$@" ;;
  one_user_namespace)
    unshare -Ur true 2> /dev/null || exit 77
    launch -np 2 sh -c '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || set -- unshare -Ur "$@"; exec "$@"' sh "$@" ;;
  ipc_namespaces)
    unshare -i true 2> /dev/null || exit 77
    launch -np 2 unshare -i "$@" ;;
  *) echo "machine.sh: unknown case $case" >&2; exit 2 ;;
esac

#!/bin/sh
# One rank of a job in which each takes paths of its own. usage: mixed_paths.sh PROGRAM [ARGUMENT...]
# UCX has to have the same features in all of them, so that `network` is in each list (docs/debugging.md).
export OMPI_MCA_osc_mpix_network=emulated
case $OMPI_COMM_WORLD_RANK in
  0) export OMPI_MCA_osc_mpix_path=message,network ;;
  1) export OMPI_MCA_osc_mpix_path=direct,network ;;
  2) export OMPI_MCA_osc_mpix_path=network ;;
  *) export OMPI_MCA_osc_mpix_path=auto ;;
esac
exec "$@"

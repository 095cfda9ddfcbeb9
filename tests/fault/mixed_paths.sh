#!/bin/sh
# One rank of a job in which each rank has its own list of paths. usage: mixed_paths.sh PROGRAM [ARGUMENT...]
# UCX must have the same features in all ranks, so every list has `network` (docs/debugging.md).
export OMPI_MCA_osc_mpix_network=emulated
case $OMPI_COMM_WORLD_RANK in
  0) export OMPI_MCA_osc_mpix_path=message,network ;;
  1) export OMPI_MCA_osc_mpix_path=direct,network ;;
  2) export OMPI_MCA_osc_mpix_path=network ;;
  *) export OMPI_MCA_osc_mpix_path=auto ;;
esac
exec "$@"

#!/bin/bash
# one_differs.sh CASE MPIRUN PROGRAM: PROGRAM in a job of two processes, one of which differs.
# Exit status 77: the machine does not permit the case.
if [ "$1" = --rank ]; then
  case $OMPI_COMM_WORLD_RANK.$2 in
    1.files) export MPIX_TEST_REFUSED=files ;;
    1.threads) export MPIX_TEST_REFUSED=threads ;;
    1.wrong) export OMPI_MCA_osc_mpix_path=nonsense ;;
    1.messages) export OMPI_MCA_osc_mpix_path=message ;;
    1.none) export OMPI_MCA_osc_mpix_windows=none ;;
    0.info) export OMPI_MCA_osc_mpix_windows=info ;;
    1.priority) export OMPI_MCA_osc_mpix_priority=1 ;;
  esac
  exec "$3"
fi

case=$1 mpirun=$2 program=$3
output=$(timeout 100 "$mpirun" --oversubscribe --bind-to none -np 2 "$0" --rank "$case" "$program" \
           2>&1 </dev/null)
code=$?
echo "$output"
[ $code = 77 ] && exit 77
[ $code = 0 ] && [ "$(grep -c 'all windows work' <<<"$output")" = 2 ] || exit 1
case $case in
  files) grep -q 'the engine does not start: memfd_create: Operation not permitted' <<<"$output" ;;
  threads) grep -q 'the engine does not start: pthread_create: Resource temporarily unavailable' <<<"$output" ;;
esac

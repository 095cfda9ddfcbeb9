! A distributed work queue with module mpix_rma, whose handles are integers.
!
! Rank 0 holds a counter of items handed out, and an array for the results; every process draws items with MPIX_RMA_rmw
! and puts each result into the array. The memory is an array of rank 0: its address is all that the others need.
!
! Run: mpirun -np 4 ./fortran_work_queue
program fortran_work_queue
  use mpi
  use mpix_rma
  implicit none

  integer, parameter :: items = 2000
  integer, target, asynchronous :: queue(0:items)  ! how many were handed out; results
  integer, asynchronous :: one, item, answer
  integer :: rank, ierror, mine, total, wrong, i
  integer(MPI_ADDRESS_KIND) :: place
  type(MPIX_RMA_Attributes) :: blocking

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  queue = 0
  ! An address is data that can be sent. It refers to rank 0 at every process.
  call MPI_Get_address(queue, place, ierror)
  call MPI_Bcast(place, 1, MPI_AINT, 0, MPI_COMM_WORLD, ierror)

  blocking%set = MPIX_RMA_ATTR_BLOCKING
  one = 1
  mine = 0
  do
    call MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, MPI_INTEGER, item, 0, place, communicator=MPI_COMM_WORLD, &
      rmw_attr_val=blocking, ierror=ierror)
    if (item >= items) exit
    answer = solve(item + 1)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, answer, 1, MPI_INTEGER, 0, place + 4 * (item + 1), 1, MPI_INTEGER, &
      communicator=MPI_COMM_WORLD, rma_attr_val=blocking, ierror=ierror)
    mine = mine + 1
  end do
  call MPIX_RMA_Complete(MPI_COMM_WORLD, 0, ierror)
  call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)

  wrong = 0
  if (rank == 0) then
    if (total /= items) wrong = 1
    wrong = wrong + count(queue(1:items) /= [(solve(i), i = 1, items)])
    print "(i0, 2a)", total, " items: ", trim(merge("result correct", "RESULT WRONG  ", wrong == 0))
  end if
  call MPI_Bcast(wrong, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (wrong /= 0) stop 1

contains

  integer function solve(number)
    integer, intent(in) :: number
    solve = mod(number * number, 1009) + 7
  end function solve

end program fortran_work_queue

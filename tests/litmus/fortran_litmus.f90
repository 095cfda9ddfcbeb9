! Message passing from Fortran: the attribute that orders the PUTs is that of a communicator, of a request object, or
! of the call. Rank 0 puts x and then y in each round, rank 1 gets y and then x: x is never older.
!
!   mpirun -np 2 fortran_litmus [ROUNDS]
program fortran_litmus
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use mpix_rma_f08
  implicit none

  integer, parameter :: address_kind = MPI_ADDRESS_KIND
  integer, parameter :: distance = 128
  integer, parameter :: by_communicator = 1, by_request = 2, by_call = 3
  character(len=12), parameter :: names(3) = ["communicator", "request     ", "call        "]
  type(MPI_Comm) :: plain, ordered
  integer :: rounds, rank, form, home, wrong
  integer(address_kind), allocatable :: bases(:)
  integer(c_int64_t), pointer, asynchronous :: mine(:)
  integer(c_int64_t), asynchronous :: seen(2)
  integer(c_int64_t), allocatable, asynchronous :: numbers(:)
  character(len=12) :: argument

  rounds = 20000
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) rounds
  allocate(numbers(rounds))
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_dup(MPI_COMM_WORLD, plain)
  call MPI_Comm_dup(MPI_COMM_WORLD, ordered)
  call MPI_Comm_set_attr(ordered, MPIX_RMA_KEY_ORDERING(), MPIX_RMA_ON)
  allocate(bases(0:1))
  call MPIX_RMA_Allocate(int(4 * distance, address_kind), MPI_INFO_NULL, plain, bases=bases)
  call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), mine, [4 * distance / 8])

  wrong = 0
  do home = 0, 1
    do form = by_communicator, by_call
      mine = 0
      call MPI_Barrier(MPI_COMM_WORLD)
      if (rank == 0) call store(form, bases(home))
      if (rank == 1) call fetch(form, bases(home))
      call MPIX_RMA_Complete(plain, MPIX_ALL_RANKS)
      call MPIX_RMA_Complete(ordered, MPIX_ALL_RANKS)
      call MPI_Barrier(MPI_COMM_WORLD)
    end do
  end do

  call MPIX_RMA_Free(bases(rank), plain)
  call MPI_Comm_free(ordered)
  call MPI_Comm_free(plain)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  subroutine store(form, x)
    integer, intent(in) :: form
    integer(address_kind), intent(in) :: x
    type(MPI_Request) :: request
    integer :: i
    request = MPI_REQUEST_NULL
    if (form == by_request) call MPIX_Req_set_attr(request, MPIX_RMA_KEY_ORDERING(), MPIX_RMA_ON)
    do i = 1, rounds
      numbers(i) = i
      call put(form, numbers(i), x, request)
      call put(form, numbers(i), x + distance, request)
    end do
    if (form == by_request) call MPI_Request_free(request)
  end subroutine store

  subroutine put(form, number, address, request)
    integer, intent(in) :: form
    integer(c_int64_t), asynchronous, intent(inout) :: number
    integer(address_kind), intent(in) :: address
    type(MPI_Request), intent(inout) :: request
    type(MPIX_RMA_Attributes) :: chosen
    select case (form)
    case (by_communicator)
      call MPIX_RMA_xfer(MPIX_RMA_PUT, number, 1, MPI_INTEGER8, home, address, 1, MPI_INTEGER8, communicator=ordered)
    case (by_request)
      call MPIX_RMA_xfer_req(MPIX_RMA_PUT, number, 1, MPI_INTEGER8, home, address, 1, MPI_INTEGER8, request, plain)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    case default
      chosen%set = MPIX_RMA_ATTR_ORDERING
      call MPIX_RMA_xfer(MPIX_RMA_PUT, number, 1, MPI_INTEGER8, home, address, 1, MPI_INTEGER8, communicator=plain, &
        rma_attr_val=chosen)
    end select
  end subroutine put

  subroutine fetch(form, x)
    integer, intent(in) :: form
    integer(address_kind), intent(in) :: x
    type(MPIX_RMA_Attributes) :: chosen
    integer :: i, older
    older = 0
    chosen%set = ior(MPIX_RMA_ATTR_ORDERING, MPIX_RMA_ATTR_BLOCKING)
    do i = 1, rounds
      call MPIX_RMA_xfer(MPIX_RMA_GET, seen(1), 1, MPI_INTEGER8, home, x + distance, 1, MPI_INTEGER8, &
        communicator=plain, rma_attr_val=chosen)
      call MPIX_RMA_xfer(MPIX_RMA_GET, seen(2), 1, MPI_INTEGER8, home, x, 1, MPI_INTEGER8, communicator=plain, &
        rma_attr_val=chosen)
      if (seen(2) < seen(1)) older = older + 1
    end do
    if (older /= 0) print *, "message passing, ordered by the attribute of the ", trim(names(form)), ": ", older, &
      " of ", rounds, " rounds have the forbidden outcome, memory of rank ", home
    wrong = wrong + older
  end subroutine fetch
end program fortran_litmus

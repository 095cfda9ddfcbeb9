! Module mpix_rma: the same library with integers for MPI's handles.
program integers_test
  use, intrinsic :: iso_c_binding
  use mpi
  use mpix_rma
  use check
  implicit none

  integer, parameter :: n = 40
  integer, parameter :: address_kind = MPI_ADDRESS_KIND
  integer :: comm, rank, size, right, left, ierror
  integer(address_kind), allocatable :: bases(:)
  real, pointer :: mine(:)

  call MPI_Init(ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_rank(comm, rank, ierror)
  call MPI_Comm_size(comm, size, ierror)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  allocate(bases(0:size - 1))
  call MPIX_RMA_Allocate(int(4 * n, address_kind), MPI_INFO_NULL, comm, bases=bases, ierror=ierror)
  call expect(ierror == MPI_SUCCESS, "allocate")
  call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), mine, [n])

  call transfers
  call same_address
  call absolute
  call read_modify_write
  call notification
  call attributes
  call errors

  call MPIX_RMA_Free(bases(rank), comm, ierror)
  call expect(ierror == MPI_SUCCESS, "free")
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (wrong /= 0) stop 1

contains

  subroutine begin(value)
    real, intent(in) :: value
    call MPI_Barrier(comm, ierror)
    mine = value
    call MPI_Barrier(comm, ierror)
  end subroutine begin

  subroutine finish
    call MPIX_RMA_Complete(comm, MPIX_ALL_RANKS, ierror)
    call expect(ierror == MPI_SUCCESS, "complete")
    call MPI_Barrier(comm, ierror)
  end subroutine finish

  ! Every rank has the same base address.
  subroutine same_address
    integer(address_kind) :: base
    integer :: info, into
    integer, asynchronous :: from
    integer, pointer :: own
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, "mpix_same_address", "true", ierror)
    call MPIX_RMA_Allocate(4_address_kind, info, comm, base, ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "allocate at the same address")
    call MPI_Info_free(info, ierror)
    call c_f_pointer(MPIX_RMA_Pointer(base), own)
    from = 10 + rank
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 1, MPI_INTEGER, right, base, 1, MPI_INTEGER, communicator=comm, &
                       ierror=ierror)
    call finish
    into = own
    call expect(into == 10 + left, "put to the own base at another rank")
    call MPIX_RMA_Free(base, comm, ierror)
    call expect(ierror == MPI_SUCCESS, "free at the same address")
  end subroutine same_address

  subroutine transfers
    real, asynchronous :: a(6, 5), into(9)
    integer :: request, i, j
    a = reshape([((100. * rank + 10 * i + j, i = 1, 6), j = 1, 5)], [6, 5])
    call begin(-1.)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, a(5:1:-2, ::2), 9, MPI_REAL, right, bases(right), 9, MPI_REAL, request, comm, &
      ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "put")
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call expect(request == MPI_REQUEST_NULL, "request after MPI_Wait")
    call finish
    call expect(all(mine(1:9) == [((100. * left + 10 * i + j, i = 5, 1, -2), j = 1, 5, 2)]), "put: values")
    call expect(all(mine(10:) == -1.), "put: beyond")
    call MPIX_RMA_xfer(MPIX_RMA_GET, into, 9, MPI_REAL, right, bases(right), 9, MPI_REAL, communicator=comm, &
      rma_attr_val=MPIX_RMA_Attributes(MPIX_RMA_ATTR_BLOCKING), ierror=ierror)
    call expect(all(into == reshape(a(5:1:-2, ::2), [9])), "get: values")
  end subroutine transfers

  ! Two variables by a datatype of their addresses.
  subroutine absolute
    real, asynchronous :: x(3), y
    integer :: both
    integer(address_kind) :: places(2)
    x = [rank + 1., rank + 2., rank + 3.]
    y = rank + 4.
    call MPI_Get_address(x, places(1), ierror)
    call MPI_Get_address(y, places(2), ierror)
    call MPI_Type_create_hindexed(2, [3, 1], places, MPI_REAL, both, ierror)
    call MPI_Type_commit(both, ierror)
    call begin(0.)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, MPI_BOTTOM, 1, both, right, bases(right), 4, MPI_REAL, communicator=comm, ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "put from MPI_BOTTOM")
    call finish
    call expect(all(mine(:5) == [left + 1., left + 2., left + 3., left + 4., 0.]), "put from MPI_BOTTOM: values")
    call MPI_Type_free(both, ierror)
  end subroutine absolute

  subroutine read_modify_write
    integer, asynchronous :: one, before
    integer, pointer :: words(:)
    integer :: request
    call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), words, [2])
    call begin(0.)
    one = 5
    call MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, MPI_INTEGER, before, right, bases(right), request, comm, ierror=ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call expect(before == 0, "fetch and add: before")
    call finish
    call expect(words(1) == 5, "fetch and add: after")
  end subroutine read_modify_write

  subroutine notification
    real, asynchronous :: from
    type(MPIX_RMA_Attributes) :: chosen
    integer :: request
    integer(MPI_COUNT_KIND) :: value
    from = rank + 1
    call begin(0.)
    call MPIX_RMA_Set_num_notify(comm, 1, ierror)
    chosen%set = MPIX_RMA_ATTR_NOTIFY
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 1, MPI_REAL, right, bases(right), 1, MPI_REAL, communicator=comm, &
      rma_attr_val=chosen, ierror=ierror)
    call MPIX_RMA_Wait_notify_value(comm, 0, 1_MPI_COUNT_KIND, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call expect(mine(1) == left + 1, "notified data")
    call MPIX_RMA_Get_notify_value(comm, 0, value, ierror)
    call expect(value == 1, "counter")
    call finish
  end subroutine notification

  real function combined()
    real, asynchronous :: three
    three = 3
    call begin(7.)
    call MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, three, 1, MPI_REAL, right, bases(right), 1, MPI_REAL, communicator=comm, &
      ierror=ierror)
    call finish
    combined = mine(1)
  end function combined

  subroutine attributes
    integer :: key, own, old
    integer(address_kind) :: value
    logical :: flag
    call expect(combined() == 10, "no attribute")
    key = MPIX_RMA_KEY_ACCUMULATE_OP()
    call MPI_Comm_set_attr(comm, key, MPIX_RMA_OP_VALUE(MPI_PROD), ierror)
    call expect(combined() == 21, "attribute after the first operation")
    call MPI_Comm_get_attr(comm, key, value, flag, ierror)
    call expect(flag .and. value == MPIX_RMA_OP_VALUE(MPI_PROD), "MPI_Comm_get_attr")
    call MPI_Comm_delete_attr(comm, key, ierror)
    call expect(combined() == 10, "attribute deleted")
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, own, 0_address_kind, ierror)
    call MPI_Comm_set_attr(comm, own, 99_address_kind, ierror)
    call MPI_Comm_get_attr(comm, own, value, flag, ierror)
    call expect(flag .and. value == 99, "an attribute of the program")
    call MPI_Attr_put(comm, own, -5, ierror)
    call MPI_Attr_get(comm, own, old, flag, ierror)
    call expect(flag .and. old == -5, "an attribute of the program, the old way")
    call MPI_Comm_delete_attr(comm, own, ierror)
    call MPI_Comm_free_keyval(own, ierror)
    call expect(own == MPI_KEYVAL_INVALID, "a key of the program")
  end subroutine attributes

  subroutine errors
    real, asynchronous :: from(4)
    integer :: class, code
    from = 0
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 1, MPI_REAL, size + 3, bases(right), 1, MPI_REAL, communicator=comm, ierror=ierror)
    call MPI_Error_class(ierror, class, code)
    call expect(class == MPI_ERR_RANK, "error: rank")
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from(1:4:3), 3, MPI_REAL, right, bases(right), 3, MPI_REAL, communicator=comm, &
      ierror=ierror)
    call MPI_Error_class(ierror, class, code)
    call expect(class == MPI_ERR_COUNT, "error: more than the section has")
    call finish
  end subroutine errors

end program integers_test

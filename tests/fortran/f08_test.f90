! Module mpix_rma_f08: each process works on the memory of its neighbour.
program f08_test
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use mpix_rma_f08
  use check
  implicit none

  integer, parameter :: n = 64
  integer, parameter :: address_kind = MPI_ADDRESS_KIND
  type(MPI_Comm) :: comm
  integer :: rank, size, right, left, ierror
  integer(address_kind), allocatable :: bases(:)
  double precision, pointer :: mine(:)

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  allocate(bases(0:size - 1))
  call MPIX_RMA_Allocate(int(8 * n, address_kind), MPI_INFO_NULL, comm, bases=bases, ierror=ierror)
  call expect(ierror == MPI_SUCCESS, "allocate")
  call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), mine, [n])

  call contiguous
  call sections
  call section_types
  call padded_sections
  call unallocated
  call accumulate
  call requests
  call own_requests
  call read_modify_write
  call planned
  call notification
  call attributes
  call foreign_attributes
  call memory
  call errors

  call MPIX_RMA_Free(bases(rank), comm, ierror)
  call expect(ierror == MPI_SUCCESS, "free")
  call MPI_Comm_free(comm)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  ! On return all processes' memory has this value, and no process has written yet.
  subroutine begin(value)
    double precision, intent(in) :: value
    call MPI_Barrier(comm)
    mine = value
    call MPI_Barrier(comm)
  end subroutine begin

  ! On return the operations of all processes are complete at their targets.
  subroutine finish
    call MPIX_RMA_Complete(comm, MPIX_ALL_RANKS, ierror)
    call expect(ierror == MPI_SUCCESS, "complete")
    call MPI_Barrier(comm)
  end subroutine finish

  ! Different for every element and process.
  elemental double precision function cell(i, j, process)
    integer, intent(in) :: i, j, process
    cell = 1000d0 * process + 10 * i + j / 16d0
  end function cell

  subroutine contiguous
    double precision, asynchronous :: from(10), into(5)
    integer :: i
    from = [(cell(i, 0, rank), i = 1, 10)]
    call begin(-1d0)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 10, MPI_DOUBLE_PRECISION, right, bases(right) + 16, 10, &
      MPI_DOUBLE_PRECISION, communicator=comm, ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "put")
    call MPIX_RMA_Fence(comm, right)
    call MPIX_RMA_xfer_c(MPIX_RMA_PUT, from(3:4), 2_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, right, bases(right), &
      2_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, communicator=comm)
    call finish
    call expect(all(mine(3:12) == [(cell(i, 0, left), i = 1, 10)]), "put: values")
    call expect(all(mine(1:2) == [(cell(i, 0, left), i = 3, 4)]), "xfer_c: values")
    call expect(all(mine(13:) == -1d0), "put: beyond")
    call MPIX_RMA_xfer(MPIX_RMA_GET, into, 5, MPI_DOUBLE_PRECISION, right, bases(right) + 16, 5, &
      MPI_DOUBLE_PRECISION, communicator=comm, rma_attr_val=MPIX_RMA_Attributes(MPIX_RMA_ATTR_BLOCKING))
    call expect(all(into == from(1:5)), "blocking get")
  end subroutine contiguous

  subroutine sections
    double precision, asynchronous :: a(10, 12), b(2, 20), c(4, 4, 5)
    integer :: i, j
    type(MPI_Request) :: request
    a = reshape([((cell(i, j, rank), i = 1, 10), j = 1, 12)], [10, 12])
    call begin(-1d0)
    call put(a(10:1:-3, 2:9:2), 16, 0)   ! backwards, in two dimensions
    call put(a(5, :), 12, 16)            ! a row
    call put(a(2:9:3, 3:12:4), 5, 28)    ! one whole column and two of the next
    call finish
    call expect(all(mine(1:16) == [((cell(i, j, left), i = 10, 1, -3), j = 2, 9, 2)]), "section backwards")
    call expect(all(mine(17:28) == [(cell(5, j, left), j = 1, 12)]), "row")
    call expect(all(mine(29:31) == [(cell(i, 3, left), i = 2, 8, 3)]), "part of a section: column")
    call expect(all(mine(32:33) == [(cell(i, 7, left), i = 2, 5, 3)]), "part of a section: rest")
    call expect(all(mine(34:) == -1d0), "sections: beyond")

    mine = [(cell(i, 7, rank), i = 1, n)]
    call MPI_Barrier(comm)
    b = -2d0
    call MPIX_RMA_xfer(MPIX_RMA_GET, b(2, 20:2:-2), 10, MPI_DOUBLE_PRECISION, right, bases(right), 10, &
      MPI_DOUBLE_PRECISION, request, comm)
    c = -2d0
    call MPIX_RMA_xfer(MPIX_RMA_GET, c(1::2, 2:3, ::2), 12, MPI_DOUBLE_PRECISION, right, bases(right), 12, &
      MPI_DOUBLE_PRECISION, communicator=comm)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call finish
    call expect(all(b(2, 20:2:-2) == [(cell(i, 7, right), i = 1, 10)]), "get into a section")
    call expect(all(b(1, :) == -2d0) .and. all(b(2, 1::2) == -2d0), "get into a section: gaps")
    call expect(all(reshape(c(1::2, 2:3, ::2), [12]) == [(cell(i, 7, right), i = 1, 12)]), "three dimensions")
    call expect(count(c == -2d0) == 80 - 12, "three dimensions: gaps")
  end subroutine sections

  subroutine put(section, elements, place)
    type(*), dimension(..), asynchronous :: section
    integer, intent(in) :: elements, place
    call MPIX_RMA_xfer(MPIX_RMA_PUT, section, elements, MPI_DOUBLE_PRECISION, right, bases(right) + 8 * place, elements, &
      MPI_DOUBLE_PRECISION, communicator=comm, ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "put of a section")
  end subroutine put

  ! Array elements that consist of several elements of the datatype.
  subroutine section_types
    complex(kind(1d0)), asynchronous :: z(9)
    integer :: i
    z = [(cmplx(cell(i, 1, rank), cell(i, 2, rank), kind(1d0)), i = 1, 9)]
    call begin(-1d0)
    call put(z(1:9:4), 6, 0)
    call finish
    call expect(all(mine(1:5:2) == [(cell(i, 1, left), i = 1, 9, 4)]), "complex: real parts")
    call expect(all(mine(2:6:2) == [(cell(i, 2, left), i = 1, 9, 4)]), "complex: imaginary parts")
    call begin(-1d0)
    call put(z(1:9:4), 5, 0)       ! two elements and the real part of the third
    call put(z(9:1:-4), 1, 6)      ! a real part alone
    call finish
    call expect(all(mine(1:5:2) == [(cell(i, 1, left), i = 1, 9, 4)]), "part of an element: real parts")
    call expect(all(mine(2:4:2) == [(cell(i, 2, left), i = 1, 5, 4)]), "part of an element: imaginary parts")
    call expect(all(mine(6:8) == [-1d0, cell(9, 1, left), -1d0]), "part of an element: rest")
  end subroutine section_types

  ! Elements with padding: the extent of the datatype is larger than its size.
  subroutine padded_sections
    type :: padded
      integer :: number
      double precision :: value
    end type padded
    type(padded), asynchronous :: from(6), into(6)
    integer, asynchronous :: numbers(6)
    type(MPI_Datatype) :: datatype
    integer(address_kind) :: places(3)
    integer :: i
    do i = 1, 6
      from(i) = padded(100 * rank + i, cell(i, 0, rank))
    end do
    call MPI_Get_address(from(1), places(1))
    call MPI_Get_address(from(1)%number, places(2))
    call MPI_Get_address(from(1)%value, places(3))
    call MPI_Type_create_struct(2, [1, 1], places(2:3) - places(1), [MPI_INTEGER, MPI_DOUBLE_PRECISION], datatype)
    call MPI_Type_commit(datatype)
    call begin(-1d0)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from(6:1:-2), 3, datatype, right, bases(right), 3, datatype, communicator=comm, &
      ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "section of a derived type")
    call finish
    into = padded(-1, -1d0)
    call MPIX_RMA_xfer(MPIX_RMA_GET, into(1:6:2), 3, datatype, right, bases(right), 3, datatype, communicator=comm, &
      rma_attr_val=MPIX_RMA_Attributes(MPIX_RMA_ATTR_BLOCKING), ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "get into a section of a derived type")
    call expect(all(into(1:6:2)%number == from(6:1:-2)%number), "section of a derived type: integers")
    call expect(all(into(1:6:2)%value == from(6:1:-2)%value), "section of a derived type: reals")
    call expect(all(into(2:6:2)%number == -1), "section of a derived type: gaps")
    call attempt(numbers(1:6:2), 1, datatype, right, MPI_ERR_TYPE, "extent above that of an element")
    call MPI_Type_free(datatype)
  end subroutine padded_sections

  ! The descriptor of memory without elements has undefined bounds.
  subroutine unallocated
    double precision, allocatable, asynchronous :: none(:)
    double precision, pointer, asynchronous :: nowhere(:, :)
    double precision, target :: gaps(8, 8)
    nowhere => gaps(1:8:3, 1:8:2)
    call attempt(nowhere, 0, MPI_DOUBLE_PRECISION, right, MPI_SUCCESS, "nothing of a section")
    nullify(nowhere)
    call attempt(none, 3, MPI_DOUBLE_PRECISION, right, MPI_ERR_BUFFER, "an array that is not allocated")
    call attempt(nowhere, 20, MPI_DOUBLE_PRECISION, right, MPI_ERR_BUFFER, "a null pointer")
  end subroutine unallocated

  subroutine accumulate
    double precision, asynchronous :: from(6), twice
    type(MPIX_RMA_Attributes) :: chosen
    target :: twice
    integer :: i
    from = [(dble(i), i = 1, 6)]
    twice = 2
    call begin(3d0)
    chosen%set = ior(MPIX_RMA_ATTR_ACCUMULATE_OP, MPIX_RMA_ATTR_ORDERING)
    chosen%accumulate_op = MPI_MAX
    call MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, from(1:6:2), 3, MPI_DOUBLE_PRECISION, right, bases(right), 3, &
      MPI_DOUBLE_PRECISION, communicator=comm, rma_attr_val=chosen)
    chosen%set = MPIX_RMA_ATTR_ACCUMULATE_SCALE
    call MPI_Get_address(twice, chosen%accumulate_scale)
    call MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, from, 6, MPI_DOUBLE_PRECISION, right, bases(right) + 80, 6, &
      MPI_DOUBLE_PRECISION, communicator=comm, rma_attr_val=chosen)
    call finish
    call expect(all(mine(1:4) == [3d0, 3d0, 5d0, 3d0]), "accumulate: maximum")
    call expect(all(mine(11:16) == 3 + 2 * from), "accumulate: scale")
  end subroutine accumulate

  subroutine requests
    double precision, asynchronous :: from(3)
    type(MPI_Request) :: all_of_them(3), object
    integer(address_kind) :: value
    logical :: flag
    integer :: i
    from = [(cell(i, 3, rank), i = 1, 3)]
    call begin(0d0)
    do i = 1, 3
      call MPIX_RMA_xfer_req(MPIX_RMA_PUT, from(i), 1, MPI_DOUBLE_PRECISION, right, bases(right) + 8 * (i - 1), 1, &
        MPI_DOUBLE_PRECISION, all_of_them(i), comm, ierror)
      call expect(ierror == MPI_SUCCESS, "put with request")
    end do
    call MPI_Waitall(3, all_of_them, MPI_STATUSES_IGNORE)
    call expect(all(all_of_them(:)%MPI_VAL == MPI_REQUEST_NULL%MPI_VAL), "requests are null after MPI_Waitall")
    call finish
    call expect(all(mine(1:3) == [(cell(i, 3, left), i = 1, 3)]), "put with request: values")

    object = MPI_REQUEST_NULL
    call MPIX_Req_set_attr(object, MPIX_RMA_KEY_ACCUMULATE_OP(), MPIX_RMA_OP_VALUE(MPI_PROD), ierror)
    call expect(ierror == MPI_SUCCESS .and. object /= MPI_REQUEST_NULL, "attribute of a request")
    call MPIX_Req_get_attr(object, MPIX_RMA_KEY_ACCUMULATE_OP(), value, flag)
    call expect(flag .and. value == MPIX_RMA_OP_VALUE(MPI_PROD), "get attribute of a request")
    call MPIX_Req_get_attr(object, MPIX_RMA_KEY_ORDERING(), value, flag)
    call expect(.not. flag, "no attribute of a request")
    call begin(7d0)
    from = 3
    do i = 1, 2  ! the object can be used again
      call MPIX_RMA_xfer_req(MPIX_RMA_ACCUMULATE, from, 3, MPI_DOUBLE_PRECISION, right, bases(right), 3, &
        MPI_DOUBLE_PRECISION, object, comm)
      call MPI_Wait(object, MPI_STATUS_IGNORE)
    end do
    call finish
    call expect(all(mine(1:4) == [63d0, 63d0, 63d0, 7d0]), "request with an operation")
    call MPI_Request_free(object)
  end subroutine requests

  subroutine own_requests
    integer, asynchronous :: from(4)
    type(MPIX_Rma_request) :: several(4)
    integer, pointer :: words(:)
    integer :: i, index
    integer(address_kind) :: value
    logical :: flag, seen(4)
    from = [(100 * rank + i, i = 1, 4)]
    call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), words, [8])
    call begin(0d0)
    call MPIX_Rma_request_set_attr(several(2), MPIX_RMA_KEY_REMOTE_COMPLETION(), MPIX_RMA_ON)
    call MPIX_Rma_request_get_attr(several(2), MPIX_RMA_KEY_REMOTE_COMPLETION(), value, flag)
    call expect(flag .and. value == MPIX_RMA_ON, "attribute of an own request")
    do i = 1, 4
      call MPIX_RMA_xfer_rma(MPIX_RMA_PUT, from(i), 1, MPI_INTEGER, right, bases(right) + 4 * (i - 1), 1, MPI_INTEGER, &
        several(i), comm, ierror)
      call expect(ierror == MPI_SUCCESS, "put with own request")
    end do
    seen = .false.
    do i = 1, 4
      call MPIX_Rma_request_waitany(4, several, index, ierror)
      call expect(index >= 1 .and. index <= 4, "waitany counts from 1")
      if (index >= 1 .and. index <= 4) seen(index) = .true.
    end do
    call expect(all(seen), "waitany gives each once")
    call MPIX_Rma_request_waitany(4, several, index)
    call expect(index == MPI_UNDEFINED, "waitany without active requests")
    call MPIX_Rma_request_testall(4, several, flag)
    call expect(flag, "testall")
    call expect(several(1) == MPIX_RMA_REQUEST_NULL .and. several(2) /= MPIX_RMA_REQUEST_NULL, "only the object stays")
    call MPIX_Rma_request_free(several(2), ierror)
    call expect(ierror == MPI_SUCCESS .and. several(2) == MPIX_RMA_REQUEST_NULL, "free a request")
    call finish
    call expect(all(words(1:4) == [(100 * left + i, i = 1, 4)]), "put with own request: values")
  end subroutine own_requests

  subroutine read_modify_write
    integer, asynchronous :: one, before, expected, wanted, pair(2)
    integer, pointer :: words(:)
    type(MPI_Request) :: request
    call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), words, [8])
    call begin(0d0)
    one = 10
    before = -1
    call MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, MPI_INTEGER, before, right, bases(right), request, comm, ierror=ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(before == 0, "fetch and add: before")
    call MPIX_RMA_rmw(MPIX_RMW_INC, count=1, datatype=MPI_INTEGER, target_rank=right, target_disp=bases(right), &
      communicator=comm, ierror=ierror)
    call expect(ierror == MPI_SUCCESS, "increment without operand and result")
    call MPIX_RMA_Complete(comm, right)
    expected = 11
    wanted = 50 + rank
    call MPIX_RMA_rmw2(MPIX_RMW2_COMP_SWAP_E, expected, 1, MPI_INTEGER, wanted, before, right, bases(right), request, comm)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(before == 11, "compare and swap: before")
    call MPI_Barrier(comm)
    call expect(words(1) == 50 + left, "compare and swap: after")
    call MPI_Barrier(comm)

    pair = [5, 6]
    call MPIX_RMA_rmw_c(MPIX_RMW_SWAP, pair, 2_MPI_COUNT_KIND, MPI_INTEGER, target_rank=right, &
      target_disp=bases(right) + 12, communicator=comm, ierror=ierror)
    call finish
    call expect(all(words(2:6) == [0, 0, 5, 6, 0]), "two elements")

    call begin(0d0)  ! all processes add to one counter
    one = 1
    call MPIX_RMA_rmw(MPIX_RMW_SUM, one, 1, MPI_INTEGER, target_rank=0, target_disp=bases(0), communicator=comm)
    call finish
    if (rank == 0) call expect(words(1) == size, "sum of all")
  end subroutine read_modify_write

  subroutine planned
    double precision, asynchronous :: from(8)
    type(MPIX_RMA_Plan) :: handle
    integer :: class
    from = rank + 1
    call begin(0d0)
    call MPIX_RMA_Plan_create(MPIX_RMA_PUT, MPI_DOUBLE_PRECISION, right, MPI_DOUBLE_PRECISION, comm, plan=handle, ierror=ierror)
    call expect(ierror == MPI_SUCCESS .and. handle /= MPIX_RMA_PLAN_NULL, "plan created")
    call MPIX_RMA_Plan_issue(handle, from, 4, bases(right), 4)
    call finish
    call expect(all(mine(1:4) == left + 1) .and. mine(5) == 0, "planned put")
    call MPIX_RMA_Plan_issue(handle, from(1:8:2), 4, bases(right), 4, ierror=ierror)
    call MPI_Error_class(ierror, class)
    call expect(class == MPI_ERR_BUFFER, "planned put of a section")
    call MPIX_RMA_Plan_free(handle)
    call expect(handle == MPIX_RMA_PLAN_NULL, "plan freed")
  end subroutine planned

  subroutine notification
    double precision, asynchronous :: from(2)
    type(MPIX_RMA_Attributes) :: chosen
    type(MPI_Request) :: request
    integer(MPI_COUNT_KIND) :: value
    integer :: num
    from = [dble(rank), 1d0]
    call begin(-1d0)
    call MPIX_RMA_Set_num_notify(comm, 3, ierror)
    call MPIX_RMA_Get_num_notify(comm, num)
    call expect(ierror == MPI_SUCCESS .and. num == 3, "number of counters")
    chosen%set = MPIX_RMA_ATTR_NOTIFY
    chosen%notify_index = 2
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 2, MPI_DOUBLE_PRECISION, right, bases(right), 2, MPI_DOUBLE_PRECISION, &
      communicator=comm, rma_attr_val=chosen)
    call MPIX_RMA_Wait_notify_value(comm, 2, 1_MPI_COUNT_KIND, request, ierror)
    call expect(ierror == MPI_SUCCESS, "wait for a counter")
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(all(mine(1:2) == [dble(left), 1d0]), "notified data")
    call MPIX_RMA_Get_notify_value(comm, 2, value)
    call expect(value == 1, "counter")
    call MPIX_RMA_Reset_notify_value(comm, 2, value)
    call expect(value == 1, "counter before reset")
    call MPIX_RMA_Reset_notify_value(comm, 2)
    call MPIX_RMA_Get_notify_value(comm, 2, value)
    call expect(value == 0, "counter after reset")
    call finish
  end subroutine notification

  ! The result of an accumulate of 3 onto 7, with the attributes of communicator `with`.
  double precision function combined(with)
    type(MPI_Comm), intent(in) :: with
    double precision, asynchronous :: three
    three = 3
    call begin(7d0)
    call MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, three, 1, MPI_DOUBLE_PRECISION, right, bases(right), 1, MPI_DOUBLE_PRECISION, &
      communicator=with)
    call MPIX_RMA_Complete(with, right)
    call MPI_Barrier(comm)
    combined = mine(1)
  end function combined

  subroutine attributes
    type(MPI_Comm) :: other, copy
    integer(address_kind) :: value
    integer :: key, class
    logical :: flag
    call MPI_Comm_dup(comm, other)
    call MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN)
    call expect(combined(other) == 10, "no attribute")
    key = MPIX_RMA_KEY_ACCUMULATE_OP()
    call MPI_Comm_set_attr(other, key, MPIX_RMA_OP_VALUE(MPI_PROD), ierror)
    call expect(ierror == MPI_SUCCESS, "MPI_Comm_set_attr")
    call expect(combined(other) == 21, "attribute after the first operation")
    call MPI_Comm_set_attr(other, key, MPIX_RMA_OP_VALUE(MPI_MIN))
    call expect(combined(other) == 3, "attribute changed")
    call MPI_Comm_get_attr(other, key, value, flag)
    call expect(flag .and. value == MPIX_RMA_OP_VALUE(MPI_MIN), "MPI_Comm_get_attr")
    call MPI_Comm_dup(other, copy)
    call expect(combined(copy) == 3, "MPI_Comm_dup copies the attribute")
    call MPI_Comm_free(copy)
    call MPI_Comm_set_attr(other, key, 0_address_kind, ierror)
    call MPI_Error_class(ierror, class)
    call expect(class == MPI_ERR_ARG, "no value of the attribute")
    call expect(combined(other) == 3, "attribute as it was")
    call MPI_Comm_delete_attr(other, key)
    call expect(combined(other) == 10, "attribute deleted")
    call MPI_Comm_set_attr(other, MPIX_RMA_KEY_COMMUNICATABLE(), MPIX_RMA_BOTH, ierror)
    call expect(ierror == MPI_SUCCESS, "an attribute of two bits")
    call MPI_Comm_free_keyval(key, ierror)
    call MPI_Error_class(ierror, class)
    call expect(class == MPI_ERR_KEYVAL .and. key == MPIX_RMA_KEY_ACCUMULATE_OP(), "keys are not freed")
    call MPI_Comm_free(other)
  end subroutine attributes

  ! The program's own attributes work as without the library.
  subroutine foreign_attributes
    integer :: key
    integer(address_kind) :: value
    logical :: flag
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, key, 0_address_kind)
    call MPI_Comm_set_attr(comm, key, -12345678901_address_kind)
    call MPI_Comm_get_attr(comm, key, value, flag)
    call expect(flag .and. value == -12345678901_address_kind, "an attribute of the program")
    call MPI_Comm_delete_attr(comm, key)
    call MPI_Comm_free_keyval(key, ierror)
    call expect(ierror == MPI_SUCCESS .and. key == MPI_KEYVAL_INVALID, "a key of the program")
  end subroutine foreign_attributes

  subroutine memory
    double precision, asynchronous, target :: plain(100)
    double precision, asynchronous :: from(2)
    integer(address_kind) :: own, theirs, base, length, local
    integer(MPI_COUNT_KIND) :: operations, counted
    type(MPIX_RMA_Segment) :: segments(100)
    integer :: segments_found
    integer :: class
    logical :: flag
    plain = 0
    from = [4d0, 5d0] + rank
    call MPIX_RMA_Register(plain, 800_address_kind, MPI_INFO_NULL, ierror)
    call expect(ierror == MPI_SUCCESS, "register")
    call MPIX_RMA_Register(plain(1:100:2), 400_address_kind, MPI_INFO_NULL, ierror)
    call MPI_Error_class(ierror, class)
    call expect(class == MPI_ERR_BUFFER, "register a section")
    call MPI_Get_address(plain, own)
    call MPI_Sendrecv(own, 1, MPI_AINT, left, 0, theirs, 1, MPI_AINT, right, 0, comm, MPI_STATUS_IGNORE)
    call MPIX_RMA_Query(comm, right, theirs + 80, flag, base, length)
    call expect(flag .and. base == theirs .and. length == 800, "query")
    segments_found = 0
    call MPIX_RMA_Segments(comm, right, 100, segments, segments_found, ierror)
    call expect(ierror == MPI_SUCCESS .and. segments_found >= 2, "number of segments")
    call expect(any(segments(1:min(segments_found, 100))%base == theirs .and. &
                    segments(1:min(segments_found, 100))%size == 800), "segments")
    call MPIX_RMA_Query(comm, right, 16_address_kind, flag)
    call expect(.not. flag, "query of nothing")
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, 2, MPI_DOUBLE_PRECISION, right, theirs, 2, MPI_DOUBLE_PRECISION, communicator=comm)
    call finish
    call expect(all(plain(1:3) == [4d0 + left, 5d0 + left, 0d0]), "put to an array")
    call MPI_Barrier(comm)
    call MPIX_RMA_Deregister(plain, 800_address_kind, ierror)
    call expect(ierror == MPI_SUCCESS, "deregister")
    call MPIX_RMA_Allocate_local(1000_address_kind, MPI_INFO_NULL, local, ierror)
    call expect(ierror == MPI_SUCCESS .and. local /= 0, "allocate locally")
    call MPIX_RMA_Free_local(local, ierror)
    call expect(ierror == MPI_SUCCESS, "free locally")
    operations = -1
    counted = -1
    call MPIX_RMA_Statistics(comm, right, MPIX_RMA_STATISTIC_OPERATIONS, MPIX_RMA_PROTOCOL_ALL, operations, ierror)
    call expect(ierror == MPI_SUCCESS .and. operations >= 0, "statistics")
    call MPIX_RMA_Statistics(comm, right, MPIX_RMA_STATISTIC_COUNTED, MPIX_RMA_PROTOCOL_DIRECT, counted)
    call expect(counted == 0 .or. counted == 1, "statistics: direct")
  end subroutine memory

  subroutine errors
    double precision, asynchronous :: from(8)
    integer :: address, transport, length, version, subversion, i, kept
    character(MPI_MAX_ERROR_STRING) :: text
    from = 0
    call MPIX_RMA_Get_version(version, subversion, ierror)
    call expect(version == MPIX_RMA_VERSION .and. subversion == MPIX_RMA_SUBVERSION, "version")
    call MPIX_RMA_Error_class(MPIX_RMA_ERR_ADDRESS, address, ierror)
    call expect(ierror == MPI_SUCCESS, "address class")
    call MPIX_RMA_Error_class(MPIX_RMA_ERR_TRANSPORT, transport, ierror)
    call expect(ierror == MPI_SUCCESS .and. address /= transport, "error classes")
    call attempt(from, 1, MPI_DOUBLE_PRECISION, size, MPI_ERR_RANK, "rank")
    call attempt(from, -1, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "negative count")
    call attempt(from(1:8:2), -1, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "negative count of a section")
    call attempt(from, 1, MPI_DATATYPE_NULL, right, MPI_ERR_TYPE, "no datatype")
    call attempt(from(1:8:2), 1, MPI_DATATYPE_NULL, right, MPI_ERR_TYPE, "no datatype of a section")
    call attempt(from(1:8:2), 5, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "more than the section has")
    call attempt(from(1:8:2), 1, MPI_DOUBLE_COMPLEX, right, MPI_ERR_TYPE, "larger than an element")
    call MPI_Error_string(ierror, text, length)
    call expect(index(text(:length), "section") > 0, "text of an error")
    call attempt(from(1:8:2), 7, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "the first of several errors")
    kept = ierror
    do i = 1, 15
      call attempt(from, 8 + i, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "several errors")
    end do
    call MPI_Error_string(kept, text, length)
    call expect(index(text(:length), "origin_count 7 ") > 0, "an error code keeps its text")
    call attempt(from, 9, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "more than a contiguous array has")
    call MPI_Error_string(ierror, text, length)
    call expect(index(text(:length), "MPIX_RMA_xfer from Fortran: origin_addr has 64 bytes, and origin_count 9 needs 72") > 0, &
      "text of an array that is too short")
    call attempt(from(3:), 6, MPI_DOUBLE_PRECISION, right, MPI_SUCCESS, "the rest of an array")
    call attempt(from(3:), 7, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "more than the rest of an array")
    call attempt(from(3), 6, MPI_DOUBLE_PRECISION, right, MPI_SUCCESS, "from an element of an array on")
    call attempt(from(1:8:2), 5, MPI_DOUBLE_PRECISION, right, MPI_ERR_COUNT, "numbers of a section")
    call MPI_Error_string(ierror, text, length)
    call expect(index(text(:length), "origin_addr is an array section of 4 elements, and origin_count 5 needs 5") > 0, &
      "text of a section that is too short")
    call MPIX_RMA_rmw(MPIX_RMW_SUM, from, 9, MPI_DOUBLE_PRECISION, target_rank=right, target_disp=bases(right), &
      communicator=comm, ierror=ierror)
    call expect_class(MPI_ERR_COUNT, "rmw with a short operand")
    call MPIX_RMA_rmw(MPIX_RMW_SUM, from(1:8:2), 4, MPI_DOUBLE_PRECISION, target_rank=right, target_disp=bases(right), &
      communicator=comm, ierror=ierror)
    call expect_class(MPI_ERR_BUFFER, "rmw with a section")
    call finish
  end subroutine errors

  subroutine attempt(from, elements, datatype, where, class, what)
    type(*), dimension(..), asynchronous :: from
    integer, intent(in) :: elements, where, class
    type(MPI_Datatype), intent(in) :: datatype
    character(*), intent(in) :: what
    call MPIX_RMA_xfer(MPIX_RMA_PUT, from, elements, datatype, where, bases(right), elements, datatype, &
      communicator=comm, ierror=ierror)
    call expect_class(class, what)
  end subroutine attempt

  subroutine expect_class(class, what)
    integer, intent(in) :: class
    character(*), intent(in) :: what
    integer :: found
    call MPI_Error_class(ierror, found)
    call expect(found == class, "error: " // what)
  end subroutine expect_class

end program f08_test

! Module mpix_rma_f08, calls on MPI's windows: each process works on the memory of its neighbour.
program windows_f08_test
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use mpix_rma_f08
  use check
  implicit none

  integer, parameter :: n = 64, counters = 8
  integer, parameter :: address_kind = MPI_ADDRESS_KIND, count_kind = MPI_COUNT_KIND
  type(MPI_Win) :: win, second
  type(c_ptr) :: base, second_base
  integer :: rank, size, right, left, ierror
  double precision, pointer, asynchronous :: mine(:), other(:)

  call MPI_Init()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call MPI_Win_allocate(int(8 * n, address_kind), 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call MPI_Win_allocate(int(8 * n, address_kind), 8, MPI_INFO_NULL, MPI_COMM_WORLD, second_base, second)
  call c_f_pointer(base, mine, [n])
  call c_f_pointer(second_base, other, [n])
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call MPI_Win_set_errhandler(second, MPI_ERRORS_RETURN)

  call counter_numbers
  call MPIX_Win_set_num_notify(win, MPI_INFO_NULL, counters, ierror)
  call expect(ierror == MPI_SUCCESS, "set number of counters")
  call MPI_Win_lock_all(0, win)
  call MPI_Win_lock_all(0, second)
  call contiguous
  call sections
  call absolute
  call accumulates
  call requests
  call order
  call flushes
  call errors
  call MPI_Win_unlock_all(second)
  call MPI_Win_unlock_all(win)

  call MPI_Win_free(second)
  call MPI_Win_free(win)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  ! On return all processes' memory has this value, all counters are zero, and no process has written yet.
  subroutine begin(value)
    double precision, intent(in) :: value
    integer :: i
    call MPI_Win_flush_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    mine = value
    other = value
    do i = 0, counters - 1
      call MPIX_Win_reset_notify_value(win, i)
    end do
    call MPI_Win_sync(win)
    call MPI_Win_sync(second)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine begin

  ! Waits until the neighbour has incremented the counter to `value`.
  subroutine wait_for(counter, value)
    integer, intent(in) :: counter, value
    type(MPI_Request) :: request
    call MPIX_Win_wait_notify_value(win, counter, int(value, count_kind), request, ierror)
    call expect(ierror == MPI_SUCCESS, "wait for a counter")
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call expect(request == MPI_REQUEST_NULL, "request is null after MPI_Wait")
    call expect(value_of(counter) >= value, "value of a counter")
  end subroutine wait_for

  integer(count_kind) function value_of(counter) result(value)
    integer, intent(in) :: counter
    value = -1
    call MPIX_Win_get_notify_value(win, counter, value, ierror)
    call expect(ierror == MPI_SUCCESS, "get the value of a counter")
  end function value_of

  ! Different for every element and process.
  elemental double precision function cell(i, j, process)
    integer, intent(in) :: i, j, process
    cell = 1000d0 * process + 10 * i + j / 16d0
  end function cell

  elemental integer(address_kind) function at(place)
    integer, intent(in) :: place
    at = place
  end function at

  integer function class_of(code) result(class)
    integer, intent(in) :: code
    call MPI_Error_class(code, class)
  end function class_of

  subroutine counter_numbers
    integer :: num
    num = -1
    call MPIX_Win_get_num_notify(win, right, num, ierror)
    call expect(ierror == MPI_SUCCESS .and. num == 0, "no counters at first")
    call MPIX_Win_set_num_notify(win, MPI_INFO_NULL, rank + 1)
    call MPIX_Win_get_num_notify(win, rank, num)
    call expect(num == rank + 1, "own number of counters")
    call MPIX_Win_get_num_notify(win, right, num)
    call expect(num == right + 1, "the neighbour's number of counters")
    call MPIX_Win_get_num_notify(win, size, num, ierror)
    call expect(class_of(ierror) == MPI_ERR_RANK, "no such rank")
  end subroutine counter_numbers

  subroutine contiguous
    double precision, asynchronous :: from(10), into(4)
    integer(count_kind) :: before
    integer :: i
    from = [(cell(i, 0, rank), i = 1, 10)]
    call begin(-1d0)
    call MPIX_Put_notify(from, 10, MPI_DOUBLE_PRECISION, right, at(2), 10, MPI_DOUBLE_PRECISION, 1, win, ierror)
    call expect(ierror == MPI_SUCCESS, "notified put")
    call wait_for(1, 1)
    call expect(all(mine(3:12) == [(cell(i, 0, left), i = 1, 10)]), "notified put: values")
    call expect(all(mine(:2) == -1d0) .and. all(mine(13:) == -1d0), "notified put: beyond")
    into = 0
    call MPI_Win_flush(right, win)
    call MPIX_Get_notify(into, 4, MPI_DOUBLE_PRECISION, right, at(4), 4, MPI_DOUBLE_PRECISION, 1, win)
    call MPI_Win_flush(right, win)
    call expect(all(into == from(3:6)), "notified get: values")
    call wait_for(1, 2)
    before = -1
    call MPIX_Win_reset_notify_value(win, 1, before, ierror)
    call expect(ierror == MPI_SUCCESS .and. before == 2, "reset: value before")
    call expect(value_of(1) == 0, "reset: value afterwards")
  end subroutine contiguous

  subroutine sections
    double precision, asynchronous :: a(10, 12), b(2, 20), c(4, 4, 5)
    complex(kind(1d0)), asynchronous :: z(9)
    integer :: i, j
    a = reshape([((cell(i, j, rank), i = 1, 10), j = 1, 12)], [10, 12])
    z = [(cmplx(cell(i, 1, rank), cell(i, 2, rank), kind(1d0)), i = 1, 9)]
    call begin(-1d0)
    call put(a(10:1:-3, 2:9:2), 16, 0)   ! backwards, in two dimensions
    call put(a(5, :), 12, 16)            ! a row
    call put(a(2:9:3, 3:12:4), 5, 28)    ! one whole column and two of the next
    call put(z(1:9:4), 6, 40)            ! elements of several datatype elements
    call wait_for(0, 4)
    call expect(all(mine(1:16) == [((cell(i, j, left), i = 10, 1, -3), j = 2, 9, 2)]), "section backwards")
    call expect(all(mine(17:28) == [(cell(5, j, left), j = 1, 12)]), "row")
    call expect(all(mine(29:31) == [(cell(i, 3, left), i = 2, 8, 3)]), "part of a section: column")
    call expect(all(mine(32:33) == [(cell(i, 7, left), i = 2, 5, 3)]), "part of a section: rest")
    call expect(all(mine(41:45:2) == [(cell(i, 1, left), i = 1, 9, 4)]), "complex: real parts")
    call expect(all(mine(42:46:2) == [(cell(i, 2, left), i = 1, 9, 4)]), "complex: imaginary parts")
    call expect(all(mine(34:40) == -1d0) .and. all(mine(47:) == -1d0), "sections: beyond")

    call begin(0d0)
    mine = [(cell(i, 7, rank), i = 1, n)]
    call MPI_Win_sync(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    b = -2d0
    c = -2d0
    call MPIX_Get_notify(b(2, 20:2:-2), 10, MPI_DOUBLE_PRECISION, right, at(0), 10, MPI_DOUBLE_PRECISION, 2, win, ierror)
    call expect(ierror == MPI_SUCCESS, "notified get into a section")
    call MPIX_Get_notify(c(1::2, 2:3, ::2), 12, MPI_DOUBLE_PRECISION, right, at(0), 12, MPI_DOUBLE_PRECISION, 2, win)
    call MPI_Win_flush(right, win)
    call expect(all(b(2, 20:2:-2) == [(cell(i, 7, right), i = 1, 10)]), "get into a section")
    call expect(all(b(1, :) == -2d0) .and. all(b(2, 1::2) == -2d0), "get into a section: gaps")
    call expect(all(reshape(c(1::2, 2:3, ::2), [12]) == [(cell(i, 7, right), i = 1, 12)]), "three dimensions")
    call expect(count(c == -2d0) == 80 - 12, "three dimensions: gaps")
    call wait_for(2, 2)
  end subroutine sections

  subroutine put(section, elements, place)
    type(*), dimension(..), asynchronous :: section
    integer, intent(in) :: elements, place
    call MPIX_Put_notify(section, elements, MPI_DOUBLE_PRECISION, right, at(place), elements, MPI_DOUBLE_PRECISION, 0, win, &
      ierror)
    call expect(ierror == MPI_SUCCESS, "notified put of a section")
    call MPI_Win_flush_local(right, win)
  end subroutine put

  ! Two variables by a datatype of their addresses.
  subroutine absolute
    double precision, asynchronous :: x(3), y
    type(MPI_Datatype) :: both
    integer(address_kind) :: places(2)
    integer :: i
    x = [(cell(i, 1, rank), i = 1, 3)]
    y = cell(4, 1, rank)
    call MPI_Get_address(x, places(1))
    call MPI_Get_address(y, places(2))
    call MPI_Type_create_hindexed(2, [3, 1], places, MPI_DOUBLE_PRECISION, both)
    call MPI_Type_commit(both)
    call begin(0d0)
    call MPIX_Put_notify(MPI_BOTTOM, 1, both, right, at(1), 4, MPI_DOUBLE_PRECISION, 0, win, ierror)
    call expect(ierror == MPI_SUCCESS, "notified put from MPI_BOTTOM")
    call wait_for(0, 1)
    call expect(all(mine(:6) == [0d0, (cell(i, 1, left), i = 1, 4), 0d0]), "notified put from MPI_BOTTOM: values")
    call MPI_Win_flush(right, win)
    x = 0
    y = 0
    call MPIX_Get_accumulate_notify(MPI_BOTTOM, 1, both, MPI_BOTTOM, 1, both, right, at(1), 4, MPI_DOUBLE_PRECISION, &
      MPI_NO_OP, 0, win, ierror)
    call MPI_Win_flush(right, win)
    call expect(all([x, y] == [(cell(i, 1, rank), i = 1, 4)]), "notified get into MPI_BOTTOM: values")
    call MPI_Type_free(both)
  end subroutine absolute

  subroutine accumulates
    double precision, asynchronous :: from(6), before(9)
    integer :: i
    from = [(dble(i), i = 1, 6)]
    call begin(3d0)
    call MPIX_Accumulate_notify(from(1:6:2), 3, MPI_DOUBLE_PRECISION, right, at(0), 3, MPI_DOUBLE_PRECISION, MPI_SUM, 0, &
      win, ierror)
    call expect(ierror == MPI_SUCCESS, "notified accumulate")
    call wait_for(0, 1)
    call expect(all(mine(1:4) == [4d0, 6d0, 8d0, 3d0]), "notified accumulate: values")
    call MPI_Win_flush(right, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    before = -2
    call MPIX_Get_accumulate_notify(from(6:2:-2), 3, MPI_DOUBLE_PRECISION, before(9:1:-4), 3, MPI_DOUBLE_PRECISION, right, &
      at(1), 3, MPI_DOUBLE_PRECISION, MPI_MAX, 1, win, ierror)
    call expect(ierror == MPI_SUCCESS, "notified get_accumulate")
    call MPI_Win_flush(right, win)
    call expect(all(before(9:1:-4) == [6d0, 8d0, 3d0]), "notified get_accumulate: result")
    call expect(count(before == -2d0) == 6, "notified get_accumulate: gaps of the result")
    call wait_for(1, 1)
    call expect(all(mine(1:5) == [4d0, 6d0, 8d0, 3d0, 3d0]), "notified get_accumulate: values")
  end subroutine accumulates

  subroutine requests
    double precision, asynchronous :: from(6), into(6), before(6)
    type(MPI_Request) :: several(4)
    integer :: i
    from = [(cell(i, 3, rank), i = 1, 6)]
    into = -2
    before = -2
    call begin(1d0)
    call MPIX_Rput_notify(from(::2), 3, MPI_DOUBLE_PRECISION, right, at(0), 3, MPI_DOUBLE_PRECISION, 0, win, several(1), &
      ierror)
    call expect(ierror == MPI_SUCCESS, "notified put with request")
    call MPIX_Rget_notify(into(2::2), 3, MPI_DOUBLE_PRECISION, right, at(10), 3, MPI_DOUBLE_PRECISION, 0, win, several(2))
    call MPIX_Raccumulate_notify(from(:2), 2, MPI_DOUBLE_PRECISION, right, at(20), 2, MPI_DOUBLE_PRECISION, MPI_SUM, 0, &
      win, several(3))
    call MPIX_Rget_accumulate_notify(from(5:6), 2, MPI_DOUBLE_PRECISION, before(::5), 2, MPI_DOUBLE_PRECISION, right, &
      at(30), 2, MPI_DOUBLE_PRECISION, MPI_REPLACE, 0, win, several(4))
    call MPI_Waitall(4, several, MPI_STATUSES_IGNORE)
    call expect(all(several(:)%MPI_VAL == MPI_REQUEST_NULL%MPI_VAL), "requests are null after MPI_Waitall")
    call expect(all(into == [-2d0, 1d0, -2d0, 1d0, -2d0, 1d0]), "notified get with request: values")
    call expect(all(before == [1d0, -2d0, -2d0, -2d0, -2d0, 1d0]), "notified get_accumulate with request: result")
    call wait_for(0, 4)
    call expect(all(mine(1:3) == [(cell(i, 3, left), i = 1, 6, 2)]), "notified put with request: values")
    call expect(all(mine(21:22) == [(cell(i, 3, left) + 1, i = 1, 2)]), "notified accumulate with request: values")
    call expect(all(mine(31:32) == [(cell(i, 3, left), i = 5, 6)]), "notified get_accumulate with request: values")
    call MPIX_Rput_notify(from, 6, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, at(0), 6, MPI_DOUBLE_PRECISION, 0, win, several(1), &
      ierror)
    call expect(ierror == MPI_SUCCESS, "notified put to nobody")
    call MPI_Wait(several(1), MPI_STATUS_IGNORE)
  end subroutine requests

  ! No put is completed before the next one; each element keeps the value of the last put that covers it.
  subroutine order
    double precision, asynchronous :: from(n, 6)
    integer :: i, length
    call begin(0d0)
    do i = 1, 6
      from(:, i) = cell(i, 4, rank)
      length = merge(n, 5, mod(i, 2) == 1)
      call MPI_Put(from(:, i), length, MPI_DOUBLE_PRECISION, right, at(0), length, MPI_DOUBLE_PRECISION, win)
      if (i < 4) call MPIX_Win_order(right, win, ierror)
      if (i >= 4) call MPIX_Win_order_all(win, ierror)
      call expect(ierror == MPI_SUCCESS, "order")
    end do
    call MPI_Win_flush(right, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call expect(all(mine(:5) == cell(6, 4, left)) .and. all(mine(6:) == cell(5, 4, left)), "order: values")
  end subroutine order

  subroutine flushes
    double precision, asynchronous :: from(n), into
    type(MPI_Request) :: request
    integer :: i
    do i = 1, 7
      call begin(0d0)
      from = cell(i, 5, rank)
      call MPI_Put(from, n, MPI_DOUBLE_PRECISION, right, at(0), n, MPI_DOUBLE_PRECISION, win)
      call MPI_Put(from, 1, MPI_DOUBLE_PRECISION, right, at(7), 1, MPI_DOUBLE_PRECISION, second)
      select case (i)
      case (1)
        call MPIX_Win_iflush(right, win, request, ierror)
      case (2)
        call MPIX_Win_iflush_all(win, request, ierror)
      case (3)
        call MPIX_Win_iflush_local(right, win, request, ierror)
      case (4)
        call MPIX_Win_iflush_local_all(win, request, ierror)
      case (5)
        call MPIX_Win_flush_windows(2, [win, second], ierror)
      case (6)
        call MPIX_Win_flush_thread(right, win, ierror)
      case (7)
        call MPIX_Win_flush_thread_all(win, ierror)
      end select
      call expect(ierror == MPI_SUCCESS, "flush")
      if (i <= 4) call MPI_Wait(request, MPI_STATUS_IGNORE)
      if (i == 3 .or. i == 4) then
        from = -1  ! no longer in use
        call MPI_Win_flush(right, win)
      end if
      if (i /= 5) call MPI_Win_flush(right, second)
      call MPI_Barrier(MPI_COMM_WORLD)
      call expect(all(mine == cell(i, 5, left)), "flush: values")
      call expect(other(8) == cell(i, 5, left) .and. other(7) == 0, "flush: values of the second window")
      call MPI_Get(into, 1, MPI_DOUBLE_PRECISION, right, at(3), 1, MPI_DOUBLE_PRECISION, win)
      call MPIX_Win_flush_thread(right, win)
      call expect(into == cell(i, 5, rank), "get after the flush")
    end do
    call MPIX_Win_flush_windows(0, [win], ierror)
    call expect(ierror == MPI_SUCCESS, "flush of no windows")
  end subroutine flushes

  subroutine errors
    double precision, asynchronous :: from(8)
    type(MPI_Request) :: request
    integer(count_kind) :: value
    integer :: no_counter
    from = 9
    call begin(5d0)
    call MPIX_RMA_Error_class(MPIX_RMA_ERR_NOTIFICATION, no_counter, ierror)
    call expect(ierror == MPI_SUCCESS .and. no_counter > MPI_ERR_LASTCODE, "error: class of counters")
    call MPIX_Put_notify(from(::2), 5, MPI_DOUBLE_PRECISION, right, at(0), 5, MPI_DOUBLE_PRECISION, 0, win, ierror)
    call expect(class_of(ierror) == MPI_ERR_COUNT, "error: more than the section has")
    call MPIX_Put_notify(from(::2), 3, MPI_2DOUBLE_PRECISION, right, at(0), 3, MPI_2DOUBLE_PRECISION, 0, win, ierror)
    call expect(class_of(ierror) == MPI_ERR_TYPE, "error: elements that are not the datatype's")
    call MPIX_Put_notify(from, 1, MPI_DOUBLE_PRECISION, right, at(0), 1, MPI_DOUBLE_PRECISION, counters, win, ierror)
    call expect(class_of(ierror) == no_counter, "error: no such counter of the target")
    call MPIX_Rput_notify(from, 1, MPI_DOUBLE_PRECISION, size, at(0), 1, MPI_DOUBLE_PRECISION, 0, win, request, ierror)
    call expect(class_of(ierror) == MPI_ERR_RANK .and. request == MPI_REQUEST_NULL, "error: rank")
    request = MPI_Request(3)
    call MPIX_Rput_notify(from(::2), 5, MPI_DOUBLE_PRECISION, right, at(0), 5, MPI_DOUBLE_PRECISION, 0, win, request, &
      ierror)
    call expect(class_of(ierror) == MPI_ERR_COUNT .and. request == MPI_REQUEST_NULL, "error: short section, a request")
    call MPIX_Win_get_notify_value(win, -1, value, ierror)
    call expect(class_of(ierror) == no_counter, "error: no such counter")
    call MPIX_Win_wait_notify_value(win, 0, -1_count_kind, request, ierror)
    call expect(class_of(ierror) == MPI_ERR_ARG .and. request == MPI_REQUEST_NULL, "error: threshold")
    call MPIX_Win_order(size, win, ierror)
    call expect(class_of(ierror) == MPI_ERR_RANK, "error: rank of an order")
    call MPIX_Win_flush_windows(-1, [win], ierror)
    call expect(class_of(ierror) == MPI_ERR_ARG, "error: negative number of windows")
    call MPIX_Win_flush_windows(2, [win, MPI_WIN_NULL], ierror)
    call expect(class_of(ierror) == MPI_ERR_WIN, "error: no window")
    call MPI_Win_flush_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call expect(all(mine == 5d0), "errors change nothing")
    call expect(value_of(0) == 0, "errors notify nobody")
  end subroutine errors

end program windows_f08_test

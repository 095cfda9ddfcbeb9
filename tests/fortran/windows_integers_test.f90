! Module mpix_rma, calls on MPI's windows; on windows of MPI itself, the calls are refused.
program windows_integers_test
  use, intrinsic :: iso_c_binding
  use mpi
  use mpix_rma
  use check
  implicit none

  integer, parameter :: n = 40
  integer, parameter :: address_kind = MPI_ADDRESS_KIND, count_kind = MPI_COUNT_KIND
  integer :: win, rank, size, right, left, ierror
  integer(address_kind) :: bytes
  real, asynchronous :: mine(n)
  character(16) :: host

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  bytes = 4 * n
  call MPI_Win_create(mine, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, ierror)

  call get_environment_variable("MPIX_HOST", host)
  if (host == "public") then
    call refusals
  else
    call MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2, ierror)
    call expect(ierror == MPI_SUCCESS, "set number of counters")
    call MPI_Win_lock_all(0, win, ierror)
    call notification
    call flushes
    call MPI_Win_unlock_all(win, ierror)
  end if

  call MPI_Win_free(win, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (wrong /= 0) stop 1

contains

  subroutine begin(value)
    real, intent(in) :: value
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    mine = value
    call MPI_Win_sync(win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine begin

  subroutine notification
    real, asynchronous :: a(6, 5), before(8)
    integer :: requests(3), num, i, j
    integer(count_kind) :: value
    a = reshape([((100. * rank + 10 * i + j, i = 1, 6), j = 1, 5)], [6, 5])
    before = -2
    call begin(-1.)
    call MPIX_Win_get_num_notify(win, right, num, ierror)
    call expect(num == 2, "number of counters")
    call MPIX_Win_wait_notify_value(win, 1, 2_count_kind, requests(1), ierror)
    call MPIX_Rput_notify(a(5:1:-2, ::2), 9, MPI_REAL, right, 0_address_kind, 9, MPI_REAL, 1, win, requests(2), ierror)
    call expect(ierror == MPI_SUCCESS, "notified put")
    call MPIX_Rget_accumulate_notify(a(1, 1:2), 2, MPI_REAL, before(2:8:6), 2, MPI_REAL, right, 20_address_kind, 2, MPI_REAL, &
      MPI_SUM, 1, win, requests(3), ierror)
    call expect(ierror == MPI_SUCCESS, "notified get_accumulate")
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(all(requests == MPI_REQUEST_NULL), "requests are null after MPI_Waitall")
    call expect(all(before(2:8:6) == -1.) .and. count(before == -2.) == 6, "notified get_accumulate: result")
    call expect(all(mine(1:9) == [((100. * left + 10 * i + j, i = 5, 1, -2), j = 1, 5, 2)]), "notified put: values")
    call expect(all(mine(21:22) == [(100. * left + 10 + j - 1, j = 1, 2)]), "notified get_accumulate: values")
    call expect(all(mine(10:20) == -1.) .and. all(mine(23:) == -1.), "notified operations: beyond")
    call MPIX_Win_reset_notify_value(win, 1, value, ierror)
    call expect(value == 2, "value of a counter")
    call MPI_Win_flush(right, win, ierror)
  end subroutine notification

  subroutine flushes
    real, asynchronous :: from(2)
    integer :: request, windows(2)
    from = [rank + 1., rank + 2.]
    call begin(0.)
    call MPI_Put(from(1), 1, MPI_REAL, right, 5_address_kind, 1, MPI_REAL, win, ierror)
    call MPIX_Win_order(right, win, ierror)
    call MPI_Put(from(2), 1, MPI_REAL, right, 5_address_kind, 1, MPI_REAL, win, ierror)
    call MPIX_Win_iflush(right, win, request, ierror)
    call expect(ierror == MPI_SUCCESS, "flush with a request")
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    windows = win
    call MPIX_Win_flush_windows(2, windows, ierror)
    call expect(ierror == MPI_SUCCESS, "flush of windows")
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call expect(mine(6) == left + 2, "order: values")
  end subroutine flushes

  subroutine refusals
    real, asynchronous :: from
    integer :: request
    from = 1
    call MPIX_Win_set_num_notify(win, MPI_INFO_NULL, 2, ierror)
    call expect_refusal("set number of counters")
    call MPIX_Put_notify(from, 1, MPI_REAL, right, 0_address_kind, 1, MPI_REAL, 0, win, ierror)
    call expect_refusal("notified put")
    call MPIX_Win_iflush_all(win, request, ierror)
    call expect_refusal("flush with a request")
    call expect(request == MPI_REQUEST_NULL, "no request")
  end subroutine refusals

  subroutine expect_refusal(what)
    character(*), intent(in) :: what
    integer :: class, code
    call MPI_Error_class(ierror, class, code)
    call expect(class == MPI_ERR_UNSUPPORTED_OPERATION, what)
  end subroutine expect_refusal

end program windows_integers_test

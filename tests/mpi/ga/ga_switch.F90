! A Global Arrays program as its users write them, in Fortran with 8-byte integers. Every number that it prints depends on
! one-sided operations; the output is the same on every ARMCI.
program ga_switch
  use, intrinsic :: iso_fortran_env, only: int32
  implicit none
#include "mafdecls.fh"
#include "global.fh"
  integer, parameter :: n = 120
  integer, parameter :: limit = 100000000 ! bytes; GA then asks all processes whether an array fits
  integer :: g_a, g_b, g_c, g_count, me, nproc, lo(2), hi(2), ld(1), dims(2), chunk(2), one(1), i, j, task, done
  integer :: scatter_subscripts(2, 50)
  double precision :: buffer(n, n), values(50), trace, total, alpha
  logical :: ok
  integer(int32) :: ierr

  call mpi_init(ierr)
  call ga_initialize_ltd(limit)
  ok = ma_init(MT_DBL, 200000, 200000)
  me = ga_nodeid()
  nproc = ga_nnodes()
  dims = (/ n, n /)
  chunk = (/ -1, -1 /)
  ok = nga_create(MT_DBL, 2, dims, 'a', chunk, g_a)
  ok = ok .and. ga_duplicate(g_a, g_b, 'b')
  ok = ok .and. ga_duplicate(g_a, g_c, 'c')
  one(1) = 1
  ok = ok .and. nga_create(MT_INT, 1, one, 'count', chunk, g_count)
  if (.not. ok) call ga_error('creating arrays', 0)
  call ga_zero(g_a)
  call ga_zero(g_c)
  call ga_zero(g_count)

  ! Rows of a, put round robin by their numbers; b is a copy of a, some of whose elements scatter overwrites.
  do i = 1 + me, n, nproc
    do j = 1, n
      buffer(1, j) = mod(i * 7 + j * 3, 11) - 5
    end do
    lo = (/ i, 1 /)
    hi = (/ i, n /)
    ld(1) = n
    call nga_put(g_a, lo, hi, buffer, ld)
  end do
  call ga_sync()
  call ga_copy(g_a, g_b)
  if (me == 0) then
    do i = 1, 50
      scatter_subscripts(:, i) = (/ 1 + mod(i * 17, n), 1 + mod(i * 29, n) /)
      values(i) = 100 + i
    end do
    call nga_scatter(g_b, values, scatter_subscripts, 50)
  end if
  call ga_sync()
  call ga_dgemm('n', 't', n, n, n, 1d0, g_a, g_b, 0d0, g_c)

  ! Tasks by a shared counter; each adds a block to c.
  one(1) = 1
  done = 0
  alpha = 0.5d0
  do
    task = nga_read_inc(g_count, one, 1)
    if (task >= 36) exit
    lo = (/ 1 + mod(task, 6) * 20, 1 + (task / 6) * 20 /)
    hi = lo + 19
    do j = 1, 20
      do i = 1, 20
        buffer(i, j) = task + i - j
      end do
    end do
    ld(1) = n
    call nga_acc(g_c, lo, hi, buffer, ld, alpha)
    done = done + 1
  end do
  call ga_sync()
  call ga_igop(1, done, 1, '+')

  trace = 0
  lo = (/ 1, 1 /)
  hi = (/ n, n /)
  ld(1) = n
  call nga_get(g_c, lo, hi, buffer, ld)
  do i = 1, n
    trace = trace + buffer(i, i)
  end do
  total = sum(buffer)
  if (me == 0) then
    print '(a, i0)', 'tasks ', done
    print '(a, f20.6)', 'trace ', trace
    print '(a, f20.6)', 'sum   ', total
    print '(a, 3f16.6)', 'some  ', buffer(1, 1), buffer(60, 61), buffer(n, 2)
  end if
  total = ga_ddot(g_c, g_a)
  if (me == 0) print '(a, f20.6)', 'dot   ', total
  ok = ga_destroy(g_a) .and. ga_destroy(g_b) .and. ga_destroy(g_c) .and. ga_destroy(g_count)
  call ga_terminate()
  call mpi_finalize(ierr)
end program

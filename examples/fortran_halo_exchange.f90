! Halo exchange with module mpix_rma_f08: Jacobi iteration on a grid that is split by columns.
!
! Each process holds its columns with a border of one cell. In every step it puts its outermost columns into the borders
! of its neighbours. After the last step it puts every fourth row of its columns into the samples of the left neighbour:
! an array section with gaps, which needs no datatype. Complete and a barrier end each exchange.
!
! Run: mpirun -np 4 ./fortran_halo_exchange
program fortran_halo_exchange
  use, intrinsic :: iso_c_binding, only: c_f_pointer
  use mpi_f08
  use mpix_rma_f08
  implicit none

  integer, parameter :: n = 48, steps = 30, cells = (n + 2)**2
  integer, parameter :: every = 4, sampled = n / every
  type(MPI_Comm) :: line
  integer :: rank, size, left, right, step, old, wrong
  integer(MPI_ADDRESS_KIND), allocatable :: bases(:)
  double precision, pointer, asynchronous :: grids(:, :, :), samples(:, :)
  double precision, allocatable :: expected(:, :)

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.false.], .false., line)
  call MPI_Comm_rank(line, rank)
  call MPI_Cart_shift(line, 0, 1, left, right)

  ! Two grids, for the old and the new values, and the samples.
  allocate(bases(0:size - 1))
  call MPIX_RMA_Allocate(int(8 * (2 * cells + sampled * n), MPI_ADDRESS_KIND), MPI_INFO_NULL, line, bases=bases)
  call c_f_pointer(MPIX_RMA_Pointer(bases(rank)), grids, [n + 2, n + 2, 2])
  call c_f_pointer(MPIX_RMA_Pointer(bases(rank) + 8 * 2 * cells), samples, [sampled, n])
  grids = 0
  samples = 0
  grids(2:n + 1, 2:n + 1, 1) = start(rank * n, n)
  call MPI_Barrier(line)

  do step = 1, steps
    old = 2 - mod(step, 2)
    ! A rank of MPI_PROC_NULL beyond the edge makes the call do nothing.
    call MPIX_RMA_xfer(MPIX_RMA_PUT, grids(2:n + 1, 2, old), n, MPI_DOUBLE_PRECISION, left, &
      place(left, 2, n + 2, old), n, MPI_DOUBLE_PRECISION, communicator=line)
    call MPIX_RMA_xfer(MPIX_RMA_PUT, grids(2:n + 1, n + 1, old), n, MPI_DOUBLE_PRECISION, right, &
      place(right, 2, 1, old), n, MPI_DOUBLE_PRECISION, communicator=line)
    call MPIX_RMA_Complete(line, MPIX_ALL_RANKS)
    call MPI_Barrier(line)
    grids(2:n + 1, 2:n + 1, 3 - old) = average(grids(:, :, old))
    call MPI_Barrier(line)
  end do
  call MPIX_RMA_xfer(MPIX_RMA_PUT, grids(2:n + 1:every, 2:n + 1, 1), sampled * n, MPI_DOUBLE_PRECISION, left, &
    place(left, 1, 1, 3), sampled * n, MPI_DOUBLE_PRECISION, communicator=line)
  call MPIX_RMA_Complete(line, MPIX_ALL_RANKS)
  call MPI_Barrier(line)

  call iterate_alone
  wrong = count(grids(2:n + 1, 2:n + 1, 1) /= expected(:, rank * n + 1:rank * n + n))
  if (right /= MPI_PROC_NULL) &
    wrong = wrong + count(samples /= expected(1:n:every, right * n + 1:right * n + n))
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, line)
  if (rank == 0) print "(i0, a, i0, a, a)", n, " x ", n * size, " grid: ", &
    trim(merge("result correct", "RESULT WRONG  ", wrong == 0))
  call MPIX_RMA_Free(bases(rank), line)
  call MPI_Comm_free(line)
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  function start(first, columns) result(values)
    integer, intent(in) :: first, columns
    double precision :: values(n, columns)
    integer :: i, j
    values = reshape([((dble(mod(i * 37 + (first + j) * 11, 101)), i = 1, n), j = 1, columns)], [n, columns])
  end function start

  function average(grid) result(values)
    double precision, intent(in) :: grid(:, :)
    double precision :: values(ubound(grid, 1) - 2, ubound(grid, 2) - 2)
    integer :: i, j
    i = ubound(grid, 1)
    j = ubound(grid, 2)
    values = 0.25d0 * (grid(1:i - 2, 2:j - 1) + grid(3:i, 2:j - 1) + grid(2:i - 1, 1:j - 2) + grid(2:i - 1, 3:j))
  end function average

  ! The address of a cell of a neighbour; grid 3 stands for the samples.
  integer(MPI_ADDRESS_KIND) function place(neighbour, i, j, grid)
    integer, intent(in) :: neighbour, i, j, grid
    place = 0
    if (neighbour /= MPI_PROC_NULL) place = bases(neighbour) + 8 * ((grid - 1) * cells + (j - 1) * (n + 2) + i - 1)
  end function place

  ! The same iteration on the whole grid.
  subroutine iterate_alone
    double precision :: whole(n + 2, n * size + 2)
    whole = 0
    whole(2:n + 1, 2:n * size + 1) = start(0, n * size)
    do step = 1, steps
      whole(2:n + 1, 2:n * size + 1) = average(whole)
    end do
    expected = whole(2:n + 1, 2:n * size + 1)
  end subroutine iterate_alone

end program fortran_halo_exchange

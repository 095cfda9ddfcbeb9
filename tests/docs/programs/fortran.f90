! Around the snippet of docs/fortran.md: each rank puts every second row of an array to the next one.
program fortran_snippet
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use mpix_rma_f08
  implicit none
  integer, parameter :: n = 7, columns = 2, count = 8
  double precision, asynchronous :: a(n, columns)
  type(MPI_Comm) :: comm
  integer :: self, size, rank, i
  integer(MPI_ADDRESS_KIND), allocatable :: bases(:)
  integer(MPI_ADDRESS_KIND) :: remote_address
  double precision, pointer :: mine(:)

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, self)
  call MPI_Comm_size(comm, size)
  rank = mod(self + 1, size)
  allocate(bases(0:size - 1))
  call MPIX_RMA_Allocate(int(8 * count, MPI_ADDRESS_KIND), MPI_INFO_NULL, comm, bases=bases)
  call c_f_pointer(MPIX_RMA_Pointer(bases(self)), mine, [count])
  remote_address = bases(rank)
  a = reshape([(dble(i), i = 1, n * columns)], [n, columns])
  call put
  call MPIX_RMA_Complete(comm, rank)
  call MPI_Barrier(comm)
  if (any(mine /= [1d0, 3d0, 5d0, 7d0, 8d0, 10d0, 12d0, 14d0])) stop 1
  call MPIX_RMA_Free(bases(self), comm)
  call MPI_Comm_free(comm)
  call MPI_Finalize()

contains

  subroutine put
    integer :: ierror
    ! snippet 1
    if (ierror /= MPI_SUCCESS) stop 2
  end subroutine put
end program fortran_snippet

! Returns the address of MPI_BOTTOM, which is a variable in Fortran.
function mpix_rma_bottom_f() bind(C) result(bottom)
  use, intrinsic :: iso_c_binding, only: C_PTR
  use mpi, only: MPI_BOTTOM
  implicit none
  type(C_PTR) :: bottom
  bottom = transfer(loc(MPI_BOTTOM), bottom)
end function mpix_rma_bottom_f

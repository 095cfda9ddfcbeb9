! For docs/global-arrays.md: each process puts its number into an array and sees that of the next one.
program numbers
  implicit none
#include "mafdecls.fh"
#include "global.fh"
  include 'mpif.h'
  integer :: ierror
  integer :: array, self, processes, other, found(1)
  logical :: done

  call mpi_init(ierror)
  call ga_initialize()
  self = ga_nodeid()
  processes = ga_nnodes()
  done = ga_create(MT_F_INT, processes, 1, 'numbers', 1, 1, array)
  if (.not. done) stop 1
  found(1) = self
  call ga_put(array, self + 1, self + 1, 1, 1, found, 1)
  call ga_sync()
  other = mod(self + 1, processes)
  call ga_get(array, other + 1, other + 1, 1, 1, found, 1)
  if (found(1) /= other) stop 2
  done = ga_destroy(array)
  call ga_terminate()
  call mpi_finalize(ierror)
end program numbers

/*
 * Must be included before <mpi.h>. Disables Open MPI's C++ bindings, which the library does not use and which
 * a program would have to link with. A program that needs the bindings includes <mpi.h> first, without the
 * library's compiler flags.
 */
#ifndef MPIX_RMA_NO_CXX_BINDINGS_H
#define MPIX_RMA_NO_CXX_BINDINGS_H

#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif

#endif

/*
 * To be included before <mpi.h>: the library needs none of Open MPI's C++ bindings, which a program would have to be
 * linked with. A program that wants them includes <mpi.h> first, without the library's compiler flags.
 */
#ifndef MPIX_RMA_NO_CXX_BINDINGS_H
#define MPIX_RMA_NO_CXX_BINDINGS_H

#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif

#endif

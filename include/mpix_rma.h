/**
 * MPIX_RMA: attribute-driven one-sided communication for MPI.
 *
 * A target is named by a communicator, a rank and a virtual address in that rank's process: there are no
 * windows and no epochs. By default an operation is non-blocking and unordered, and complete when the
 * buffers that it reads may be reused (PUT, ACCUMULATE, rmw) and those that it writes hold the data (GET,
 * rmw); a transfer is not atomic, an rmw is atomic for each element. Attributes add guarantees, per call,
 * per request object or per communicator, and cost nothing unless set. Section numbers in the comments are
 * those of the MPI3-RMA proposal of 2008. docs/semantics.md defines completion, order and atomicity.
 *
 * Calls that the proposal prints, and their other forms, take the address of the communicator: the
 * transfers, the rmws, MPIX_RMA_Complete, MPIX_RMA_Fence. All others take its value, as MPI's calls do. Ranks
 * are those of the communicator's group; for an intercommunicator, those of its remote group.
 *
 * A call reads its attributes, and the values that they point to, before it returns. A datatype may be freed
 * after the call, although the operation is not complete.
 *
 * Functions whose names end in _c take their counts as MPI_Count and otherwise equal those without _c.
 *
 * Every function may be called by any thread that may call MPI. Unless it is called collective, a function
 * is local: it needs no action of the application at any other process, except that operations wait while a
 * lock of a window that this process has requested at their target is pending (docs/semantics.md, Locks).
 * Operations make progress without calls, by a thread of the library.
 *
 * Threads: MPIX_RMA_Complete, its other forms and MPIX_RMA_Fence cover every operation, of any thread, whose
 * call happens before theirs; a concurrent call may or may not be covered. Operations that two threads issue
 * concurrently have no issue order. One thread at a time may use a request object; a plan may be used by
 * several.
 *
 * Errors: a function that fails invokes the error handler of its communicator or window (of MPI_COMM_WORLD,
 * as in MPI 3.1, if it has no valid one) and returns the code that the handler was given. MPI_Wait and
 * similar calls invoke the handler of the request's communicator, even after that has been freed; with
 * MPICH and with MPIX_HOST=public they invoke that of MPI_COMM_WORLD (docs/hosts.md). The calls for
 * requests of type MPIX_Rma_request invoke no handler after the communicator has been freed. A call that is
 * rejected for its arguments changes nothing. Each function lists the classes of its codes, as from
 * MPI_Error_class; the string from MPI_Error_string names the call and the wrong argument with its value,
 * or the rank and the memory of the operation (except for MPIX_RMA_Get_version, whose codes have MPI's own
 * strings). A freed communicator, or another kind of handle in its place, is reported as MPI_ERR_COMM, a
 * freed MPIX_Rma_request as MPI_ERR_REQUEST; other invalid handles, except null handles, are undefined
 * behaviour. A code keeps its string until the library has reported sixteen other errors of the class. If
 * the handler that a call of this library invokes aborts the job, the string is also written to stderr,
 * after the rank in MPI_COMM_WORLD; MPI_Wait and similar calls leave that to MPI.
 *
 * Before MPI_Init, after MPI_Finalize and in a child of fork() every function but MPIX_RMA_Get_version and
 * MPIX_RMA_Keyval prints a line on stderr and returns MPI_ERR_OTHER; no handler is invoked. If the library's
 * MPI host has not started (in Open MPI its component; docs/debugging.md), every function but these two and
 * MPIX_RMA_Error_class prints a line, invokes the handler and returns the transport class; a collective call
 * fails at all ranks. MPIX_RMA_Keyval returns MPI_KEYVAL_INVALID in these cases. A program that loads the
 * library after MPI_Init (by dlopen) needs the installation's environment (env.sh), or MPI_Init does not
 * start the component. Such a library serves the processes of a communicator only after their first
 * MPIX_RMA_Allocate or creation of a window; earlier calls fail in the same way.
 */
#ifndef MPIX_RMA_H
#define MPIX_RMA_H

#include "mpix_rma/no_cxx_bindings.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MPIX_RMA_API __attribute__((visibility("default")))

/* Converts numbers to handles and attribute values, without a warning in either language. */
#ifdef __cplusplus
#define MPIX_RMA_CAST_(type, value) reinterpret_cast<type>(static_cast<intptr_t>(value))
#define MPIX_RMA_HANDLE_VALUE_(handle) mpix_rma_handle_value_(handle)
/* Any int may be passed; a value that is not an operation is an error, not undefined behaviour. */
#define MPIX_RMA_ENUM_(name) enum name : int
#else
#define MPIX_RMA_CAST_(type, value) ((type) (intptr_t) (value))
#define MPIX_RMA_HANDLE_VALUE_(handle) ((void *) (intptr_t) (handle))
#define MPIX_RMA_ENUM_(name) enum name
#endif

/** Version of this interface, as MPI_VERSION and MPI_SUBVERSION are MPI's. */
#define MPIX_RMA_VERSION 0
#define MPIX_RMA_SUBVERSION 1

/** All ranks of a communicator, for MPIX_RMA_Complete, MPIX_RMA_Fence (5.2: MPI_ALL_RANKS) and
 *  MPIX_RMA_Statistics. */
#define MPIX_ALL_RANKS (-101)

#ifdef __cplusplus
/* MPI's handles are pointers in some MPI libraries, and integers in others. */
inline void *mpix_rma_handle_value_(void *handle) { return handle; }
inline void *mpix_rma_handle_value_(intptr_t handle) { return reinterpret_cast<void *>(handle); }
#endif

#include "mpix_rma/attributes.h"
#include "mpix_rma/request.h"

#include "mpix_rma/completion.h"
#include "mpix_rma/memory.h"
#include "mpix_rma/nam.h"
#include "mpix_rma/window.h"
#include "mpix_rma/notify.h"
#include "mpix_rma/rmw.h"
#include "mpix_rma/statistics.h"
#include "mpix_rma/xfer.h"

#include "mpix_rma/plan.h"
#include "mpix_rma/rma_request.h"
#include "mpix_rma/version.h"

#endif

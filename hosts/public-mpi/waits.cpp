/// The MPI calls in which processes wait for each other. The engine progresses while its process waits, so
/// that operations on the process's memory need no other thread, which might not have a core. Inside of
/// Open MPI the engine is part of MPI's progress; here each of these calls is replaced by its non-blocking
/// form and a loop. Both names (MPI_ and PMPI_) are defined, because Fortran bindings may call either, and
/// processes may enter one barrier from both languages. The calls that complete requests, tests included,
/// also report the failures of request objects (object_failures.hpp). MPI_Request_get_status leaves failures
/// to them.
#include <mpi.h>
#include <sched.h>

#include <algorithm>

#include "engine/runtime/mpix_engine.h"
#include "hosts/common/hosted.h"
#include "hosts/public-mpi/connections.hpp"
#include "hosts/public-mpi/host.hpp"
#include "hosts/public-mpi/next.hpp"
#include "hosts/public-mpi/object_failures.hpp"
#include "hosts/public-mpi/requests.hpp"

namespace {

using mpixrma::host::completes;
using mpixrma::host::LeavingFailures;
using mpixrma::host::next;
using mpixrma::host::report_failure_of;
using mpixrma::host::report_failures_of;

/// Returns nullptr if MPI waits by itself, because this MPI host does not serve the process at this time.
mpix_engine_t* engine_to_drive() noexcept {
  static bool const chosen = mpixrma::host::is_chosen();
  return chosen ? mpix_host_engine() : nullptr;
}

/// Calls `test` until it sets the flag or fails. Returns its error code.
template <typename Test>
int wait_for(mpix_engine_t* engine, Test test) {
  // While messages arrive, MPI's own progress, which makes system calls, runs only once in several polls.
  constexpr int busy_polls = 4;
  bool const shares_cores = mpixrma::host::shares_cores();
  int polls = 1;
  for (;;) {
    int done = 0;
    int const code = test(&done);
    if (code != MPI_SUCCESS || done != 0) return code;
    int events = 0;
    for (int i = 0; i < polls; ++i) events += mpix_engine_progress(engine);
    polls = events != 0 ? busy_polls : std::max(polls / 2, 1);
    if (events == 0 && shares_cores) ::sched_yield();
  }
}

/// Waits for the operation that start(request) begins; without an engine, as MPI waits.
template <typename Start>
int start_and_wait(mpix_engine_t* engine, MPI_Status* status, Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (int const code = start(&request); code != MPI_SUCCESS) return code;
  if (engine == nullptr) return PMPI_Wait(&request, status);
  return wait_for(engine, [&](int* done) { return PMPI_Test(&request, done, status); });
}

int barrier(decltype(&MPI_Barrier) pass_on, MPI_Comm comm) {
  // MPI_Ibarrier does not match MPI_Barrier, which processes without the library call. A process whose engine
  // did not start calls MPI_Ibarrier as the others do.
  if (!mpixrma::host::is_running() || !mpixrma::host::all_are_linked(comm)) return pass_on(comm);
  return start_and_wait(engine_to_drive(), MPI_STATUS_IGNORE,
                        [&](MPI_Request* request) { return PMPI_Ibarrier(comm, request); });
}

int receive(decltype(&MPI_Recv) pass_on, void* buffer, int count, MPI_Datatype type, int source, int tag,
            MPI_Comm comm, MPI_Status* status) {
  mpix_engine_t* const engine = engine_to_drive();
  // No wait is needed; besides, MPICH's MPI_Irecv sets another source in the status.
  bool const at_once = engine == nullptr || source == MPI_PROC_NULL;
  if (at_once) return pass_on(buffer, count, type, source, tag, comm, status);
  return start_and_wait(engine, status, [&](MPI_Request* request) {
    return PMPI_Irecv(buffer, count, type, source, tag, comm, request);
  });
}

int probe(decltype(&MPI_Probe) pass_on, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  mpix_engine_t* const engine = engine_to_drive();
  if (engine == nullptr) return pass_on(source, tag, comm, status);
  return wait_for(engine, [&](int* found) { return PMPI_Iprobe(source, tag, comm, found, status); });
}

int matched_probe(decltype(&MPI_Mprobe) pass_on, int source, int tag, MPI_Comm comm, MPI_Message* message,
                  MPI_Status* status) {
  mpix_engine_t* const engine = engine_to_drive();
  if (engine == nullptr) return pass_on(source, tag, comm, message, status);
  return wait_for(engine,
                  [&](int* found) { return PMPI_Improbe(source, tag, comm, found, message, status); });
}

int wait(decltype(&MPI_Wait) pass_on, MPI_Request* request, MPI_Status* status) {
  mpix_engine_t* const engine = engine_to_drive();
  int const code = engine == nullptr
                       ? pass_on(request, status)
                       : wait_for(engine, [&](int* done) { return PMPI_Test(request, done, status); });
  return code == MPI_SUCCESS ? report_failure_of(*request) : code;
}

int wait_all(decltype(&MPI_Waitall) pass_on, int count, MPI_Request* requests, MPI_Status* statuses) {
  mpix_engine_t* const engine = engine_to_drive();
  int const code = engine == nullptr ? pass_on(count, requests, statuses) : wait_for(engine, [&](int* done) {
    return PMPI_Testall(count, requests, done, statuses);
  });
  return completes(code) ? report_failures_of({count, nullptr, requests, statuses}, code) : code;
}

int wait_any(decltype(&MPI_Waitany) pass_on, int count, MPI_Request* requests, int* index,
             MPI_Status* status) {
  mpix_engine_t* const engine = engine_to_drive();
  int const code =
      engine == nullptr
          ? pass_on(count, requests, index, status)
          : wait_for(engine, [&](int* done) { return PMPI_Testany(count, requests, index, done, status); });
  return code != MPI_SUCCESS || *index == MPI_UNDEFINED ? code : report_failure_of(requests[*index]);
}

int wait_some(decltype(&MPI_Waitsome) pass_on, int count, MPI_Request* requests, int* completed, int* indices,
              MPI_Status* statuses) {
  mpix_engine_t* const engine = engine_to_drive();
  int const code = engine == nullptr
                       ? pass_on(count, requests, completed, indices, statuses)
                       : wait_for(engine, [&](int* done) {
                           int const tested = PMPI_Testsome(count, requests, completed, indices, statuses);
                           // MPI_UNDEFINED: no active request
                           *done = tested == MPI_SUCCESS && *completed != 0 ? 1 : 0;
                           return tested;
                         });
  return completes(code) ? report_failures_of({*completed, indices, requests, statuses}, code) : code;
}

int test(decltype(&MPI_Test) pass_on, MPI_Request* request, int* done, MPI_Status* status) {
  int const code = pass_on(request, done, status);
  return code == MPI_SUCCESS && *done != 0 ? report_failure_of(*request) : code;
}

int test_all(decltype(&MPI_Testall) pass_on, int count, MPI_Request* requests, int* done,
             MPI_Status* statuses) {
  int const code = pass_on(count, requests, done, statuses);
  if (!completes(code) || (code == MPI_SUCCESS && *done == 0)) return code;
  return report_failures_of({count, nullptr, requests, statuses}, code);
}

int test_any(decltype(&MPI_Testany) pass_on, int count, MPI_Request* requests, int* index, int* done,
             MPI_Status* status) {
  int const code = pass_on(count, requests, index, done, status);
  bool const completed = code == MPI_SUCCESS && *done != 0 && *index != MPI_UNDEFINED;
  return completed ? report_failure_of(requests[*index]) : code;
}

int test_some(decltype(&MPI_Testsome) pass_on, int count, MPI_Request* requests, int* completed, int* indices,
              MPI_Status* statuses) {
  int const code = pass_on(count, requests, completed, indices, statuses);
  return completes(code) ? report_failures_of({*completed, indices, requests, statuses}, code) : code;
}

/// MPI_Request_get_status and its forms for several requests.
template <typename PassOn, typename... Arguments>
int get_status(PassOn pass_on, Arguments... arguments) {
  LeavingFailures const scope;
  return pass_on(arguments...);
}

}  // namespace

// Defines both names of MPI's `call`, with these parameters, by `function`. Each forwards to the next
// definition of its own name: a tool behind the library may define the MPI_ name and call the PMPI_ name.
#define MPIX_HOST_DEFINE_BOTH(call, function, parameters, ...)     \
  MPIX_HOST_INTERCEPT int MPI_##call parameters {                  \
    static auto* const pass_on = next(&MPI_##call, "MPI_" #call);  \
    return function(pass_on, __VA_ARGS__);                         \
  }                                                                \
  MPIX_HOST_INTERCEPT int PMPI_##call parameters {                 \
    static auto* const pass_on = next(&MPI_##call, "PMPI_" #call); \
    return function(pass_on, __VA_ARGS__);                         \
  }

extern "C" {

MPIX_HOST_DEFINE_BOTH(Barrier, barrier, (MPI_Comm comm), comm)
MPIX_HOST_DEFINE_BOTH(Recv, receive,
                      (void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                       MPI_Status* status),
                      buffer, count, type, source, tag, comm, status)
MPIX_HOST_DEFINE_BOTH(Probe, probe, (int source, int tag, MPI_Comm comm, MPI_Status* status), source, tag,
                      comm, status)
MPIX_HOST_DEFINE_BOTH(Mprobe, matched_probe,
                      (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status), source,
                      tag, comm, message, status)
MPIX_HOST_DEFINE_BOTH(Request_get_status, get_status,
                      (MPI_Request request, int* complete, MPI_Status* status), request, complete, status)
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
MPIX_HOST_DEFINE_BOTH(Request_get_status_all, get_status,
                      (int count, MPI_Request const requests[], int* complete, MPI_Status statuses[]), count,
                      requests, complete, statuses)
MPIX_HOST_DEFINE_BOTH(Request_get_status_any, get_status,
                      (int count, MPI_Request const requests[], int* index, int* complete,
                       MPI_Status* status),
                      count, requests, index, complete, status)
MPIX_HOST_DEFINE_BOTH(Request_get_status_some, get_status,
                      (int count, MPI_Request const requests[], int* completed, int indices[],
                       MPI_Status statuses[]),
                      count, requests, completed, indices, statuses)
#endif
MPIX_HOST_DEFINE_BOTH(Wait, wait, (MPI_Request * request, MPI_Status* status), request, status)
MPIX_HOST_DEFINE_BOTH(Waitall, wait_all, (int count, MPI_Request requests[], MPI_Status statuses[]), count,
                      requests, statuses)
MPIX_HOST_DEFINE_BOTH(Waitany, wait_any, (int count, MPI_Request requests[], int* index, MPI_Status* status),
                      count, requests, index, status)
MPIX_HOST_DEFINE_BOTH(Waitsome, wait_some,
                      (int count, MPI_Request requests[], int* completed, int indices[],
                       MPI_Status statuses[]),
                      count, requests, completed, indices, statuses)
MPIX_HOST_DEFINE_BOTH(Test, test, (MPI_Request * request, int* done, MPI_Status* status), request, done,
                      status)
MPIX_HOST_DEFINE_BOTH(Testall, test_all,
                      (int count, MPI_Request requests[], int* done, MPI_Status statuses[]), count, requests,
                      done, statuses)
MPIX_HOST_DEFINE_BOTH(Testany, test_any,
                      (int count, MPI_Request requests[], int* index, int* done, MPI_Status* status), count,
                      requests, index, done, status)
MPIX_HOST_DEFINE_BOTH(Testsome, test_some,
                      (int count, MPI_Request requests[], int* completed, int indices[],
                       MPI_Status statuses[]),
                      count, requests, completed, indices, statuses)
}

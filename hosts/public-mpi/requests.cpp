#include "hosts/public-mpi/requests.hpp"

#include <sched.h>

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "datatype/handle.hpp"
#include "engine/runtime/mpix_engine.h"
#include "hosts/public-mpi/completer.hpp"
#include "hosts/public-mpi/host.hpp"

struct mpix_host_request {
  MPI_Request handle = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  mpix_host_failure const* failure = nullptr;
  void* context = nullptr;
  bool code_delivered = false;        ///< the application has received `code`, or will receive it
  mpix_host_request* next = nullptr;  ///< next in the list of completed or of unused requests

  /// One reference until the request is freed, held by MPI, or by the application if persistent; another
  /// until the operation completes, because only some MPI libraries free an incomplete request.
  std::atomic<int> references{0};

  void (*when_freed)(std::uint64_t) = nullptr;
  std::uint64_t freed_argument = 0;

  // Persistent requests only. The self-receive with this unique tag gets an empty message when the operation
  // completes; take_object_failure() delivers `code`.
  int tag = -1;
  void (*freed)(mpix_handle_t) = nullptr;
};

namespace mpixrma::host {

namespace {

using Request = mpix_host_request;

void end_failure(Request& request) {
  if (request.failure == nullptr) return;
  std::exchange(request.failure, nullptr)->end(request.context, request.code_delivered ? 1 : 0);
}

/// Unused objects of one kind.
class Pool {
 public:
  /// Returns nullptr if the pool is empty.
  Request* take() {
    std::lock_guard const held(lock_);
    Request* const taken = unused_;
    if (taken != nullptr) unused_ = taken->next;
    return taken;
  }
  void give_back(Request& request) {
    std::lock_guard const held(lock_);
    request.next = unused_;
    unused_ = &request;
  }

 private:
  std::mutex lock_;
  Request* unused_ = nullptr;
};

Pool pool;
Pool persistent_pool;
/// Completed operations whose MPI requests are not complete yet: pushed one by one, taken as a whole. The
/// engine completes operations on any thread and under its locks, where MPI must not be called.
std::atomic<Request*> completed{nullptr};
std::atomic<int> completing{
    0};  ///< threads that have taken completed requests and still complete them in MPI

/// Requests whose hook is called when MPI_Request_free frees them.
std::mutex observed_lock;
std::unordered_map<mpix_handle_t, Request*> observed;
std::atomic<bool> has_observed{false};  ///< `observed` has had an entry
std::atomic<int> persistent_count{0};   ///< persistent requests ever created, the next tag

thread_local bool leaves_failures = false;  ///< see LeavingFailures

int query(void* object, MPI_Status* status) {
  auto& request = *static_cast<Request*>(object);
  PMPI_Status_set_elements_x(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  // MPI_Request_free may follow, which calls no query: the failure is then reported by the next completion.
  if (leaves_failures) return MPI_SUCCESS;
  request.code_delivered = true;
  status->MPI_ERROR = request.code;
  return request.code;
}

void release(Request& request) {
  // Acquire and release: the last owner sees all changes that the other owner made to the object.
  if (request.references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  end_failure(request);
  (request.tag < 0 ? pool : persistent_pool).give_back(request);
}

/// Stops observing the request with this handle and returns it; nullptr if it was not observed.
Request* take_observed(mpix_handle_t handle) {
  std::lock_guard const held(observed_lock);
  auto const found = observed.find(handle);
  if (found == observed.end()) return nullptr;
  Request* const request = found->second;
  observed.erase(found);
  return request;
}

int free_callback(void* object) {
  auto& request = *static_cast<Request*>(object);
  if (request.when_freed != nullptr) (void)take_observed(word_of(request.handle));
  release(request);
  return MPI_SUCCESS;
}

/// One-sided operations cannot be cancelled.
int cancel(void*, int) { return MPI_ERR_REQUEST; }

#ifdef MPICH_VERSION
/// With these two callbacks, MPICH's waits let generalized requests complete themselves. Without them,
/// MPICH's waits fail if null requests are in the same array.
int poll(void*, MPI_Status*) {
  Completer::instance().progress_once();
  return MPI_SUCCESS;
}

int wait(int count, void** objects, double, MPI_Status*) {
  for (int i = 0; i < count; ++i) {
    MPI_Request const handle = static_cast<Request const*>(objects[i])->handle;
    int complete = 0;
    while (PMPI_Request_get_status(handle, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
      if (!Completer::instance().progress_once()) progress_mpi();
  }
  return MPI_SUCCESS;
}

int start_generalized(Request& request) {
  return PMPIX_Grequest_start(&query, &free_callback, &cancel, &poll, &wait, &request, &request.handle);
}
#else
int start_generalized(Request& request) {
  return PMPI_Grequest_start(&query, &free_callback, &cancel, &request, &request.handle);
}
#endif

void complete_in_mpi(Request& request) {
  bool const freed = request.references.load(std::memory_order_relaxed) == 1;
  request.code = request.failure != nullptr && !freed ? request.failure->code(request.context) : MPI_SUCCESS;
  Completer::instance().remove_active();
  if (request.tag < 0) {
    PMPI_Grequest_complete(request.handle);
  } else {
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, request.tag, communicators().self);
  }
  release(request);
}

}  // namespace

int drain_completed() {
  if (completed.load(std::memory_order_relaxed) == nullptr) return 0;
  int count = 0;
  completing.fetch_add(1, std::memory_order_relaxed);
  // Acquire: pairs with the release in complete_request(), for the fields of the request. Release: pairs
  // with the acquire in deliver_completions(), for `completing`.
  for (Request* request = completed.exchange(nullptr, std::memory_order_acq_rel); request != nullptr;
       ++count) {
    Request* const next = request->next;
    complete_in_mpi(*request);
    request = next;
  }
  completing.fetch_sub(1, std::memory_order_release);
  return count;
}

int deliver_completions() {
  int count = 0;
  while (completed.load(std::memory_order_acquire) != nullptr) count += drain_completed();
  // Acquire: pairs with the release in drain_completed(), for the failures that the other thread has
  // recorded.
  while (completing.load(std::memory_order_acquire) != 0) ::sched_yield();
  return count;
}

mpix_host_request_t* create_request(mpix_handle_t, mpix_handle_t* handle) {
  Request* request = pool.take();
  if (request == nullptr) request = new (std::nothrow) Request;
  if (request == nullptr) return nullptr;
  request->code_delivered = false;
  request->when_freed = nullptr;
  request->references.store(2, std::memory_order_relaxed);
  if (start_generalized(*request) != MPI_SUCCESS) {
    pool.give_back(*request);
    return nullptr;
  }
  *handle = word_of(request->handle);
  Completer::instance().add_active();
  return request;
}

void complete_request(mpix_host_request_t* request, mpix_host_failure const* failure, void* context) {
  request->failure = failure;
  request->context = context;
  request->next = completed.load(std::memory_order_relaxed);
  while (!completed.compare_exchange_weak(request->next, request, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

void finish_request(mpix_host_request_t* request) {
  request->failure = nullptr;
  complete_in_mpi(*request);
}

/// If memory is exhausted, `freed` is never called.
void call_when_freed(mpix_host_request_t* request, void (*freed)(std::uint64_t argument),
                     std::uint64_t argument) try {
  std::lock_guard const held(observed_lock);
  observed[word_of(request->handle)] = request;
  request->freed_argument = argument;
  request->when_freed = freed;
  has_observed.store(true, std::memory_order_relaxed);
} catch (std::bad_alloc const&) {
}

/// A receive, because MPICH does not set the count in the status of a send.
mpix_handle_t completed_request() {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Irecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, communicators().self, &request);
  return word_of(request);
}

mpix_host_request_t* create_persistent_request(void (*freed)(mpix_handle_t), mpix_handle_t* handle) try {
  Request* request = persistent_pool.take();
  if (request == nullptr) {
    request = new Request;
    request->tag = persistent_count.fetch_add(1, std::memory_order_relaxed);
  }
  if (PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, request->tag, communicators().self, &request->handle) !=
      MPI_SUCCESS) {
    persistent_pool.give_back(*request);
    return nullptr;
  }
  request->freed = freed;
  request->references.store(1, std::memory_order_relaxed);
  *handle = word_of(request->handle);
  try {
    std::lock_guard const held(observed_lock);
    observed[*handle] = request;
    has_observed.store(true, std::memory_order_relaxed);
  } catch (std::bad_alloc const&) {
    PMPI_Request_free(&request->handle);
    persistent_pool.give_back(*request);
    return nullptr;
  }
  return request;
} catch (std::bad_alloc const&) {
  return nullptr;
}

void start_request(mpix_host_request_t* request, mpix_handle_t) {
  end_failure(*request);  // of the previous operation
  request->code = MPI_SUCCESS;
  request->code_delivered = false;
  request->references.fetch_add(1, std::memory_order_relaxed);
  PMPI_Start(&request->handle);
  Completer::instance().add_active();
}

int request_is_active(mpix_host_request_t* request) {
  int complete = 0;
  MPI_Status status;
  PMPI_Request_get_status(request->handle, &complete, &status);
  return complete == 0 || status.MPI_SOURCE != MPI_ANY_SOURCE ? 1
                                                              : 0;  // an inactive request has an empty status
}

void request_freed(MPI_Request handle) {
  if (!has_observed.load(std::memory_order_relaxed)) return;
  Request* const freed = take_observed(word_of(handle));
  if (freed == nullptr) return;
  if (freed->tag < 0) return std::exchange(freed->when_freed, nullptr)(freed->freed_argument);
  freed->freed(word_of(handle));
  release(*freed);
}

LeavingFailures::LeavingFailures() noexcept : outer_(std::exchange(leaves_failures, true)) {}
LeavingFailures::~LeavingFailures() { leaves_failures = outer_; }

bool objects_have_existed() noexcept { return persistent_count.load(std::memory_order_relaxed) != 0; }

int take_object_failure(MPI_Request handle) {
  std::lock_guard const held(observed_lock);
  auto const found = observed.find(word_of(handle));
  if (found == observed.end() || found->second->tag < 0) return MPI_SUCCESS;
  Request& object = *found->second;
  if (object.code == MPI_SUCCESS || std::exchange(object.code_delivered, true)) return MPI_SUCCESS;
  return object.code;
}

}  // namespace mpixrma::host

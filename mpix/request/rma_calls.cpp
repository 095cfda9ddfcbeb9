/// MPIX_Rma_request_wait and the other calls on MPIX_Rma_request.
#include "include/mpix_rma.h"
#include "mpix/comm/keyvals.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/request/rma_request.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_Rma_request_set_attr)
MPIX_PROFILED(MPIX_Rma_request_get_attr)
MPIX_PROFILED(MPIX_Rma_request_wait)
MPIX_PROFILED(MPIX_Rma_request_test)
MPIX_PROFILED(MPIX_Rma_request_waitall)
MPIX_PROFILED(MPIX_Rma_request_testall)
MPIX_PROFILED(MPIX_Rma_request_waitany)
MPIX_PROFILED(MPIX_Rma_request_free)

namespace mpixrma {

namespace {

using State = RmaRequest::State;

/// Calls `use(Site, RmaRequest*)`, with nullptr for the null request, if the library is running and the
/// handle is valid.
template <typename Use>
int with_request(char const* call, MPIX_Rma_request const* request, Use use) {
  Site const site{call};
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (request == nullptr) return raise(site, MPI_ERR_REQUEST, "request is a null pointer");
  if (*request == MPIX_RMA_REQUEST_NULL) return use(site, static_cast<RmaRequest*>(nullptr));
  RmaRequest* const object = RmaRequest::find(*request);
  if (object == nullptr)
    return raise(site, MPI_ERR_REQUEST, "request %p does not exist or has been freed",
                 static_cast<void*>(*request));
  return use(site, object);
}

/// Returns the error of an array of requests, without changing it.
Failure check_requests(int count, MPIX_Rma_request const requests[]) {
  if (count < 0) return failure(MPI_ERR_COUNT, "count %d is negative", count);
  if (requests == nullptr && count != 0)
    return failure(MPI_ERR_REQUEST, "requests is a null pointer, and count is %d", count);
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPIX_RMA_REQUEST_NULL && RmaRequest::find(requests[i]) == nullptr)
      return failure(MPI_ERR_REQUEST, "requests[%d] %p does not exist or has been freed", i,
                     static_cast<void*>(requests[i]));
  }
  return {};
}

/// Calls `use(Site)` if the library is running and the array is valid.
template <typename Use>
int with_requests(char const* call, int count, MPIX_Rma_request const requests[], Use use) {
  Site const site{call};
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  Failure const wrong = check_requests(count, requests);
  return wrong ? raise(site, wrong) : use(site);
}

bool is_active(MPIX_Rma_request request) {
  RmaRequest const* const object = RmaRequest::find(request);
  return object != nullptr && object->state() == State::active;
}

void wait_for(RmaRequest const& request) {
  engine_of_process().waits.until([&] { return request.state() != State::active; });
}

int end(MPIX_Rma_request* request) {
  RmaRequest* const object = RmaRequest::find(*request);
  if (object == nullptr) return MPI_SUCCESS;
  wait_for(*object);
  return object->end(request);
}

/// Ends the requests of an array that check_requests() has accepted.
int end_all(int count, MPIX_Rma_request requests[]) {
  int first = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    int const code = end(&requests[i]);
    if (first == MPI_SUCCESS) first = code;
    // An earlier element of the array was the same request, which has been freed since.
    if (RmaRequest::find(requests[i]) == nullptr) requests[i] = MPIX_RMA_REQUEST_NULL;
  }
  return first;
}

bool all_complete(int count, MPIX_Rma_request const requests[]) {
  for (int i = 0; i < count; ++i) {
    if (is_active(requests[i])) return false;
  }
  return true;
}

/// Returns the index of a complete request; `*any`: whether one was active or complete.
int find_complete(int count, MPIX_Rma_request const requests[], bool* any) {
  *any = false;
  for (int i = 0; i < count; ++i) {
    RmaRequest const* const object = RmaRequest::find(requests[i]);
    if (object == nullptr || object->state() == State::inactive) continue;
    *any = true;
    if (object->state() == State::complete) return i;
  }
  return MPI_UNDEFINED;
}

}  // namespace
}  // namespace mpixrma

int MPIX_Rma_request_set_attr(MPIX_Rma_request* request, int comm_keyval, void* attribute_val) try {
  using namespace mpixrma;
  return with_request("MPIX_Rma_request_set_attr", request, [&](Site const& site, RmaRequest* object) {
    std::size_t const index = attribute_of(comm_keyval);
    if (object != nullptr && object->state() != State::inactive)
      return raise(site, MPI_ERR_REQUEST, "request is an object that is in use");
    if (Failure const wrong = check_attribute(index, comm_keyval, attribute_val)) return raise(site, wrong);
    if (object == nullptr) object = &RmaRequest::make();
    object->keep();
    *request = object->handle();
    object->attributes().assign(index, attribute_val);
    return MPI_SUCCESS;
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_get_attr(MPIX_Rma_request* request, int comm_keyval, void* attribute_val,
                              int* flag) try {
  using namespace mpixrma;
  return with_request("MPIX_Rma_request_get_attr", request, [&](Site const& site, RmaRequest* object) {
    AttributeSet const* const set = object != nullptr ? &object->attributes() : nullptr;
    return get_attribute(site, set, comm_keyval, attribute_val, flag);
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_wait(MPIX_Rma_request* request) try {
  using namespace mpixrma;
  return with_request("MPIX_Rma_request_wait", request,
                      [&](Site const&, RmaRequest*) { return end(request); });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_test(MPIX_Rma_request* request, int* flag) try {
  using namespace mpixrma;
  return with_request("MPIX_Rma_request_test", request, [&](Site const& site, RmaRequest*) {
    if (flag == nullptr) return raise(site, MPI_ERR_ARG, "flag is a null pointer");
    if (is_active(*request)) (void)engine_of_process().waits.progress();
    *flag = is_active(*request) ? 0 : 1;
    return *flag != 0 ? end(request) : MPI_SUCCESS;
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_waitall(int count, MPIX_Rma_request requests[]) try {
  using namespace mpixrma;
  return with_requests("MPIX_Rma_request_waitall", count, requests,
                       [&](Site const&) { return end_all(count, requests); });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_testall(int count, MPIX_Rma_request requests[], int* flag) try {
  using namespace mpixrma;
  return with_requests("MPIX_Rma_request_testall", count, requests, [&](Site const& site) {
    if (flag == nullptr) return raise(site, MPI_ERR_ARG, "flag is a null pointer");
    if (!all_complete(count, requests)) (void)engine_of_process().waits.progress();
    *flag = all_complete(count, requests) ? 1 : 0;
    return *flag != 0 ? end_all(count, requests) : MPI_SUCCESS;
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_waitany(int count, MPIX_Rma_request requests[], int* index) try {
  using namespace mpixrma;
  return with_requests("MPIX_Rma_request_waitany", count, requests, [&](Site const& site) {
    if (index == nullptr) return raise(site, MPI_ERR_ARG, "index is a null pointer");
    bool any = false;
    engine_of_process().waits.until([&] {
      *index = find_complete(count, requests, &any);
      return *index != MPI_UNDEFINED || !any;
    });
    return *index == MPI_UNDEFINED ? MPI_SUCCESS : end(&requests[*index]);
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Rma_request_free(MPIX_Rma_request* request) try {
  using namespace mpixrma;
  return with_request("MPIX_Rma_request_free", request, [&](Site const& site, RmaRequest* object) {
    if (object == nullptr) return raise(site, MPI_ERR_REQUEST, "request is MPIX_RMA_REQUEST_NULL");
    *request = MPIX_RMA_REQUEST_NULL;
    object->free();
    return MPI_SUCCESS;
  });
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

/// MPIX_Rma_wait and its like.
#include "include/mpix_rma.h"
#include "mpix/attributes/keyvals.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/request/rma_request.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpix {

namespace {

using State = RmaRequest::State;

/// Calls `use(RmaRequest*)`, with nullptr for the null request, when the library runs and the handle is
/// valid.
template <typename Use>
int with_request(char const* call, MPIX_Rma_request const* request, Use use) {
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  if (request == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
  if (*request == MPIX_RMA_REQUEST_NULL) return use(static_cast<RmaRequest*>(nullptr));
  RmaRequest* const object = RmaRequest::find(*request);
  return object == nullptr ? raise(MPI_COMM_NULL, MPI_ERR_REQUEST) : use(object);
}

/// MPI error class of an array of requests; nothing is touched.
int check(int count, MPIX_Rma_request const requests[]) {
  if (count < 0) return MPI_ERR_COUNT;
  if (requests == nullptr && count != 0) return MPI_ERR_REQUEST;
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPIX_RMA_REQUEST_NULL && RmaRequest::find(requests[i]) == nullptr)
      return MPI_ERR_REQUEST;
  }
  return MPI_SUCCESS;
}

/// Calls `use()` when the library runs and the array is sound.
template <typename Use>
int with_requests(char const* call, int count, MPIX_Rma_request const requests[], Use use) {
  if (prepare() != Readiness::ready) return raise_unusable(call, nullptr);
  int const code = check(count, requests);
  return code == MPI_SUCCESS ? use() : raise(MPI_COMM_NULL, code);
}

bool is_active(MPIX_Rma_request request) {
  RmaRequest const* const object = RmaRequest::find(request);
  return object != nullptr && object->state() == State::active;
}

void wait_for(RmaRequest const& request) {
  engine::Engine::running()->wait_until([&] { return request.state() != State::active; });
}

int settle(MPIX_Rma_request* request) {
  RmaRequest* const object = RmaRequest::find(*request);
  if (object == nullptr) return MPI_SUCCESS;
  wait_for(*object);
  return object->settle(request);
}

int settle_all(int count, MPIX_Rma_request requests[]) {
  int first = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    int const code = settle(&requests[i]);
    if (first == MPI_SUCCESS) first = code;
  }
  return first;
}

bool all_complete(int count, MPIX_Rma_request const requests[]) {
  for (int i = 0; i < count; ++i) {
    if (is_active(requests[i])) return false;
  }
  return true;
}

/// Position of a complete request; `*any` tells whether one was active or complete.
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
}  // namespace mpix

int MPIX_Rma_req_set_attr(MPIX_Rma_request* request, int comm_keyval, void* attribute_val) try {
  using namespace mpix;
  return with_request("MPIX_Rma_req_set_attr", request, [&](RmaRequest* object) {
    std::size_t const index = attribute_of(comm_keyval);
    if (index == attribute_count) return raise(MPI_COMM_NULL, MPI_ERR_KEYVAL);
    if (object != nullptr && object->state() != State::inactive) return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
    AttributeSet scratch;
    if (int const code = scratch.assign(index, attribute_val); code != MPI_SUCCESS)
      return raise(MPI_COMM_NULL, code);
    if (object == nullptr) object = &RmaRequest::make();
    object->keep();
    *request = object->handle();
    return object->attributes().assign(index, attribute_val);
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_req_get_attr(MPIX_Rma_request* request, int comm_keyval, void* attribute_val, int* flag) try {
  using namespace mpix;
  return with_request("MPIX_Rma_req_get_attr", request, [&](RmaRequest* object) {
    AttributeSet const* const set = object != nullptr ? &object->attributes() : nullptr;
    int const code = get_attribute(set, comm_keyval, attribute_val, flag);
    return code == MPI_SUCCESS ? code : raise(MPI_COMM_NULL, code);
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_wait(MPIX_Rma_request* request) try {
  using namespace mpix;
  return with_request("MPIX_Rma_wait", request, [&](RmaRequest*) { return settle(request); });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_test(MPIX_Rma_request* request, int* flag) try {
  using namespace mpix;
  return with_request("MPIX_Rma_test", request, [&](RmaRequest*) {
    if (flag == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_ARG);
    if (is_active(*request)) (void)engine::Engine::running()->progress();
    *flag = is_active(*request) ? 0 : 1;
    return *flag != 0 ? settle(request) : MPI_SUCCESS;
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_waitall(int count, MPIX_Rma_request requests[]) try {
  using namespace mpix;
  return with_requests("MPIX_Rma_waitall", count, requests, [&] { return settle_all(count, requests); });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_testall(int count, MPIX_Rma_request requests[], int* flag) try {
  using namespace mpix;
  return with_requests("MPIX_Rma_testall", count, requests, [&] {
    if (flag == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_ARG);
    if (!all_complete(count, requests)) (void)engine::Engine::running()->progress();
    *flag = all_complete(count, requests) ? 1 : 0;
    return *flag != 0 ? settle_all(count, requests) : MPI_SUCCESS;
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_waitany(int count, MPIX_Rma_request requests[], int* index) try {
  using namespace mpix;
  return with_requests("MPIX_Rma_waitany", count, requests, [&] {
    if (index == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_ARG);
    bool any = false;
    engine::Engine::running()->wait_until([&] {
      *index = find_complete(count, requests, &any);
      return *index != MPI_UNDEFINED || !any;
    });
    return *index == MPI_UNDEFINED ? MPI_SUCCESS : settle(&requests[*index]);
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Rma_free(MPIX_Rma_request* request) try {
  using namespace mpix;
  return with_request("MPIX_Rma_free", request, [&](RmaRequest* object) {
    if (object == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
    *request = MPIX_RMA_REQUEST_NULL;
    object->free();
    return MPI_SUCCESS;
  });
} catch (...) {
  return mpix::raise_exception(nullptr);
}

#include "mpix/request/native_attributes.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>

#include "engine/engine.hpp"
#include "mpix/attributes/keyvals.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpix {

std::atomic<int> native_objects{0};

namespace {

std::mutex objects_lock;
std::unordered_map<void*, std::unique_ptr<AttributeSet>> objects;

void forget(void* request) {
  std::lock_guard const held(objects_lock);
  native_objects.fetch_sub(static_cast<int>(objects.erase(request)), std::memory_order_relaxed);
}

}  // namespace

AttributeSet* find_native_object(MPI_Request request) {
  if (native_objects.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard const held(objects_lock);
  auto const found = objects.find(request);
  return found == objects.end() ? nullptr : found->second.get();
}

MPI_Request make_native_object() {
  void* const request = engine::Engine::running()->host().request_create_persistent(&forget);
  if (request == nullptr) return MPI_REQUEST_NULL;
  std::lock_guard const held(objects_lock);
  objects.emplace(request, std::make_unique<AttributeSet>());
  native_objects.fetch_add(1, std::memory_order_relaxed);
  return static_cast<MPI_Request>(request);
}

bool is_active(MPI_Request object) {
  return engine::Engine::running()->host().request_is_active(object) != 0;
}

int get_attribute(AttributeSet const* target, int keyval, void* value, int* flag) {
  std::size_t const index = attribute_of(keyval);
  if (index == attribute_count) return MPI_ERR_KEYVAL;
  if (value == nullptr || flag == nullptr) return MPI_ERR_ARG;
  *flag = target != nullptr && target->value(index, static_cast<void**>(value)) ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace mpix

int MPIX_Req_set_attr(MPI_Request* request, int comm_keyval, void* attribute_val) try {
  using namespace mpix;
  if (prepare() != Readiness::ready) return raise_unusable("MPIX_Req_set_attr", nullptr);
  std::size_t const index = attribute_of(comm_keyval);
  if (index == attribute_count) return raise(MPI_COMM_NULL, MPI_ERR_KEYVAL);
  if (request == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
  MPI_Request object = *request;
  if (object != MPI_REQUEST_NULL && (find_native_object(object) == nullptr || is_active(object)))
    return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
  AttributeSet scratch;
  if (int const code = scratch.assign(index, attribute_val); code != MPI_SUCCESS)
    return raise(MPI_COMM_NULL, code);
  if (object == MPI_REQUEST_NULL) object = make_native_object();
  if (object == MPI_REQUEST_NULL) return raise(MPI_COMM_NULL, MPI_ERR_NO_MEM);
  *request = object;
  return find_native_object(object)->assign(index, attribute_val);
} catch (...) {
  return mpix::raise_exception(nullptr);
}

int MPIX_Req_get_attr(MPI_Request* request, int comm_keyval, void* attribute_val, int* flag) try {
  using namespace mpix;
  if (prepare() != Readiness::ready) return raise_unusable("MPIX_Req_get_attr", nullptr);
  if (request == nullptr) return raise(MPI_COMM_NULL, MPI_ERR_REQUEST);
  int const code = get_attribute(find_native_object(*request), comm_keyval, attribute_val, flag);
  return code == MPI_SUCCESS ? code : raise(MPI_COMM_NULL, code);
} catch (...) {
  return mpix::raise_exception(nullptr);
}

#include "mpix/request/native_attributes.hpp"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "datatype/handle.hpp"
#include "engine/runtime/engine.hpp"
#include "mpix/comm/keyvals.hpp"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_Req_set_attr)
MPIX_PROFILED(MPIX_Req_get_attr)

namespace mpixrma {

std::atomic<int> native_objects{0};

namespace {

std::mutex objects_lock;
std::unordered_map<mpix_handle_t, std::unique_ptr<NativeObject>> objects;  // by handle

void forget(mpix_handle_t handle) {
  std::lock_guard const held(objects_lock);
  native_objects.fetch_sub(static_cast<int>(objects.erase(handle)), std::memory_order_relaxed);
}

}  // namespace

NativeObject* find_native_object(MPI_Request request) {
  if (native_objects.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard const held(objects_lock);
  auto const found = objects.find(word_of(request));
  return found == objects.end() ? nullptr : found->second.get();
}

MPI_Request make_native_object() {
  auto object = std::make_unique<NativeObject>();
  mpix_handle_t handle = 0;
  object->request = host().request_create_persistent(&forget, &handle);
  if (object->request == nullptr) return MPI_REQUEST_NULL;
  std::lock_guard const held(objects_lock);
  objects.emplace(handle, std::move(object));
  native_objects.fetch_add(1, std::memory_order_relaxed);
  return handle_from<MPI_Request>(handle);
}

bool is_active(NativeObject const& object) { return host().request_is_active(object.request) != 0; }

Failure check_attribute(std::size_t index, int keyval, void* value) {
  if (index == attribute_count)
    return failure(MPI_ERR_KEYVAL, "comm_keyval %d is not an attribute key of MPIX_RMA", keyval);
  MPIX_RMA_Attributes scratch{};
  AttributeEntry const& attribute = attribute_table[index];
  if (attribute.assign(scratch, value)) return {};
  return failure(MPI_ERR_ARG, "%s is not a value of %s", text_of_value(attribute, value).c_str(),
                 attribute.name);
}

int get_attribute(Site const& site, AttributeSet const* target, int keyval, void* value, int* flag) {
  std::size_t const index = attribute_of(keyval);
  if (index == attribute_count)
    return raise(site, MPI_ERR_KEYVAL, "comm_keyval %d is not an attribute key of MPIX_RMA", keyval);
  if (value == nullptr || flag == nullptr)
    return raise(site, MPI_ERR_ARG, "%s is a null pointer", value == nullptr ? "attribute_val" : "flag");
  *flag = target != nullptr && target->value(index, static_cast<void**>(value)) ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace mpixrma

int MPIX_Req_set_attr(MPI_Request* request, int comm_keyval, void* attribute_val) try {
  using namespace mpixrma;
  Site const site{"MPIX_Req_set_attr"};
  if (prepare() != Readiness::ready) return raise_unusable(site.call, nullptr);
  std::size_t const index = attribute_of(comm_keyval);
  if (request == nullptr) return raise(site, MPI_ERR_REQUEST, "request is a null pointer");
  MPI_Request object = *request;
  if (object != MPI_REQUEST_NULL && find_native_object(object) == nullptr)
    return raise(site, MPI_ERR_REQUEST, "request %p is neither MPI_REQUEST_NULL nor an object of this call",
                 reinterpret_cast<void*>(word_of(object)));
  if (object != MPI_REQUEST_NULL && is_active(*find_native_object(object)))
    return raise(site, MPI_ERR_REQUEST, "request is an object that is in use");
  if (Failure const wrong = check_attribute(index, comm_keyval, attribute_val)) return raise(site, wrong);
  if (object == MPI_REQUEST_NULL) object = make_native_object();
  if (object == MPI_REQUEST_NULL) return raise(site, MPI_ERR_NO_MEM, "cannot allocate a request object");
  *request = object;
  find_native_object(object)->attributes.assign(index, attribute_val);
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

int MPIX_Req_get_attr(MPI_Request* request, int comm_keyval, void* attribute_val, int* flag) try {
  using namespace mpixrma;
  Site const site{"MPIX_Req_get_attr"};
  if (prepare() != Readiness::ready) return raise_unusable(site.call, nullptr);
  if (request == nullptr) return raise(site, MPI_ERR_REQUEST, "request is a null pointer");
  NativeObject const* const object = find_native_object(*request);
  return get_attribute(site, object != nullptr ? &object->attributes : nullptr, comm_keyval, attribute_val,
                       flag);
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

/// Native request objects that carry attributes: persistent requests that the library identifies by their
/// handles.
#pragma once

#include <mpi.h>

#include <atomic>

#include "hosts/common/hosted.h"
#include "mpix/request/attribute_set.hpp"

namespace mpixrma {

/// Number of native request objects with attributes. While it is 0, no handle is looked up.
extern std::atomic<int> native_objects;

struct NativeObject {
  mpix_host_request_t* request = nullptr;  ///< the MPI host's request
  AttributeSet attributes;
};

/// Returns the object of `request`, or nullptr if it has none. Does not dereference the handle.
NativeObject* find_native_object(MPI_Request request);

/// Creates an inactive object. Returns MPI_REQUEST_NULL if out of memory.
MPI_Request make_native_object();

bool is_active(NativeObject const& object);

}  // namespace mpixrma

/// Native request objects that carry attributes: persistent requests that are known here by their handles.
#pragma once

#include <mpi.h>

#include <atomic>

#include "hosts/common/hosted.h"
#include "mpix/request/attribute_set.hpp"

namespace mpixrma {

/// Number of native request objects with attributes that exist: while there are none, nothing is looked up.
extern std::atomic<int> native_objects;

struct NativeObject {
  mpix_host_request_t* request = nullptr;  ///< the host's
  AttributeSet attributes;
};

/// The object behind `request`; nullptr: it is none of ours. The handle is not looked into.
NativeObject* find_native_object(MPI_Request request);

/// A new inactive object; MPI_REQUEST_NULL without memory.
MPI_Request make_native_object();

bool is_active(NativeObject const& object);

}  // namespace mpixrma

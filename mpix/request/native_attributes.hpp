/// Native request objects that carry attributes: persistent requests that are known here by their handles.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpix/request/attribute_set.hpp"

namespace mpix {

/// Number of native request objects with attributes that exist: while there are none, nothing is looked up.
extern std::atomic<int> native_objects;

/// The attributes of `request`; nullptr: it is not an object of ours. The handle is not looked into.
AttributeSet* find_native_object(MPI_Request request);

/// A new inactive object; MPI_REQUEST_NULL without memory.
MPI_Request make_native_object();

bool is_active(MPI_Request object);

}  // namespace mpix

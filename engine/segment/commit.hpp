/// Memory that stands behind an allocation before anybody touches it: what the machine does not have is
/// refused when it is asked for, instead of a process being killed when it is used.
#pragma once

#include <cstddef>

#include "engine/segment/shared_memory.hpp"
#include "engine/status.hpp"

namespace mpix::engine {

/// Takes pages for [offset, offset + bytes) of `file`, mapped as `mapping`; page-aligned. out_of_memory: the
/// machine or a control group would have too little left; then everything is given back. Any thread.
Status commit_memory(FileDescriptor const& file, Mapping const& mapping, std::size_t offset,
                     std::size_t bytes) noexcept;

}  // namespace mpix::engine

/// The start of the server's other processes, which run the same program.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

/// Starts this program again, in a process group of its own, with `socket` in addition to the descriptors
/// that every child inherits. `words`: its arguments. Throws Error(unavailable).
pid_t start_program(std::vector<std::string> words, engine::FileDescriptor const& socket);

}  // namespace mpixrma::nam

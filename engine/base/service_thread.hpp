/// Threads of the library itself.
#pragma once

#include <functional>
#include <thread>

namespace mpixrma::engine {

/// Starts a thread in which no signal handler of the application runs: it blocks all signals but those of its
/// own faults. Throws std::system_error.
std::thread start_service_thread(std::function<void()> body);

}  // namespace mpixrma::engine

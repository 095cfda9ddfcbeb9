/// Threads of the library itself.
#pragma once

#include <functional>
#include <thread>

namespace mpixrma::engine {

/// Starts a thread that blocks all signals except SIGSEGV and SIGBUS, so that the application's handlers of
/// other signals do not run in it. Throws std::system_error.
std::thread start_service_thread(std::function<void()> body);

}  // namespace mpixrma::engine

#include "engine/base/failed_call.hpp"

#include <cstring>
#include <mutex>

namespace mpixrma::engine {

namespace {

// Of the process, because the libraries have little static thread-local storage. Texts of failures in two
// threads at once may name the same call.
std::mutex failed_call_lock;
constinit char const* recorded_call = nullptr;
constinit int recorded_error = 0;

}  // namespace

void record_failed_call(char const* call, int error) noexcept {
  std::lock_guard const held(failed_call_lock);
  recorded_call = call;
  recorded_error = error;
}

void forget_failed_call() noexcept { record_failed_call(nullptr, 0); }

std::string text_of_failure(Status status) {
  bool const exact = status != Status::out_of_memory && status != Status::unsupported;
  std::lock_guard const held(failed_call_lock);
  if (exact || recorded_call == nullptr) return to_string(status);
  return std::string(recorded_call) + ": " + std::strerror(recorded_error);
}

}  // namespace mpixrma::engine

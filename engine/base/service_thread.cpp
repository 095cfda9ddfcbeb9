#include "engine/base/service_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace mpixrma::engine {

namespace {

/// Sets the calling thread's signal mask for a scope, because threads inherit the mask of their creator.
class ServiceMask {
 public:
  ServiceMask() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~ServiceMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ServiceMask(ServiceMask const&) = delete;
  ServiceMask& operator=(ServiceMask const&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::thread start_service_thread(std::function<void()> body) {
  ServiceMask const mask;
  return std::thread(std::move(body));
}

}  // namespace mpixrma::engine

#include "engine/trace/otf2/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/service_thread.hpp"

namespace mpixrma::engine {

namespace {

class SharedLoop {
 public:
  SharedLoop(std::size_t count, std::function<void(std::size_t)> const& body) : count_(count), body_(body) {}

  void run() noexcept {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) body_(i);
    } catch (...) {
      next_ = count_;
      std::lock_guard const held(lock_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::size_t count_;
  std::function<void(std::size_t)> const& body_;
  std::atomic<std::size_t> next_{0};
  std::mutex lock_;
  std::exception_ptr failure_;
};

}  // namespace

void for_each_in_parallel(std::size_t count, Cores const& cores,
                          std::function<void(std::size_t)> const& body) {
  SharedLoop loop(count, body);
  std::size_t const wanted = std::min(count, cores.count());
  std::vector<std::thread> threads;
  threads.reserve(wanted);
  try {
    while (threads.size() < wanted)
      threads.push_back(start_service_thread([&] {
        (void)set_thread_affinity(cores);  // else the thread runs on the cores of this process
        loop.run();
      }));
  } catch (std::exception const&) {  // fewer threads do the work
  }
  if (threads.empty()) loop.run();
  for (std::thread& thread : threads) thread.join();
  loop.rethrow();
}

}  // namespace mpixrma::engine

/// Measures the heap and time of one engine on the simulated network.
#pragma once

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/support/stub_network.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/mpix_engine.h"

namespace bench {

/// The engine's process; the numbers after it are those of the simulated processes.
inline constexpr std::uint64_t own_process = first_process - 1;

/// Measures the heap and time since its construction.
class Meter {
 public:
  double bytes_each(std::size_t count) const {
    double const grown = static_cast<double>(::mallinfo2().uordblks) - static_cast<double>(heap_);
    return grown / static_cast<double>(count);
  }
  double us_each(std::size_t count) const {
    std::chrono::duration<double, std::micro> const passed = std::chrono::steady_clock::now() - start_;
    return passed.count() / static_cast<double>(count);
  }

 private:
  std::size_t heap_ = ::mallinfo2().uordblks;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline std::vector<std::byte> published;        // by a simulated process
inline std::vector<std::byte> own_publication;  // by the engine
inline mpix_engine_t* running = nullptr;

inline mpixrma::engine::Engine& engine_under_test() {
  return *static_cast<mpixrma::engine::Engine*>(running);
}

inline void start_engine(std::size_t max_endpoints) {
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.max_endpoints = max_endpoints;
  mpix_bootstrap bootstrap{};
  bootstrap.size = sizeof bootstrap;
  bootstrap.process = own_process;
  bootstrap.publish = [](void*, void const* address, std::size_t length) {
    auto const* const begin = static_cast<std::byte const*>(address);
    own_publication.assign(begin, begin + length);
    return 0;
  };
  bootstrap.peer_address = [](void*, std::uint64_t process, void const** address, std::size_t* length) {
    published = made_up_publication(static_cast<std::uint32_t>(process - first_process));
    *address = published.data();
    *length = published.size();
    return 0;
  };
  if (mpix_engine_create(&config, &bootstrap, &running) != 0) std::exit(1);
}

/// Runs `measure` in a child process, whose heap it has to itself. Returns whether the child succeeded.
template <typename Measure>
bool run_in_child(Measure measure) {
  std::fflush(stdout);
  pid_t const child = ::fork();
  if (child == 0) {
    measure();
    mpix_engine_destroy(running);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace bench

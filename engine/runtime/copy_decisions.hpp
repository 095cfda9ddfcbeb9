/// The methods of copies in this process: set by the parameter `copy`, read from the user's cache, or
/// measured.
#pragma once

#include <atomic>
#include <thread>

#include "engine/base/config.h"
#include "engine/op/kernel/copy_methods.hpp"
#include "engine/tuning/copy_cache.hpp"

namespace mpixrma::engine {

class CopyDecisions {
 public:
  CopyDecisions() = default;
  ~CopyDecisions();
  CopyDecisions(CopyDecisions const&) = delete;
  CopyDecisions& operator=(CopyDecisions const&) = delete;

  /// Uses the methods that the parameter sets and those in the cache. A thread of low priority measures the
  /// missing ones, and adds them to the cache. An engine for exposed memory only, which serves other
  /// users, does not use the cache.
  void open(mpix_engine_config const& config);

 private:
  void complete(CopyCache const& cache);
  void measure(CopyCache const* cache);
  void adopt(CopyCache const& cache);
  void wait_for_other(CopyCache const& cache);

  CopyTable fixed_;
  CopyTable measured_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace mpixrma::engine

#include "engine/runtime/copy_decisions.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "engine/base/service_thread.hpp"
#include "engine/tuning/copy_measurement.hpp"
#include "engine/tuning/host_fingerprint.hpp"

namespace mpixrma::engine {

namespace {

/// Any other thread that wants this thread's core gets it.
void lower_priority() noexcept {
  constexpr int lowest = 19;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest);
}

}  // namespace

CopyDecisions::~CopyDecisions() {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void CopyDecisions::open(mpix_engine_config const& config) {
  if (config.copy_methods != nullptr) (void)read_copy_methods(config.copy_methods, fixed_);
  use_copy_methods(fixed_);
  if (is_complete(fixed_, {}, copy_size_count)) return;
  std::string const directory = config.exposed_only != 0 ? std::string() : cache_directory();
  CopyCache cache(directory, directory.empty() ? std::string() : host_fingerprint());
  adopt(cache);
  if (is_complete(fixed_, measured_, copy_sizes_of_job)) return;
  try {
    thread_ = start_service_thread([this, cache = std::move(cache)] { complete(cache); });
  } catch (std::system_error const&) {  // no thread: missing decisions mean the C library
  }
}

void CopyDecisions::adopt(CopyCache const& cache) {
  measured_ = merge(cache.read().value_or(CopyTable{}), measured_);
  use_copy_methods(merge(fixed_, measured_));
}

/// Measures, or waits for a moment while another process of the user measures, and adopts the entries that
/// the cache then has. Without a usable directory, measures for this process only.
void CopyDecisions::complete(CopyCache const& cache) {
  ::pthread_setname_np(::pthread_self(), "mpix-measure");
  lower_priority();
  if (!cache.is_usable()) return measure(nullptr);
  if (CopyCache::Turn const turn = cache.take_turn()) {
    adopt(cache);
    return measure(&cache);
  }
  wait_for_other(cache);
}

void CopyDecisions::measure(CopyCache const* cache) {
  CopyTable const before = measured_;
  (void)measure_copies_briefly(fixed_, measured_,
                               [this] { return stopping_.load(std::memory_order_relaxed); });
  if (measured_ == before) return;
  use_copy_methods(merge(fixed_, measured_));
  if (cache != nullptr) (void)cache->write(measured_);
}

void CopyDecisions::wait_for_other(CopyCache const& cache) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds step(2);
  auto const end = Clock::now() + std::chrono::milliseconds(200);
  while (!stopping_.load(std::memory_order_relaxed) && Clock::now() < end) {
    std::this_thread::sleep_for(step);
    if (CopyCache::Turn const turn = cache.take_turn()) break;
  }
  adopt(cache);
}

}  // namespace mpixrma::engine

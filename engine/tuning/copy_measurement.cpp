#include "engine/tuning/copy_measurement.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace mpixrma::engine {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t rounds = 5;
constexpr double max_spread = 0.1;
/// Processors power up the upper parts of their vector units at the first use, and execute wide instructions
/// several times more slowly until the parts are powered.
constexpr std::chrono::microseconds power_up(25);
/// After a thread has slept, its caches are cold and the frequency of its core is low, too.
constexpr std::chrono::microseconds wake_up(100);
/// The C library is chosen unless another method is faster by more than this.
constexpr double min_gain = 0.03;

/// Time of the thread: other processes on its core do not count.
std::chrono::nanoseconds thread_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double least(std::vector<double> const& times) { return *std::min_element(times.begin(), times.end()); }

bool is_noisy(std::vector<double> const& times) { return median(times) > (1 + max_spread) * least(times); }

/// The size that is measured for a class: twice the first size of the class. For the longest class that a job
/// measures it is the first size, because a job has little time.
constexpr std::size_t typical_size(std::size_t size_class) noexcept {
  return first_size_of_class(size_class) * (size_class + 1 == copy_sizes_of_job ? 1 : 2);
}

constexpr std::size_t offset_of(CopyShift shift) noexcept {
  switch (shift) {
    case CopyShift::close: return 16;
    case CopyShift::ahead: return 1040;
    case CopyShift::other: return page - 16;
    default: return 0;
  }
}

/// Measures one decision after the other.
class Measuring {
 public:
  explicit Measuring(CopyMeasurement const& measurement)
      : measurement_(measurement), end_(thread_time() + measurement.budget) {}

  bool is_over() const { return thread_time() >= end_ || (measurement_.stops && measurement_.stops()); }

  /// Returns none if the time is over, or the times are inconclusive.
  std::optional<CopyMethod> decide(std::size_t size_class, CopyShift shift) {
    bytes_ = typical_size(size_class);
    target_ = measurement_.target + offset_of(shift);
    touch();
    CopyTimes times;
    // All rounds of a method in succession, because a program also uses one method for many copies.
    for (std::size_t i = 0; i < copy_method_count; ++i) {
      auto const method = static_cast<CopyMethod>(i);
      if (!is_available(method)) continue;
      warm_up(method);
      for (std::size_t round = 0; round < rounds && !is_dropped(times, i); ++round) {
        if (is_over()) return std::nullopt;
        times[i].push_back(time_of(method));
      }
    }
    return fastest_copy_method(times);
  }

 private:
  /// Copies until the processor executes the method at its full speed.
  void warm_up(CopyMethod method) {
    std::chrono::nanoseconds const end = thread_time() + (is_awake_ ? power_up : wake_up);
    do (void)time_of(method);
    while (thread_time() < end && !is_over());
    is_awake_ = true;
  }

  /// Whether the method is much slower than one before it. Several times are needed, because the processor
  /// may still have changed its frequency during the first ones.
  static bool is_dropped(CopyTimes const& times, std::size_t method) {
    constexpr std::size_t enough = 3;
    constexpr double much = 2;
    return times[method].size() >= enough &&
           std::any_of(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(method),
                       [&](std::vector<double> const& others) {
                         return !others.empty() && least(times[method]) > much * least(others);
                       });
  }

  /// Touches the memory, so that the times include no page faults.
  void touch() {
    std::size_t const needed = bytes_ + page;
    if (needed <= touched_) return;
    for (std::byte* const side : {measurement_.origin, measurement_.target}) {
      // One call takes half as long as faulting the pages one by one.
      if (::madvise(side + touched_, needed - touched_, MADV_POPULATE_WRITE) != 0)
        std::memset(side + touched_, 1, needed - touched_);
    }
    touched_ = needed;
  }

  double time_of(CopyMethod method) {
    constexpr std::size_t large = 64 * 1024;
    // Bytes per measurement, so many that the time to read the clock is negligible.
    constexpr std::size_t long_enough = 4 * large;
    bool const is_prepared = measurement_.before && bytes_ >= large;
    std::size_t const copies = is_prepared ? 1 : std::max<std::size_t>(1, long_enough / bytes_);
    if (is_prepared) measurement_.before(bytes_);
    std::chrono::nanoseconds const begin = thread_time();
    for (std::size_t i = 0; i < copies; ++i) copy_by(method, target_, measurement_.origin, bytes_);
    return static_cast<double>((thread_time() - begin).count()) / static_cast<double>(copies);
  }

  CopyMeasurement const& measurement_;
  std::chrono::nanoseconds end_;
  std::size_t bytes_ = 0;
  std::byte* target_ = nullptr;
  std::size_t touched_ = 0;
  bool is_awake_ = false;
};

}  // namespace

std::optional<CopyMethod> fastest_copy_method(CopyTimes const& times) {
  auto const of = [&](CopyMethod method) -> std::vector<double> const& {
    return times[static_cast<std::size_t>(method)];
  };
  std::optional<CopyMethod> fastest;
  for (std::size_t i = 0; i < copy_method_count; ++i) {
    auto const method = static_cast<CopyMethod>(i);
    if (of(method).size() < 2) continue;
    // Disturbances only make a copy longer, so the least time is the best estimate.
    if (!fastest || least(of(method)) < least(of(*fastest))) fastest = method;
  }
  if (!fastest || is_noisy(of(*fastest))) return std::nullopt;
  std::vector<double> const& library = of(CopyMethod::library);
  if (library.size() < of(*fastest).size()) return fastest;  // dropped, or not available
  if (is_noisy(library)) return std::nullopt;
  return least(library) <= (1 + min_gain) * least(of(*fastest)) ? CopyMethod::library : fastest;
}

std::size_t copy_measurement_bytes(std::size_t sizes) noexcept { return typical_size(sizes - 1) + page; }

bool is_complete(CopyTable const& fixed, CopyTable const& table, std::size_t sizes) noexcept {
  bool complete = true;
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    complete =
        complete && (size_class >= sizes || fixed.at(size_class, shift) || table.at(size_class, shift));
  });
  return complete;
}

void measure_copies(CopyMeasurement const& measurement, CopyTable const& fixed, CopyTable& table) {
  Measuring measuring(measurement);
  for_every_copy_decision([&](std::size_t size_class, CopyShift shift) {
    if (size_class >= measurement.sizes || fixed.at(size_class, shift) || table.at(size_class, shift)) return;
    if (!measuring.is_over()) table.at(size_class, shift) = measuring.decide(size_class, shift);
  });
}

bool measure_copies_briefly(CopyTable const& fixed, CopyTable& table, std::function<bool()> stops) {
  // A copy, or the page faults for it, may begin just before the budget ends, and takes less than half a
  // millisecond.
  constexpr std::chrono::microseconds budget(1200);
  std::size_t const bytes = copy_measurement_bytes(copy_sizes_of_job);
  void* const memory = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* const target = static_cast<std::byte*>(memory);
  measure_copies({.target = target,
                  .origin = target + bytes,
                  .sizes = copy_sizes_of_job,
                  .budget = budget,
                  .stops = std::move(stops),
                  .before = {}},
                 fixed, table);
  ::munmap(memory, 2 * bytes);
  return true;
}

}  // namespace mpixrma::engine

/// The name of a process in messages.
#pragma once

#include <cstdint>
#include <cstdio>

namespace mpixrma::engine {

/// The rank of a process in its job, followed by the job if that is not the job of `own`.
class ProcessName {
 public:
  ProcessName(std::uint64_t process, std::uint64_t own) noexcept {
    constexpr unsigned job_bits = 32;
    auto const rank = static_cast<std::uint32_t>(process);
    auto const job = static_cast<unsigned long long>(process >> job_bits);
    if (process >> job_bits == own >> job_bits) {
      (void)std::snprintf(text_, sizeof text_, "%u", rank);
    } else {
      (void)std::snprintf(text_, sizeof text_, "%u of job %llx", rank, job);
    }
  }

  char const* c_str() const noexcept { return text_; }

 private:
  char text_[32];
};

}  // namespace mpixrma::engine

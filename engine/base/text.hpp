/// Text that is put together line by line, up to a bound.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mpixrma::engine {

class BoundedText {
 public:
  /// `process`: whose text it is.
  BoundedText(std::size_t most_bytes, std::uint64_t process) : most_bytes_(most_bytes), process_(process) {}

  /// The number of a process in its job, which is its rank there; with the job where that is another one.
  std::string name(std::uint64_t process) const {
    constexpr unsigned job_bits = 32;
    std::string const number = std::to_string(static_cast<std::uint32_t>(process));
    if (process >> job_bits == process_ >> job_bits) return number;
    char job[32];
    (void)std::snprintf(job, sizeof job, " of job %llx",
                        static_cast<unsigned long long>(process >> job_bits));
    return number + job;
  }

  /// Nothing more is added once the bound is reached, but a line that says so.
  __attribute__((format(printf, 2, 3))) void add(char const* format, ...) {
    if (text_.size() > most_bytes_) return;
    char line[256];
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_ += line;
    if (text_.size() > most_bytes_) text_ += "\n(more is left out)\n";
  }

  std::string const& str() const noexcept { return text_; }

 private:
  std::size_t most_bytes_;
  std::uint64_t process_;
  std::string text_;
};

}  // namespace mpixrma::engine

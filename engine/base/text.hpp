/// A text that is composed line by line, up to a maximum size.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "engine/base/process_name.hpp"

namespace mpixrma::engine {

class BoundedText {
 public:
  /// `process` is the process that the text describes.
  BoundedText(std::size_t max_bytes, std::uint64_t process) : max_bytes_(max_bytes), process_(process) {}

  /// Returns the rank of a process in its job, followed by the job if that is not the described process's.
  std::string name(std::uint64_t process) const { return ProcessName(process, process_).c_str(); }

  /// Adds a line, or a part of one. Once the maximum size is exceeded, adds a line that says so and then
  /// nothing more.
  __attribute__((format(printf, 2, 3))) void add(char const* format, ...) {
    if (text_.size() > max_bytes_) return;
    char line[256];
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_ += line;
    if (text_.size() > max_bytes_) text_ += "\n(more is left out)\n";
  }

  std::string const& str() const noexcept { return text_; }

 private:
  std::size_t max_bytes_;
  std::uint64_t process_;
  std::string text_;
};

}  // namespace mpixrma::engine

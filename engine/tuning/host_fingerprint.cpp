#include "engine/tuning/host_fingerprint.hpp"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace mpixrma::engine {

namespace {

/// Reads only the first 4 KiB, the first processor: the whole file takes milliseconds on large hosts.
std::string beginning_of(char const* path) {
  std::array<char, 4096> text{};
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  ssize_t const bytes = ::read(file, text.data(), text.size());
  ::close(file);
  return {text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

/// Returns the value of the first line "name : value"; "" if there is none.
std::string_view value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    std::size_t const colon = line.find(':');
    if (colon == line.npos || !line.starts_with(name)) continue;
    if (line.find_first_not_of(" \t", name.size()) != colon) continue;
    std::size_t const begin = line.find_first_not_of(" \t", colon + 1);
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

}  // namespace

std::string host_fingerprint(char const* cpuinfo) {
  std::string const text = beginning_of(cpuinfo);
  std::string key;
  for (char const* const name : {"vendor_id", "cpu family", "model", "model name", "stepping", "microcode",
                                 "CPU implementer", "CPU variant", "CPU part", "CPU revision"}) {
    if (std::string_view const value = value_of(text, name); !value.empty()) key.append(value).append("; ");
  }
  if (key.empty()) key = "unknown processor; ";
  utsname system{};
  bool const known = ::uname(&system) == 0;
  key.append(known ? system.machine : "unknown")
      .append("; kernel ")
      .append(known ? system.release : "unknown");
  return key.append("; C library ").append(::gnu_get_libc_version()).append("; MPIX-RMA " MPIX_BUILD);
}

}  // namespace mpixrma::engine

#include "engine/tuning/host_fingerprint.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <string_view>

#include "engine/base/small_file.hpp"

namespace mpixrma::engine {

namespace {

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
  // The first processor is enough: the whole file takes milliseconds on large hosts.
  std::string const text = read_small_file(cpuinfo);
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

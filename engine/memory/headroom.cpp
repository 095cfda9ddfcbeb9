#include "engine/memory/headroom.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace mpixrma::engine {

namespace {

constexpr std::uint64_t unlimited = UINT64_MAX;

/// The files of one version of cgroups.
struct GroupFiles {
  char const* directory;
  char const* limit;
  char const* usage;
  char const* cached[2];  ///< lines of memory.stat: file pages that can be dropped
};
constexpr GroupFiles version_1{"/sys/fs/cgroup/memory",
                               "/memory.limit_in_bytes",
                               "/memory.usage_in_bytes",
                               {"total_inactive_file", "total_active_file"}};
constexpr GroupFiles version_2{
    "/sys/fs/cgroup", "/memory.max", "/memory.current", {"inactive_file", "active_file"}};

std::string content_of(std::string const& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the number behind `name` at the start of a line, or the only number of the file if `name` is
/// empty.
std::optional<std::uint64_t> number_in(std::string const& text, std::string const& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    char const* const begin = line.c_str() + name.size();
    char* end = nullptr;
    std::uint64_t const value = std::strtoull(begin, &end, 10);
    if (end != begin) return value;
  }
  return std::nullopt;
}

std::uint64_t less_margin(std::uint64_t total, std::uint64_t left) noexcept {
  constexpr std::uint64_t mebibyte = 1024 * 1024;
  std::uint64_t const margin = std::clamp(total / 32, 16 * mebibyte, 1024 * mebibyte);
  return left > margin ? left - margin : 0;
}

std::uint64_t left_in_machine(std::string const& root) {
  std::string const text = content_of(root + "/proc/meminfo");
  auto const total = number_in(text, "MemTotal:");
  auto const available = number_in(text, "MemAvailable:");
  return total && available ? less_margin(*total * 1024, *available * 1024) : unlimited;
}

std::uint64_t left_in_group(GroupFiles const& files, std::string const& directory) {
  auto const limit = number_in(content_of(directory + files.limit), "");
  auto const usage = number_in(content_of(directory + files.usage), "");
  if (!limit || !usage) return unlimited;  // "max", or no such group
  std::string const statistics = content_of(directory + "/memory.stat");
  std::uint64_t cached = 0;
  for (char const* const name : files.cached)
    cached += number_in(statistics, std::string(name) + ' ').value_or(0);
  std::uint64_t const used = *usage - std::min(*usage, cached);
  return *limit > used ? less_margin(*limit, *limit - used) : 0;
}

/// Returns the smallest amount of free memory among the group `path` and its ancestors. In a container only
/// some of them may be visible.
std::uint64_t left_in_groups(GroupFiles const& files, std::string const& root, std::string path) {
  std::uint64_t left = unlimited;
  for (;;) {
    if (path == "/") path.clear();
    left = std::min(left, left_in_group(files, root + files.directory + path));
    if (path.empty()) return left;
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
}

}  // namespace

std::uint64_t memory_headroom(std::string const& root) {
  std::uint64_t left = left_in_machine(root);
  // Lines "number:controllers:path"; version 2 lists no controllers.
  std::istringstream groups(content_of(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    std::size_t const first = line.find(':');
    std::size_t const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    bool const unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    left = std::min(left, left_in_groups(unified ? version_2 : version_1, root, line.substr(second + 1)));
  }
  return left;
}

std::uint64_t memory_headroom_or_none() noexcept {
  try {
    return memory_headroom();
  } catch (std::exception const&) {
    return 0;
  }
}

}  // namespace mpixrma::engine

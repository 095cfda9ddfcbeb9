#include "mpi-host/parameters.hpp"

#include <mpi.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace mpix::host {

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t tib = 1024 * 1024 * mib;

struct Size {
  char const* name;
  std::size_t mpix_engine_config::*field;
  std::size_t least;
  std::size_t most;
};
constexpr Size sizes[] = {
    {"fragment_size", &mpix_engine_config::fragment_bytes, 256, 16 * mib},
    {"window_size", &mpix_engine_config::window_bytes, 256, 1024 * mib},
    {"join_size", &mpix_engine_config::join_bytes, 0, mib},
    {"heap_size", &mpix_engine_config::heap_bytes, 64 * kib, tib},
    {"target_memory", &mpix_engine_config::target_memory_bytes, 64 * kib, tib},
    {"process_memory", &mpix_engine_config::process_memory_bytes, 64 * kib, tib},
    {"origins_memory", &mpix_engine_config::origins_memory_bytes, 64 * kib, tib},
    {"max_endpoints", &mpix_engine_config::max_endpoints, 1, SIZE_MAX},
};

struct Number {
  char const* name;
  int mpix_engine_config::*field;
  int least;
  int most;
};
constexpr Number numbers[] = {
    {"agent_poll_us", &mpix_engine_config::agent_poll_us, 1, 1000000},
    {"agent_linger_us", &mpix_engine_config::agent_linger_us, 0, 1000000},
    {"mailbox_us", &mpix_engine_config::mailbox_us, 0, 1000},
    {"channels", &mpix_engine_config::channels, 0, 16},
    {"verbose", &mpix_engine_config::verbose, 0, 2},
    {"check", &mpix_engine_config::check, 0, 1},
    {"statistics", &mpix_engine_config::count_direct, 0, 1},
};

struct Path {
  std::string_view name;
  unsigned bit;
};
constexpr Path paths[] = {
    {"direct", MPIX_ENGINE_PATH_DIRECT},
    {"cross_memory", MPIX_ENGINE_PATH_CROSS_MEMORY},
    {"rdma", MPIX_ENGINE_PATH_RDMA},
    {"agent", MPIX_ENGINE_PATH_AGENT},
};

/// nullptr where it is not set. Under Open MPI also what `mpirun --mca osc_mpix_NAME` hands on.
char const* given(std::string_view name) {
  std::string variable = "MPIX_";
  for (char const letter : name)
    variable += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
  if (char const* const value = std::getenv(variable.c_str())) return value;
#ifdef OPEN_MPI
  return std::getenv(("OMPI_MCA_osc_mpix_" + std::string(name)).c_str());
#else
  return nullptr;
#endif
}

/// Empty, or what is wrong.
template <typename Row>
std::string read(Row const& row, mpix_engine_config& config) {
  char const* const text = given(row.name);
  if (text == nullptr) return {};
  std::string_view const digits = text;
  auto value = row.least;
  auto const [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (error == std::errc{} && end == digits.end() && value >= row.least && value <= row.most) {
    config.*row.field = value;
    return {};
  }
  return std::string(row.name) + " is " + text + ", and is to be " + std::to_string(row.least) + " to " +
         std::to_string(row.most);
}

std::string read_paths(mpix_engine_config& config) {
  char const* const text = given("path");
  if (text == nullptr || std::string_view(text) == "auto") return {};
  config.paths = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view const word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
    unsigned bit = 0;
    for (Path const& path : paths) bit |= path.name == word ? path.bit : 0U;
    if (bit == 0)
      return "path has \"" + std::string(word) +
             "\", which is none of direct, cross_memory, rdma, agent, auto";
    config.paths |= bit;
  }
  return {};
}

std::string read_rdma(mpix_engine_config& config) {
  char const* const text = given("rdma");
  std::string_view const word = text != nullptr ? text : "auto";
  if (word == "never") {
    config.paths &= ~static_cast<unsigned>(MPIX_ENGINE_PATH_RDMA);
  } else if (word == "always") {
    config.rdma_without_hardware = 1;
  } else if (word != "auto") {
    return "rdma is \"" + std::string(word) + "\", and is to be auto, always or never";
  }
  return {};
}

}  // namespace

std::string read_parameters(mpix_engine_config& config) {
  std::string wrong;
  for (Size const& row : sizes) {
    if (wrong.empty()) wrong = read(row, config);
  }
  for (Number const& row : numbers) {
    if (wrong.empty()) wrong = read(row, config);
  }
  if (wrong.empty()) wrong = read_paths(config);
  if (wrong.empty()) wrong = read_rdma(config);
  if (given("join_size") != nullptr && config.join_bytes == 0) config.join_bytes = MPIX_ENGINE_NEVER_JOIN;
  if (given("agent_linger_us") != nullptr && config.agent_linger_us == 0) config.agent_linger_us = -1;
  if (given("mailbox_us") != nullptr && config.mailbox_us == 0) config.mailbox_us = -1;
  if (config.window_bytes < config.fragment_bytes) wrong = "window_size is less than fragment_size";
  if (config.process_memory_bytes < config.target_memory_bytes)
    wrong = "process_memory is less than target_memory";
  config.agent_cores = given("agent_cores");
  char const* const interfaces = given("interfaces");
  std::string_view const named = interfaces != nullptr ? interfaces : "auto";
  if (named != "auto") config.interfaces = named == "all" ? nullptr : interfaces;
  return wrong;
}

}  // namespace mpix::host

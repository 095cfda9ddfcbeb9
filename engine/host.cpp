/// The C side of the engine, and the one instance that a process has.
#include "engine/host.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

#include "engine/engine.hpp"
#include "engine/fork.hpp"
#include "engine/log.hpp"

namespace mpix::engine {

namespace {
std::unique_ptr<Engine> instance;
// The engine is the parent's: a child that ends must not take it down.
ChildHandler const in_child{+[]() noexcept { (void)instance.release(); }};
constinit char refusal[256] = "";
}  // namespace

Engine* Engine::running() noexcept { return instance.get(); }

}  // namespace mpix::engine

using mpix::engine::Engine;
using mpix::engine::LogLevel;

namespace {

// With its headers in one segment of UCX's TCP (UCX_TCP_RX_SEG_SIZE, 64 KiB): a message of several segments
// is copied once more where it arrives.
constexpr std::size_t default_fragment_bytes = 63 * 1024;
constexpr std::size_t default_window_bytes = 2 * 1024 * 1024;
constexpr std::size_t default_target_memory_bytes = 8 * 1024 * 1024;
constexpr std::size_t default_process_memory_bytes = 64 * 1024 * 1024;
constexpr std::size_t default_origins_memory_bytes = 256 * 1024 * 1024;
constexpr std::size_t default_max_endpoints = 1024;
constexpr std::size_t default_heap_bytes = 64 * 1024 * 1024;
constexpr int default_agent_poll_us = 500;

/// A connection between hosts takes a descriptor, and the application wants some, too.
std::size_t most_endpoints() noexcept {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<std::size_t>(files.rlim_cur) / 2;
}

int fail_to_start(char const* reason) noexcept {
  mpix::engine::log(LogLevel::error, "the engine does not start: %s", reason);
  char line[sizeof mpix::engine::refusal];
  std::snprintf(line, sizeof line, "its engine does not start: %s", reason);
  mpix_engine_refuse(line);
  return -1;
}

}  // namespace

void mpix_engine_config_init(struct mpix_engine_config* config) {
  *config = mpix_engine_config{};
  config->paths = MPIX_ENGINE_PATH_DIRECT | MPIX_ENGINE_PATH_CROSS_MEMORY | MPIX_ENGINE_PATH_RDMA |
                  MPIX_ENGINE_PATH_AGENT;
  config->fragment_bytes = default_fragment_bytes;
  config->window_bytes = default_window_bytes;
  config->target_memory_bytes = default_target_memory_bytes;
  config->process_memory_bytes = default_process_memory_bytes;
  config->origins_memory_bytes = default_origins_memory_bytes;
  config->max_endpoints = default_max_endpoints;
  config->heap_bytes = default_heap_bytes;
  config->agent_poll_us = default_agent_poll_us;
  config->check = MPIX_CHECKING;
}

int mpix_engine_start(const struct mpix_engine_config* config, const struct mpix_host_ops* host) {
  mpix_engine_config settings = *config;
  mpix::engine::log_configure(settings.verbose, static_cast<unsigned long>(settings.process));
  if (mpix::engine::instance != nullptr) {
    mpix::engine::log(LogLevel::error, "the engine runs already");
    return -1;
  }
  if (settings.fragment_bytes == 0) settings.fragment_bytes = default_fragment_bytes;
  if (settings.window_bytes == 0) settings.window_bytes = default_window_bytes;
  if (settings.target_memory_bytes == 0) settings.target_memory_bytes = default_target_memory_bytes;
  if (settings.process_memory_bytes == 0) settings.process_memory_bytes = default_process_memory_bytes;
  if (settings.origins_memory_bytes == 0) settings.origins_memory_bytes = default_origins_memory_bytes;
  if (settings.max_endpoints == 0) settings.max_endpoints = default_max_endpoints;
  settings.max_endpoints = std::min(settings.max_endpoints, most_endpoints());
  if (settings.heap_bytes == 0) settings.heap_bytes = default_heap_bytes;
  if (settings.agent_poll_us <= 0) settings.agent_poll_us = default_agent_poll_us;
  // Fragments must not cut elements.
  settings.fragment_bytes = (settings.fragment_bytes + 127) / 128 * 128;
  settings.window_bytes = std::max(settings.window_bytes, settings.fragment_bytes);
  try {
    auto engine = std::make_unique<Engine>(settings, *host);
    if (auto const status = engine->start(); mpix::engine::failed(status))
      return fail_to_start(mpix::engine::to_string(status));
    mpix::engine::instance = std::move(engine);
  } catch (std::exception const& error) {
    return fail_to_start(error.what());
  }
  return 0;
}

void mpix_engine_refuse(const char* reason) {
  std::snprintf(mpix::engine::refusal, sizeof mpix::engine::refusal, "%s", reason);
}

const char* mpix_engine_refusal(void) { return mpix::engine::refusal; }

int mpix_engine_address(const void** address, size_t* length) {
  Engine const* const engine = Engine::running();
  if (engine == nullptr) return -1;
  *address = engine->address().data();
  *length = engine->address().size();
  return 0;
}

int mpix_engine_progress(void) {
  Engine* const engine = Engine::running();
  return engine == nullptr ? 0 : engine->progress();
}

void mpix_engine_read_traffic(struct mpix_engine_traffic* traffic) {
  *traffic = {};
  Engine const* const engine = Engine::running();
  if (engine == nullptr) return;
  mpix::engine::Traffic const all = engine->statistics().traffic;
  std::ranges::copy(all.operations, traffic->operations);
  std::ranges::copy(all.bytes, traffic->bytes);
  traffic->messages_sent = all.messages_sent;
  traffic->messages_executed = all.messages_executed;
}

void mpix_engine_stop(void) { mpix::engine::instance.reset(); }

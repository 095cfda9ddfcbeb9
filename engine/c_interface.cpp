/// The C interface: beginning and end of an engine.
#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "engine/agent/affordable_endpoints.hpp"
#include "engine/c_handles.hpp"
#include "engine/engine.hpp"
#include "engine/log.hpp"
#include "engine/mpix_engine.h"

using mpix::engine::affordable_endpoints;
using mpix::engine::Engine;
using mpix::engine::engine_of;
using mpix::engine::Status;

namespace {

// Large enough for what each message costs not to count, small enough to be copied while the next one comes.
constexpr std::size_t default_fragment_bytes = 128 * 1024;
constexpr std::size_t default_window_bytes = 2 * 1024 * 1024;
constexpr std::size_t default_target_memory_bytes = 8 * 1024 * 1024;
constexpr std::size_t default_process_memory_bytes = 64 * 1024 * 1024;
constexpr std::size_t default_origins_memory_bytes = 256 * 1024 * 1024;
constexpr std::size_t default_max_endpoints = 1024;
constexpr std::size_t default_join_bytes = 60 * 1024;
constexpr std::size_t default_idle_memory_bytes = 1024 * 1024 * 1024;
constexpr std::size_t default_heap_bytes = 64 * 1024 * 1024;
constexpr int default_agent_poll_us = 500;
// A small multiple of what it takes to fall asleep and to be woken again.
constexpr int default_agent_linger_us = 30;
// What it takes to wake the agent for a message: who looks is away for that long now and then.
constexpr int default_mailbox_us = 20;

/// A worker of UCX takes some MiB of it in each process of a host, and MPI libraries do not survive when
/// nothing is left for them.
bool has_ample_shared_memory() noexcept {
  constexpr std::uint64_t ample = std::uint64_t{1} << 30;
  struct statvfs found {};
  return ::statvfs("/dev/shm", &found) == 0 && std::uint64_t{found.f_bavail} * found.f_frsize >= ample;
}

/// Threads of which only one runs at a time gain nothing by more than one.
int default_channels(bool several_threads) noexcept {
  constexpr int most = 4;
  cpu_set_t usable;
  if (!several_threads || ::sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  if (!has_ample_shared_memory()) return 1;
  return std::min(most, CPU_COUNT(&usable));
}

/// What a host knows that was built with an older, shorter struct; the rest is zero.
template <typename Struct>
Struct copy_known(Struct const& given) noexcept {
  Struct copy{};
  std::memcpy(&copy, &given, std::min(given.size, sizeof copy));
  return copy;
}

template <typename Number>
void set_if_zero(Number& number, Number value) noexcept {
  if (number == 0) number = value;
}

mpix_engine_config with_defaults(mpix_engine_config const& given) noexcept {
  mpix_engine_config config = copy_known(given);
  set_if_zero(config.fragment_bytes, default_fragment_bytes);
  set_if_zero(config.window_bytes, default_window_bytes);
  set_if_zero(config.target_memory_bytes, default_target_memory_bytes);
  set_if_zero(config.process_memory_bytes, default_process_memory_bytes);
  set_if_zero(config.origins_memory_bytes, default_origins_memory_bytes);
  set_if_zero(config.max_endpoints, default_max_endpoints);
  config.max_endpoints = std::min(config.max_endpoints, affordable_endpoints());
  set_if_zero(config.heap_bytes, default_heap_bytes);
  set_if_zero(config.join_bytes, default_join_bytes);
  set_if_zero(config.idle_memory_bytes, default_idle_memory_bytes);
  if (config.agent_poll_us <= 0) config.agent_poll_us = default_agent_poll_us;
  set_if_zero(config.agent_linger_us, default_agent_linger_us);
  set_if_zero(config.mailbox_us, default_mailbox_us);
  if (config.channels <= 0) config.channels = default_channels(config.thread_multiple != 0);
  // Fragments must not cut elements.
  config.fragment_bytes = (config.fragment_bytes + 127) / 128 * 128;
  config.window_bytes = std::max(config.window_bytes, config.fragment_bytes);
  // A message holds two operations at least.
  if (config.join_bytes != MPIX_ENGINE_NEVER_JOIN)
    config.join_bytes = std::clamp<std::size_t>(config.join_bytes, 1024, 1u << 20) / 8 * 8;
  return config;
}

}  // namespace

void mpix_engine_config_init(struct mpix_engine_config* config) {
  *config = mpix_engine_config{};
  config->size = sizeof *config;
  config->paths = MPIX_ENGINE_PATH_DIRECT | MPIX_ENGINE_PATH_CROSS_MEMORY | MPIX_ENGINE_PATH_RDMA |
                  MPIX_ENGINE_PATH_AGENT;
  config->fragment_bytes = default_fragment_bytes;
  config->window_bytes = default_window_bytes;
  config->target_memory_bytes = default_target_memory_bytes;
  config->process_memory_bytes = default_process_memory_bytes;
  config->origins_memory_bytes = default_origins_memory_bytes;
  config->max_endpoints = default_max_endpoints;
  config->heap_bytes = default_heap_bytes;
  config->join_bytes = default_join_bytes;
  config->idle_memory_bytes = default_idle_memory_bytes;
  config->agent_poll_us = default_agent_poll_us;
  config->agent_linger_us = default_agent_linger_us;
  config->mailbox_us = default_mailbox_us;
  config->check = MPIX_CHECKING;
}

int mpix_engine_create(const struct mpix_engine_config* config, const struct mpix_bootstrap* bootstrap,
                       mpix_engine_t** engine) {
  mpix_engine_config const settings = with_defaults(*config);
  Status status = Status::transport;
  try {
    auto made = std::make_unique<Engine>(settings, copy_known(*bootstrap));
    status = made->start();
    if (!mpix::engine::failed(status)) {
      *engine = made.release();
      return 0;
    }
  } catch (std::bad_alloc const&) {
    status = Status::out_of_memory;
  } catch (std::exception const& error) {
    mpix::engine::Log(settings.verbose, bootstrap->process)
        .write(mpix::engine::LogLevel::error, "the engine does not start: %s", error.what());
    return static_cast<int>(status);
  }
  mpix::engine::Log(settings.verbose, bootstrap->process)
      .write(mpix::engine::LogLevel::error, "the engine does not start: %s", to_string(status));
  return static_cast<int>(status);
}

void mpix_engine_destroy(mpix_engine_t* engine) {
  if (engine != nullptr && engine_of(engine).is_of_this_process()) delete &engine_of(engine);
}

const char* mpix_engine_status_text(int status) { return to_string(static_cast<Status>(status)); }

void mpix_engine_address(const mpix_engine_t* engine, const void** address, size_t* length) {
  *address = engine_of(engine).address().data();
  *length = engine_of(engine).address().size();
}

int mpix_engine_progress(mpix_engine_t* engine) { return engine_of(engine).progress(); }

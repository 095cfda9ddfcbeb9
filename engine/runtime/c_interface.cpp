/// The C interface: creation and destruction of an engine.
#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>

#include "engine/base/failed_call.hpp"
#include "engine/base/log.hpp"
#include "engine/net/affordable_endpoints.hpp"
#include "engine/runtime/c_handles.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/mpix_engine.h"
#include "engine/runtime/parameters.h"

using mpixrma::engine::affordable_endpoints;
using mpixrma::engine::Engine;
using mpixrma::engine::engine_of;
using mpixrma::engine::Status;

namespace {

/// A UCX worker takes some MiB of shared memory in each process of a host, and MPI libraries fail when none
/// is left.
bool has_ample_shared_memory() noexcept {
  constexpr std::uint64_t ample = std::uint64_t{1} << 30;
  struct statvfs found {};
  return ::statvfs("/dev/shm", &found) == 0 && std::uint64_t{found.f_bavail} * found.f_frsize >= ample;
}

/// Threads that run one at a time gain nothing from several channels.
int default_channels(bool several_threads) noexcept {
  constexpr int most = 4;
  cpu_set_t usable;
  if (!several_threads || ::sched_getaffinity(0, sizeof usable, &usable) != 0) return 1;
  if (!has_ample_shared_memory()) return 1;
  return std::min(most, CPU_COUNT(&usable));
}

/// Copies the fields that an MPI host built with an older, shorter struct knows; the others are zero.
template <typename Struct>
Struct copy_known(Struct const& given) noexcept {
  Struct copy{};
  std::memcpy(&copy, &given, std::min(given.size, sizeof copy));
  return copy;
}

enum class Fields { all, unset_numbers };  ///< a number that is 0 is unset, and means the default

/// Sets the numbers and switches of the table to their defaults.
void set_defaults(mpix_engine_config& config, Fields fields) noexcept {
  bool const unset = fields == Fields::unset_numbers;
  std::size_t count = 0;
  mpix_engine_parameter const* const parameters = mpix_engine_parameters(&count);
  for (mpix_engine_parameter const& parameter : std::span(parameters, count)) {
    auto* const field = reinterpret_cast<std::byte*>(&config) + parameter.field;
    auto const set = [&]<typename Number>(Number present) {
      std::memcpy(&present, field, sizeof present);
      if (!unset || present == 0) present = static_cast<Number>(parameter.initial);
      std::memcpy(field, &present, sizeof present);
    };
    if (parameter.kind == MPIX_ENGINE_PARAMETER_SIZE) set(std::size_t{});
    if (parameter.kind == MPIX_ENGINE_PARAMETER_NUMBER) set(int{});
    if (parameter.kind == MPIX_ENGINE_PARAMETER_SWITCH && !unset) set(int{});
  }
}

mpix_engine_config with_defaults(mpix_engine_config const& given) noexcept {
  mpix_engine_config config = copy_known(given);
  config.agent_poll_us = std::max(config.agent_poll_us, 0);
  set_defaults(config, Fields::unset_numbers);
  config.max_endpoints = std::min(config.max_endpoints, affordable_endpoints());
  if (config.channels <= 0) config.channels = default_channels(config.thread_multiple != 0);
  // Fragments must not split elements.
  config.fragment_bytes = (config.fragment_bytes + 127) / 128 * 128;
  config.credit_bytes = std::max(config.credit_bytes, config.fragment_bytes);
  // A batch must hold at least two operations.
  if (config.batch_bytes != MPIX_ENGINE_NO_BATCHES)
    config.batch_bytes = std::clamp<std::size_t>(config.batch_bytes, 1024, 1u << 20) / 8 * 8;
  return config;
}

/// Whether encryption is possible: it covers only messages of sessions.
bool can_encrypt(mpix_engine_config const& config) noexcept {
  return config.exposed_only != 0 && (config.protocols & unsigned{MPIX_ENGINE_PROTOCOL_NETWORK}) == 0;
}

}  // namespace

void mpix_engine_config_init(struct mpix_engine_config* config) {
  *config = mpix_engine_config{};
  config->size = sizeof *config;
  config->protocols = MPIX_ENGINE_PROTOCOL_ALL;
  set_defaults(*config, Fields::all);
}

int mpix_engine_create(const struct mpix_engine_config* config, const struct mpix_bootstrap* bootstrap,
                       mpix_engine_t** engine) {
  mpix_engine_config const settings = with_defaults(*config);
  if (settings.encrypt != 0 && !can_encrypt(settings)) return static_cast<int>(Status::bad_argument);
  Status status = Status::transport;
  mpixrma::engine::forget_failed_call();
  try {
    auto made = std::make_unique<Engine>(settings, copy_known(*bootstrap));
    status = made->start();
    if (!mpixrma::engine::failed(status)) {
      *engine = made.release();
      return 0;
    }
  } catch (std::bad_alloc const&) {
    status = Status::out_of_memory;
  } catch (std::exception const& error) {
    mpixrma::engine::Log(settings.verbose, bootstrap->process)
        .write(mpixrma::engine::LogLevel::error, "the engine does not start: %s", error.what());
    return static_cast<int>(status);
  }
  mpixrma::engine::Log(settings.verbose, bootstrap->process)
      .write(mpixrma::engine::LogLevel::error, "the engine does not start: %s",
             text_of_failure(status).c_str());
  return static_cast<int>(status);
}

void mpix_engine_destroy(mpix_engine_t* engine) {
  if (engine != nullptr && engine_of(engine).is_of_this_process()) delete &engine_of(engine);
}

const char* mpix_engine_status_text(int status) { return to_string(static_cast<Status>(status)); }

void mpix_engine_create_failure_text(int status, char* text, size_t bytes) {
  std::snprintf(text, bytes, "%s", text_of_failure(static_cast<Status>(status)).c_str());
}

void mpix_engine_address(const mpix_engine_t* engine, const void** address, size_t* length) {
  *address = engine_of(engine).address().data();
  *length = engine_of(engine).address().size();
}

int mpix_engine_progress(mpix_engine_t* engine) { return engine_of(engine).waits.progress(); }

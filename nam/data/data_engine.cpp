#include "nam/data/data_engine.hpp"

#include <cstring>

#include "engine/runtime/sessions.h"
#include "nam/protocol/error.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

namespace {

[[noreturn]] void fail(int status) {
  throw Error(status == MPIX_ENGINE_OUT_OF_MEMORY ? ErrorCode::quota : ErrorCode::unavailable,
              std::string("the grant's engine: ") + mpix_engine_status_text(status));
}

/// Returns a process number greater than those of the processes of jobs (Handshakes::identity_of).
std::uint64_t random_process() {
  UserSecret const random = random_secret();
  std::uint64_t process = 0;
  std::memcpy(&process, random.data(), sizeof process);
  return process | std::uint64_t{0xffff} << 48;
}

}  // namespace

RemoteKeys parse_remote_keys(std::string const& policy) {
  for (RemoteKeys const known :
       {RemoteKeys::never, RemoteKeys::hardware, RemoteKeys::warn, RemoteKeys::emulated}) {
    if (policy == to_string(known)) return known;
  }
  throw Error(ErrorCode::bad_request, "rdma is '" + policy + "'; expected never, auto, warn or emulated");
}

char const* to_string(RemoteKeys policy) noexcept {
  switch (policy) {
    case RemoteKeys::never: return "never";
    case RemoteKeys::hardware: return "auto";
    case RemoteKeys::warn: return "warn";
    case RemoteKeys::emulated: break;
  }
  return "emulated";
}

DataEngine::DataEngine(Network const& network, engine::StripeTable& stripes, std::uint64_t message_bytes)
    : has_keys_(network.remote_keys != RemoteKeys::never), interfaces_(network.interfaces) {
  bootstrap_.size = sizeof bootstrap_;
  bootstrap_.context = this;
  bootstrap_.process = random_process();
  // Each session has an address of its own; the address of the engine itself is not published.
  bootstrap_.publish = [](void*, void const*, std::size_t) { return 0; };
  // Clients connect to the engine; it connects to nobody.
  bootstrap_.peer_address = [](void*, std::uint64_t, void const**, std::size_t*) { return -1; };
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  if (network.remote_keys != RemoteKeys::never) config.protocols |= MPIX_ENGINE_PROTOCOL_NETWORK;
  config.network_without_hardware = network.remote_keys == RemoteKeys::emulated ? 1 : 0;
  config.network_hardware_expected = network.remote_keys == RemoteKeys::warn ? 1 : 0;
  config.encrypt = network.encrypt ? 1 : 0;
  config.channels = 1;
  config.interfaces = interfaces_.c_str();
  config.exposed_only = 1;
  config.origins_memory_bytes = config.replies_memory_bytes = message_bytes;
  config.session_processes = processes_of_session;
  config.stripes = &stripes;
  if (int const status = mpix_engine_create(&config, &bootstrap_, &engine_); status != 0) fail(status);
}

DataEngine::~DataEngine() { mpix_engine_destroy(engine_); }

DataEngine::Access DataEngine::open() {
  Access opened;
  auto const take = [](void* context, void const* address, std::size_t length) {
    auto const* const bytes = static_cast<std::byte const*>(address);
    static_cast<Access*>(context)->address.assign(bytes, bytes + length);
  };
  if (int const status = mpix_engine_open_session(engine_, take, &opened, &opened.session); status != 0)
    fail(status);
  return opened;
}

void DataEngine::close(std::uint64_t session) noexcept {
  (void)mpix_engine_close_session(engine_, session);
  renew_keys();
}

void DataEngine::renew_keys() noexcept {
  if (has_keys_) (void)mpix_engine_renew_keys(engine_);
}

std::optional<Error> DataEngine::end_of(std::uint64_t session) const {
  switch (mpix_engine_session_has_ended(engine_, session)) {
    case MPIX_ENGINE_SESSION_CONNECTION_LOST:
      return Error(ErrorCode::unavailable, "the session's encrypted connection has ended");
    case MPIX_ENGINE_SESSION_PROCESSES:
      return Error(ErrorCode::quota, "more processes use the session than a session may have: " +
                                         std::to_string(processes_of_session));
    case MPIX_ENGINE_SESSION_REPLIES:
      return Error(ErrorCode::quota, "the session sends operations and does not take their results");
    default: return std::nullopt;
  }
}

std::uint64_t DataEngine::expose(std::byte* base, std::uint64_t bytes) {
  std::uint64_t exposure = 0;
  int const status = mpix_engine_expose(engine_, base, bytes,
                                        MPIX_ENGINE_READ | MPIX_ENGINE_WRITE | MPIX_ENGINE_UPDATE, &exposure);
  if (status != 0) fail(status);
  return exposure;
}

mpix_engine_withdrawn DataEngine::withdraw(std::uint64_t exposure) noexcept {
  mpix_engine_withdrawn withdrawn{};
  (void)mpix_engine_start_withdraw(engine_, exposure, &withdrawn);
  return withdrawn;
}

bool DataEngine::is_unreachable(mpix_engine_withdrawn const& withdrawn) const noexcept {
  return mpix_engine_is_unreachable(engine_, &withdrawn) != 0;
}

}  // namespace mpixrma::nam

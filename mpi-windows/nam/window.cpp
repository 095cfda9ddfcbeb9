#include "mpi-windows/nam/window.hpp"

#include <mpi.h>

#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "engine/base/kept_from_children.hpp"
#include "engine/net/network_devices.hpp"
#include "mpi-windows/nam/description.hpp"
#include "mpi-windows/nam/error.hpp"
#include "mpi-windows/nam/part.hpp"
#include "mpi-windows/nam/spread.hpp"
#include "nam/client/follow.hpp"
#include "nam/client/private_server.hpp"
#include "nam/client/spread.hpp"
#include "nam/protocol/units.hpp"

namespace mpixrma::windows {

namespace {

std::mutex settings_lock;
NamSettings settings;
std::atomic<std::uint32_t> noted{0};  ///< set by note_mapped()

/// Throws NamError.
nam::PrivateServer::Network network_to_others(bool encrypt) {
  auto const here = engine::permitted_address(settings.interfaces, engine::interface_addresses());
  if (!here)
    throw NamError(MPI_ERR_OTHER,
                   "the processes are on several hosts, and 'osc_mpix_interfaces' leaves no network on which "
                   "they reach a memory server that is started for the job");
  return {engine::text_of(*here), settings.interfaces, encrypt ? "never" : settings.rdma, encrypt};
}

/// A server, whose pipe children do not hold: the server would outlive this process.
struct ServerOfJob {
  template <typename... Args>
  explicit ServerOfJob(Args const&... args) : server(settings.private_bytes, args...) {}

  nam::PrivateServer server;
  engine::KeptFromChildren pipe_kept{server.liveness_pipe()};
};

/// Returns the grant of this job's private server. There is one server for the processes of this host and, if
/// needed, one that accepts other hosts too. `encrypt` applies if the latter is started now.
nam::Locator private_grant(bool one_host, bool encrypt) {
  static std::unique_ptr<ServerOfJob> of_host;
  static std::unique_ptr<ServerOfJob> of_network;
  if (of_network != nullptr) return of_network->server.grant();
  if (!one_host) {
    of_network = std::make_unique<ServerOfJob>(network_to_others(encrypt));
    return of_network->server.grant();
  }
  if (of_host == nullptr) of_host = std::make_unique<ServerOfJob>();
  return of_host->server.grant();
}

/// Returns the grants to allocate in: the job's grants, or that of a private server.
std::vector<nam::Locator> grants_for(NamHints const& hints) {
  std::lock_guard const held(settings_lock);
  if (!settings.allocation.empty()) {
    std::vector<nam::Locator> grants = nam::parse_grants(settings.allocation);
    for (nam::Locator const& grant : grants) nam::note_known_server(grant.address);
    return grants;
  }
  if (auto grants = nam::job_grants(); !grants.empty()) return grants;
  if (hints.persistent)
    throw NamError(MPI_ERR_OTHER,
                   "a persistent window needs a memory server: start one with 'mpix-namd --size 1G', and set "
                   "MPIX_NAM_ALLOCATION to what 'mpix-nam grant 512M' prints");
  return {private_grant(hints.one_host, hints.encrypt || nam::demands_encryption())};
}

/// Returns parse(text), where `text` is the value of the info key. Throws NamError.
template <typename Parse>
auto parse_value(char const* key, std::string const& text, Parse parse) {
  try {
    return parse(text);
  } catch (nam::Error const& error) {
    throw NamError(MPI_ERR_INFO_VALUE, std::string(key) + ": " + error.what());
  }
}

/// Throws NamError.
std::uint64_t parse_chunk_size(std::string const& text) {
  std::uint64_t bytes = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  bool const is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || bytes == 0 || bytes % nam::chunk_granularity != 0)
    throw NamError(MPI_ERR_INFO_VALUE, "mpix_nam_stripe must be a multiple of " +
                                           std::to_string(nam::chunk_granularity) + " bytes, not '" + text +
                                           "'");
  return bytes;
}

}  // namespace

void set_nam(NamSettings const& given) {
  std::lock_guard const held(settings_lock);
  settings = given;
}

std::unique_ptr<NamWindow> NamWindow::allocate(std::vector<std::uint64_t> const& sizes,
                                               std::vector<std::uint64_t> const& units,
                                               NamHints const& hints) {
  return convert_server_errors([&] {
    nam::WindowOptions wanted;
    wanted.persistent = hints.persistent;
    if (!hints.durability.empty())
      wanted.durability = parse_value("mpix_nam_durability", hints.durability, nam::parse_durability);
    if (!hints.mode.empty()) wanted.mode = parse_value("mpix_nam_mode", hints.mode, nam::parse_mode);
    wanted.encrypt = hints.encrypt;
    if (!hints.chunk_size.empty()) wanted.chunk_bytes = parse_chunk_size(hints.chunk_size);
    return allocate_over(grants_for(hints), sizes, units, wanted);
  });
}

std::unique_ptr<NamWindow> NamWindow::connect(std::string const& port, NamConnectOptions const& options) {
  return convert_server_errors([&] {
    nam::ScopedFollowConsent const consent(options.follow);
    std::vector<nam::Session> sessions;
    std::vector<nam::WindowInfo> found = nam::find_parts(port, &sessions);
    nam::Spread const spread = nam::spread_of(found);
    std::vector<std::unique_ptr<NamWindow>> parts;
    for (std::size_t i = 0; i < found.size(); ++i)
      parts.push_back(connect_to(std::move(found[i]), std::move(sessions[i]), options.encrypt));
    return combine_parts(std::move(parts), spread);
  });
}

std::unique_ptr<NamWindow> NamWindow::join(std::string const& description, NamJoinOptions how) {
  return convert_server_errors([&] { return join_window(NamDescription::unpack(description), how); });
}

std::string NamWindow::description() const {
  NamDescription made;
  made.chunk_bytes = chunk_bytes();
  describe(&made);
  return made.pack();
}

std::uint32_t NamWindow::last_mapping_id() noexcept { return noted.load(std::memory_order_relaxed); }
void NamWindow::note_mapped(std::uint32_t mapping_id) noexcept {
  noted.store(mapping_id, std::memory_order_relaxed);
}

}  // namespace mpixrma::windows

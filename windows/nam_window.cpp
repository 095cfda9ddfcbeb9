#include "windows/nam_window.hpp"

#include <mpi.h>

#include <mutex>

#include "nam/client/private_server.hpp"
#include "windows/nam_error.hpp"
#include "windows/nam_mapped.hpp"
#include "windows/nam_remote.hpp"

namespace mpix::windows {

namespace {

using nam::Json;

/// The grant where its memory can be mapped; nullptr: it cannot. `control` as of NamGrant::of; 0: not known.
std::shared_ptr<NamGrant> find_mapped(nam::Locator const& locator, std::uint64_t control = 0) {
  if (RemoteGrant::known(locator) != nullptr) return nullptr;
  try {
    return control != 0 ? NamGrant::of(locator, control) : NamGrant::of(locator);
  } catch (nam::Error const& error) {
    if (error.code() != nam::ErrorCode::unsupported) throw;
    return nullptr;
  }
}

/// What another process has asked the server for, told to a session of this one.
std::unique_ptr<NamWindow> join_remote(nam::Locator const& locator, nam::WindowInfo const& window) {
  auto grant = RemoteGrant::of(locator);
  nam::WindowInfo info = grant->ask([&](nam::Session& session) { return session.join(window.id); });
  info.port = window.port;
  return make_remote(std::move(grant), std::move(info));
}

nam::WindowInfo window_from(Json const& told) {
  nam::WindowInfo info;
  info.id = nam::field<std::string>(told, "window");
  info.port = nam::field<std::string>(told, "port");
  info.slot = nam::field<nam::SharedControl::Slot>(told, "slot");
  info.generation = nam::field<std::uint64_t>(told, "generation");
  for (Json const& region : told.at("regions"))
    info.regions.push_back({region.at(0), region.at(1), region.at(2)});
  return info;
}

std::mutex settings_lock;
NamSettings settings;

/// Where windows are allocated: in the job's grant, or in that of a server of this process's own.
nam::Locator grant_for(NamWishes const& wishes) {
  std::lock_guard const held(settings_lock);
  if (!settings.allocation.empty()) return nam::parse_locator(settings.allocation);
  if (auto grant = nam::job_grant()) return *grant;
  if (wishes.persistent)
    throw NamError(MPI_ERR_OTHER,
                   "a persistent window needs a memory server: start one with 'mpix-namd --size 1G', and set "
                   "MPIX_NAM_ALLOCATION to what 'mpix-nam grant 512M' prints");
  static std::unique_ptr<nam::PrivateServer> server;
  if (server == nullptr) server = std::make_unique<nam::PrivateServer>(settings.private_bytes);
  return server->grant();
}

}  // namespace

void set_nam(NamSettings const& given) {
  std::lock_guard const held(settings_lock);
  settings = given;
}

std::unique_ptr<NamWindow> NamWindow::allocate(std::vector<std::uint64_t> const& sizes,
                                               std::vector<std::uint64_t> const& units,
                                               NamWishes const& wishes) {
  return at_server([&]() -> std::unique_ptr<NamWindow> {
    nam::WindowWishes wanted;
    wanted.persistent = wishes.persistent;
    if (!wishes.durability.empty()) wanted.durability = wishes.durability;
    nam::Locator const locator = grant_for(wishes);
    if (auto grant = find_mapped(locator)) {
      nam::WindowInfo info = grant->allocate(sizes, units, wanted);
      return make_mapped(std::move(grant), std::move(info));
    }
    auto grant = RemoteGrant::of(locator);
    nam::WindowInfo info =
        grant->ask([&](nam::Session& session) { return session.allocate(sizes, units, wanted); });
    return make_remote(std::move(grant), std::move(info));
  });
}

std::unique_ptr<NamWindow> NamWindow::connect(std::string const& port) {
  return at_server([&]() -> std::unique_ptr<NamWindow> {
    nam::WindowInfo info;
    nam::Locator const locator = nam::parse_locator(port);
    (void)nam::Session::connect(port, &info);
    if (auto grant = find_mapped(locator)) return make_mapped(std::move(grant), std::move(info));
    return join_remote(locator, info);
  });
}

std::unique_ptr<NamWindow> NamWindow::join(std::string const& description) {
  return at_server([&]() -> std::unique_ptr<NamWindow> {
    Json const told = Json::parse(description);
    nam::Locator const locator = nam::parse_locator(nam::field<std::string>(told, "grant"));
    nam::WindowInfo info = window_from(told);
    if (auto grant = find_mapped(locator, nam::field<std::uint64_t>(told, "control")))
      return make_mapped(std::move(grant), std::move(info));
    return join_remote(locator, info);
  });
}

}  // namespace mpix::windows

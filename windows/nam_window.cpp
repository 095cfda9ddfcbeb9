#include "windows/nam_window.hpp"

#include <mpi.h>

#include <mutex>
#include <utility>

#include "nam/client/private_server.hpp"
#include "windows/nam_error.hpp"
#include "windows/nam_part.hpp"

namespace mpix::windows {

namespace {

std::mutex settings_lock;
NamSettings settings;

/// Where windows are allocated: in the job's grant, or in that of a server of this process's own.
nam::Locator grant_for(NamWishes const& wishes) {
  std::lock_guard const held(settings_lock);
  if (!settings.allocation.empty()) return nam::parse_locator(settings.allocation);
  if (auto const grants = nam::job_grants(); !grants.empty()) return grants.front();
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
  return at_server([&] {
    nam::WindowWishes wanted;
    wanted.persistent = wishes.persistent;
    if (!wishes.durability.empty()) wanted.durability = wishes.durability;
    return allocate_in(grant_for(wishes), sizes, units, wanted);
  });
}

std::unique_ptr<NamWindow> NamWindow::connect(std::string const& port) {
  return at_server([&] {
    nam::WindowInfo info;
    (void)nam::Session::connect(port, &info);
    return connect_to(std::move(info));
  });
}

std::unique_ptr<NamWindow> NamWindow::join(std::string const& description) {
  return at_server([&] { return join_described(nam::Json::parse(description)); });
}

}  // namespace mpix::windows

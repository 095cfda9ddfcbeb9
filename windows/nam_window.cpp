#include "windows/nam_window.hpp"

#include <mpi.h>

#include <mutex>

#include "nam/client/private_server.hpp"
#include "windows/nam_error.hpp"
#include "windows/nam_grant.hpp"

namespace mpix::windows {

namespace {

using engine::LockMode;
using nam::Json;

class MappedNamWindow final : public NamWindow {
 public:
  MappedNamWindow(std::shared_ptr<NamGrant> grant, nam::WindowInfo info)
      : grant_(std::move(grant)), info_(std::move(info)) {
    for (nam::WindowRegion const& region : info_.regions) {
      if (region.offset > grant_->memory().bytes() ||
          region.bytes > grant_->memory().bytes() - region.offset || region.unit > INT32_MAX)
        throw NamError(MPI_ERR_INTERN, "the server has told of regions that do not lie in the grant");
    }
    locks_ = grant_->locks_for(info_.slot);
  }
  ~MappedNamWindow() override { grant_->give_back_locks(info_.slot); }

  std::string description() const override {
    Json regions = Json::array();
    for (nam::WindowRegion const& region : info_.regions)
      regions.push_back({region.offset, region.bytes, region.unit});
    return Json{{"grant", nam::format(grant_->locator())},
                {"control", grant_->control()},
                {"window", info_.id},
                {"port", info_.port},
                {"slot", info_.slot},
                {"generation", info_.generation},
                {"regions", regions}}
        .dump();
  }
  void release() override {
    at_server([this] {
      if (info_.port.empty()) return grant_->release(info_);
      (void)nam::Client(grant_->locator().address).request({{"op", "evict"}, {"port", info_.port}});
    });
  }

  void persist() override {
    at_server([this] { grant_->persist(info_); });
  }

  std::string const& port() const noexcept override { return info_.port; }
  int ranks() const noexcept override { return static_cast<int>(info_.regions.size()); }
  std::uint64_t size(int rank) const noexcept override { return region(rank).bytes; }
  int disp_unit(int rank) const noexcept override { return static_cast<int>(region(rank).unit); }

  engine::ExposedView view(int rank) const noexcept override {
    engine::ExposedView view;
    view.local = grant_->memory().at(region(rank));
    view.exposure = {region(rank).offset, region(rank).bytes, engine::Rights::all};
    view.owner_generation = &grant_->memory().control().generation(info_.slot);
    view.generation = info_.generation;
    return view;
  }
  engine::StripeTable& stripes() const noexcept override { return grant_->memory().control().stripes(); }

  /// Whoever is to have the lock alone keeps the turn until it gives the lock back: others wait behind it,
  /// and it only waits for those who share the lock now.
  bool try_lock(int rank, LockMode mode, bool* has_turn) const override {
    auto const place = static_cast<std::uint32_t>(rank);
    return at_server([&] {
      if (!*has_turn) *has_turn = locks_->try_turn(info_.slot, place, mode);
      if (!*has_turn || !locks_->try_lock(info_.slot, place, mode)) return false;
      if (mode == LockMode::shared) locks_->give_back_turn(info_.slot, place);
      return true;
    });
  }
  void unlock(int rank) const noexcept override {
    locks_->unlock(info_.slot, static_cast<std::uint32_t>(rank));
  }

 private:
  nam::WindowRegion const& region(int rank) const noexcept {
    return info_.regions[static_cast<std::size_t>(rank)];
  }

  std::shared_ptr<NamGrant> grant_;
  nam::WindowInfo info_;
  std::shared_ptr<nam::SharedControl const> locks_;
};

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
  return at_server([&] {
    nam::WindowWishes wanted;
    wanted.persistent = wishes.persistent;
    if (!wishes.durability.empty()) wanted.durability = wishes.durability;
    auto grant = NamGrant::of(grant_for(wishes));
    nam::WindowInfo info = grant->allocate(sizes, units, wanted);
    return std::make_unique<MappedNamWindow>(std::move(grant), std::move(info));
  });
}

std::unique_ptr<NamWindow> NamWindow::connect(std::string const& port) {
  return at_server([&] {
    nam::WindowInfo info;
    nam::Locator const locator = nam::parse_locator(port);
    (void)nam::Session::connect(port, &info);
    return std::make_unique<MappedNamWindow>(NamGrant::of(locator), std::move(info));
  });
}

std::unique_ptr<NamWindow> NamWindow::join(std::string const& description) {
  return at_server([&] {
    Json const told = Json::parse(description);
    auto grant = NamGrant::of(nam::parse_locator(nam::field<std::string>(told, "grant")),
                              nam::field<std::uint64_t>(told, "control"));
    return std::make_unique<MappedNamWindow>(std::move(grant), window_from(told));
  });
}

}  // namespace mpix::windows

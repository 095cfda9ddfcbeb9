#include "mpi-windows/nam/remote.hpp"

#include <algorithm>
#include <utility>

#include "mpi-windows/nam/error.hpp"
#include "mpi-windows/nam/registry.hpp"

namespace mpixrma::windows {

namespace {

GrantRegistry<RemoteGrant>& remote_registry() {
  static GrantRegistry<RemoteGrant> grants;
  return grants;
}

class RemoteNamWindow final : public SessionNamWindow {
 public:
  RemoteNamWindow(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo info)
      : SessionNamWindow(grant, std::move(info)), grant_(std::move(grant)) {}
  ~RemoteNamWindow() override {
    for (engine::Engine* const engine : engines_) grant_->forget(*engine);
  }

  void release() override {
    convert_server_errors([this] {
      if (!info_.port.empty()) return evict(grant_->locator());
      grant_->with_session([this](nam::Session& session) { session.release_soon(info_); });
    });
  }
  void make_persistent() override {
    convert_server_errors(
        [this] { grant_->with_session([this](nam::Session& session) { session.make_persistent(&info_); }); });
  }

  engine::Peer* peer(engine::Engine& engine) const override {
    engine::Peer* const found = grant_->peer(engine);
    if (found != nullptr) engines_.push_back(&engine);
    return found;
  }
  engine::ExposureId exposure() const noexcept override {
    return static_cast<engine::ExposureId>(info_.exposure);
  }
  std::uint64_t offset(int rank) const noexcept override { return region(rank).offset - region(0).offset; }

 private:
  std::shared_ptr<RemoteGrant> grant_;
  mutable std::vector<engine::Engine*> engines_;  ///< one entry for each call of peer()
};

}  // namespace

RemoteGrant::RemoteGrant(nam::Locator const& locator)
    : NamSession(locator, nam::Session::open(locator)),
      address_(with_session([](nam::Session& session) { return session.engine_address(); })),
      watch_(descriptor(), [this] { return on_end(); }) {}

std::shared_ptr<RemoteGrant> RemoteGrant::known(nam::Locator const& locator) {
  return remote_registry().find(locator);
}

std::shared_ptr<RemoteGrant> RemoteGrant::of(nam::Locator const& locator) {
  return remote_registry().find_or_open(locator);
}

engine::Peer* RemoteGrant::peer(engine::Engine& engine) {
  std::lock_guard const held(peers_lock_);
  engine::Peer* const found = engine.peers.at(address_);
  if (found == nullptr) return nullptr;
  uses_.push_back({&engine, found->process()});
  if (has_ended_) engine.peers.fail_connections(found->process());
  return found;
}

void RemoteGrant::forget(engine::Engine& engine) noexcept {
  std::lock_guard const held(peers_lock_);
  auto const use =
      std::find_if(uses_.begin(), uses_.end(), [&](Use const& each) { return each.engine == &engine; });
  if (use != uses_.end()) uses_.erase(use);
}

/// Marks the peers as lost: the data process no longer executes operations of the session, and rejects its
/// handshakes.
int RemoteGrant::on_end() {
  std::lock_guard const held(peers_lock_);
  has_ended_ = true;
  for (Use const& use : uses_) use.engine->peers.fail_connections(use.process);
  return -1;
}

std::unique_ptr<ServedWindow> make_remote(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo window) {
  return std::make_unique<RemoteNamWindow>(std::move(grant), std::move(window));
}

}  // namespace mpixrma::windows

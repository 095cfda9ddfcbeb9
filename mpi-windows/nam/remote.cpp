#include "mpi-windows/nam/remote.hpp"

#include <mpi.h>

#include <chrono>
#include <string>
#include <utility>

#include "mpi-windows/nam/error.hpp"
#include "mpi-windows/nam/registry.hpp"
#include "mpi-windows/nam/served.hpp"

namespace mpixrma::windows {

namespace {

GrantRegistry<RemoteGrant>& remote_registry() {
  static GrantRegistry<RemoteGrant> grants;
  return grants;
}

/// Between two questions whether a lock is free.
constexpr std::chrono::microseconds pause{100};

class RemoteNamWindow final : public ServedWindow {
 public:
  RemoteNamWindow(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo info)
      : ServedWindow(std::move(info)), grant_(std::move(grant)), holder_(grant_->next_holder()) {}
  ~RemoteNamWindow() override {
    quietly([this](nam::Session& session) { session.end_locks(holder_); });
  }

  /// Those who map the memory look at its control memory themselves.
  void describe(NamDescription* told) const override { tell(told, grant_->locator(), 0); }
  std::uint32_t mapped_in() const noexcept override { return 0; }
  void release() override {
    at_server([this] {
      if (!info_.port.empty()) return evict(grant_->locator());
      grant_->ask([this](nam::Session& session) { session.release_soon(info_); });
    });
  }
  void keep() override {
    at_server([this] { grant_->ask([this](nam::Session& session) { session.keep(&info_); }); });
  }
  void persist() override {
    at_server([this] { grant_->ask([this](nam::Session& session) { session.persist(info_); }); });
  }

  bool is_mapped() const noexcept override { return false; }
  engine::Peer* peer(engine::Engine& engine) const override { return engine.peer_at(grant_->address()); }
  engine::ExposureId exposure() const noexcept override {
    return static_cast<engine::ExposureId>(info_.exposure);
  }
  std::uint64_t offset(int rank) const noexcept override { return region(rank).offset - region(0).offset; }

  bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const override {
    auto const place = static_cast<std::uint32_t>(rank);
    try {
      return grant_->ask([&](nam::Session& session) {
        auto const now = std::chrono::steady_clock::now();
        if (now < next_attempt_) return false;
        bool const taken = session.try_lock(info_, holder_, place, mode, has_turn);
        if (!taken) next_attempt_ = std::chrono::steady_clock::now() + pause;
        return taken;
      });
    } catch (nam::Error const& error) {
      throw NamError(MPI_ERR_WIN, error.what());  // it has ended
    }
  }
  void unlock(int rank) const noexcept override {
    quietly([&](nam::Session& session) {
      session.unlock_soon(info_, holder_, static_cast<std::uint32_t>(rank));
    });
  }

 private:
  /// A session that has ended has no locks any more.
  template <typename Call>
  void quietly(Call call) const noexcept {
    try {
      grant_->ask(call);
    } catch (std::exception const&) {
    }
  }

  std::shared_ptr<RemoteGrant> grant_;
  std::uint64_t holder_;
  mutable std::chrono::steady_clock::time_point next_attempt_;
};

}  // namespace

RemoteGrant::RemoteGrant(nam::Locator const& locator)
    : locator_{locator.grant, "", locator.address},
      session_(nam::Session::open(locator_)),
      address_(session_.reach()) {
  // The other processes of the job trust the server by this key.
  locator_.address.key = session_.server_key().empty() ? locator_.address.key : session_.server_key();
}

std::shared_ptr<RemoteGrant> RemoteGrant::known(nam::Locator const& locator) {
  return remote_registry().find(locator);
}

std::shared_ptr<RemoteGrant> RemoteGrant::of(nam::Locator const& locator) {
  return remote_registry().find_or_open(locator);
}

bool RemoteGrant::is_served() {
  std::lock_guard const held(lock_);
  return session_.is_open();
}

std::unique_ptr<ServedWindow> make_remote(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo window) {
  return std::make_unique<RemoteNamWindow>(std::move(grant), std::move(window));
}

}  // namespace mpixrma::windows

/// Windows at memory servers whose memory this process cannot map: the server runs on another host.
/// Operations are the engine's messages to the process that has the memory, everything else is asked in a
/// session.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi-windows/nam/served.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

/// A grant that this process uses so. Kept for later windows, as long as its session lasts.
class RemoteGrant {
 public:
  /// Throws nam::Error.
  explicit RemoteGrant(nam::Locator const& locator);

  /// The one of the locator, or a new one.
  static std::shared_ptr<RemoteGrant> of(nam::Locator const& locator);
  /// nullptr: it is not used so.
  static std::shared_ptr<RemoteGrant> known(nam::Locator const& locator);

  /// What `call` returns, which is handed the session.
  template <typename Call>
  auto ask(Call call) {
    std::lock_guard const held(lock_);
    return call(session_);
  }
  bool is_served();
  nam::Locator const& locator() const noexcept { return locator_; }
  /// Of the process that has the memory, at engines.
  std::vector<std::byte> const& address() const noexcept { return address_; }
  /// Tells the locks of windows apart.
  std::uint64_t next_holder() noexcept { return newest_holder_.fetch_add(1, std::memory_order_relaxed); }

 private:
  nam::Locator locator_;
  std::mutex lock_;
  nam::Session session_;
  std::vector<std::byte> address_;
  std::atomic<std::uint64_t> newest_holder_{1};
};

/// `window` is what the grant's session has told. Throws NamError.
std::unique_ptr<ServedWindow> make_remote(std::shared_ptr<RemoteGrant> grant, nam::WindowInfo window);

}  // namespace mpixrma::windows

/// Grants of memory servers that this process uses: a session and a mapping for each, cached for later
/// windows. If the server's processes die, the windows either continue or end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/kept_from_children.hpp"
#include "mpi-windows/nam/connection_watch.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

class NamGrant {
 public:
  /// Throws nam::Error.
  explicit NamGrant(nam::Locator const& locator);

  /// The key for GrantRegistry: all windows of one grant share the object.
  static std::string name_of(nam::Locator const& locator) {
    return nam::format(nam::Locator{locator.grant, "", locator.address});
  }
  /// Returns the object of the locator: the cached one if its server still runs, else a new one.
  static std::shared_ptr<NamGrant> of(nam::Locator const& locator);
  /// Returns the object whose control memory has the number `control` at its server.
  static std::shared_ptr<NamGrant> of(nam::Locator const& locator, std::uint64_t control);
  /// As of(), but returns a cached object only, even if its session has ended; nullptr if there is none.
  static std::shared_ptr<NamGrant> mapped(nam::Locator const& locator, std::uint64_t control);

  nam::WindowInfo allocate(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                           nam::WindowOptions const& options);
  void make_persistent(nam::WindowInfo* window);
  void release(nam::WindowInfo const& window);
  void persist(nam::WindowInfo const& window);

  bool is_open();
  nam::Locator const& locator() const noexcept { return locator_; }
  nam::GrantMapping const& memory() const noexcept { return memory_; }
  /// Identifies the control memory on this host.
  std::uint64_t control() const noexcept { return control_; }

  /// Returns the control memory by whose descriptor one more window at the slot acquires locks. No two
  /// windows at a slot share a descriptor.
  std::shared_ptr<nam::SharedControl const> locks_for(nam::SharedControl::Slot slot);
  void give_back_locks(nam::SharedControl::Slot slot);

 private:
  int on_end();
  bool has_windows();
  bool find_again();
  void end_windows();

  nam::Locator locator_;
  /// A released window of this process whose memory the next window of the same shape reuses.
  struct CachedWindow {
    nam::WindowInfo window;
    std::uint64_t generation = 0;  ///< 0: empty
  };
  bool take_cached();
  void cache_window(nam::WindowInfo const& window);

  std::mutex lock_;
  nam::Session session_;
  nam::GrantMapping memory_;
  engine::KeptFromChildren session_kept_;
  engine::KeptFromChildren locks_kept_;
  std::uint64_t control_ = 0;
  std::map<nam::SharedControl::Slot, int> windows_;
  CachedWindow cached_;
  ConnectionWatch watch_;  ///< watches the session
};

}  // namespace mpixrma::windows

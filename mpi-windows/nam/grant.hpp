/// Grants of memory servers that this process uses: a session and a mapping for each, kept for later windows.
/// Where the server's processes die, the windows either go on or end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi-windows/nam/connection_watch.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

class NamGrant {
 public:
  /// Throws nam::Error.
  explicit NamGrant(nam::Locator const& locator);

  /// As GrantRegistry asks for it: windows of one grant have it in common.
  static std::string name_of(nam::Locator const& locator) {
    return nam::format(nam::Locator{locator.grant, "", locator.address});
  }
  /// The one of the locator: that which is there, if it is served still, or a new one.
  static std::shared_ptr<NamGrant> of(nam::Locator const& locator);
  /// The one whose control memory is `control` at its server.
  static std::shared_ptr<NamGrant> of(nam::Locator const& locator, std::uint64_t control);
  /// The same, if there is one, also if its session has ended: others see to its windows. nullptr: there is
  /// none.
  static std::shared_ptr<NamGrant> mapped(nam::Locator const& locator, std::uint64_t control);

  nam::WindowInfo allocate(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                           nam::WindowWishes const& wishes);
  void keep(nam::WindowInfo* window);
  void release(nam::WindowInfo const& window);
  void persist(nam::WindowInfo const& window);

  bool is_served();
  nam::Locator const& locator() const noexcept { return locator_; }
  nam::GrantMapping const& memory() const noexcept { return memory_; }
  /// Tells control memories on this host apart.
  std::uint64_t control() const noexcept { return control_; }

  /// For the locks of one window more in this process; each has them to itself.
  std::shared_ptr<nam::SharedControl const> locks_for(nam::SharedControl::Slot slot);
  void give_back_locks(nam::SharedControl::Slot slot);

 private:
  int on_end();
  bool has_windows();
  bool find_again();
  void end_windows();

  nam::Locator locator_;
  /// A window of this process that has ended, whose memory is to be the next one of its shape.
  struct Spare {
    nam::WindowInfo window;
    std::uint64_t generation = 0;  ///< 0: there is none
  };
  bool take_spare();
  void make_spare(nam::WindowInfo const& window);

  std::mutex lock_;
  nam::Session session_;
  nam::GrantMapping memory_;
  std::uint64_t control_ = 0;
  std::map<nam::SharedControl::Slot, int> windows_;
  Spare spare_;
  ConnectionWatch watch_;  ///< of the session
};

}  // namespace mpixrma::windows

#include "mpi-windows/nam/grant.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/log.hpp"
#include "mpi-windows/nam/registry.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::windows {

namespace {

GrantRegistry<NamGrant>& registry() {
  static GrantRegistry<NamGrant> grants;
  return grants;
}

/// Up to this size, zeroing the memory here is faster than at the server.
constexpr std::uint64_t max_cached_bytes = 256u << 10;

constexpr int one_attempt_ms = 1000;
constexpr int between_attempts_ms = 20;
/// After this number of attempts with no listener at the server's address, the memory counts as gone: it ends
/// with the server's last process.
constexpr int max_attempts_alone = 25;
constexpr std::chrono::seconds longest_search{30};

/// Returns a number that identifies a control memory on this host.
std::uint64_t number_of(nam::SharedControl const& control) {
  struct stat status {};
  return ::fstat(control.descriptor().get(), &status) == 0 ? status.st_ino : 0;
}

/// Whether the window equals one that would be allocated with these arguments.
bool has_shape(nam::WindowInfo const& window, std::vector<std::uint64_t> const& sizes,
               std::vector<std::uint64_t> const& units, nam::WindowOptions const& options) {
  nam::WindowOptions const usual;
  bool const is_plain = !options.persistent && options.durability == usual.durability &&
                        options.mode == usual.mode && options.other_parts.empty() && options.chunk_bytes == 0;
  if (!is_plain || window.regions.size() != sizes.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (window.regions[i].bytes != sizes[i] || window.regions[i].unit != units[i]) return false;
  }
  return true;
}

/// Returns the total bytes of the window's regions, including gaps.
std::uint64_t bytes_of(nam::WindowInfo const& window) {
  nam::WindowRegion const& last = window.regions.back();
  return last.offset + last.bytes - window.regions.front().offset;
}

}  // namespace

NamGrant::NamGrant(nam::Locator const& locator)
    : locator_{locator.grant, "", locator.address},
      session_(nam::Session::open(locator_)),
      memory_(session_.map()),
      session_kept_(session_.descriptor()),
      locks_kept_(memory_.control().descriptor().get()),
      control_(number_of(memory_.control())),
      watch_(session_.descriptor(), [this] { return on_end(); }) {}

std::shared_ptr<NamGrant> NamGrant::of(nam::Locator const& locator) {
  return registry().find_or_open(locator);
}

std::shared_ptr<NamGrant> NamGrant::of(nam::Locator const& locator, std::uint64_t control) {
  auto const fits = [=](NamGrant const& known) { return known.control() == control; };
  auto found = registry().find_or_open(locator, fits);
  if (found->control() != control)
    throw nam::Error(nam::ErrorCode::unavailable, "the server of the grant was restarted meanwhile");
  return found;
}

std::shared_ptr<NamGrant> NamGrant::mapped(nam::Locator const& locator, std::uint64_t control) {
  auto found = registry().known(locator);
  return found != nullptr && found->control() == control ? found : nullptr;
}

bool NamGrant::is_open() {
  std::lock_guard const held(lock_);
  return session_.is_open();
}

bool NamGrant::has_windows() {
  std::lock_guard const held(lock_);
  return std::ranges::any_of(windows_,
                             [this](auto const& use) { return memory_.control().is_taken(use.first); });
}

/// Called when the data process has died or has ended the grant.
int NamGrant::on_end() {
  if (!has_windows()) return -1;
  if (find_again()) return session_.descriptor();
  end_windows();
  return -1;
}

/// Opens a session with the new data process, which serves the same memory if the control process lives.
/// Returns false if the memory is gone; true also if the watch ends meanwhile.
bool NamGrant::find_again() {
  auto const end = std::chrono::steady_clock::now() + longest_search;
  for (int alone = 0; alone < max_attempts_alone && std::chrono::steady_clock::now() < end;) {
    try {
      nam::Session session = nam::Session::open(locator_, one_attempt_ms);
      if (number_of(session.map().control()) != control_) return false;
      std::lock_guard const held(lock_);
      session_kept_ = engine::KeptFromChildren(session.descriptor());
      session_ = std::move(session);
      return true;
    } catch (nam::Error const& error) {
      if (error.code() == nam::ErrorCode::not_found) return false;
    }
    if (!nam::connect_unix(locator_.address.unix_path)) ++alone;
    if (!watch_.sleep(between_attempts_ms)) return true;
  }
  return false;
}

/// Ends the windows for all processes that map them. Logs how many windows this process was the first to end.
void NamGrant::end_windows() {
  std::lock_guard const held(lock_);
  int ended = 0;
  for (auto const& [slot, uses] : windows_) {
    if (!memory_.control().is_taken(slot)) continue;
    memory_.control().withdraw(slot);
    ++ended;
  }
  if (ended != 0)
    engine::common_log.write(
        engine::LogLevel::error,
        "the memory server of grant %s has ended and so have %d of its windows; operations on "
        "them now fail",
        locator_.grant.c_str(), ended);
}

nam::WindowInfo NamGrant::allocate(std::vector<std::uint64_t> const& sizes,
                                   std::vector<std::uint64_t> const& units,
                                   nam::WindowOptions const& options) {
  std::lock_guard const held(lock_);
  if (cached_.generation != 0 && has_shape(cached_.window, sizes, units, options) && take_cached())
    return cached_.window;
  return session_.allocate(sizes, units, options);
}

void NamGrant::make_persistent(nam::WindowInfo* window) {
  std::lock_guard const held(lock_);
  session_.make_persistent(window);
}

void NamGrant::release(nam::WindowInfo const& window) {
  std::lock_guard const held(lock_);
  bool const is_plain = window.durability == nam::WindowOptions().durability && window.chunk_bytes == 0;
  if (!is_plain || bytes_of(window) > max_cached_bytes || !session_.is_open())
    return session_.release_soon(window);
  if (cached_.generation != 0 && take_cached()) session_.release_soon(cached_.window);
  cache_window(window);
}

/// Returns false if the server has reclaimed the memory.
bool NamGrant::take_cached() {
  return memory_.control().take_cached(cached_.window.slot, std::exchange(cached_.generation, 0));
}

/// Caches a released window, because the messages that free one window and allocate the next would
/// take most of the time.
void NamGrant::cache_window(nam::WindowInfo const& window) {
  std::memset(memory_.at(window.regions.front()), 0, bytes_of(window));
  cached_.window = window;
  cached_.generation = memory_.control().cache_window(window.slot, window.generation);
  cached_.window.generation = cached_.generation;
}

void NamGrant::persist(nam::WindowInfo const& window) {
  std::lock_guard const held(lock_);
  session_.persist(window);
}

/// The first window at a slot uses the grant's descriptor, each further one a descriptor of its own, because
/// the kernel distinguishes locks by open file description.
std::shared_ptr<nam::SharedControl const> NamGrant::locks_for(nam::SharedControl::Slot slot) {
  std::lock_guard const held(lock_);
  auto& uses = windows_[slot];
  std::shared_ptr<nam::SharedControl const> locks(std::shared_ptr<void>(), &memory_.control());
  if (uses != 0) locks = std::make_shared<nam::SharedControl const>(memory_.control().reopen());
  ++uses;  // last, because the process may have no descriptor left
  return locks;
}

void NamGrant::give_back_locks(nam::SharedControl::Slot slot) {
  std::lock_guard const held(lock_);
  if (--windows_[slot] == 0) windows_.erase(slot);
}

}  // namespace mpixrma::windows

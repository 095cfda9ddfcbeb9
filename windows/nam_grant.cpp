#include "windows/nam_grant.hpp"

#include <sys/stat.h>

namespace mpix::windows {

namespace {

std::mutex registry_lock;

std::map<std::string, std::shared_ptr<NamGrant>>& registry() {
  static std::map<std::string, std::shared_ptr<NamGrant>> grants;
  return grants;
}

template <typename Predicate>
std::shared_ptr<NamGrant> find_or_open(nam::Locator const& locator, Predicate fits) {
  std::lock_guard const held(registry_lock);
  std::shared_ptr<NamGrant>& known = registry()[locator.grant];
  if (known != nullptr && fits(*known)) return known;
  // Windows that use the former one keep it.
  known.reset();
  return known = std::make_shared<NamGrant>(locator);
}

}  // namespace

NamGrant::NamGrant(nam::Locator const& locator)
    : locator_{locator.grant, "", locator.address},
      session_(nam::Session::open(locator_)),
      memory_(session_.map()) {
  struct stat status {};
  if (::fstat(memory_.control().descriptor().get(), &status) == 0) control_ = status.st_ino;
}

std::shared_ptr<NamGrant> NamGrant::of(nam::Locator const& locator) {
  return find_or_open(locator, [](NamGrant& known) { return known.is_served(); });
}

std::shared_ptr<NamGrant> NamGrant::of(nam::Locator const& locator, std::uint64_t control) {
  auto found = find_or_open(locator, [=](NamGrant& known) { return known.control() == control; });
  if (found->control() != control)
    throw nam::Error(nam::ErrorCode::unavailable, "the server of the grant was started again meanwhile");
  return found;
}

bool NamGrant::is_served() {
  std::lock_guard const held(lock_);
  try {
    (void)session_.usage();
    return true;
  } catch (nam::Error const&) {
    return false;
  }
}

nam::WindowInfo NamGrant::allocate(std::vector<std::uint64_t> const& sizes,
                                   std::vector<std::uint64_t> const& units, nam::WindowWishes const& wishes) {
  std::lock_guard const held(lock_);
  return session_.allocate(sizes, units, wishes);
}

void NamGrant::release(nam::WindowInfo const& window) {
  std::lock_guard const held(lock_);
  session_.release(window);
}

void NamGrant::persist(nam::WindowInfo const& window) {
  std::lock_guard const held(lock_);
  session_.persist(window);
}

/// The system tells the locks of descriptors apart, not those of one.
std::shared_ptr<nam::SharedControl const> NamGrant::locks_for(nam::SharedControl::Slot slot) {
  std::lock_guard const held(lock_);
  if (windows_[slot]++ == 0) return {std::shared_ptr<void>(), &memory_.control()};
  return std::make_shared<nam::SharedControl const>(memory_.control().reopen());
}

void NamGrant::give_back_locks(nam::SharedControl::Slot slot) {
  std::lock_guard const held(lock_);
  if (--windows_[slot] == 0) windows_.erase(slot);
}

}  // namespace mpix::windows

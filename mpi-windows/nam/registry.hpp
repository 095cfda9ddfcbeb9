/// Objects of one kind that this process uses at memory servers: kept for later windows. It is known by
/// Grant::name_of(locator): the identifier of a grant alone does not tell its server, and anybody can write
/// it into a port name.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "nam/protocol/locator.hpp"

namespace mpixrma::windows {

template <typename Grant>
class GrantRegistry {
 public:
  /// The one of the locator, served or not; nullptr: there is none.
  std::shared_ptr<Grant> known(nam::Locator const& locator) {
    std::lock_guard const held(lock_);
    auto const known = grants_.find(Grant::name_of(locator));
    return known != grants_.end() ? known->second : nullptr;
  }
  /// The one of the locator that is served still; nullptr: there is none.
  std::shared_ptr<Grant> find(nam::Locator const& locator) {
    std::lock_guard const held(lock_);
    auto const known = grants_.find(Grant::name_of(locator));
    return known != grants_.end() && is_served(known->second) ? known->second : nullptr;
  }

  /// The same, if `fits` it, or what `open` makes. Throws what that throws.
  template <typename Predicate, typename Open>
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator, Predicate fits, Open open) {
    std::lock_guard const held(lock_);
    std::shared_ptr<Grant>& known = grants_[Grant::name_of(locator)];
    if (is_served(known) && fits(*known)) return known;
    // Windows that use the former one keep it.
    known.reset();
    return known = open();
  }
  /// The same, or a new one. Throws nam::Error.
  template <typename Predicate>
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator, Predicate fits) {
    return find_or_open(locator, fits, [&] { return std::make_shared<Grant>(locator); });
  }
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator) {
    return find_or_open(locator, [](Grant const&) { return true; });
  }

 private:
  static bool is_served(std::shared_ptr<Grant> const& grant) {
    return grant != nullptr && grant->is_served();
  }

  std::mutex lock_;
  std::map<std::string, std::shared_ptr<Grant>> grants_;
};

}  // namespace mpixrma::windows

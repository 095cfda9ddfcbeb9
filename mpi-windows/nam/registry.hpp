/// A cache of the objects of one kind that this process uses at memory servers. The key is
/// Grant::name_of(locator): the identifier of a grant alone does not identify its server, and anyone can
/// write it into a port name.
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
  /// Returns the object of the locator even if its session has ended, or nullptr.
  std::shared_ptr<Grant> known(nam::Locator const& locator) {
    std::lock_guard const held(lock_);
    auto const known = grants_.find(Grant::name_of(locator));
    return known != grants_.end() ? known->second : nullptr;
  }
  /// Returns the object of the locator if its session is open, or nullptr.
  std::shared_ptr<Grant> find(nam::Locator const& locator) {
    std::lock_guard const held(lock_);
    auto const known = grants_.find(Grant::name_of(locator));
    return known != grants_.end() && is_open(known->second) ? known->second : nullptr;
  }

  /// Returns the object of the locator if its session is open and `fits` accepts the object, or else the
  /// result of `open`, whose exceptions pass through.
  template <typename Predicate, typename Open>
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator, Predicate fits, Open open) {
    std::lock_guard const held(lock_);
    std::shared_ptr<Grant>& known = grants_[Grant::name_of(locator)];
    if (is_open(known) && fits(*known)) return known;
    // Windows that use the previous object keep it alive.
    known.reset();
    return known = open();
  }
  /// As open(), creating the object by its constructor. Throws nam::Error.
  template <typename Predicate>
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator, Predicate fits) {
    return find_or_open(locator, fits, [&] { return std::make_shared<Grant>(locator); });
  }
  std::shared_ptr<Grant> find_or_open(nam::Locator const& locator) {
    return find_or_open(locator, [](Grant const&) { return true; });
  }

 private:
  static bool is_open(std::shared_ptr<Grant> const& grant) { return grant != nullptr && grant->is_open(); }

  std::mutex lock_;
  std::map<std::string, std::shared_ptr<Grant>> grants_;
};

}  // namespace mpixrma::windows

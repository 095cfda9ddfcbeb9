/// Windows that a data process does not have any more, and that are still in the catalog.
#pragma once

#include <set>
#include <string>

#include "nam/server/catalog.hpp"
#include "nam/server/retry.hpp"

namespace mpixrma::nam {

class LostWindows {
 public:
  explicit LostWindows(Catalog& catalog) noexcept : catalog_(catalog) {}

  void add(std::string const& window) { windows_.insert(window); }
  /// Removes the windows from the catalog; tries again later if the catalog cannot be written.
  void remove();

 private:
  Catalog& catalog_;
  std::set<std::string> windows_;
  Retry retry_;
};

}  // namespace mpixrma::nam

/// The engine of a data process: by it, clients that cannot map the memory reach the windows of the grant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/atomic/stripes.hpp"
#include "engine/mpix_engine.h"

namespace mpix::nam {

class DataEngine {
 public:
  /// `interfaces`: where UCX's TCP listens, as in mpix_engine_config. `stripes`: of those who map the memory.
  /// Throws Error(unavailable).
  DataEngine(std::string const& interfaces, engine::StripeTable& stripes);
  ~DataEngine();
  DataEngine(DataEngine const&) = delete;
  DataEngine& operator=(DataEngine const&) = delete;

  /// What admits to all that is exposed.
  std::vector<std::byte> const& address() const noexcept { return address_; }

  /// For all operations; `bytes` is not 0. The exposure's name is not given a second time. Throws Error.
  std::uint64_t expose(std::byte* base, std::uint64_t bytes);
  /// Returns when nobody reaches the memory through it any more.
  void conceal(std::uint64_t exposure) noexcept;

 private:
  mpix_bootstrap bootstrap_{};
  std::string interfaces_;
  std::vector<std::byte> address_;
  mpix_engine_t* engine_ = nullptr;
};

}  // namespace mpix::nam

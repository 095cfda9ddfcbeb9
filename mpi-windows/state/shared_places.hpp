/// Window memory whose address this process was given. A window created on such memory aliases the first
/// window: the memory still belongs to its process, and atomic operations through both windows must exclude
/// each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma::windows {

/// A part of a process's exposure.
struct SharedPlace {
  std::uint64_t process = 0;
  engine::ExposureId exposure{};
  std::uint64_t offset = 0;  ///< offset in the exposure
  std::uint64_t size = 0;    ///< size in bytes
};

/// The places of one window. A search covers all windows of this process.
class SharedPlaces {
 public:
  SharedPlaces() = default;
  ~SharedPlaces();
  SharedPlaces(SharedPlaces const&) = delete;
  SharedPlaces& operator=(SharedPlaces const&) = delete;

  /// Called once for each address.
  void add(void const* local, SharedPlace const& place);
  /// Returns the memory behind these bytes if they lie in a place of any window.
  static std::optional<SharedPlace> find(void const* local, std::size_t bytes);

 private:
  using All = std::multimap<std::uintptr_t, SharedPlace>;  ///< by local address
  struct Registry {
    std::mutex lock;
    All places;
    std::uint64_t largest = 0;  ///< bytes of the largest place ever added
  };
  static Registry& registry();

  std::vector<All::iterator> own_;
};

}  // namespace mpixrma::windows

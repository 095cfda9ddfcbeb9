/// Memory of windows whose address this process was given: where another window is made of it, it is still
/// the memory of the process that has it, and its atomic operations have to meet those through the first
/// window there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/op/operation.hpp"

namespace mpixrma::windows {

/// A part of what a process exposes.
struct SharedPlace {
  std::uint64_t process = 0;
  engine::ExposureId exposure{};
  std::uint64_t offset = 0;  ///< in the exposure
  std::uint64_t size = 0;    ///< bytes
};

/// Those of one window; all that there are in this process can be searched.
class SharedPlaces {
 public:
  SharedPlaces() = default;
  ~SharedPlaces();
  SharedPlaces(SharedPlaces const&) = delete;
  SharedPlaces& operator=(SharedPlaces const&) = delete;

  /// Once for each address.
  void add(void const* local, SharedPlace const& place);
  /// What stands at these bytes, where it is part of a place of any window.
  static std::optional<SharedPlace> find(void const* local, std::size_t bytes);

 private:
  using All = std::multimap<std::uintptr_t, SharedPlace>;  ///< by local address
  struct Registry {
    std::mutex lock;
    All places;
    std::uint64_t largest = 0;  ///< bytes, of all that there were
  };
  static Registry& registry();

  std::vector<All::iterator> own_;
};

}  // namespace mpixrma::windows

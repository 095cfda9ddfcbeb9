/// Window memory of other processes whose address was returned to the program. A window created on such
/// memory aliases the first window: the memory still belongs to the other process, and atomic operations
/// through both windows must exclude each other.
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
struct AliasedMemory {
  std::uint64_t process = 0;
  engine::ExposureId exposure{};
  std::uint64_t offset = 0;  ///< offset in the exposure
  std::uint64_t size = 0;    ///< size in bytes
};

/// The aliased memory of one window. A search covers all windows of this process.
class MemoryAliases {
 public:
  MemoryAliases() = default;
  ~MemoryAliases();
  MemoryAliases(MemoryAliases const&) = delete;
  MemoryAliases& operator=(MemoryAliases const&) = delete;

  /// Has no effect if the window has already added this address.
  void add(void const* local, AliasedMemory const& memory);
  /// Returns the memory that these bytes alias if they lie in memory that any window has added.
  static std::optional<AliasedMemory> find(void const* local, std::size_t bytes);

 private:
  using All = std::multimap<std::uintptr_t, AliasedMemory>;  ///< by local address
  struct Registry {
    std::mutex lock;
    All aliases;
    std::uint64_t largest = 0;  ///< bytes of the largest alias ever added
  };
  static Registry& registry();

  std::vector<All::iterator> own_;
};

}  // namespace mpixrma::windows

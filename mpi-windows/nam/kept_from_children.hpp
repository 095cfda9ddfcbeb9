/// Descriptors that children of fork() must not keep: a child that outlives a killed process would hold its
/// locks at a memory server, and its sessions.
#pragma once

#include <cstddef>

namespace mpixrma::windows {

/// While an object of this class exists, a child that is forked finds /dev/null at the descriptor.
class KeptFromChildren {
 public:
  KeptFromChildren() = default;
  /// Has no effect if very many descriptors are registered already.
  explicit KeptFromChildren(int descriptor) noexcept;
  KeptFromChildren(KeptFromChildren&& other) noexcept;
  KeptFromChildren& operator=(KeptFromChildren&& other) noexcept;
  ~KeptFromChildren();

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::size_t place_ = none;
};

}  // namespace mpixrma::windows

/// Descriptors that children of fork() must not keep: a child that outlives a killed process would hold its
/// locks and sessions at a memory server, and datagrams and connections to it would reach a socket that
/// nobody reads.
#pragma once

#include <cstddef>

#include "engine/base/visibility.h"

namespace mpixrma::engine {

/// While an object of this class exists, a child that is forked finds /dev/null at the descriptor.
class MPIX_ENGINE_API KeptFromChildren {
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

}  // namespace mpixrma::engine

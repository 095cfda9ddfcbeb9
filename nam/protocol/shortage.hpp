/// A lack of descriptors or memory, which may pass: the same call may succeed later.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

/// Whether a call failed with `error` for lack of descriptors, of memory, or of room for descriptors that are
/// in flight between processes of this user (ETOOMANYREFS).
inline bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == ETOOMANYREFS;
}

/// Error(unavailable) for such a lack.
class Shortage : public Error {
 public:
  explicit Shortage(std::string const& text) : Error(ErrorCode::unavailable, text) {}
};

/// Throws Shortage or Error(unavailable), for a call that failed with `error`.
[[noreturn]] inline void throw_unavailable(std::string const& what, int error) {
  std::string const text = what + ": " + std::strerror(error);
  if (is_shortage(error)) throw Shortage(text);
  throw Error(ErrorCode::unavailable, text);
}

}  // namespace mpixrma::nam

/// Why the memory server refuses something: what client and server throw, and what travels in an answer.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace mpixrma::nam {

enum class ErrorCode {
  bad_request,  ///< the arguments make no sense
  denied,       ///< whoever asks may not
  not_found,    ///< there is none, or whoever asks may not know of it
  exists,       ///< the name is taken
  no_space,     ///< the grant, the server or its storage has too little left
  quota,        ///< a limit of the server for a grant, a user or a session
  unsupported,  ///< the server or the storage does not offer it
  unavailable,  ///< nobody answers, or the grant's data process is not there
  malformed,    ///< a message did not pass its checks
  internal,     ///< the server failed; its log says how
  damaged       ///< the catalog is damaged
};

std::string_view to_string(ErrorCode code) noexcept;
ErrorCode error_code(std::string_view name) noexcept;

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string const& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace mpixrma::nam

/// Errors of the memory server, thrown by client and server and sent in answers.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace mpixrma::nam {

enum class ErrorCode {
  bad_request,  ///< invalid arguments
  denied,       ///< the requester has no permission
  not_found,    ///< the object does not exist or is not visible to the requester
  exists,       ///< the name is taken
  no_space,     ///< the grant, the server or its storage has too little space
  quota,        ///< a limit of the server for a grant, a user or a session
  unsupported,  ///< the server or the storage does not offer the feature
  unavailable,  ///< no server answers, or the grant's data process is not running
  malformed,    ///< a message did not pass validation
  internal,     ///< the server failed; its log has the reason
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

/// The audit of requests: administrative acts, and refusals.
#pragma once

#include <string>
#include <string_view>

#include "nam/protocol/error.hpp"
#include "nam/server/audit.hpp"
#include "nam/server/clients.hpp"
#include "nam/server/request.hpp"

namespace mpixrma::nam {

class RequestAudit {
 public:
  RequestAudit(AuditLog& log, Clients& clients) noexcept : log_(log), clients_(clients) {}

  /// Records administrative acts, and requests refused for lack of a right, including refusals that read like
  /// an absent object. `error`: the refusal, or nullptr.
  void audit(std::string const& op, Request const& request, Error const* error);
  /// Records a request of a session that its data process has denied, among the lines of user `counts_for`.
  void record_denied(std::string const& grant, Json const& act, uid_t counts_for);
  /// Records an act of the server itself.
  void record_own(std::string_view what);

 private:
  void record(std::string const& op, Request const& request, std::string_view result,
              std::string_view reason);
  /// Returns the name of the user to whom `uid` is subordinate; empty if there is none.
  std::string account_of(uid_t uid) const;

  AuditLog& log_;
  Clients& clients_;
};

}  // namespace mpixrma::nam

#include "nam/server/request_audit.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace mpixrma::nam {

namespace {

/// Requests that change the objects of a server, or the rights to use them.
constexpr std::array<std::string_view, 8> audited{"grant",     "revoke", "extend", "evict",
                                                  "unpublish", "chmod",  "secret", "rotate_key"};

/// The object of a request.
std::string object_of(Json const& request) {
  std::string text;
  for (char const* const name : {"grant", "port", "window", "name", "user", "owner", "bytes", "mode"}) {
    auto const found = request.find(name);
    if (found == request.end() || found->is_structured()) continue;
    if (!text.empty()) text += ' ';
    text += found->is_string() ? found->get_ref<std::string const&>() : found->dump();
  }
  return text;
}

}  // namespace

void RequestAudit::record(std::string const& op, Request const& request, std::string_view result,
                          std::string_view reason) {
  Client const* const client = clients_.find(request.client);
  if (client == nullptr) return;
  std::string const user = client->identity ? user_name(client->identity->uid) : std::string();
  std::string const account = client->identity ? account_of(client->identity->uid) : std::string();
  log_.record({user, client->from, op, object_of(request.content), result, reason, 0, account});
}

std::string RequestAudit::account_of(uid_t uid) const {
  uid_t const account = clients_.owner_of(uid);
  return account != uid ? user_name(account) : std::string();
}

void RequestAudit::audit(std::string const& op, Request const& request, Error const* error) {
  if (error == nullptr) {
    bool const is_act = std::find(audited.begin(), audited.end(), op) != audited.end();
    if (is_act) record(op, request, "done", "");
  } else if (error->code() == ErrorCode::denied ||
             (request.has_hidden && error->code() == ErrorCode::not_found)) {
    record(op, request, "denied", error->what());
  }
}

void RequestAudit::record_denied(std::string const& grant, Json const& act, uid_t counts_for) {
  auto const request = field<std::string>(act, "request");
  auto const uid = field<uid_t>(act, "uid");
  std::string const account = uid == counts_for ? account_of(uid) : user_name(clients_.owner_of(counts_for));
  log_.record({user_name(uid), "session of grant " + grant, request, field_or<std::string>(act, "window", ""),
               request.empty() ? AuditLog::omitted_acts : "denied", field<std::string>(act, "text"),
               field_or<std::uint64_t>(act, "omitted", 0), account});
}

void RequestAudit::record_own(std::string_view what) {
  log_.record({user_name(::geteuid()), "pid " + std::to_string(::getpid()), what, "", "done"});
}

}  // namespace mpixrma::nam

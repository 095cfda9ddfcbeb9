/// ControlServer: the audit of requests, and dry runs of requests that destroy something.
#include <algorithm>
#include <array>

#include "nam/server/control_server.hpp"

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

void ControlServer::record(ClientId id, std::string const& op, Json const& request, std::string_view result,
                           std::string_view reason) {
  auto const found = clients_.find(id);
  if (found == clients_.end()) return;
  Client const& client = found->second;
  std::string const user = client.identity ? user_name(client.identity->uid) : std::string();
  audit_.record({user, client.from, op, object_of(request), result, reason});
}

/// Records administrative acts, and requests refused for lack of a right, including refusals that read like
/// an absent object.
void ControlServer::audit_request(ClientId id, std::string const& op, Json const& request,
                                  Error const* error) {
  bool const is_hidden = std::exchange(has_hidden_, false);
  if (error == nullptr) {
    bool const is_act = std::find(audited.begin(), audited.end(), op) != audited.end();
    if (is_act) record(id, op, request, "done", "");
  } else if (error->code() == ErrorCode::denied || (is_hidden && error->code() == ErrorCode::not_found)) {
    record(id, op, request, "denied", error->what());
  }
}

void ControlServer::record_own(std::string_view what) {
  audit_.record({user_name(::geteuid()), "pid " + std::to_string(::getpid()), what, "", "done"});
}

/// Answers what the request in "request" would remove, and changes nothing. An earlier server does not know
/// the operation, and rejects it.
Json ControlServer::dry_run(ClientId id, Json const& request) {
  auto const op = field<std::string>(request, "request");
  if (op != "revoke" && op != "evict" && op != "unpublish")
    throw Error(ErrorCode::bad_request, "there is no dry run of '" + op + "'");
  is_dry_run_ = true;
  try {
    Json const answer = (this->*handlers.at(op))(id, request);
    is_dry_run_ = false;
    return answer;
  } catch (...) {
    is_dry_run_ = false;
    throw;
  }
}

}  // namespace mpixrma::nam

#include "nam/server/control_server.hpp"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <utility>

#include "nam/process/log.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/grant_life.hpp"
#include "nam/server/requests.hpp"

namespace mpixrma::nam {

namespace {

constexpr int shutdown_seconds = 5;

using Handler = Json (*)(ServerState&, Request&);

Json dry_run(ServerState& server, Request& request);

/// The requests that require an authenticated user.
std::map<std::string, Handler> const handlers{
    {"repair", &repair},   {"secret", &own_secret}, {"grant", &grant},         {"revoke", &revoke},
    {"extend", &extend},   {"list", &list},         {"show", &show},           {"usage", &usage},
    {"open", &open},       {"connect", &connect},   {"evict", &evict},         {"names", &names},
    {"publish", &publish}, {"lookup", &lookup},     {"unpublish", &unpublish}, {"rotate_key", &rotate_key},
    {"chmod", &chmod},     {"dry_run", &dry_run}};

/// Answers what the request in "request" would remove, and changes nothing. An earlier server does not know
/// the operation, and rejects it.
Json dry_run(ServerState& server, Request& request) {
  auto const op = field<std::string>(request.content, "request");
  if (op != "revoke" && op != "evict" && op != "unpublish")
    throw Error(ErrorCode::bad_request, "there is no dry run of '" + op + "'");
  request.is_dry_run = true;
  return handlers.at(op)(server, request);
}

}  // namespace

ControlServer::ControlServer(Options options, std::function<std::optional<Options>()> reread,
                             MainProcessLink& main_process)
    : reread_(std::move(reread)),
      state_(
          std::move(options), main_process,
          {.request = [this](ClientId id, Message& message) { on_request(id, message); },
           .owns_grant = [this](uid_t uid) { return state_.grants.owned_by(uid); },
           .end_in_queue = [this](ClientId id, Error const& why) { state_.grants.end_in_queue(id, why); }}) {
  log(Severity::info, "the limit of open descriptors is " + std::to_string(state_.descriptor_limit) +
                          ", that of connections " + std::to_string(state_.clients.limit()));
  (void)state_.reserve.ensure();
  if (!enable_interrupted_waits())
    log(Severity::warning,
        "the system has no timer left: descriptors that clients send may delay the server");
  state_.listeners.open(state_.options, main_process, state_.keys);
  EventLoop& loop = state_.loop;
  loop.on_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int signal) { on_signal(signal); });
  loop.every(std::chrono::seconds(1), [this] { tick(); });
  if (state_.options.watch_stdin)
    loop.watch(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) {
      char ignored[256];
      if (::read(STDIN_FILENO, ignored, sizeof ignored) > 0) return;
      state_.loop.forget(STDIN_FILENO);
      end();
    });
  for (Grant const& each : state_.catalog.grants()) start_grant(state_, each, 0);
  end_leftovers(state_);
  GrantFile::sweep(state_.options.storage_directory,
                   [this](std::string const& id) { return state_.grants.find(id) != nullptr; });
}

int ControlServer::run() {
  state_.main_process.notify("READY=1");
  log(Severity::info, "ready at " + nam::format(state_.listeners.address()));
  state_.audit_of_requests.record_own("start");
  state_.loop.run();
  state_.listeners.remove_path();
  return 0;
}

void ControlServer::on_request(ClientId id, Message& message) {
  auto const op = field<std::string>(message.head, "op");
  auto const begin = Retry::Clock::now();
  Request request{id, message.head};
  try {
    Json const answer = answer_to(op, request);
    state_.audit_of_requests.audit(op, request, nullptr);
    if (!answer.is_null()) state_.clients.at(id).connection->post(answer);
  } catch (Error const& error) {
    state_.audit_of_requests.audit(op, request, &error);
    if (!is_delayed(op, error, id)) throw;
    state_.refusals.add({id, begin, error, field_or(message.head, "quiet", false)});
  }
}

/// Whether the error must be delayed, so that its timing does not reveal whether a user or a name exists.
bool ControlServer::is_delayed(std::string const& op, Error const& error, ClientId id) {
  if (op == "prove") return error.code() == ErrorCode::denied;
  return error.code() == ErrorCode::not_found && !state_.clients.identity(id).is_admin;
}

Json ControlServer::answer_to(std::string const& op, Request& request) {
  Client& client = state_.clients.at(request.client);
  if (client.is_local && !client.passed_version_check) check_protocol(request.content);
  client.passed_version_check = true;
  if (op == "hello") return hello(state_, request);
  if (op == "prove") return prove(state_, request);
  if (!client.identity) throw Error(ErrorCode::malformed, "authentication required");
  auto const found = handlers.find(op);
  if (found == handlers.end()) throw Error(ErrorCode::malformed, "there is no request '" + op + "'");
  return found->second(state_, request);
}

void ControlServer::on_signal(int signal) {
  if (signal == SIGHUP) return reread_options();
  if (signal != SIGCHLD) return end();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void ControlServer::reread_options() {
  state_.main_process.notify("RELOADING=1");
  if (auto fresh = reread_()) {
    Options& options = state_.options;
    options.capacity = fresh->capacity;
    options.admins = fresh->admins;
    options.self_service = fresh->self_service;
    options.user_capacity = fresh->user_capacity;
    options.max_windows = fresh->max_windows;
    options.max_regions = fresh->max_regions;
    options.max_sessions = fresh->max_sessions;
    options.lease = fresh->lease;
    options.max_metadata = fresh->max_metadata;
    options.max_connections = fresh->max_connections;
    options.expiry_grace = fresh->expiry_grace;
    options.max_user_grants = fresh->max_user_grants;
    state_.secrets.refresh();
    state_.clients.follow_options();
    state_.grants.for_each([](LiveGrant& live) { live.link->report_admins(); });
    set_log_level(fresh->log_level);
    log(Severity::info, "read the configuration again");
    state_.audit.reopen();
    state_.audit_of_requests.record_own("reload");
  } else {
    log(Severity::error, "the configuration is invalid; the previous one remains in force");
  }
  state_.main_process.notify("READY=1");
}

void ControlServer::end() {
  if (std::exchange(state_.is_ending, true)) return state_.loop.stop();
  state_.main_process.notify("STOPPING=1");
  log(Severity::info, "shutting down");
  state_.audit_of_requests.record_own("end");
  state_.grants.end_all();
  drop_ended(state_);
}

/// Called once a second.
void ControlServer::tick() {
  if (state_.is_ending && ++seconds_ending_ > shutdown_seconds) {
    state_.grants.abandon_storing();
    return state_.loop.stop();
  }
  state_.grants.tick();
  state_.clients.end_unauthenticated();
  if (state_.is_ending) return;
  end_expired(state_);
  try {
    state_.keys.drop_expired(state_.calendar.now());
  } catch (Error const& error) {
    log(Severity::warning, error.what());  // expired keys are dropped from memory in any case
  }
  drop_ended(state_);
  state_.lost_windows.remove();
  state_.audit.report_omitted();
  state_.grant_lines.report_omitted();
  (void)state_.reserve.ensure();
}

}  // namespace mpixrma::nam

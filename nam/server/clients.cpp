/// ControlServer: connections of clients, and the users at their other end.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

#include "nam/process/log.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/control_server.hpp"

namespace mpixrma::nam {

namespace {

constexpr ChannelLimits stranger_limits{.head_bytes = 4096, .data_bytes = 0, .descriptors = 0};
constexpr ChannelLimits client_limits{.head_bytes = 16384, .data_bytes = 0, .descriptors = 0};
constexpr std::chrono::milliseconds shortage_pause{100};
constexpr std::chrono::milliseconds refusal_period{10};
/// Connections that are taken before others have their turn. Few if others wait: a host that connects fast
/// would delay the answers to its own connections until they end.
constexpr int max_taken = 16;
constexpr int max_taken_before_turns = 2;
constexpr std::chrono::seconds longest_unauthenticated{2};
/// A host that is silent for longer may have died, and its user needs the place.
constexpr std::chrono::seconds longest_silence{60};

Error lost_place() {
  return {ErrorCode::quota,
          "the server has as many connections as it may have, and this user has most of them: another user's "
          "takes the place"};
}

/// The name of a user for shares and turns.
std::string share_of(uid_t uid) { return "user " + std::to_string(uid); }

}  // namespace

std::map<std::string, ControlServer::Handler> const ControlServer::handlers{
    {"repair", &ControlServer::repair},       {"secret", &ControlServer::own_secret},
    {"grant", &ControlServer::grant},         {"revoke", &ControlServer::revoke},
    {"extend", &ControlServer::extend},       {"list", &ControlServer::list},
    {"show", &ControlServer::show},           {"usage", &ControlServer::usage},
    {"open", &ControlServer::open},           {"connect", &ControlServer::connect},
    {"evict", &ControlServer::evict},         {"names", &ControlServer::names},
    {"publish", &ControlServer::publish},     {"lookup", &ControlServer::lookup},
    {"unpublish", &ControlServer::unpublish}, {"rotate_key", &ControlServer::rotate_key},
    {"chmod", &ControlServer::chmod},         {"dry_run", &ControlServer::dry_run}};

void ControlServer::take_connections(FileDescriptor const& listener) {
  int const most = loop_.has_turns() ? max_taken_before_turns : max_taken;
  for (int taken = 0; taken < most; ++taken) {
    FileDescriptor socket = accept_from(listener);
    if (socket) {
      admit(std::move(socket));
      continue;
    }
    if (!is_shortage(errno)) return;
    // The connections wait in the queue of the listener.
    loop_.pause(listener.get(), shortage_pause);
    auto const now = Retry::Clock::now();
    if (!shortage_log_.is_due(now)) return;
    shortage_log_.note_failure(now);
    return log(Severity::error, std::string("cannot take connections now: ") + std::strerror(errno));
  }
}

void ControlServer::admit(FileDescriptor socket) {
  Client client;
  auto const credentials = credentials_of(socket);
  client.is_local = credentials.has_value();
  client.from = describe_peer(socket);
  if (!credentials) bound_silence(socket, longest_silence);
  client.admitted_at = Retry::Clock::now();
  std::string const peer =
      credentials ? share_of(subordinates_.owner_of(credentials->uid)) : host_of_peer(socket);
  Standing const standing = credentials ? standing_of(credentials->uid) : Standing::unauthenticated;
  ClientId const id = next_client_++;
  try {
    client.place = admission_.admit({peer, standing, id});
  } catch (Error const& error) {
    Channel channel(std::move(socket), stranger_limits);
    channel.post(to_answer(error));
    (void)channel.flush();
    return;
  }
  if (credentials) {
    client.identity = identities_.of(credentials->uid, credentials->gid);
    client.identity->is_admin = is_admin(credentials->uid);
  }
  Channel channel(std::move(socket), client.is_local ? client_limits : stranger_limits);
  if (client.identity) channel.set_account(account_of(*client.identity));
  client.connection = std::make_unique<Connection>(
      loop_, std::move(channel), [this, id](Message& message) { on_request(id, message); },
      [this, id] { loop_.later([this, id] { clients_.erase(id); }); });
  client.connection->serve_in_turn(peer);
  clients_.emplace(id, std::move(client));
}

Standing ControlServer::standing_of(uid_t uid) const {
  if (is_admin(uid)) return Standing::administrator;
  bool const is_owner = std::any_of(grants_.begin(), grants_.end(),
                                    [&](auto const& entry) { return entry.second.grant.owner == uid; });
  return is_owner ? Standing::owner : Standing::user;
}

/// Ends a connection in favour of another one, also one that waits for its data process. Its descriptor is
/// closed after the events that have been fetched: a new connection with the same descriptor number would
/// receive them.
void ControlServer::give_way(ClientId id) {
  auto const found = clients_.find(id);
  if (found == clients_.end() || !found->second.place) return give_way_in_queue(id);
  Client& client = found->second;
  client.connection->post(to_answer(
      client.identity
          ? lost_place()
          : Error(ErrorCode::quota, "the server has too many connections that have not authenticated")));
  client.place = {};
  client.connection->close();
}

void ControlServer::give_way_in_queue(ClientId id) {
  for (auto& [grant, live] : grants_) {
    if (live.link->give_way(id, lost_place())) return;
  }
  for (auto const& link : ending_) {
    if (link->give_way(id, lost_place())) return;
  }
}

/// Counts the connection as its user's from now on. A connection without a place would count for no user,
/// and the number of such connections would not be limited.
void ControlServer::authenticate(ClientId id, Identity identity) {
  Client& client = clients_.at(id);
  std::string const share = share_of(subordinates_.owner_of(identity.uid));
  client.place = admission_.admit({share, standing_of(identity.uid), id}, std::move(client.place));
  client.identity = std::move(identity);
  client.connection->serve_in_turn(share);
  client.connection->set_account(account_of(*client.identity));
}

/// The server keeps the answers of a client that does not read them.
KeptBytes::Account ControlServer::account_of(Identity const& identity) {
  return account_in(kept_answers_, {subordinates_.owner_of(identity.uid), identity.is_admin});
}

/// Called once a second.
void ControlServer::end_unauthenticated() {
  auto const latest = Retry::Clock::now() - longest_unauthenticated;
  for (auto& [id, client] : clients_) {
    if (!client.identity && client.admitted_at < latest) client.connection->close();
  }
}

/// Their next connections have the rights, and the places, of other users.
void ControlServer::end_former_admins() {
  for (auto& [id, client] : clients_) {
    if (client.identity && client.identity->is_admin && !is_admin(client.identity->uid))
      client.connection->close();
  }
  for (auto const& [id, live] : grants_) live.link->report_admins();
}

/// Sockets of clients may take three quarters of the descriptors: grants and the catalog need the others.
std::size_t ControlServer::max_connections() const {
  return std::min<std::size_t>(options_.max_connections, descriptor_limit_ - descriptor_limit_ / 4);
}

std::vector<uid_t> ControlServer::admins() const {
  std::vector<uid_t> all{0, ::geteuid()};
  all.insert(all.end(), options_.admins.begin(), options_.admins.end());
  return all;
}

bool ControlServer::is_admin(uid_t uid) const {
  std::vector<uid_t> const all = admins();
  return std::find(all.begin(), all.end(), uid) != all.end();
}

void ControlServer::on_request(ClientId id, Message& message) {
  auto const op = field<std::string>(message.head, "op");
  auto const begin = Retry::Clock::now();
  try {
    Json const answer = answer_to(id, op, message.head);
    audit_request(id, op, message.head, nullptr);
    if (!answer.is_null()) clients_.at(id).connection->post(answer);
  } catch (Error const& error) {
    audit_request(id, op, message.head, &error);
    if (error.code() != ErrorCode::not_found || identity(id).is_admin) throw;
    refuse_later({id, begin, error, field_or(message.head, "quiet", false)});
  }
}

/// To find out that an object is absent, or hidden from the user, takes different times. The answers are
/// delayed so that they come at the same time.
void ControlServer::refuse_later(Refusal refusal) {
  for (auto const now = Retry::Clock::now(); refusal.due <= now;) refusal.due += refusal_period;
  clients_.at(refusal.client).connection->pause();
  refusals_.emplace(refusal.due, std::move(refusal));
  if (refusal_timer_ < 0) refusal_timer_ = loop_.add_timer([this] { send_refusals(); });
  EventLoop::start_timer(refusal_timer_, refusals_.begin()->first - Retry::Clock::now());
}

void ControlServer::send_refusals() {
  auto const end = refusals_.upper_bound(Retry::Clock::now());
  std::vector<Refusal> due;
  std::transform(refusals_.begin(), end, std::back_inserter(due), [](auto& entry) { return entry.second; });
  refusals_.erase(refusals_.begin(), end);
  for (Refusal const& each : due) {
    auto const client = clients_.find(each.client);
    if (client == clients_.end()) continue;
    if (!each.is_quiet) client->second.connection->post(to_answer(each.error));
    client->second.connection->resume();
  }
  if (!refusals_.empty())
    EventLoop::start_timer(refusal_timer_, refusals_.begin()->first - Retry::Clock::now());
}

/// Answers a client whose request has paused its connection; nothing if the client is gone. Its next request
/// may be any other one, and is served after the current one.
void ControlServer::answer_paused(ClientId id, Json const& answer) {
  auto const client = clients_.find(id);
  if (client == clients_.end()) return;
  client->second.connection->post(answer);
  loop_.later([this, id] {
    if (auto const found = clients_.find(id); found != clients_.end()) found->second.connection->resume();
  });
}

Json ControlServer::answer_to(ClientId id, std::string const& op, Json const& request) {
  Client& client = clients_.at(id);
  if (client.is_local && !client.has_version) check_protocol(request);
  client.has_version = true;
  if (op == "hello") return hello(id, request);
  if (op == "prove") return prove(id, request);
  if (!client.identity) throw Error(ErrorCode::malformed, "authentication required");
  auto const found = handlers.find(op);
  if (found == handlers.end()) throw Error(ErrorCode::malformed, "there is no request '" + op + "'");
  return (this->*found->second)(id, request);
}

/// Over a Unix socket the system has reported the user.
Json ControlServer::hello(ClientId id, Json const& request) {
  Client& client = clients_.at(id);
  if (!client.identity) return begin_session(id, request);
  return {{"user", user_name(client.identity->uid)}, {"admin", client.identity->is_admin}};
}

/// Over TCP everything is encrypted after this answer.
Json ControlServer::begin_session(ClientId id, Json const& request) {
  Client& client = clients_.at(id);
  if (client.transcript) throw Error(ErrorCode::malformed, "the session has begun already");
  ServerHandshake const made = ServerHandshake::answer_to(
      request,
      [this](std::optional<PublicKey> const& expected) -> KeyPair const& { return keys_.find(expected); });
  client.connection->post(made.answer);
  client.connection->protect(SecureStream(made.session.keys));
  client.transcript = made.session.transcript;
  return nullptr;
}

/// The answer does not reveal whether a user is unknown, has no secret, or has another secret. A failure ends
/// the connection: each attempt takes a handshake. The user database is queried only about users who have
/// proved their identity.
Json ControlServer::prove(ClientId id, Json const& request) {
  Client& client = clients_.at(id);
  if (client.identity || !client.transcript)
    throw Error(ErrorCode::malformed, "a proof without the beginning of a session");
  close_after_answer(id);
  Transcript const transcript = *std::exchange(client.transcript, std::nullopt);
  auto const user = field<std::string>(request, "user");
  auto const holder = secrets_.find(user);
  UserSecret const secret = holder ? holder->secret : random_secret();
  bool const proven =
      is_proof(secret, Prover::client, user, transcript, field<std::string>(request, "proof")) && holder;
  auto identity = proven ? identity_of(user) : std::nullopt;
  if (!identity || identity->uid != holder->uid)
    throw Error(ErrorCode::denied, "authentication of user '" + user +
                                       "' failed: wrong secret, or none was made with 'mpix-nam secret'");
  identity->is_admin = is_admin(identity->uid);
  authenticate(id, std::move(*identity));
  client.connection->set_limits(client_limits);
  return {{"proof", make_proof(secret, Prover::server, user, transcript)},
          {"user", user},
          {"admin", client.identity->is_admin},
          {"key", address_.key}};
}

/// Does nothing if the user is authenticated by then.
void ControlServer::close_after_answer(ClientId id) {
  loop_.later([this, id] {
    auto const found = clients_.find(id);
    if (found != clients_.end() && !found->second.identity) found->second.connection->close_when_sent();
  });
}

/// The secret is only shown to the user himself, on this host.
Json ControlServer::own_secret(ClientId id, Json const&) {
  if (!clients_.at(id).is_local)
    throw Error(ErrorCode::denied, "the secret is shown on the server's host only");
  return {{"secret", to_hex(secrets_.of(identity(id).uid))}, {"address", nam::format(address_)}};
}

}  // namespace mpixrma::nam

#include "nam/server/control_server.hpp"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "nam/process/log.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"
#include "nam/server/catalog_files.hpp"

namespace mpixrma::nam {

namespace {

constexpr ChannelLimits stranger_limits{.head_bytes = 4096, .data_bytes = 0, .descriptors = 0};
constexpr ChannelLimits client_limits{.head_bytes = 16384, .data_bytes = 0, .descriptors = 0};
constexpr std::chrono::milliseconds shortage_pause{100};
constexpr std::chrono::seconds longest_unauthenticated{2};
constexpr std::chrono::seconds longest_silence{
    60};  ///< of a host that may have died: its user needs the place
constexpr std::chrono::seconds longest_wait_for_directory{3};
constexpr int longest_end = 5;  ///< seconds
constexpr std::size_t least_lingering = 256;

void make_private(std::filesystem::path const& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error || ::chmod(directory.c_str(), S_IRWXU) != 0)
    throw Error(ErrorCode::bad_request,
                "cannot use the directory " + directory.string() + ": " + std::strerror(errno));
}

/// The directory is this server's, and its own.
FileDescriptor take_directory(Options const& options) {
  make_private(options.directory);
  make_private(options.directory / "run");
  if (options.storage == StorageKind::file) {
    std::error_code error;
    // Only this server makes files there.
    if (std::filesystem::create_directories(options.storage_directory, error))
      (void)::chmod(options.storage_directory.c_str(), S_IRWXU);
  }
  // The control process of a server that was killed is about to end, too.
  auto const end = std::chrono::steady_clock::now() + longest_wait_for_directory;
  for (;;) {
    try {
      return lock_directory(options.directory);
    } catch (Error const& error) {
      if (error.code() != ErrorCode::exists || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

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

ControlServer::ControlServer(Options options, std::function<std::optional<Options>()> reread,
                             SpawnerLink& spawner)
    : options_(std::move(options)),
      reread_(std::move(reread)),
      spawner_(spawner),
      lock_(take_directory(options_)),
      keys_(options_.directory / "server.key"),
      reserve_(options_.directory / "reserve"),
      catalog_(options_.directory / "catalog.sqlite", &reserve_),
      audit_(options_.audit_log),
      descriptor_limit_(raise_descriptor_limit()),
      admission_(most_connections()) {
  log(Severity::info, "the limit of open descriptors is " + std::to_string(descriptor_limit_) +
                          ", that of connections " + std::to_string(admission_.limit()));
  (void)reserve_.take();
  if (!enable_interrupted_waits())
    log(Severity::warning,
        "the system has no timer left: descriptors that clients send may delay the server");
  open_listeners();
  loop_.on_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int signal) { on_signal(signal); });
  loop_.every(std::chrono::seconds(1), [this] { tick(); });
  if (options_.watch_stdin)
    loop_.watch(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) {
      char ignored[256];
      if (::read(STDIN_FILENO, ignored, sizeof ignored) > 0) return;
      loop_.forget(STDIN_FILENO);
      end();
    });
  for (Grant const& each : catalog_.grants()) start(each, 0);
  GrantFile::sweep(options_.storage_directory,
                   [this](std::string const& id) { return grants_.contains(id); });
}

int ControlServer::run() {
  spawner_.notify("READY=1");
  log(Severity::info, "ready at " + nam::format(address_));
  record_own("start");
  loop_.run();
  if (!address_.unix_path.empty()) ::unlink(address_.unix_path.c_str());
  return 0;
}

void ControlServer::open_listeners() {
  address_.unix_path = options_.socket;
  address_.host = options_.advertise;
  for (SpawnerLink::Listener& each : spawner_.take_listeners()) {
    add_listener(std::move(each.socket));
    if (address_.host.empty()) address_.host = each.host;
  }
  bool const inherited = !listeners_.empty();
  if (!inherited) {
    std::filesystem::path const parent = std::filesystem::path(options_.socket).parent_path();
    std::error_code ignored;
    if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
    // Who connects is asked who he is.
    add_listener(listen_unix(options_.socket, 0666));
    spawner_.keep_listener(listeners_.back(), "");
  }
  for (std::string const& endpoint : inherited ? std::vector<std::string>() : options_.listen) {
    try {
      FileDescriptor listener = listen_tcp(endpoint);
      address_.port = port_of(listener);
      std::string const host = endpoint.substr(0, endpoint.rfind(':'));
      if (address_.host.empty()) address_.host = host;
      spawner_.keep_listener(listener, host);
      add_listener(std::move(listener));
    } catch (Error const& error) {
      if (options_.listen_given) throw;
      log(Severity::warning, std::string("no TCP: ") + error.what());
    }
  }
  if (address_.port != 0 && (address_.host.empty() || address_.host == "0.0.0.0")) {
    char name[256] = {};
    (void)::gethostname(name, sizeof name - 1);
    address_.host = name;
  }
  if (address_.port != 0) address_.key = to_text(keys_.current().public_key);
  (void)format(Locator{std::string(32, '0'), std::string(32, '0'), address_});  // is short enough
}

void ControlServer::add_listener(FileDescriptor listener) {
  int const fd = listener.get();
  refuse_descriptors(listener);
  listeners_.push_back(std::move(listener));
  FileDescriptor const& kept = listeners_.back();
  if (std::uint16_t const port = port_of(kept); port != 0) address_.port = port;
  loop_.watch(fd, EPOLLIN,
              [this, index = listeners_.size() - 1](std::uint32_t) { take_connections(listeners_[index]); });
}

void ControlServer::take_connections(FileDescriptor const& listener) {
  for (int taken = 0; taken < 64; ++taken) {
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

namespace {

/// The name of a user for shares and turns.
std::string share_of(uid_t uid) { return "user " + std::to_string(uid); }

}  // namespace

void ControlServer::admit(FileDescriptor socket) {
  Client client;
  auto const credentials = credentials_of(socket);
  client.is_local = credentials.has_value();
  client.from = describe_peer(socket);
  if (!credentials) bound_silence(socket, longest_silence);
  client.admitted_at = Retry::Clock::now();
  std::string const peer = credentials ? share_of(credentials->uid) : host_of_peer(socket);
  try {
    client.place =
        admission_.admit(peer, credentials ? standing_of(credentials->uid) : Standing::unauthenticated);
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
  ClientId const id = next_client_++;
  client.connection = std::make_unique<Connection>(
      loop_, Channel(std::move(socket), client.is_local ? client_limits : stranger_limits),
      [this, id](Message& message) { on_request(id, message); },
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

/// From here on the connection counts for its user.
void ControlServer::authenticated(Client& client) {
  uid_t const uid = client.identity->uid;
  client.place = admission_.admit(share_of(uid), standing_of(uid), std::move(client.place));
  client.connection->serve_in_turn(share_of(uid));
}

/// Once a second.
void ControlServer::end_unauthenticated() {
  auto const latest = Retry::Clock::now() - longest_unauthenticated;
  for (auto& [id, client] : clients_) {
    if (!client.identity && client.admitted_at < latest) client.connection->close();
  }
}

/// Sockets of clients take three quarters of the descriptors at most: grants and the catalog need the others.
std::size_t ControlServer::most_connections() const {
  return std::min<std::size_t>(options_.max_connections, descriptor_limit_ - descriptor_limit_ / 4);
}

bool ControlServer::is_admin(uid_t uid) const {
  return uid == 0 || uid == ::geteuid() ||
         std::find(options_.admins.begin(), options_.admins.end(), uid) != options_.admins.end();
}

void ControlServer::on_request(ClientId id, Message& message) {
  auto const op = field<std::string>(message.head, "op");
  try {
    Json const answer = answer_to(id, op, message.head);
    audit_request(id, op, message.head, nullptr);
    if (!answer.is_null()) clients_.at(id).connection->post(answer);
  } catch (Error const& error) {
    audit_request(id, op, message.head, &error);
    throw;
  }
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

/// Over a Unix socket the system has told who it is.
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

/// Who is unknown, and who has no secret, learns no more than who has the wrong one.
Json ControlServer::prove(ClientId id, Json const& request) {
  Client& client = clients_.at(id);
  if (client.identity || !client.transcript)
    throw Error(ErrorCode::malformed, "a proof without the beginning of a session");
  Transcript const transcript = *std::exchange(client.transcript, std::nullopt);
  auto const user = field<std::string>(request, "user");
  auto identity = identity_of(user);
  std::optional<UserSecret> secret;
  if (identity) secret = read_secret(options_.directory / "secrets" / std::to_string(identity->uid));
  bool const proven = is_proof(secret.value_or(random_secret()), Prover::client, user, transcript,
                               field<std::string>(request, "proof"));
  if (!proven || !secret)
    throw Error(ErrorCode::denied, "authentication of user '" + user +
                                       "' failed: wrong secret, or none was made with 'mpix-nam secret'");
  identity->is_admin = is_admin(identity->uid);
  client.identity = std::move(identity);
  try {
    authenticated(client);
  } catch (Error const& error) {
    // Without a place it counts for nobody: there would be no bound to connections like this one.
    client.identity.reset();
    client.connection->post(to_answer(error));
    client.connection->close_when_sent();
    return nullptr;
  }
  client.connection->set_limits(client_limits);
  return {{"proof", make_proof(*secret, Prover::server, user, transcript)},
          {"user", user},
          {"admin", client.identity->is_admin},
          {"key", address_.key}};
}

/// Made at the first request, and only shown to the user himself, on this host.
Json ControlServer::own_secret(ClientId id, Json const&) {
  if (!clients_.at(id).is_local)
    throw Error(ErrorCode::denied, "the secret is shown on the server's host only");
  std::filesystem::path const file = options_.directory / "secrets" / std::to_string(identity(id).uid);
  auto secret = read_secret(file);
  if (!secret) {
    secret = random_secret();
    write_secret(file, *secret);
  }
  return {{"secret", to_hex(*secret)}, {"address", nam::format(address_)}};
}

/// Clients that come while the key before is accepted are told the new one.
Json ControlServer::rotate_key(ClientId id, Json const& request) {
  if (!identity(id).is_admin)
    throw Error(ErrorCode::denied, "only administrators of the server change its key");
  keys_.rotate(calendar_.now() + static_cast<std::int64_t>(field<std::uint32_t>(request, "overlap")));
  std::string const key = to_text(keys_.current().public_key);
  if (address_.port != 0) address_.key = key;
  log(Severity::info, "the server has a new key: " + key);
  return {{"key", key}};
}

void ControlServer::on_signal(int signal) {
  if (signal == SIGHUP) return reread_options();
  if (signal != SIGCHLD) return end();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void ControlServer::reread_options() {
  spawner_.notify("RELOADING=1");
  if (auto fresh = reread_()) {
    options_.capacity = fresh->capacity;
    options_.admins = fresh->admins;
    options_.self_service = fresh->self_service;
    options_.user_capacity = fresh->user_capacity;
    options_.max_windows = fresh->max_windows;
    options_.max_regions = fresh->max_regions;
    options_.max_sessions = fresh->max_sessions;
    options_.lease = fresh->lease;
    options_.max_metadata = fresh->max_metadata;
    options_.max_connections = fresh->max_connections;
    options_.expiry_grace = fresh->expiry_grace;
    options_.max_user_grants = fresh->max_user_grants;
    admission_.set_limit(most_connections());
    set_log_level(fresh->log_level);
    log(Severity::info, "read the configuration again");
    audit_.reopen();
    record_own("reload");
  } else {
    log(Severity::error, "the configuration is wrong; the one before stays");
  }
  spawner_.notify("READY=1");
}

void ControlServer::end() {
  if (std::exchange(is_ending_, true)) return loop_.stop();
  spawner_.notify("STOPPING=1");
  log(Severity::info, "ends");
  record_own("end");
  for (auto& [id, live] : grants_) ending_.push_back(std::move(live.link));
  grants_.clear();
  for (auto const& link : ending_) link->end(true);
  drop_ended();
}

/// Data processes that were to end.
void ControlServer::drop_ended() {
  for (auto const& link : ending_) link->enforce_end();
  answer_revocations();
  std::erase_if(ending_, [this](auto const& link) {
    return link->has_ended() && (is_ending_ || link->release_memory());
  });
  // Their descriptors are the price for knowing what their clients use: not for all, where there are many.
  auto const most_lingering = static_cast<std::ptrdiff_t>(std::max(least_lingering, descriptor_limit_ / 16));
  auto lingering =
      std::count_if(ending_.begin(), ending_.end(), [](auto const& link) { return link->has_ended(); });
  std::erase_if(ending_, [&](auto const& link) { return link->has_ended() && lingering-- > most_lingering; });
  if (is_ending_ && ending_.empty()) loop_.stop();
}

/// Once a second.
void ControlServer::tick() {
  if (is_ending_ && ++seconds_ending_ > longest_end) return loop_.stop();
  for (auto& [id, live] : grants_) live.link->tick();
  end_unauthenticated();
  if (is_ending_) return;
  end_expired();
  try {
    keys_.drop_expired(calendar_.now());
  } catch (Error const& error) {
    log(Severity::warning, error.what());  // they are not accepted in any case
  }
  drop_ended();
  remove_lost_windows();
  (void)reserve_.take();
}

}  // namespace mpixrma::nam

#include "nam/server/clients.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "nam/protocol/socket.hpp"
#include "nam/server/audit.hpp"

namespace mpixrma::nam {

namespace {

constexpr ChannelLimits unauthenticated_limits{.head_bytes = 4096, .data_bytes = 0, .descriptors = 0};
constexpr ChannelLimits client_limits{.head_bytes = 16384, .data_bytes = 0, .descriptors = 0};
/// The server answers all connections that it keeps of a host within this time, even with a small share of a
/// core.
constexpr std::chrono::milliseconds min_stay{1000};
/// Places for unauthenticated connections of all hosts together, whatever --max-connections is; fewer if the
/// limit of descriptors is low.
constexpr std::size_t min_unauthenticated_connections = 1024;
constexpr std::chrono::seconds longest_unauthenticated{2};
/// A host that is silent for longer may have died, and its user needs the place.
constexpr std::chrono::seconds longest_silence{60};
constexpr std::uint64_t max_kept_answers = 64u << 20;

Error lost_place() {
  return {ErrorCode::quota,
          "the server has as many connections as it may have, and this user has most of them: another user's "
          "takes the place"};
}

/// The name of a user for shares and turns.
std::string share_name(uid_t uid) { return "user " + std::to_string(uid); }

}  // namespace

Clients::Clients(EventLoop& loop, Options const& options, std::size_t descriptor_limit, Events events)
    : loop_(loop),
      options_(options),
      descriptor_limit_(descriptor_limit),
      events_(std::move(events)),
      admission_(
          max_connections(), [this](ClientId id) { give_way(id); }, min_stay,
          std::min(min_unauthenticated_connections, descriptor_limit / 16)),
      kept_answers_("bytes of messages", max_kept_answers) {}

Client* Clients::find(ClientId id) {
  auto const found = clients_.find(id);
  return found != clients_.end() ? &found->second : nullptr;
}

void Clients::remove_later(ClientId id) {
  loop_.later([this, id] { clients_.erase(id); });
}

void Clients::admit(FileDescriptor socket) {
  Client client;
  auto const credentials = credentials_of(socket);
  client.is_local = credentials.has_value();
  client.from = describe_peer(socket);
  if (!credentials) bound_silence(socket, longest_silence);
  client.admitted_at = Retry::Clock::now();
  std::string const peer = credentials ? share_name(owner_of(credentials->uid)) : host_of_peer(socket);
  Standing const standing = credentials ? standing_of(credentials->uid) : Standing::unauthenticated;
  ClientId const id = next_client_++;
  try {
    client.place = admission_.admit({peer, standing, id});
  } catch (Error const& error) {
    Channel channel(std::move(socket), unauthenticated_limits);
    channel.post(to_answer(error));
    (void)channel.flush();
    return;
  }
  if (credentials) {
    client.identity = identities_.of(credentials->uid, credentials->gid);
    client.identity->is_admin = is_admin(credentials->uid);
  }
  Channel channel(std::move(socket), client.is_local ? client_limits : unauthenticated_limits);
  if (client.identity) channel.set_account(account_of(*client.identity));
  client.connection = std::make_unique<Connection>(
      loop_, std::move(channel), [this, id](Message& message) { events_.request(id, message); },
      [this, id] { remove_later(id); });
  client.connection->serve_in_turn(peer);
  clients_.emplace(id, std::move(client));
}

Standing Clients::standing_of(uid_t uid) const {
  if (is_admin(uid)) return Standing::administrator;
  return events_.owns_grant(uid) ? Standing::owner : Standing::user;
}

/// Ends a connection, which may wait for its data process, in favour of another one. The descriptor is closed
/// only after the fetched events are handled: otherwise a new connection with the same descriptor number
/// would receive them.
void Clients::give_way(ClientId id) {
  Client* const found = find(id);
  if (found == nullptr || !found->place) return events_.end_in_queue(id, lost_place());
  Client& client = *found;
  client.connection->post(to_answer(
      client.identity
          ? lost_place()
          : Error(ErrorCode::quota, "the server has too many connections that have not authenticated")));
  client.place = {};
  client.connection->close();
}

/// Counts the connection as its user's from now on. A connection without a place would count for no user,
/// and the number of such connections would not be limited.
void Clients::authenticate(ClientId id, Identity identity) {
  Client& client = clients_.at(id);
  std::string const share = share_name(owner_of(identity.uid));
  client.place = admission_.admit({share, standing_of(identity.uid), id}, std::move(client.place));
  client.identity = std::move(identity);
  client.connection->serve_in_turn(share);
  client.connection->set_account(account_of(*client.identity));
  client.connection->set_limits(client_limits);
}

/// The server stores the answers that a client does not read, and charges them to the client's user.
KeptBytes::Account Clients::account_of(Identity const& identity) {
  return account_in(kept_answers_, {owner_of(identity.uid), identity.is_admin});
}

/// Called once a second.
void Clients::end_unauthenticated() {
  auto const latest = Retry::Clock::now() - longest_unauthenticated;
  for (auto& [id, client] : clients_) {
    if (!client.identity && client.admitted_at < latest) client.connection->close();
  }
}

void Clients::follow_options() {
  subordinates_.refresh();
  admission_.set_limit(max_connections());
  for (auto& [id, client] : clients_) {
    if (client.identity && client.identity->is_admin && !is_admin(client.identity->uid))
      client.connection->close();
  }
}

/// Sockets of clients may take three quarters of the descriptors: grants and the catalog need the others.
std::size_t Clients::max_connections() const {
  return std::min<std::size_t>(options_.max_connections, descriptor_limit_ - descriptor_limit_ / 4);
}

std::vector<uid_t> Clients::admins() const {
  std::vector<uid_t> all{0, ::geteuid()};
  all.insert(all.end(), options_.admins.begin(), options_.admins.end());
  return all;
}

bool Clients::is_admin(uid_t uid) const {
  std::vector<uid_t> const all = admins();
  return std::find(all.begin(), all.end(), uid) != all.end();
}

void Clients::answer_paused(ClientId id, Json const& answer) {
  Client* const client = find(id);
  if (client == nullptr) return;
  client->connection->post(answer);
  loop_.later([this, id] {
    if (Client* const found = find(id)) found->connection->resume();
  });
}

void Clients::close_after_answer(ClientId id) {
  loop_.later([this, id] {
    Client* const found = find(id);
    if (found == nullptr || found->identity || found->connection->is_paused()) return;
    found->connection->close_when_sent();
  });
}

}  // namespace mpixrma::nam

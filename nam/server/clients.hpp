/// Connections of clients to the control process, and the users at their other end.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nam/data/shares.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/connection.hpp"
#include "nam/process/identity.hpp"
#include "nam/process/subordinate_users.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/server/options.hpp"
#include "nam/server/request.hpp"
#include "nam/server/retry.hpp"

namespace mpixrma::nam {

struct Client {
  Admission::Place place;  ///< given back after the connection has gone
  std::unique_ptr<Connection> connection;
  Retry::Clock::time_point admitted_at;
  bool is_local = false;
  std::optional<Identity> identity;      ///< once it is known
  std::optional<Transcript> transcript;  ///< over TCP, until the user is known
  std::string from;                      ///< as in describe_peer()
  bool passed_version_check = false;     ///< its first request was this version's
};

class Clients {
 public:
  struct Events {
    std::function<void(ClientId, Message&)> request;
    /// Whether the user owns a grant.
    std::function<bool(uid_t)> owns_grant;
    /// Ends a connection that waits for its data process.
    std::function<void(ClientId, Error const&)> end_in_queue;
  };

  /// `descriptor_limit`: of the process.
  Clients(EventLoop& loop, Options const& options, std::size_t descriptor_limit, Events events);
  Clients(Clients const&) = delete;
  Clients& operator=(Clients const&) = delete;

  void admit(FileDescriptor socket);
  /// Counts the connection as one of this user from now on, and permits larger requests.
  void authenticate(ClientId id, Identity identity);

  /// nullptr: the client is gone.
  Client* find(ClientId id);
  Client& at(ClientId id) { return clients_.at(id); }
  Identity const& identity(ClientId id) const { return *clients_.at(id).identity; }
  void pause(ClientId id) { at(id).connection->pause(); }
  /// Answers a client whose request has paused its connection, and resumes the connection after the current
  /// event. Does nothing if the client is gone.
  void answer_paused(ClientId id, Json const& answer);
  /// Closes the connection when the answer to the current request is sent. Does nothing if the user is
  /// authenticated by then, or the answer is delayed (Refusals).
  void close_after_answer(ClientId id);
  /// Removes a client after the current event.
  void remove_later(ClientId id);

  bool is_admin(uid_t uid) const;
  std::vector<uid_t> admins() const;
  /// Returns the user whose share `uid` uses: `uid`, or the user to whom it is subordinate.
  uid_t owner_of(uid_t uid) const noexcept { return subordinates_.owner_of(uid); }
  std::size_t count() const noexcept { return admission_.count(); }
  std::size_t limit() const noexcept { return admission_.limit(); }
  /// Called when the options have changed. Closes the connections of former administrators; their next ones
  /// have the rights, and the places, of other users.
  void follow_options();
  /// Called once a second.
  void end_unauthenticated();

 private:
  Standing standing_of(uid_t uid) const;
  KeptBytes::Account account_of(Identity const& identity);
  void give_way(ClientId id);
  std::size_t max_connections() const;

  EventLoop& loop_;
  Options const& options_;
  std::size_t descriptor_limit_;
  Events events_;
  Admission admission_;
  Shares kept_answers_;  ///< bytes of messages to and from users; administrators may have all
  IdentityCache identities_;
  SubordinateUsers subordinates_;
  std::map<ClientId, Client> clients_;
  ClientId next_client_ = 1;
};

}  // namespace mpixrma::nam

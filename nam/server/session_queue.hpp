/// Sessions on their way from the control process to the data process of a grant. The owner of a grant can
/// stop its data process through the memory that they share, so a session may be in flight for ever. Until
/// the data process has acknowledged it, a session keeps its place among the connections of its user. Few
/// sessions are in flight at a time: their sockets belong to no process, and the system counts them against
/// the user of the control process. The other sessions wait here; each user has a share of the queue.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "nam/process/admission.hpp"
#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

class SessionQueue {
 public:
  struct Entry {
    FileDescriptor socket;
    Json session;  ///< as the data process receives it
    Admission::Place place;
  };

  explicit SessionQueue(uid_t owner) : owner_(owner) {}

  /// Adds a session, or rejects it with an answer to the client if the queue, or the share of its user, is
  /// full.
  void add(Entry entry);
  /// Returns the next session for the data process; nothing if none waits, or too many earlier ones are not
  /// acknowledged.
  std::optional<std::pair<FileDescriptor, Json>> next();
  /// The data process has acknowledged `count` more sessions.
  void acknowledge(std::uint64_t count);
  /// The data process has ended, and the sessions in flight with it.
  void forget_unacknowledged() noexcept { in_flight_.clear(); }
  /// Takes away the place of this connection, and refuses the session unless it is in flight already. Returns
  /// false if neither part of the queue has the connection.
  bool give_way(std::uint64_t connection, Error const& why);
  /// Removes sessions whose clients have hung up.
  void drop_abandoned();
  void refuse_all(Error const& error);

 private:
  bool has_room_for(Json const& session) const;

  uid_t owner_;
  std::deque<Entry> waiting_;
  std::deque<Admission::Place> in_flight_;  ///< an empty one was taken by give_way()
};

}  // namespace mpixrma::nam

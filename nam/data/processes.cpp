/// DataProcess: lists the processes that map a window, for its eviction.
#include <poll.h>

#include <algorithm>

#include "nam/data/data_process.hpp"
#include "nam/protocol/descriptors.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t max_described = 8;  ///< processes in an answer: as many descriptors as a client takes

bool has_ended(FileDescriptor const& process) {
  pollfd entry{process.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

/// Returns the sessions whose processes may store to the window. A process that maps the grant reaches all
/// windows in it, and may have learned of this one from another process, or opened it by a session that has
/// ended. So each session that maps is a user, unless it has released the window.
std::set<DataProcess::SessionId> DataProcess::users_of(ServedWindow const& served) const {
  std::set<SessionId> users = served.used_by;
  for (auto const& [id, session] : sessions_) {
    if (session.has_mapped && !served.released_by.contains(id)) users.insert(id);
  }
  return users;
}

bool DataProcess::is_mapped(RetiredSegment const& piece) const {
  return piece.is_inherited || std::any_of(piece.used_by.begin(), piece.used_by.end(),
                                           [this](SessionId id) { return sessions_.at(id).has_mapped; });
}

/// Descriptors that were sent but not received count against a limit of this process's user, as whom
/// processes of other grants may run, too. So a client gets no more descriptors before it has read its
/// earlier answers.
void DataProcess::check_takes_descriptors(Session const& session) {
  if (session.is_local && session.connection->has_unread())
    throw Error(ErrorCode::quota, "read the answers to earlier requests before you ask for descriptors");
}

/// The answer has a descriptor (pidfd) for each process that it describes, in the same order, or none if one
/// is missing. This process may not signal others: the client does, with the rights of its own user.
void DataProcess::processes(SessionId id, Json const& request) {
  Session& session = sessions_.at(id);
  if (!session.is_owner)
    throw Error(ErrorCode::denied, "only the owner of a grant may list the processes that map its windows");
  check_takes_descriptors(session);
  reclaim_retired();
  auto const window = field<std::string>(request, "window");
  bool is_reserved = false;
  std::set<SessionId> users;
  auto const add = [&](std::set<SessionId> const& used_by) {
    is_reserved = true;
    users.insert(used_by.begin(), used_by.end());
  };
  if (auto const found = windows_.find(window); found != windows_.end()) add(users_of(found->second));
  for (RetiredSegment const& piece : retired_) {
    // Nobody is waited for where only the clearing has failed.
    if (piece.window == window && may_be_accessed(piece)) add(piece.used_by);
  }
  Json described = Json::array();
  std::vector<FileDescriptor> descriptors;
  std::set<pid_t> known;
  for (SessionId const each : users) {
    Session const& user = sessions_.at(each);
    bool const counts = user.has_mapped && !(user.process && has_ended(user.process));
    if (!counts || !known.insert(user.pid).second || described.size() == max_described) continue;
    described.push_back({{"pid", static_cast<unsigned>(user.pid)}, {"uid", user.identity.uid}});
    if (user.process && session.is_local) descriptors.push_back(duplicate_of(user.process));
  }
  if (descriptors.size() != described.size()) descriptors.clear();
  session.connection->post({{"reserved", is_reserved}, {"processes", described}, {"count", known.size()}}, {},
                           std::move(descriptors));
}

}  // namespace mpixrma::nam

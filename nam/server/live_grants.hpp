/// The grants of the server with their data processes, and those that are ending.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nam/process/log.hpp"
#include "nam/process/token_buckets.hpp"
#include "nam/protocol/error.hpp"
#include "nam/server/calendar.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/clients.hpp"
#include "nam/server/data_link.hpp"
#include "nam/server/grant_file.hpp"
#include "nam/server/request.hpp"
#include "nam/server/retry.hpp"

namespace mpixrma::nam {

struct LiveGrant {
  Grant grant;
  std::unique_ptr<DataLink> link;
  std::optional<GrantFile> file;  ///< nothing unless the storage is a file
  ClientId asked_by = 0;          ///< client that waits until the grant is ready; 0: none
  bool must_delete = false;       ///< to be deleted: could not be made ready for its creator
  GracePeriod grace;
  Retry deletion;
};

class LiveGrants {
 public:
  explicit LiveGrants(Clients& clients) noexcept : clients_(clients) {}
  LiveGrants(LiveGrants const&) = delete;
  LiveGrants& operator=(LiveGrants const&) = delete;

  /// nullptr: there is no such grant.
  LiveGrant* find(std::string const& id);
  LiveGrant& at(std::string const& id) { return grants_.at(id); }
  LiveGrant& add(Grant const& grant);
  std::size_t size() const noexcept { return grants_.size(); }
  template <typename Function>
  void for_each(Function visit) {
    for (auto& [id, live] : grants_) visit(live);
  }
  /// Called once a second.
  void tick();
  /// Whether the user owns a grant.
  bool owned_by(uid_t uid) const;

  /// Bytes granted to all and to one user, subordinate users included. Counts grants that have ended, as
  /// long as their process exists, or another process has their memory.
  struct Committed {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_of_user = 0;
    std::size_t grants_of_user = 0;
  };
  Committed committed(uid_t owner) const;

  // The links of grants that end.

  /// Ends the grant's data process, and forgets the grant. Returns the link.
  DataLink const& end(std::string const& id);
  /// Takes over the link of a grant that ends and was not added.
  void add_ending(std::unique_ptr<DataLink> link) { ending_.push_back(std::move(link)); }
  /// Ends all data processes, which keep their windows.
  void end_all();
  /// Does not wait any more for data processes that are to write windows to storage files.
  void abandon_storing();
  /// The client is answered when the data process of the grant has ended: from then on its memory is free for
  /// other grants.
  void answer_at_end(ClientId client, DataLink const& link, std::string const& grant);
  std::vector<std::unique_ptr<DataLink>> const& ending() const noexcept { return ending_; }
  /// Drops the links of data processes that have ended and whose memory no client uses any more. Keeps at
  /// most `max_lingering` other ones, whose descriptors tell how much memory clients still use.
  void drop_ended(std::ptrdiff_t max_lingering);
  /// Drops the links of all data processes that have ended. Returns true when no data process is left.
  bool drop_all_ended();
  /// Ends a connection that waits for its data process.
  void end_in_queue(ClientId client, Error const& why);

 private:
  struct Revocation {
    DataLink const* link;  ///< in `ending_`
    ClientId client;
    std::string grant;
  };
  void enforce_end();

  Clients& clients_;
  std::map<std::string, LiveGrant> grants_;
  std::vector<std::unique_ptr<DataLink>> ending_;
  std::vector<Revocation> revocations_;
};

/// Lines of the log about grants: a user who makes, ends and extends grants in a loop does not fill the log.
class GrantLines {
 public:
  /// `account`: the user in whose share the grant's owner is.
  void write(uid_t account, std::string const& text, Severity severity = Severity::info);
  /// Called once a second.
  void report_omitted();

 private:
  TokenBuckets budgets_{2, 20};
};

}  // namespace mpixrma::nam

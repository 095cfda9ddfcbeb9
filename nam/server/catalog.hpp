/// What the server keeps beyond its processes: grants, persistent windows and names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nam/data/storage.hpp"
#include "nam/data/window.hpp"
#include "nam/server/database.hpp"
#include "nam/server/disk_reserve.hpp"

namespace mpixrma::nam {

struct Grant {
  std::string id;
  uid_t owner = 0;
  std::uint64_t bytes = 0;
  StorageKind storage = StorageKind::memory;
  std::string file;                     ///< where the storage is a file
  std::int64_t created = 0;             ///< seconds since 1970
  std::optional<std::int64_t> expires;  ///< likewise
  std::optional<uid_t> grantor = {};    ///< the user who has made it for himself; none: an administrator
};

/// A name belongs to the user who has published it: two users may have the same one.
struct NameKey {
  uid_t owner = 0;
  std::string name;

  bool operator==(NameKey const&) const = default;
};

/// Every change is in the file when the call returns. Throws Error.
class Catalog {
 public:
  /// Makes it where there is none. On a full disk, opening it and deleting from it give up `reserve`.
  /// Error(damaged); Error(unsupported): it is of another version.
  explicit Catalog(std::filesystem::path const& file, DiskReserve* reserve = nullptr);

  /// All changes that `action` makes, or none where it throws.
  template <typename Action>
  void together(Action action) {
    Transaction transaction(database_);
    action();
    transaction.commit();
  }

  void add(Grant const& grant);
  /// With its windows, and the names of these.
  void remove_grant(std::string const& id);
  void set_expiry(std::string const& id, std::optional<std::int64_t> expires);
  std::vector<Grant> grants();

  void add(std::string const& grant, Window const& window);
  void remove_window(std::string const& id);
  /// Keeps the description of a window that is there.
  void change(Window const& window);
  /// With their names; how many there were.
  std::int64_t remove_windows(std::string const& grant);
  std::uint64_t count_windows(std::string const& grant);
  struct WindowPage {
    std::vector<Window> windows;
    std::uint64_t next = 0;  ///< the page after this one begins after it; 0: this one is the last
  };
  /// In the order in which they were made; `after` is 0, or `next` of the page before.
  WindowPage windows(std::string const& grant, std::uint64_t after);
  /// Error(quota): the descriptions of the grant's windows and names have more bytes.
  void check_metadata(std::string const& grant, std::uint64_t limit);
  struct Found {
    std::string grant;
    Window window;
  };
  std::optional<Found> find_window(std::string const& id);

  // catalog_names.cpp

  /// Error(exists): the user has published it already.
  void publish(NameKey const& name, std::string const& window);
  bool unpublish(NameKey const& name);
  /// The window that the name leads to.
  std::optional<Found> find_name(NameKey const& name);
  struct FoundName {
    NameKey key;
    Found window;
  };
  /// So many names at most that come after `after`, by owner and name; of one user alone where `owner` is
  /// given.
  std::vector<FoundName> names(std::optional<uid_t> owner, NameKey const& after, std::size_t most);
  /// Names of windows of the grant that `user` has published, and all that others than `owner` have.
  struct ForeignNames {
    std::uint64_t of_user = 0;
    std::uint64_t of_all = 0;
  };
  ForeignNames count_foreign_names(std::string const& grant, uid_t owner, uid_t user);
  std::uint64_t count_names(std::string const& grant);

  /// What is wrong in it, a line each; nothing where all is well.
  std::vector<std::string> problems();

 private:
  void open();
  void with_reserve(std::function<void()> const& action);

  Database database_;
  DiskReserve* reserve_;
};

struct RepairReport {
  bool was_damaged = false;       ///< otherwise nothing was changed
  std::vector<std::string> lost;  ///< a line each
  std::filesystem::path kept_as;  ///< the damaged catalog, with its -wal and -shm
};

/// Where SQLite calls the catalog corrupt, puts what can be read of it into a new one in its place. The
/// caller holds lock_directory(). Throws Error, also where another process uses the catalog or it may not be
/// written; the catalog is as it was then.
RepairReport repair_catalog(std::filesystem::path const& file);

}  // namespace mpixrma::nam

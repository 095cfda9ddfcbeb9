/// The data that the server keeps beyond the life of its processes: grants, persistent windows and names.
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
  std::string file;                     ///< empty unless the storage is a file
  std::int64_t created = 0;             ///< seconds since 1970
  std::optional<std::int64_t> expires;  ///< seconds since 1970; nothing: never
  std::optional<uid_t> grantor = {};    ///< the creator, unless an administrator
};

/// The key of a name. A name belongs to the user who has published it: two users may have the same one.
struct NameKey {
  uid_t owner = 0;
  std::string name;

  bool operator==(NameKey const&) const = default;
};

/// The catalog. Every change is in the file when the call, or in_transaction() around it, returns. Functions
/// throw Error.
class Catalog {
 public:
  /// Makes the file if there is none. On a full disk, opening it and deleting from it use `reserve`. Throws
  /// Error(damaged), or Error(unsupported) if a newer server has written it.
  explicit Catalog(std::filesystem::path const& file, DiskReserve* reserve = nullptr);

  /// Makes all changes that `action` makes, or none if it throws.
  template <typename Action>
  void in_transaction(Action action) {
    Transaction transaction(database_);
    action();
    transaction.commit();
  }

  void add(Grant const& grant);
  /// Removes the grant with its windows, and their names.
  void remove_grant(std::string const& id);
  void set_expiry(std::string const& id, std::optional<std::int64_t> expires);
  std::vector<Grant> grants();

  void add(std::string const& grant, Window const& window);
  void remove_window(std::string const& id);
  /// Replaces the description of an existing window.
  void update_window(Window const& window);
  /// Removes all windows of the grant with their names. Returns their number.
  std::int64_t remove_windows(std::string const& grant);
  std::uint64_t count_windows(std::string const& grant);
  struct WindowPage {
    std::vector<Window> windows;
    std::uint64_t next = 0;  ///< `after` of the next page; 0: this page is the last
  };
  /// Returns windows in the order of their creation; `after` is 0, or `next` of the previous page. Throws
  /// Error(damaged) if a description cannot be read.
  WindowPage windows(std::string const& grant, std::uint64_t after);
  /// Throws Error(quota) if the descriptions of the grant's windows and names have more than `limit` bytes.
  void check_metadata(std::string const& grant, std::uint64_t limit);
  struct Found {
    std::string grant;
    Window window;
  };
  /// Throws Error(damaged) if the window's description cannot be read.
  std::optional<Found> find_window(std::string const& id);

  // catalog_names.cpp

  /// Throws Error(exists) if the user has published the name already.
  void publish(NameKey const& name, std::string const& window);
  bool unpublish(NameKey const& name);
  /// Returns the window to which the name refers.
  std::optional<Found> find_name(NameKey const& name);
  struct FoundName {
    NameKey key;
    Found window;
  };
  /// Returns at most `most` names after `after`, in the order of owner and name; only those of `owner` if it
  /// is given. FoundName::window is empty if the window's description is unreadable.
  std::vector<FoundName> names(std::optional<uid_t> owner, NameKey const& after, std::size_t most);
  /// Counts names of the grant's windows published by users other than `owner`: `of_user` by users accepted
  /// by `is_of_user`, `of_all` by all.
  struct ForeignNames {
    std::uint64_t of_user = 0;
    std::uint64_t of_all = 0;
  };
  ForeignNames count_foreign_names(std::string const& grant, uid_t owner,
                                   std::function<bool(uid_t)> const& is_of_user);
  std::uint64_t count_names(std::string const& grant);

  /// Returns a line for each inconsistency in the catalog; nothing if there are none.
  std::vector<std::string> find_inconsistencies();

 private:
  void open();
  void with_reserve(std::function<void()> const& action);
  Found readable_window(std::string const& id);

  Database database_;
  DiskReserve* reserve_;
};

/// As Catalog::find_inconsistencies, for a copy: opening a catalog upgrades it, and an earlier server that is
/// to go on could not use it any more. The caller holds lock_directory(). Throws Error.
std::vector<std::string> check_catalog(std::filesystem::path const& file);

struct RepairReport {
  bool was_damaged = false;           ///< otherwise nothing was changed
  std::vector<std::string> lost;      ///< a line each
  std::filesystem::path backup_path;  ///< the damaged catalog, with its -wal and -shm
};

/// If SQLite finds the catalog corrupt, or a row cannot be read, replaces it by a new one with all rows that
/// can be read. The caller holds lock_directory(). Throws Error, also if another process uses the catalog or
/// this process may not write it; then the catalog is unchanged.
RepairReport repair_catalog(std::filesystem::path const& file);

}  // namespace mpixrma::nam

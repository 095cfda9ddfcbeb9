/// What the server keeps beyond its processes: grants, persistent windows and names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nam/data/storage.hpp"
#include "nam/data/window.hpp"
#include "nam/server/database.hpp"

namespace mpix::nam {

struct Grant {
  std::string id;
  uid_t owner = 0;
  std::uint64_t bytes = 0;
  StorageKind storage = StorageKind::memory;
  std::string file;                     ///< where the storage is a file
  std::int64_t created = 0;             ///< seconds since 1970
  std::optional<std::int64_t> expires;  ///< likewise
};

struct PublishedName {
  std::string name;
  std::string port;
  uid_t owner = 0;
};

/// Every change is in the file when the call returns. Throws Error.
class Catalog {
 public:
  /// Makes it where there is none. Error(internal): it is damaged, or of another version.
  explicit Catalog(std::filesystem::path const& file);

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
  std::vector<Window> windows(std::string const& grant);
  struct Found {
    std::string grant;
    Window window;
  };
  std::optional<Found> find_window(std::string const& id);

  /// Error(exists): it is there.
  void publish(PublishedName const& name, std::string const& window);
  bool unpublish(std::string const& name);
  std::optional<PublishedName> find_name(std::string const& name);
  std::vector<PublishedName> names();

  /// What is wrong in it, a line each; nothing where all is well.
  std::vector<std::string> problems();

 private:
  void make_schema();

  Database database_;
};

/// Puts what can be read of a damaged catalog into a new one in its place, and keeps the old one beside it
/// with
/// ".damaged" behind its name. Returns what was lost, a line each. Nobody uses it meanwhile. Throws Error.
std::vector<std::string> repair_catalog(std::filesystem::path const& file);

}  // namespace mpix::nam

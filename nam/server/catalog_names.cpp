/// Catalog: published names.
#include "nam/server/catalog.hpp"

namespace mpixrma::nam {

void Catalog::publish(NameKey const& name, std::string const& window) {
  Statement insert(database_,
                   "INSERT OR IGNORE INTO names (owner, name, window, grant_id) "
                   "SELECT ?, ?, id, grant_id FROM windows WHERE id = ?");
  insert.bind(name.owner).bind(name.name).bind(window).run();
  if (database_.changes() == 0)
    throw Error(ErrorCode::exists, "you have published the name '" + name.name + "' already");
}

bool Catalog::unpublish(NameKey const& name) {
  with_reserve([&] {
    Statement remove(database_, "DELETE FROM names WHERE owner = ? AND name = ?");
    remove.bind(name.owner).bind(name.name).run();
  });
  return database_.changes() != 0;
}

std::optional<Catalog::Found> Catalog::find_name(NameKey const& name) {
  Statement select(database_, "SELECT window FROM names WHERE owner = ? AND name = ?");
  if (!select.bind(name.owner).bind(name.name).step()) return std::nullopt;
  return find_window(select.text(0));
}

/// Returns an empty window if the description cannot be read: one damaged window must not fail the list of
/// names for all users.
Catalog::Found Catalog::readable_window(std::string const& id) {
  try {
    if (auto found = find_window(id)) return *std::move(found);
  } catch (Error const& error) {
    if (error.code() != ErrorCode::damaged) throw;
  }
  return {};
}

std::vector<Catalog::FoundName> Catalog::names(std::optional<uid_t> owner, NameKey const& after,
                                               std::size_t most) {
  std::vector<FoundName> found;
  std::string const text = "SELECT owner, name, window FROM names WHERE (owner, name) > (?, ?)";
  Statement select(database_, text + (owner ? " AND owner = ?" : "") + " ORDER BY owner, name LIMIT ?");
  select.bind(after.owner).bind(after.name);
  if (owner) select.bind(*owner);
  select.bind(static_cast<std::int64_t>(most));
  Found window;  // usually also the window of the next name
  while (select.step()) {
    if (window.window.id != select.text(2)) window = readable_window(select.text(2));
    found.push_back({{static_cast<uid_t>(select.number(0)), select.text(1)}, window});
  }
  return found;
}

Catalog::ForeignNames Catalog::count_foreign_names(std::string const& grant, uid_t owner,
                                                   std::function<bool(uid_t)> const& is_of_user) {
  Statement count(database_,
                  "SELECT owner, COUNT(*) FROM names WHERE grant_id = ? AND owner <> ? GROUP BY owner");
  count.bind(grant).bind(owner);
  ForeignNames found;
  while (count.step()) {
    auto const names = static_cast<std::uint64_t>(count.number(1));
    found.of_all += names;
    if (is_of_user(static_cast<uid_t>(count.number(0)))) found.of_user += names;
  }
  return found;
}

std::uint64_t Catalog::count_names(std::string const& grant) {
  Statement count(database_, "SELECT COUNT(*) FROM names WHERE grant_id = ?");
  return count.bind(grant).step() ? static_cast<std::uint64_t>(count.number(0)) : 0;
}

}  // namespace mpixrma::nam

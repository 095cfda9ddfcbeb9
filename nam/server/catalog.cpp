#include "nam/server/catalog.hpp"

#include <limits>

#include "nam/data/segment_allocator.hpp"

namespace mpix::nam {

namespace {

constexpr std::int64_t schema_version = 1;
constexpr std::int64_t application_id = 0x4d50584e;  // "MPXN"

constexpr char const* schema = R"(
CREATE TABLE grants (
  id TEXT PRIMARY KEY NOT NULL, owner INTEGER NOT NULL, bytes INTEGER NOT NULL, storage TEXT NOT NULL,
  file TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER);
CREATE TABLE windows (
  id TEXT PRIMARY KEY NOT NULL, grant_id TEXT NOT NULL REFERENCES grants(id) ON DELETE CASCADE, body TEXT NOT NULL);
CREATE INDEX windows_of_grant ON windows(grant_id);
CREATE TABLE names (
  name TEXT PRIMARY KEY NOT NULL, port TEXT NOT NULL, owner INTEGER NOT NULL,
  window TEXT NOT NULL REFERENCES windows(id) ON DELETE CASCADE);
CREATE INDEX names_of_window ON names(window);
)";

std::int64_t pragma(Database& database, char const* name) {
  Statement statement(database, std::string("PRAGMA ") + name);
  return statement.step() ? statement.number(0) : 0;
}

Window parse_window(std::string const& body) {
  Json const json = Json::parse(body, nullptr, false);
  if (!json.is_object()) throw Error(ErrorCode::malformed, "the window cannot be read");
  return window_from(json);
}

Grant read_grant(Statement const& row) {
  Grant grant{row.text(0),
              static_cast<uid_t>(row.number(1)),
              static_cast<std::uint64_t>(row.number(2)),
              parse_storage(row.text(3)),
              row.text(4),
              row.number(5),
              std::nullopt};
  if (!row.is_null(6)) grant.expires = row.number(6);
  return grant;
}

}  // namespace

Catalog::Catalog(std::filesystem::path const& file) : database_(file, Database::Mode::create) {
  // Every commit is on storage before whoever asked is answered.
  database_.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
  Statement check(database_, "PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok")
    throw Error(ErrorCode::internal, "the catalog is damaged: " + check.text(0));
  std::int64_t const version = pragma(database_, "user_version");
  bool const fresh = version == 0 && pragma(database_, "schema_version") == 0;
  if (fresh) make_schema();
  if (!fresh && (version != schema_version || pragma(database_, "application_id") != application_id))
    throw Error(ErrorCode::internal, "the catalog is not one of this version");
}

void Catalog::make_schema() {
  Transaction transaction(database_);
  database_.run(schema);
  database_.run(("PRAGMA user_version=" + std::to_string(schema_version)).c_str());
  database_.run(("PRAGMA application_id=" + std::to_string(application_id)).c_str());
  transaction.commit();
}

void Catalog::add(Grant const& grant) {
  Statement insert(database_, "INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.bind(grant.id)
      .bind(grant.owner)
      .bind(static_cast<std::int64_t>(grant.bytes))
      .bind(to_string(grant.storage));
  insert.bind(grant.file).bind(grant.created);
  grant.expires ? insert.bind(*grant.expires) : insert.bind_null();
  insert.run();
}

void Catalog::remove_grant(std::string const& id) {
  Statement(database_, "DELETE FROM grants WHERE id = ?").bind(id).run();
}

void Catalog::set_expiry(std::string const& id, std::optional<std::int64_t> expires) {
  Statement update(database_, "UPDATE grants SET expires = ? WHERE id = ?");
  expires ? update.bind(*expires) : update.bind_null();
  update.bind(id).run();
}

std::vector<Grant> Catalog::grants() {
  std::vector<Grant> found;
  Statement select(
      database_, "SELECT id, owner, bytes, storage, file, created, expires FROM grants ORDER BY created, id");
  while (select.step()) found.push_back(read_grant(select));
  return found;
}

void Catalog::add(std::string const& grant, Window const& window) {
  Statement insert(database_, "INSERT INTO windows VALUES (?, ?, ?)");
  insert.bind(window.id).bind(grant).bind(to_json(window).dump()).run();
}

void Catalog::remove_window(std::string const& id) {
  Statement(database_, "DELETE FROM windows WHERE id = ?").bind(id).run();
}

std::vector<Window> Catalog::windows(std::string const& grant) {
  std::vector<Window> found;
  Statement select(database_, "SELECT body FROM windows WHERE grant_id = ? ORDER BY rowid");
  select.bind(grant);
  while (select.step()) found.push_back(parse_window(select.text(0)));
  return found;
}

std::optional<Catalog::Found> Catalog::find_window(std::string const& id) {
  Statement select(database_, "SELECT grant_id, body FROM windows WHERE id = ?");
  if (!select.bind(id).step()) return std::nullopt;
  return Found{select.text(0), parse_window(select.text(1))};
}

void Catalog::publish(PublishedName const& name, std::string const& window) {
  Statement insert(database_, "INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?)");
  insert.bind(name.name).bind(name.port).bind(name.owner).bind(window).run();
  if (database_.changes() == 0)
    throw Error(ErrorCode::exists, "the name '" + name.name + "' is published already");
}

bool Catalog::unpublish(std::string const& name) {
  Statement(database_, "DELETE FROM names WHERE name = ?").bind(name).run();
  return database_.changes() != 0;
}

std::optional<PublishedName> Catalog::find_name(std::string const& name) {
  Statement select(database_, "SELECT name, port, owner FROM names WHERE name = ?");
  if (!select.bind(name).step()) return std::nullopt;
  return PublishedName{select.text(0), select.text(1), static_cast<uid_t>(select.number(2))};
}

std::vector<PublishedName> Catalog::names() {
  std::vector<PublishedName> found;
  Statement select(database_, "SELECT name, port, owner FROM names ORDER BY name");
  while (select.step())
    found.push_back({select.text(0), select.text(1), static_cast<uid_t>(select.number(2))});
  return found;
}

std::vector<std::string> Catalog::problems() {
  std::vector<std::string> found;
  Statement check(database_, "PRAGMA integrity_check");
  while (check.step()) {
    if (check.text(0) != "ok") found.push_back(check.text(0));
  }
  Statement orphans(database_, "PRAGMA foreign_key_check");
  while (orphans.step()) found.push_back("table " + orphans.text(0) + " names something that is not there");
  for (Grant const& grant : grants()) {
    SegmentAllocator space(grant.bytes);
    Statement select(database_, "SELECT id, body FROM windows WHERE grant_id = ?");
    select.bind(grant.id);
    while (select.step()) {
      try {
        Window const window = parse_window(select.text(1));
        if (!space.take_at(window.offset, window.bytes))
          found.push_back("window " + window.id + " of grant " + grant.id +
                          " lies outside of it or on another window");
      } catch (Error const& error) {
        found.push_back("window " + select.text(0) + ": " + error.what());
      }
    }
    if (grant.storage == StorageKind::file) {
      std::error_code missing;
      auto const bytes = std::filesystem::file_size(grant.file, missing);
      if (missing)
        found.push_back("the file of grant " + grant.id + ", " + grant.file + ": " + missing.message());
      if (!missing && bytes != grant.bytes)
        found.push_back("the file of grant " + grant.id + ", " + grant.file + ", has " +
                        std::to_string(bytes) + " bytes in place of " + std::to_string(grant.bytes));
    }
  }
  return found;
}

namespace {

/// Calls `take` with each row that can be read, from the front up to damage and from the back up to it.
template <typename Take>
bool read_all(Database& from, std::string const& columns, std::string const& table, Take take) {
  std::int64_t reached = std::numeric_limits<std::int64_t>::min();
  auto const scan = [&](std::string const& order, bool forward) {
    try {
      Statement select(
          from, "SELECT rowid, " + columns + " FROM " + table + " NOT INDEXED ORDER BY rowid " + order);
      while (select.step()) {
        if (!forward && select.number(0) <= reached) return true;
        if (forward) reached = select.number(0);
        take(select);
      }
      return true;
    } catch (Error const&) {
      return false;
    }
  };
  if (scan("ASC", true)) return true;
  (void)scan("DESC", false);
  return false;
}

/// Fills the new catalog; a line for each thing that does not fit into it.
void salvage(Database& from, Catalog& into, std::vector<std::string>* lost) {
  auto const attempt = [&](std::string const& what, auto action) {
    try {
      action();
    } catch (Error const& error) {
      lost->push_back(what + ": " + error.what());
    }
  };
  auto const all = [&](std::string const& columns, std::string const& table, auto take) {
    if (!read_all(from, columns, table, take))
      lost->push_back("some of the " + table + ": the catalog is damaged there");
  };
  all("id, owner, bytes, storage, file, created, expires", "grants", [&](Statement const& row) {
    attempt("grant " + row.text(1), [&] {
      Grant grant{row.text(1),
                  static_cast<uid_t>(row.number(2)),
                  static_cast<std::uint64_t>(row.number(3)),
                  parse_storage(row.text(4)),
                  row.text(5),
                  row.number(6),
                  std::nullopt};
      if (!row.is_null(7)) grant.expires = row.number(7);
      into.add(grant);
    });
  });
  all("id, grant_id, body", "windows", [&](Statement const& row) {
    attempt("window " + row.text(1), [&] { into.add(row.text(2), parse_window(row.text(3))); });
  });
  all("name, port, owner, window", "names", [&](Statement const& row) {
    attempt("name '" + row.text(1) + "'", [&] {
      into.publish({row.text(1), row.text(2), static_cast<uid_t>(row.number(3))}, row.text(4));
    });
  });
}

void drop_log_files(std::filesystem::path const& file) {
  for (char const* const ending : {"-wal", "-shm"}) std::filesystem::remove(file.string() + ending);
}

}  // namespace

std::vector<std::string> repair_catalog(std::filesystem::path const& file) {
  std::vector<std::string> lost;
  std::filesystem::path const fresh = file.string() + ".repaired";
  std::filesystem::remove(fresh);
  drop_log_files(fresh);
  {
    Catalog into(fresh);
    try {
      Database from(file, Database::Mode::existing);
      into.together([&] { salvage(from, into, &lost); });
    } catch (Error const& error) {
      lost.push_back(std::string("everything: ") + error.what());
    }
  }
  std::filesystem::rename(file, file.string() + ".damaged");
  drop_log_files(file);
  std::filesystem::rename(fresh, file);
  return lost;
}

}  // namespace mpix::nam

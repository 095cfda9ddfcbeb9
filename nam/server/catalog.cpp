#include "nam/server/catalog.hpp"

#include <exception>
#include <limits>

#include "nam/data/segment_allocator.hpp"
#include "nam/data/storage_identity.hpp"
#include "nam/process/log.hpp"
#include "nam/protocol/text.hpp"
#include "nam/server/catalog_files.hpp"
#include "nam/server/catalog_schema.hpp"

namespace mpixrma::nam {

namespace {

/// A page of windows ends when their descriptions have this many bytes, so that other clients do not wait
/// long for a page.
constexpr std::size_t window_page_bytes = 256 * 1024;

Error damaged_row(std::string const& row) {
  return {
      ErrorCode::damaged,
      "the description of " + printable(row) +
          " in the catalog is damaged: stop the server, and run 'mpix-nam check --directory DIR --repair'"};
}

/// Throws Error(damaged) if `body` does not describe window `id`: SQLite does not notice changed bits in a
/// text.
Window parse_window(std::string const& id, std::string const& body) {
  try {
    Json const json = Json::parse(body, nullptr, false);
    if (Window window = window_from(json); window.id == id) return window;
  } catch (Error const&) {
  }
  throw damaged_row("window " + id);
}

/// Throws Error(damaged) if `name` is not a kind of storage.
StorageKind storage_of(std::string const& grant, std::string const& name) {
  try {
    return parse_storage(name);
  } catch (Error const&) {
    throw damaged_row("grant " + grant);
  }
}

/// The grant's columns begin at `first`.
Grant read_grant(Statement const& row, int first) {
  Grant grant{row.text(first),
              static_cast<uid_t>(row.number(first + 1)),
              static_cast<std::uint64_t>(row.number(first + 2)),
              storage_of(row.text(first), row.text(first + 3)),
              row.text(first + 4),
              row.number(first + 5),
              std::nullopt,
              std::nullopt};
  if (!row.is_null(first + 6)) grant.expires = row.number(first + 6);
  if (!row.is_null(first + 7)) grant.grantor = static_cast<uid_t>(row.number(first + 7));
  return grant;
}

}  // namespace

Catalog::Catalog(std::filesystem::path const& file, DiskReserve* reserve)
    : database_(file, Database::Mode::create), reserve_(reserve) {
  with_reserve([this] { open(); });
}

/// Runs the action; on a full disk, frees the reserve and runs the action again.
void Catalog::with_reserve(std::function<void()> const& action) {
  try {
    return action();
  } catch (Error const& error) {
    if (error.code() != ErrorCode::no_space || reserve_ == nullptr || !reserve_->release()) throw;
    log(Severity::warning, std::string(error.what()) + "; deletes use the reserve");
  }
  database_.checkpoint();
  action();
}

void Catalog::open() {
  // Every commit is on storage before the client is answered. Temporary tables need no disk.
  database_.run(
      "PRAGMA temp_store=MEMORY; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
  {
    Statement check(database_, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) != "ok")
      throw Error(ErrorCode::damaged, "the catalog is damaged: " + check.text(0));
  }
  upgrade_schema(database_);
}

void Catalog::add(Grant const& grant) {
  Statement insert(database_,
                   "INSERT INTO grants (id, owner, bytes, storage, file, created, expires, grantor) VALUES "
                   "(?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(grant.id)
      .bind(grant.owner)
      .bind(static_cast<std::int64_t>(grant.bytes))
      .bind(to_string(grant.storage));
  insert.bind(grant.file).bind(grant.created);
  grant.expires ? insert.bind(*grant.expires) : insert.bind_null();
  grant.grantor ? insert.bind(*grant.grantor) : insert.bind_null();
  insert.run();
}

void Catalog::remove_grant(std::string const& id) {
  with_reserve([&] { Statement(database_, "DELETE FROM grants WHERE id = ?").bind(id).run(); });
}

void Catalog::set_expiry(std::string const& id, std::optional<std::int64_t> expires) {
  Statement update(database_, "UPDATE grants SET expires = ? WHERE id = ?");
  expires ? update.bind(*expires) : update.bind_null();
  update.bind(id).run();
}

std::vector<Grant> Catalog::grants() {
  std::vector<Grant> found;
  Statement select(
      database_,
      "SELECT id, owner, bytes, storage, file, created, expires, grantor FROM grants ORDER BY created, id");
  while (select.step()) found.push_back(read_grant(select, 0));
  return found;
}

void Catalog::add(std::string const& grant, Window const& window) {
  Statement insert(database_, "INSERT INTO windows (id, grant_id, body) VALUES (?, ?, ?)");
  insert.bind(window.id).bind(grant).bind(to_json(window).dump()).run();
}

void Catalog::remove_window(std::string const& id) {
  with_reserve([&] { Statement(database_, "DELETE FROM windows WHERE id = ?").bind(id).run(); });
}

void Catalog::update_window(Window const& window) {
  Statement update(database_, "UPDATE windows SET body = ? WHERE id = ?");
  update.bind(to_json(window).dump()).bind(window.id).run();
}

std::int64_t Catalog::remove_windows(std::string const& grant) {
  with_reserve([&] { Statement(database_, "DELETE FROM windows WHERE grant_id = ?").bind(grant).run(); });
  return database_.changes();
}

std::uint64_t Catalog::count_windows(std::string const& grant) {
  Statement count(database_, "SELECT COUNT(*) FROM windows WHERE grant_id = ?");
  return count.bind(grant).step() ? static_cast<std::uint64_t>(count.number(0)) : 0;
}

Catalog::WindowPage Catalog::windows(std::string const& grant, std::uint64_t after) {
  WindowPage page;
  Statement select(database_,
                   "SELECT rowid, id, body FROM windows WHERE grant_id = ? AND rowid > ? ORDER BY rowid");
  select.bind(grant).bind(static_cast<std::int64_t>(after));
  for (std::size_t bytes = 0; select.step();) {
    if (bytes >= window_page_bytes) return page;
    std::string const body = select.text(2);
    bytes += body.size();
    page.windows.push_back(parse_window(select.text(1), body));
    page.next = static_cast<std::uint64_t>(select.number(0));
  }
  page.next = 0;
  return page;
}

void Catalog::check_metadata(std::string const& grant, std::uint64_t limit) {
  Statement select(database_, "SELECT metadata FROM grants WHERE id = ?");
  if (!select.bind(grant).step() || static_cast<std::uint64_t>(select.number(0)) <= limit) return;
  throw Error(ErrorCode::quota, "the descriptions of the grant's persistent windows and names may have " +
                                    std::to_string(limit) + " bytes in all");
}

std::optional<Catalog::Found> Catalog::find_window(std::string const& id) {
  Statement select(database_, "SELECT grant_id, body FROM windows WHERE id = ?");
  if (!select.bind(id).step()) return std::nullopt;
  return Found{select.text(0), parse_window(id, select.text(1))};
}

std::vector<std::string> Catalog::find_inconsistencies() {
  std::vector<std::string> found;
  Statement check(database_, "PRAGMA integrity_check");
  while (check.step()) {
    if (check.text(0) != "ok") found.push_back(check.text(0));
  }
  Statement orphans(database_, "PRAGMA foreign_key_check");
  while (orphans.step()) found.push_back("table " + orphans.text(0) + " refers to a missing row");
  for (Grant const& grant : grants()) {
    SegmentAllocator space(grant.bytes);
    Statement select(database_, "SELECT id, body FROM windows WHERE grant_id = ?");
    select.bind(grant.id);
    while (select.step()) {
      try {
        Window const window = parse_window(select.text(0), select.text(1));
        if (!space.take_at(window.offset, window.bytes))
          found.push_back("window " + window.id + " of grant " + grant.id +
                          " lies outside of it or on another window");
      } catch (Error const& error) {
        found.emplace_back(error.what());
      }
    }
    if (grant.storage == StorageKind::file) {
      std::error_code missing;
      auto const bytes = std::filesystem::file_size(grant.file, missing);
      if (missing)
        found.push_back("the file of grant " + grant.id + ", " + grant.file + ": " + missing.message());
      // A file of an earlier server has no identity page.
      if (!missing && bytes != storage_file_bytes(grant.bytes) && bytes != grant.bytes)
        found.push_back("the file of grant " + grant.id + ", " + grant.file + ", has " +
                        std::to_string(bytes) + " bytes in place of " + std::to_string(grant.bytes));
    }
  }
  return found;
}

namespace {

/// Calls `take` with each row that can be read: forwards up to the damage, then from the end back to it.
/// Returns whether all rows could be read.
template <typename Take>
bool read_all(Database& from, std::string const& columns, std::string const& table, Take take) {
  std::int64_t last_read = std::numeric_limits<std::int64_t>::min();
  auto const scan = [&](std::string const& order, bool forward) {
    try {
      Statement select(
          from, "SELECT rowid, " + columns + " FROM " + table + " NOT INDEXED ORDER BY rowid " + order);
      while (select.step()) {
        if (!forward && select.number(0) <= last_read) return true;
        if (forward) last_read = select.number(0);
        take(select);
      }
      return true;
    } catch (Error const& error) {
      if (error.code() == ErrorCode::no_space) throw;
      return false;
    }
  };
  if (scan("ASC", true)) return true;
  (void)scan("DESC", false);
  return false;
}

/// Catalogs of earlier versions have no such column.
bool has_grantors(Database& from) {
  Statement columns(from, "SELECT COUNT(*) FROM pragma_table_info('grants') WHERE name = 'grantor'");
  return columns.step() && columns.number(0) != 0;
}

/// Fills the new catalog; adds a line to `lost` for each row that cannot be read or added.
void salvage(Database& from, Catalog& into, std::vector<std::string>* lost) {
  auto const attempt = [&](std::string const& what, auto action) {
    try {
      action();
    } catch (Error const& error) {
      if (error.code() == ErrorCode::no_space) throw;
      lost->push_back(error.code() == ErrorCode::damaged ? what : what + ": " + error.what());
    }
  };
  auto const all = [&](std::string const& columns, std::string const& table, auto take) {
    if (!read_all(from, columns, table, take))
      lost->push_back("some of the " + table + ": the catalog is damaged there");
  };
  std::string const grantor = has_grantors(from) ? "grantor" : "NULL";
  all("id, owner, bytes, storage, file, created, expires, " + grantor, "grants",
      [&](Statement const& row) { attempt("grant " + row.text(1), [&] { into.add(read_grant(row, 1)); }); });
  all("id, grant_id, body", "windows", [&](Statement const& row) {
    attempt("window " + row.text(1), [&] { into.add(row.text(2), parse_window(row.text(1), row.text(3))); });
  });
  all("name, owner, window", "names", [&](Statement const& row) {
    attempt("name '" + row.text(1) + "'", [&] {
      if (!into.find_window(row.text(3))) throw Error(ErrorCode::not_found, "its window is lost");
      into.publish({static_cast<uid_t>(row.number(2)), row.text(1)}, row.text(3));
    });
  });
}

/// Throws Error if a grant or a window cannot be read.
void read_rows(Database& database) {
  Statement tables(database, "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('grants', 'windows')");
  if (!tables.step() || tables.number(0) != 2) return;
  for (Statement grants(database, "SELECT id, storage FROM grants"); grants.step();)
    (void)storage_of(grants.text(0), grants.text(1));
  for (Statement windows(database, "SELECT id, body FROM windows"); windows.step();)
    (void)parse_window(windows.text(0), windows.text(1));
}

/// Whether SQLite finds the catalog corrupt, or a row of it cannot be read.
bool is_damaged(std::filesystem::path const& file) {
  try {
    Database database(file, Database::Mode::existing);
    Statement check(database, "PRAGMA integrity_check");
    if (!check.step() || check.text(0) != "ok") return true;
    read_rows(database);
    return false;
  } catch (Error const& error) {
    if (error.code() != ErrorCode::damaged) throw;
    return true;
  }
}

/// Throws Error if another process uses the catalog, or this one may not write it; changes nothing.
void check_access(std::filesystem::path const& file) {
  try {
    Database database(file, Database::Mode::existing);
    database.keep_log_at_end();
    Transaction const lock(database);
  } catch (Error const& error) {
    if (error.code() != ErrorCode::damaged) throw;
  }
}

/// A copy of a catalog for the lifetime of the object.
class CatalogCopy {
 public:
  explicit CatalogCopy(std::filesystem::path const& file) : path(file.string() + ".checked") {
    remove_catalog(path);
    try {
      copy_catalog(file, path);
    } catch (...) {  // a part of the copy may have filled the disk
      remove();
      throw;
    }
  }
  ~CatalogCopy() { remove(); }
  CatalogCopy(CatalogCopy const&) = delete;
  CatalogCopy& operator=(CatalogCopy const&) = delete;

  std::filesystem::path const path;

 private:
  void remove() const noexcept {
    try {
      remove_catalog(path);
    } catch (std::exception const&) {  // the next copy replaces it
    }
  }
};

}  // namespace

std::vector<std::string> check_catalog(std::filesystem::path const& file) {
  CatalogCopy const copy(file);
  return Catalog(copy.path).find_inconsistencies();
}

/// Reads everything from a copy: opening and closing a database makes SQLite move the log into the file and
/// remove the log.
RepairReport repair_catalog(std::filesystem::path const& file) {
  check_access(file);
  CatalogCopy const copy(file);
  RepairReport report;
  report.was_damaged = is_damaged(copy.path);
  if (report.was_damaged) {
    report.backup_path = free_name_for_damaged(file);
    copy_catalog(file, report.backup_path);
    std::filesystem::path const fresh = file.string() + ".repaired";
    remove_catalog(fresh);
    {
      Catalog into(fresh);
      try {
        Database from(copy.path, Database::Mode::existing);
        into.in_transaction([&] { salvage(from, into, &report.lost); });
      } catch (Error const& error) {
        if (error.code() == ErrorCode::no_space) throw;
        report.lost.push_back(std::string("everything: ") + error.what());
      }
    }
    replace_catalog(fresh, file);
  }
  return report;
}

}  // namespace mpixrma::nam

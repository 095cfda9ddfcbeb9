#include "nam/server/catalog_schema.hpp"

#include <array>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::int64_t application_id = 0x4d50584e;  // "MPXN"

/// Step i leads from version i to version i + 1. A step that was part of a release never changes.
constexpr std::array steps{
    R"(
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
)",
    // A name belongs to a user and refers to a window, not to a port: the server makes the port name from its
    // own address. Each grant counts the bytes of its windows' descriptions and names; cascading deletes run
    // the triggers, too.
    R"(
CREATE TABLE names_2 (
  owner INTEGER NOT NULL, name TEXT NOT NULL,
  window TEXT NOT NULL REFERENCES windows(id) ON DELETE CASCADE, grant_id TEXT NOT NULL,
  PRIMARY KEY (owner, name));
INSERT INTO names_2 SELECT names.owner, names.name, names.window, windows.grant_id
  FROM names JOIN windows ON windows.id = names.window;
DROP TABLE names;
ALTER TABLE names_2 RENAME TO names;
CREATE INDEX names_of_window ON names(window);
CREATE INDEX names_of_grant ON names(grant_id, owner);
ALTER TABLE grants ADD COLUMN metadata INTEGER NOT NULL DEFAULT 0;
UPDATE grants SET metadata =
  (SELECT IFNULL(SUM(LENGTH(CAST(body AS BLOB))), 0) FROM windows WHERE grant_id = grants.id) +
  (SELECT IFNULL(SUM(128 + LENGTH(CAST(name AS BLOB))), 0) FROM names WHERE grant_id = grants.id);
CREATE TRIGGER count_new_window AFTER INSERT ON windows BEGIN
  UPDATE grants SET metadata = metadata + LENGTH(CAST(NEW.body AS BLOB)) WHERE id = NEW.grant_id;
END;
CREATE TRIGGER count_changed_window AFTER UPDATE OF body ON windows BEGIN
  UPDATE grants SET metadata = metadata + LENGTH(CAST(NEW.body AS BLOB)) - LENGTH(CAST(OLD.body AS BLOB))
    WHERE id = NEW.grant_id;
END;
CREATE TRIGGER count_removed_window AFTER DELETE ON windows BEGIN
  UPDATE grants SET metadata = metadata - LENGTH(CAST(OLD.body AS BLOB)) WHERE id = OLD.grant_id;
END;
CREATE TRIGGER count_new_name AFTER INSERT ON names BEGIN
  UPDATE grants SET metadata = metadata + 128 + LENGTH(CAST(NEW.name AS BLOB)) WHERE id = NEW.grant_id;
END;
CREATE TRIGGER count_removed_name AFTER DELETE ON names BEGIN
  UPDATE grants SET metadata = metadata - 128 - LENGTH(CAST(OLD.name AS BLOB)) WHERE id = OLD.grant_id;
END;
)",
    // The creator of a grant may extend it; NULL: an administrator.
    "ALTER TABLE grants ADD COLUMN grantor INTEGER;"};

std::int64_t pragma(Database& database, char const* name) {
  Statement statement(database, std::string("PRAGMA ") + name);
  return statement.step() ? statement.number(0) : 0;
}

}  // namespace

std::int64_t newest_schema() noexcept { return steps.size(); }

void upgrade_schema(Database& database) {
  std::int64_t const version = pragma(database, "user_version");
  bool const is_empty = version == 0 && pragma(database, "schema_version") == 0;
  if (!is_empty && (version <= 0 || pragma(database, "application_id") != application_id))
    throw Error(ErrorCode::damaged, "the file is not a catalog");
  if (version > newest_schema())
    throw Error(ErrorCode::unsupported, "the catalog has version " + std::to_string(version) +
                                            ", and this server writes version " +
                                            std::to_string(newest_schema()) + ": use the newer mpix-namd");
  if (version == newest_schema()) return;
  Transaction transaction(database);
  for (auto step = static_cast<std::size_t>(version); step < steps.size(); ++step) database.run(steps[step]);
  database.run(("PRAGMA user_version=" + std::to_string(newest_schema())).c_str());
  database.run(("PRAGMA application_id=" + std::to_string(application_id)).c_str());
  transaction.commit();
}

}  // namespace mpixrma::nam

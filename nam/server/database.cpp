#include "nam/server/database.hpp"

#include <cerrno>
#include <cstring>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

/// For a lock of another process: short, because the event loop blocks meanwhile.
constexpr int longest_wait_ms = 250;

bool is_lack_of_space(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

/// Only SQLITE_CORRUPT and SQLITE_NOTADB are damage.
ErrorCode code_of(int code, int system_error) {
  int const kind = code & 0xff;
  bool const uses_files = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
  if (kind == SQLITE_FULL || code == SQLITE_IOERR_WRITE || (uses_files && is_lack_of_space(system_error)))
    return ErrorCode::no_space;
  switch (kind) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::damaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorCode::unavailable;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY: return ErrorCode::denied;
    default: return ErrorCode::internal;
  }
}

[[noreturn]] void fail(sqlite3* database, int code) {
  int const system_error = database != nullptr ? sqlite3_system_errno(database) : 0;
  int const extended = database != nullptr ? sqlite3_extended_errcode(database) : code;
  ErrorCode const found = code_of(extended != SQLITE_OK ? extended : code, system_error);
  std::string text =
      std::string("the catalog: ") + (database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code));
  if (found == ErrorCode::denied && system_error != 0)
    text += std::string(": ") + std::strerror(system_error);
  if (found == ErrorCode::unavailable) text += " by another process";
  throw Error(found, text);
}

}  // namespace

Statement::Statement(Database& database, std::string_view text)
    : database_(database.database_.get()), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* prepared = nullptr;
  int const code =
      sqlite3_prepare_v2(database_, text.data(), static_cast<int>(text.size()), &prepared, nullptr);
  statement_.reset(prepared);
  if (code != SQLITE_OK) fail(database_, code);
}

Statement& Statement::bind(std::int64_t value) {
  if (int const code = sqlite3_bind_int64(statement_.get(), ++bound_, value); code != SQLITE_OK)
    fail(database_, code);
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  // SQLITE_TRANSIENT: SQLite copies the text.
  int const code = sqlite3_bind_text64(statement_.get(), ++bound_, value.data(), value.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(database_, code);
  return *this;
}

Statement& Statement::bind_null() {
  if (int const code = sqlite3_bind_null(statement_.get(), ++bound_); code != SQLITE_OK)
    fail(database_, code);
  return *this;
}

bool Statement::step() {
  int const code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, code);
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::text(int column) const {
  auto const* const value = reinterpret_cast<char const*>(sqlite3_column_text(statement_.get(), column));
  return value == nullptr
             ? std::string()
             : std::string(value, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Database::Database(std::filesystem::path const& file, Mode mode) : database_(nullptr, sqlite3_close) {
  int const flags = mode == Mode::create     ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : mode == Mode::existing ? SQLITE_OPEN_READWRITE
                                             : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  int const code = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail(opened, code);
  (void)sqlite3_extended_result_codes(opened, 1);
  (void)sqlite3_busy_timeout(opened, longest_wait_ms);
}

void Database::checkpoint() noexcept {
  (void)sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
}

void Database::keep_log_at_end() noexcept {
  (void)sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void Database::run(char const* statements) {
  int const code = sqlite3_exec(database_.get(), statements, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), code);
}

}  // namespace mpixrma::nam

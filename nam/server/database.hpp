/// SQLite as C++: statements with parameters, transactions, errors as exceptions.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace mpixrma::nam {

class Database;

/// A prepared statement; its parameters are bound in their order.
class Statement {
 public:
  Statement(Database& database, std::string_view text);

  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view value);
  Statement& bind_null();
  /// Goes to the next row. Returns false if there is none. Throws Error: no_space, unavailable (another
  /// process has locked the file), denied, damaged, or internal.
  bool step();
  /// Runs a statement without rows.
  void run();

  std::int64_t number(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  int bound_ = 0;
};

class Database {
 public:
  enum class Mode { create, existing, read_only };

  /// Throws Error, with the codes of Statement::step.
  Database(std::filesystem::path const& file, Mode mode);

  void run(char const* statements);
  std::int64_t changes() const { return sqlite3_changes64(database_.get()); }
  /// Moves as much of the write-ahead log into the file as possible, so that the log is written from its
  /// beginning again and needs no more space.
  void checkpoint() noexcept;
  /// Keeps the log when the last connection is closed.
  void keep_log_at_end() noexcept;

 private:
  friend class Statement;
  friend class Transaction;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
};

/// A transaction, which is rolled back unless commit() is called.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!committed_) (void)sqlite3_exec(database_.database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(Transaction const&) = delete;
  Transaction& operator=(Transaction const&) = delete;
  void commit() {
    database_.run("COMMIT");
    committed_ = true;
  }

 private:
  Database& database_;
  bool committed_ = false;
};

}  // namespace mpixrma::nam

/// Options of mpix-namd, from its command line, its environment and a file. The command line has precedence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nam/data/data_engine.hpp"
#include "nam/data/storage.hpp"
#include "nam/process/sandbox.hpp"

namespace mpixrma::nam {

struct Options {
  std::uint64_t capacity = 0;  ///< bytes of all grants
  std::filesystem::path directory;
  std::string socket;               ///< path of the Unix socket
  std::vector<std::string> listen;  ///< HOST:PORT each
  bool listen_given = false;        ///< `listen` was given
  std::string advertise;            ///< host name for others
  std::string interfaces;           ///< on which data processes listen for engines; empty: none
  RemoteKeys remote_keys = RemoteKeys::never;
  bool encrypt = false;  ///< data of clients on other hosts; excludes remote_keys other than never
  StorageKind storage = StorageKind::memory;
  std::filesystem::path storage_directory;
  std::optional<ProcessUser> user;  ///< of the control process; nothing: the user who starts it
  uid_t first_data_user = 0;        ///< data processes run as `data_users` users from here on
  std::uint32_t data_users = 0;     ///< 0: as the user of the main process
  bool data_users_given = false;
  bool watch_stdin = false;
  bool temporary = false;  ///< the server removes its directory at its end
  std::string log_file;
  std::string audit_log;    ///< file; empty: the log
  bool overcommit = false;  ///< memory is taken when it is used

  // These are read again on SIGHUP, with `capacity`.
  std::string log_level;
  std::vector<uid_t> admins;
  std::uint64_t self_service = 0;   ///< bytes of grants that a user may make without an administrator
  std::uint64_t user_capacity = 0;  ///< bytes of all grants of a user; 0: no limit
  std::uint64_t max_windows = 0;    ///< of a grant
  std::uint64_t max_regions = 0;    ///< of all windows of a grant
  std::uint64_t max_sessions = 0;   ///< of a grant
  std::uint32_t lease = 0;          ///< seconds for which a remote session lasts without a message
  std::uint64_t max_metadata = 0;   ///< bytes of the descriptions of a grant's windows and names
  std::uint64_t max_connections = 0;
  std::uint64_t max_user_grants = 0;  ///< that a user makes without an administrator
  std::int64_t expiry_grace = 0;      ///< seconds from the expiry of a grant to its deletion
};

/// Returns nothing if the program is to end with `*exit_code`: after --help, or after an error, which was
/// reported.
std::optional<Options> read_options(int argc, char const* const* argv, int* exit_code);

/// Describes in one word for users how data of clients on other hosts travel: none, unencrypted, rdma,
/// encrypted.
char const* network_of(Options const& options) noexcept;

/// Returns the directory that a server of this user has by default.
std::filesystem::path default_directory();

}  // namespace mpixrma::nam

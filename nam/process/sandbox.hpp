/// Rights that the processes of the server give up. Each process does so when it starts, before it reads a
/// message; only limit_file_size() is called later.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpixrma::nam {

/// A user under which a process runs.
struct ProcessUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;  ///< with the groups of this user; empty: no groups
};

/// Whether this process may become any other user.
bool can_change_user() noexcept;

/// Whether this user namespace has the users [first, first + count).
bool has_users(uid_t first, std::uint32_t count);

/// Becomes `user` permanently. Throws Error(denied).
void become(ProcessUser const& user);

/// Keeps `capabilities` (CAP_...), and leaves `bounding` for programs that this process starts. First removes
/// the limit of locked memory, which a process without rights cannot raise.
void keep_capabilities(std::vector<int> const& capabilities, std::vector<int> const& bounding) noexcept;

/// No capability, no new privileges, no core file, and no debugger but root's.
void drop_privileges() noexcept;

/// The user of a data process: no other process runs under it, or it is the user of the server.
enum class DataProcessUser : std::uint8_t { own, of_server };

/// Removes all other rights of a data process: to run programs, to reach processes, and to make system calls
/// that it does not need. Throws Error(unsupported) if the system does not filter system calls.
void confine_data_process(DataProcessUser user);

/// Limits the size of files that this process writes from here on.
void limit_file_size(std::uint64_t bytes) noexcept;

}  // namespace mpixrma::nam

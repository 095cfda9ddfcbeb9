#include "tool/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tool/error.hpp"

namespace mpixrma::tool {

namespace {

namespace fs = std::filesystem;

// Longer than a running process needs for its answer, whatever locks are held.
constexpr timeval io_timeout{5, 0};
constexpr std::size_t longest_answer = 1u << 20;
constexpr std::string_view socket_prefix = "mpix-rma/";

/// Returns the text with '?' for each byte that could control the terminal: users choose command lines, names
/// of threads, and answers. Lines and columns remain.
std::string plain(std::string text) {
  auto const is_plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
  for (char& c : text) {
    if (!is_plain(c)) c = '?';
  }
  return text;
}

std::string first_line(fs::path const& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Returns the value of a line "NAME:\tVALUE" of /proc/PID/status; "" if there is none.
std::string status_of(fs::path const& directory, std::string const& name) {
  std::ifstream stream(directory / "status");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name + ":")) continue;
    std::size_t const value = line.find_first_not_of(" \t", name.size() + 1);
    return value == line.npos ? "" : line.substr(value);
  }
  return "";
}

std::string command_line_of(fs::path const& directory) {
  std::ifstream stream(directory / "cmdline");
  std::string line(std::istreambuf_iterator<char>(stream), {});
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  std::replace(line.begin(), line.end(), '\n', '?');
  return plain(line);
}

void show_threads(fs::path const& directory) {
  std::printf("threads:\n");
  std::error_code ignored;
  for (auto const& task : fs::directory_iterator(directory / "task", ignored)) {
    std::string const waits_in = first_line(task.path() / "wchan");
    std::printf("  %s %s: %s%s%s\n", task.path().filename().c_str(),
                plain(status_of(task.path(), "Name")).c_str(), status_of(task.path(), "State").c_str(),
                waits_in.size() > 1 ? ", in " : "", waits_in.size() > 1 ? waits_in.c_str() : "");
  }
}

/// Returns the process's id in its innermost PID namespace.
std::string own_id_of(fs::path const& directory, int pid) {
  std::string const ids = status_of(directory, "NSpid");
  std::size_t const last = ids.find_last_of(" \t");
  if (ids.empty()) return std::to_string(pid);
  return last == ids.npos ? ids : ids.substr(last + 1);
}

/// Returns the names of the engines' sockets, without the leading zero byte.
std::vector<std::string> sockets_of(fs::path const& directory, int pid) {
  std::string wanted = "@";
  wanted.append(socket_prefix).append(own_id_of(directory, pid)).append("/");
  std::vector<std::string> names;
  std::ifstream stream(directory / "net" / "unix");
  for (std::string line; std::getline(stream, line);) {
    std::size_t const at = line.rfind(wanted);
    if (at == line.npos) continue;
    std::string const name = line.substr(at + 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Enters the process's network namespace, because abstract sockets belong to one.
void enter_network_of(fs::path const& directory) {
  std::error_code error;
  fs::path const theirs = fs::read_symlink(directory / "ns" / "net", error);
  if (error || theirs == fs::read_symlink("/proc/self/ns/net", error)) return;
  int const network = ::open((directory / "ns" / "net").c_str(), O_RDONLY | O_CLOEXEC);
  bool const entered = network >= 0 && ::setns(network, CLONE_NEWNET) == 0;
  if (network >= 0) ::close(network);
  if (!entered)
    throw Error(
        "the process is in another network namespace: run this command there, as in its container, or as "
        "root");
}

/// Whether root, or the user of the process in `directory`, listens at the other end: anybody may bind the
/// name of the process's socket before the process does.
bool is_trusted_listener(int connection, fs::path const& directory) {
  ucred listener{};
  socklen_t length = sizeof listener;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) return false;
  std::istringstream users(status_of(directory, "Uid"));
  uid_t real = 0;
  uid_t effective = 0;
  return users >> real >> effective && (listener.uid == effective || listener.uid == 0);
}

/// Returns the answer of the engine of the process in `directory` with this socket; "" if none arrives in
/// time.
std::string ask(fs::path const& directory, std::string const& name) {
  int const connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) throw Error(std::string("no socket: ") + std::strerror(errno));
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &io_timeout, sizeof io_timeout);
  ::setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &io_timeout, sizeof io_timeout);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto const length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  std::string text;
  bool const is_connected = ::connect(connection, reinterpret_cast<sockaddr const*>(&address), length) == 0;
  if (is_connected && is_trusted_listener(connection, directory)) {
    std::array<char, 4096> buffer{};
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(io_timeout.tv_sec);
    for (ssize_t bytes = 1;
         bytes > 0 && text.size() < longest_answer && std::chrono::steady_clock::now() < end;) {
      bytes = ::read(connection, buffer.data(), buffer.size());
      if (bytes > 0) text.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
  }
  ::close(connection);
  return text;
}

void warn_of_version(std::string const& text) {
  constexpr std::string_view before = "library version ";
  std::size_t const begin = text.find(before);
  std::string const version =
      begin == text.npos ? "an unknown one"
                         : text.substr(begin + before.size(), text.find('\n', begin) - begin - before.size());
  if (version != MPIX_VERSION)
    std::printf("The versions differ: mpix-rma " MPIX_VERSION ", the process's library %s\n",
                version.c_str());
}

}  // namespace

void show_process(int pid) {
  fs::path const directory = fs::path("/proc") / std::to_string(pid);
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) throw Error("there is no process " + std::to_string(pid));
  std::string const state = status_of(directory, "State");
  std::printf("process %d: %s\nstate: %s\n", pid, command_line_of(directory).c_str(), state.c_str());
  show_threads(directory);
  std::vector<std::string> const sockets = sockets_of(directory, pid);
  if (sockets.empty())
    throw Error("process " + std::to_string(pid) +
                " has no engine of MPIX-RMA: it has not used the library, or is not in MPI");
  std::fflush(stdout);
  enter_network_of(directory);
  bool answered = false;
  for (std::string const& name : sockets) {
    std::string const text = plain(ask(directory, name));
    if (text.empty()) continue;
    answered = true;
    warn_of_version(text);
    std::fputs(text.c_str(), stdout);
  }
  if (answered) return;
  if (state.starts_with("T") || state.starts_with("t"))
    throw Error("the process is stopped, and so is the thread that would answer: continue it (kill -CONT)");
  throw Error(
      "the process does not answer: it belongs to another user, or a thread hangs inside UCX; look with gdb "
      "-p " +
      std::to_string(pid));
}

}  // namespace mpixrma::tool

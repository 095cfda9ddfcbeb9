#include "nam/client/private_server.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "engine/base/liveness.hpp"
#include "nam/client/locked_temp_directory.hpp"
#include "nam/client/secrets.hpp"

extern char** environ;

namespace mpixrma::nam {

namespace {

constexpr int start_timeout_ms = 30000;
constexpr int stop_timeout_ms = 10000;
constexpr int pipe_timeout_ms = 1000;  // a second request would make the server end without order
constexpr int poll_interval_ms = 2;

/// Whether a program and its folder belong to root, to this user, or to the owner of the library, so that a
/// library in a world-writable directory never starts another user's program.
bool is_trusted(std::filesystem::path const& program, uid_t owner_of_library) {
  auto const belongs = [owner_of_library](std::filesystem::path const& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 &&
           (found.st_uid == 0 || found.st_uid == ::geteuid() || found.st_uid == owner_of_library);
  };
  return belongs(program.parent_path()) && belongs(program);
}

/// Returns the server beside the library, in the tree where both are installed or built; else the one in
/// PATH.
std::string server_program() {
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void const*>(&server_address), &info) != 0 && info.dli_fname != nullptr) {
    auto const library = std::filesystem::weakly_canonical(info.dli_fname, ignored);
    struct stat file {};
    uid_t const owner = ::stat(library.c_str(), &file) == 0 ? file.st_uid : ::geteuid();
    for (auto path = library.parent_path(); path.has_relative_path(); path = path.parent_path()) {
      auto const program = path / "bin" / "mpix-namd";
      if (::access(program.c_str(), X_OK) == 0 && is_trusted(program, owner)) return program;
    }
  }
  return "mpix-namd";
}

/// Returns the environment without the variables that configure other servers.
std::vector<char*> environment_without_server_settings() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "MPIX_NAMD_", 10) != 0) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

PrivateServer::PrivateServer(std::uint64_t bytes, std::optional<Network> const& network)
    : owner_(::getpid()) {
  LockedTempDirectory directory = make_locked_temp_directory("mpix-nam-private-");
  directory_ = directory.path;
  try {
    start(bytes, network, directory.held);
    await();
    open_grant(bytes, network);
  } catch (...) {
    end();
    throw;
  }
}

PrivateServer::~PrivateServer() {
  if (::getpid() == owner_) end();
}

/// Starts the server, whose processes hold the directory afterwards.
void PrivateServer::start(std::uint64_t bytes, std::optional<Network> const& network,
                          FileDescriptor const& held) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::unavailable, std::string("pipe: ") + std::strerror(errno));
  FileDescriptor const child_end(ends[0]);
  liveness_pipe_ = FileDescriptor(ends[1]);
  std::vector<std::string> args{server_program(),
                                "--size",
                                std::to_string(bytes),
                                "--directory",
                                directory_.string(),
                                "--socket",
                                (directory_ / "socket").string(),
                                "--log-file",
                                (directory_ / "log").string(),
                                "--listen",
                                network ? network->host + ":0" : "none",
                                "--watch-stdin",
                                "--overcommit",
                                "--temporary"};
  if (network) {
    args.push_back("--interfaces=" + network->interfaces);
    args.push_back("--rdma=" + network->rdma);
    if (network->encrypt) args.emplace_back("--encrypt");
  }
  std::vector<char*> arguments;
  for (std::string& arg : args) arguments.push_back(arg.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_end.get(), STDIN_FILENO);
  // Duplicating a descriptor onto itself makes the child inherit it.
  posix_spawn_file_actions_adddup2(&actions, held.get(), held.get());
  // A process that reads the job's output must not wait for the server to end.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  int const error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(),
                                   environment_without_server_settings().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    started_ = engine::start_time_of(pid_);
    return;
  }
  pid_ = -1;
  throw Error(ErrorCode::unavailable, "cannot start " + args[0] + ": " + std::strerror(error));
}

void PrivateServer::await() {
  Address const address{(directory_ / "socket").string(), "", 0};
  for (int waited = 0; waited < start_timeout_ms; waited += poll_interval_ms) {
    try {
      (void)Client(address).request({{"op", "hello"}});
      return;
    } catch (Error const&) {
      if (has_ended(0)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(poll_interval_ms));
    }
  }
  throw Error(ErrorCode::unavailable, "the memory server of the job did not start");
}

void PrivateServer::open_grant(std::uint64_t bytes, std::optional<Network> const& network) {
  Client server({(directory_ / "socket").string(), "", 0});
  grant_ = parse_locator(field<std::string>(server.request({{"op", "grant"}, {"bytes", bytes}}), "locator"));
  if (!network) return;
  Json const made = server.request({{"op", "secret"}});
  set_secret(grant_.address, secret_from_hex(field<std::string>(made, "secret")));
}

bool PrivateServer::has_ended(int within_ms) {
  auto const is_another = [this] { return ::kill(pid_, 0) != 0 || engine::start_time_of(pid_) != started_; };
  for (int waited = 0; pid_ > 0; waited += poll_interval_ms) {
    pid_t const found = ::waitpid(pid_, nullptr, WNOHANG);
    // The application may have reaped all of its children.
    if (found == pid_ || (found < 0 && errno == ECHILD && is_another())) pid_ = -1;
    if (pid_ < 0 || waited >= within_ms) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(poll_interval_ms));
  }
  return pid_ < 0;
}

void PrivateServer::end() {
  liveness_pipe_ = FileDescriptor();
  // A child made by vfork() or clone() may still hold the pipe.
  if (!has_ended(pipe_timeout_ms)) ::kill(pid_, SIGTERM);
  if (!has_ended(stop_timeout_ms)) {
    ::kill(pid_, SIGKILL);
    (void)has_ended(stop_timeout_ms);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace mpixrma::nam

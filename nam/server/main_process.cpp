#include "nam/server/main_process.hpp"

#include <dirent.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "nam/process/admission.hpp"
#include "nam/process/log.hpp"
#include "nam/process/sandbox.hpp"
#include "nam/process/subordinate_users.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/server/exit_codes.hpp"
#include "nam/server/main_process_link.hpp"
#include "nam/server/service_manager.hpp"
#include "nam/server/start_program.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::milliseconds first_delay{100};
constexpr std::chrono::milliseconds longest_delay{30000};
constexpr int max_polls = 50;
constexpr std::chrono::milliseconds poll_interval{10};

std::vector<FileDescriptor> duplicates_of(std::vector<FileDescriptor> const& descriptors) {
  std::vector<FileDescriptor> copies;
  copies.reserve(descriptors.size());
  for (FileDescriptor const& each : descriptors) copies.push_back(duplicate_of(each));
  return copies;
}

struct SocketPair {
  FileDescriptor ours;
  FileDescriptor theirs;
};

SocketPair connected_sockets() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    throw Error(ErrorCode::unavailable, std::string("socketpair: ") + std::strerror(errno));
  return {FileDescriptor(pair[0]), FileDescriptor(pair[1])};
}

/// Sends SIGKILL from a child that has become `uid`, so that a wrong `pid` cannot end a process of another
/// user.
void kill_as(uid_t uid, pid_t pid) {
  pid_t const child = ::fork();
  if (child == 0) {
    try {
      become({uid, static_cast<gid_t>(uid), ""});
      drop_privileges();
      (void)::kill(pid, SIGKILL);
    } catch (Error const&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  if (child > 0) (void)::waitpid(child, nullptr, 0);
}

/// Returns the users of all processes that exist, those of other servers included.
std::set<uid_t> uids_in_use() {
  std::set<uid_t> users;
  std::unique_ptr<DIR, int (*)(DIR*)> const directory(::opendir("/proc"), ::closedir);
  while (dirent const* const entry = directory ? ::readdir(directory.get()) : nullptr) {
    struct stat status {};
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (::fstatat(::dirfd(directory.get()), entry->d_name, &status, 0) == 0) users.insert(status.st_uid);
  }
  return users;
}

/// Waits for a short time until `is_so` returns true, and returns whether it does.
template <typename Condition>
bool becomes_so(Condition is_so) {
  for (int tried = 0; tried < max_polls; ++tried) {
    if (is_so()) return true;
    std::this_thread::sleep_for(poll_interval);
  }
  return false;
}

/// Waits for a short time until no process runs as the user, and returns whether that is so. The previous
/// data process may still be ending; waitpid() does not suffice, because it need not be a child of this
/// process.
bool wait_until_user_is_free(uid_t user) {
  return becomes_so([user] { return !uids_in_use().contains(user); });
}

/// Returns the user who has made the memory of a grant; nothing if there is none.
std::optional<uid_t> owner_of_memory(std::vector<FileDescriptor> const& memory) {
  struct stat status {};
  if (memory.empty() || ::fstat(memory.back().get(), &status) != 0) return std::nullopt;
  return status.st_uid;
}

}  // namespace

MainProcess::MainProcess(Options const& options, std::vector<std::string> arguments)
    : options_(options), arguments_(std::move(arguments)), restart_delay_(first_delay) {
  (void)raise_descriptor_limit();  // three descriptors of each grant's memory are kept here
  for (FileDescriptor& each : inherited_listeners()) listeners_.push_back({std::move(each), "", true});
  choose_users();
  // The control process of root keeps the rights that it needs for files and ports of the server.
  keep_capabilities({CAP_SETUID, CAP_SETGID, CAP_KILL},
                    {CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_NET_BIND_SERVICE});
  loop_.on_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int signal) { on_signal(signal); });
  restart_timer_ = loop_.add_timer([this] { restart_control(); });
}

/// A user to whom users of data processes are subordinate could end data processes and read their memory.
void MainProcess::check_data_users() const {
  auto const owner = SubordinateUsers().owner_in(options_.first_data_user, options_.data_users);
  if (!owner) return;
  std::string const why = "users of --data-uids are subordinate to user " + std::to_string(*owner) +
                          " (/etc/subuid), who could end data processes and read their memory";
  if (options_.data_users_given) throw Error(ErrorCode::bad_request, why);
  log(Severity::warning, why);
}

void MainProcess::choose_users() {
  if (options_.data_users == 0) return;
  bool const possible = can_change_user() && has_users(options_.first_data_user, options_.data_users);
  if (possible) {
    check_data_users();
    has_data_users_ = true;
  } else if (options_.data_users_given) {
    throw Error(ErrorCode::bad_request,
                "--data-uids needs the capabilities CAP_SETUID and CAP_SETGID, and users that exist in this "
                "user namespace");
  } else if (::geteuid() == 0) {
    log(Severity::warning,
        "data processes run as root without capabilities: this user namespace has no users " +
            std::to_string(options_.first_data_user) + " and up (--data-uids)");
  }
}

int MainProcess::run() {
  start_control();
  loop_.run();
  return exit_code_;
}

/// Tries again later after a failure: the system may lack descriptors, processes or memory for a time.
void MainProcess::restart_control() {
  try {
    start_control();
  } catch (std::exception const& error) {
    control_.reset();
    if (control_pid_ == 0)
      return restart_later(std::string("the control process cannot start: ") + error.what());
    (void)::kill(control_pid_, SIGKILL);  // it cannot reach this process; on_control_exit() restarts it
  }
}

/// The new process first gets the listeners and the descriptors of the grants' memory.
void MainProcess::start_control() {
  SocketPair sockets = connected_sockets();
  std::vector<std::string> words{"mpix-namd", "--control-process", std::to_string(sockets.theirs.get())};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  control_pid_ = start_program(std::move(words), sockets.theirs);
  control_ = std::make_unique<Connection>(
      loop_, Channel(std::move(sockets.ours), main_process_limits),
      [this](Message& message) { on_message(message); },
      [this] { loop_.later([this] { control_.reset(); }); });
  for (Listener const& each : listeners_) {
    std::vector<FileDescriptor> passed;
    passed.push_back(duplicate_of(each.socket));
    control_->post({{"op", "listener"}, {"host", each.host}, {"inherited", each.is_inherited}}, {},
                   std::move(passed));
  }
  for (auto const& [grant, state] : grants_) {
    if (!state.memory.empty())
      control_->post({{"op", "held"}, {"grant", grant}}, {}, duplicates_of(state.memory));
  }
  control_->post({{"op", "begin"},
                  {"first_user", options_.first_data_user},
                  {"users", has_data_users_ ? options_.data_users : 0u}});
}

void MainProcess::on_message(Message& message) {
  Json const& head = message.head;
  auto const op = field<std::string>(head, "op");
  if (op == "start") {
    answer(head, start_data(message));
  } else if (op == "hold") {
    hold(field<std::string>(head, "grant"), std::move(message.descriptors));
  } else if (op == "adopted") {
    grants_[field<std::string>(head, "grant")].uid = field<uid_t>(head, "uid");
  } else if (op == "drop") {
    drop(field<std::string>(head, "grant"));
  } else if (op == "kill") {
    if (auto const found = grants_.find(field<std::string>(head, "grant")); found != grants_.end())
      kill_data(found->second);
    drop(field<std::string>(head, "grant"));
    if (head.contains("pid"))
      kill_earlier(static_cast<pid_t>(field<std::uint32_t>(head, "pid")), field<uid_t>(head, "uid"));
  } else if (op == "is_open") {
    // Without free descriptors here, the memory did not arrive.
    bool const is_open = message.descriptors.empty() || is_open_elsewhere(message.descriptors.front().get());
    answer(head, {{"open", is_open}});
  } else if (op == "listener") {
    for (FileDescriptor& each : message.descriptors) {
      // Listens again, so that the system reports this process, not the control process, as the peer of
      // clients: they trust a server of root.
      listen_at(each);
      listeners_.push_back({std::move(each), field<std::string>(head, "host")});
    }
  } else if (op == "notify") {
    auto const state = field<std::string>(head, "state");
    if (state == "READY=1") {
      was_ready_ = true;
      restart_delay_ = first_delay;
    }
    notify_manager(state);
  }
}

/// The number of the request tells the control process whether it still waits for this answer.
void MainProcess::answer(Json const& request, Json content) {
  content["request"] = field<std::uint64_t>(request, "request");
  control_->post(content);
}

/// If the descriptors were lost because this process has too many, it keeps those that it has.
void MainProcess::hold(std::string const& grant, std::vector<FileDescriptor> memory) {
  if (memory.empty())
    return log(Severity::error, "the memory of grant " + grant +
                                    " cannot be held: the main process of the server has too many "
                                    "descriptors");
  grants_[grant].memory = std::move(memory);
}

/// The process's user becomes free when the process has ended.
void MainProcess::drop(std::string const& grant) {
  auto const found = grants_.find(grant);
  if (found == grants_.end()) return;
  found->second.memory.clear();
  if (found->second.pid == 0) grants_.erase(found);
}

/// Returns the answer. Ends an earlier data process first: one that the control process does not know any
/// more must not use the memory beside the new one.
Json MainProcess::start_data(Message& message) {
  try {
    // The system drops descriptors that exceed the limit.
    if (message.descriptors.size() != 1)
      throw Error(ErrorCode::unavailable, "the main process of the server has too many descriptors");
    auto const grant = field<std::string>(message.head, "grant");
    FileDescriptor const& socket = message.descriptors.front();
    GrantState& state = grants_[grant];
    end_data(state);
    if (has_data_users_) state.uid = user_for(grant, state);
    std::string const user = has_data_users_ ? std::to_string(*state.uid) : "-";
    // The name in the log. Any user can list the arguments of processes, so they do not have the whole
    // identifier.
    std::string const name = grant.substr(0, 8);
    state.pid =
        start_program({"mpix-namd", "--data-process", std::to_string(socket.get()), name, user}, socket);
    return {{"pid", static_cast<std::uint32_t>(state.pid)}};
  } catch (Error const& error) {
    return to_answer(error);
  }
}

void MainProcess::kill_data(GrantState const& state) {
  if (state.pid == 0) return;
  // Without kill_as() at first: the process may not have changed its user yet.
  if (::kill(state.pid, SIGKILL) != 0 && state.uid) kill_as(*state.uid, state.pid);
}

/// Does not wait for long: a process that waits for a disk does not end before the disk answers, and the
/// whole server waits for this process. Throws Error(unavailable); on_exit() notes the end later.
void MainProcess::end_data(GrantState& state) {
  if (state.pid == 0) return;
  kill_data(state);
  if (!becomes_so([&state] { return ::waitpid(state.pid, nullptr, WNOHANG) != 0; }))
    throw Error(ErrorCode::unavailable, "the earlier data process of the grant has not ended yet");
  state.pid = 0;
}

/// A data process of an earlier server is no child of this process. The control process names its pid, which
/// may be wrong: kill_as() ends only a process of the given data user.
void MainProcess::kill_earlier(pid_t pid, uid_t uid) const {
  if (pid <= 0) return;
  if (has_data_users_ && is_data_user(uid)) {
    kill_as(uid, pid);
  } else if (!has_data_users_ && uid == ::geteuid()) {
    (void)::kill(pid, SIGKILL);
  }
}

bool MainProcess::is_data_user(uid_t uid) const noexcept {
  return uid >= options_.first_data_user && uid - options_.first_data_user < options_.data_users;
}

/// Returns the data user who owns the memory, because others may not open it. If there is none, or processes
/// still run as that user, returns a free user, and permits any holder of a descriptor to reopen the memory.
uid_t MainProcess::user_for(std::string const& grant, GrantState const& state) const {
  std::optional<uid_t> const maker = owner_of_memory(state.memory);
  if (maker && is_data_user(*maker) && wait_until_user_is_free(*maker)) return *maker;
  uid_t const user = free_user(grant);
  for (FileDescriptor const& each : state.memory) admit_others(each.get());
  return user;
}

/// Returns a data user that no grant uses, without processes or an entry in the user database. The search
/// begins at a number derived from the grant, so that servers rarely choose the same.
uid_t MainProcess::free_user(std::string const& grant) const {
  std::set<uid_t> taken = uids_in_use();
  for (auto const& [id, state] : grants_) {
    if (id == grant) continue;
    if (state.uid) taken.insert(*state.uid);
    if (auto const maker = owner_of_memory(state.memory)) taken.insert(*maker);
  }
  std::size_t const start = std::hash<std::string>()(grant);
  for (std::uint32_t tried = 0; tried < options_.data_users; ++tried) {
    auto const uid = static_cast<uid_t>(options_.first_data_user + (start + tried) % options_.data_users);
    if (!taken.contains(uid) && ::getpwuid(uid) == nullptr) return uid;
  }
  throw Error(ErrorCode::quota, "all users of --data-uids are taken");
}

void MainProcess::on_signal(int signal) {
  if (signal == SIGCHLD) {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG))
      on_exit(pid, status);
    return;
  }
  is_ending_ = is_ending_ || signal != SIGHUP;
  if (control_pid_ != 0) {
    (void)::kill(control_pid_, signal);
  } else if (is_ending_) {
    loop_.stop();
  }
}

void MainProcess::on_exit(pid_t pid, int status) {
  if (pid == control_pid_) return on_control_exit(status);
  for (auto each = grants_.begin(); each != grants_.end(); ++each) {
    if (each->second.pid != pid) continue;
    each->second.pid = 0;
    each->second.uid.reset();
    if (each->second.memory.empty()) grants_.erase(each);
    return;
  }
}

/// Once a control process has been ready, it is restarted after a crash and after exit_failure, but not after
/// another exit code: a wrong option, a damaged catalog, or an ordered end.
void MainProcess::on_control_exit(int status) {
  control_pid_ = 0;
  control_.reset();
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : exit_failure;
  bool const goes_on = was_ready_ && !is_ending_ && (!WIFEXITED(status) || exit_code_ == exit_failure);
  if (!goes_on) return loop_.stop();
  restart_later("the control process has ended " + (WIFEXITED(status)
                                                        ? "with exit code " + std::to_string(exit_code_)
                                                        : "by signal " + std::to_string(WTERMSIG(status))));
}

void MainProcess::restart_later(std::string const& why) {
  log(Severity::error, why + "; it is started again in " + std::to_string(restart_delay_.count()) + " ms");
  EventLoop::start_timer(restart_timer_, restart_delay_);
  restart_delay_ = std::min(restart_delay_ * 2, longest_delay);
}

}  // namespace mpixrma::nam

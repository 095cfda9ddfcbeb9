/// mpix-nam evict: ends a persistent window and waits until no process maps its memory. The server cannot
/// stop a process that stores to mapped memory; on request the tool ends such processes, with the rights of
/// its own user.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "nam/client/client.hpp"
#include "nam/client/follow.hpp"
#include "nam/process/identity.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/units.hpp"
#include "nam/tool/commands.hpp"

namespace mpixrma::nam {

PartsAnswer ask_for_parts(Address const& server, std::string const& port, Json request) {
  request["port"] = port;
  PartsAnswer answer{Client(server).request(request), {}};
  Json const& first = answer.first;
  request["owner"] = first.at("owner");
  answer.parts.push_back({{field<std::string>(first, "grant"), field<std::string>(first, "window"), server},
                          field<uid_t>(first, "grant_owner")});
  std::optional<Error> failure;
  for (auto const& part : field<std::vector<std::string>>(first, "other_parts")) {
    try {
      request["port"] = part;
      Locator where = parse_locator(part);
      where.address = followed(where.address, server);
      Json const reply = Client(where.address).request(request);
      answer.parts.push_back({std::move(where), field<uid_t>(reply, "grant_owner")});
    } catch (Error const& error) {
      if (error.code() == ErrorCode::not_found) continue;
      failure.emplace(error.code(), "the part " + part + " of the window stays as it is: " + error.what());
      std::fprintf(stderr, "mpix-nam: %s\n", printable(failure->what()).c_str());
    }
  }
  if (failure) throw *failure;
  return answer;
}

void evict_window(Address const& server, std::string const& port) {
  (void)ask_for_parts(server, port, {{"op", "evict"}});
}

namespace {

using Clock = std::chrono::steady_clock;

int send_signal([[maybe_unused]] FileDescriptor const& process, [[maybe_unused]] int signal) {
#ifdef SYS_pidfd_send_signal
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0));
#else
  errno = ENOSYS;
  return -1;
#endif
}

/// Returns the number behind `name` in a file of lines "name: number ...", if any.
std::optional<std::int64_t> number_in(std::string const& file, std::string const& name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string first;
    std::int64_t number = 0;
    if (words >> first >> number && first == name) return number;
  }
  return std::nullopt;
}

/// Returns the user of a process (pidfd); nothing if it cannot be found out: the process has ended, is in
/// another PID namespace, or /proc hides it.
std::optional<uid_t> user_of(FileDescriptor const& process) {
  auto const pid = number_in("/proc/self/fdinfo/" + std::to_string(process.get()), "Pid:");
  if (!pid || *pid <= 0) return std::nullopt;
  auto const uid = number_in("/proc/" + std::to_string(*pid) + "/status", "Uid:");
  // The pid can belong to another process only if the process of the pidfd has ended. Whether this user may
  // send signals does not matter.
  bool const has_ended = send_signal(process, 0) != 0 && errno == ESRCH;
  if (!uid || has_ended) return std::nullopt;
  return static_cast<uid_t>(*uid);
}

/// The processes that map a window, as its data process reports them. A data process could name any process,
/// so the tool ends only those of the grant's owner, whom the control process has reported.
class Mappers {
 public:
  explicit Mappers(PartsAnswer::Part const& part)
      : client_(part.where.address), window_(part.where.window), owner_(part.grant_owner) {
    (void)client_.request({{"op", "open"}, {"grant", part.where.grant}});
  }

  /// Returns false once the memory of the evicted window is free: no client maps it or has a key of it.
  bool refresh() {
    descriptors_.clear();
    Json const answer =
        client_.exchange({{"op", "processes"}, {"window", window_}}, {}, nullptr, &descriptors_);
    processes_ = answer.at("processes");
    return field<bool>(answer, "reserved");
  }
  /// A subset if there are many processes.
  Json const& processes() const noexcept { return processes_; }

  /// Sends SIGTERM, and SIGKILL after `grace`. Tries all processes, then throws Error(denied) if one failed.
  void end(std::chrono::seconds grace) {
    check_reporter();
    if (descriptors_.size() != processes_.size())
      throw Error(ErrorCode::unsupported,
                  "processes are ended on the server's host, by its Unix socket, on Linux 5.3 or newer");
    std::optional<Error> failure;
    for (std::size_t i = 0; i < descriptors_.size(); ++i) {
      auto const pid = field<std::uint64_t>(processes_[i], "pid");
      auto const [found, is_new] = kill_at_.try_emplace(pid, Clock::now() + grace);
      if (!is_new && Clock::now() < found->second) continue;
      auto const user = user_of(descriptors_[i]);
      if (!user && send_signal(descriptors_[i], 0) != 0 && errno == ESRCH) continue;
      if (!user || *user != owner_) {
        failure.emplace(ErrorCode::denied, "process " + describe(processes_[i]) +
                                               (user ? " is not one of the grant's owner, and is not ended"
                                                     : " has an unknown user, and is not ended"));
        continue;
      }
      if (send_signal(descriptors_[i], is_new ? SIGTERM : SIGKILL) == 0 || errno == ESRCH) continue;
      failure.emplace(ErrorCode::denied, "cannot end process " + describe(processes_[i]) + ": " +
                                             std::strerror(errno) + "; root and the user of the process may");
    }
    if (failure) throw *failure;
  }

  static std::string describe(Json const& process) {
    return std::to_string(field<std::uint64_t>(process, "pid")) + " (" +
           printable(user_name(field<uid_t>(process, "uid"))) + ")";
  }

 private:
  /// Root may end any process, but a report from a server that another user runs does not prove that the
  /// processes use that server.
  void check_reporter() const {
    auto const user = client_.server_user();
    if (::geteuid() != 0 || !user || *user == 0 || *user == owner_) return;
    throw Error(ErrorCode::denied, "the server of user " + std::to_string(*user) +
                                       " names processes of user " + std::to_string(owner_) +
                                       ", which are not ended");
  }

  Client client_;
  std::string window_;
  uid_t owner_;
  Json processes_ = Json::array();
  std::vector<FileDescriptor> descriptors_;
  std::map<std::uint64_t, Clock::time_point> kill_at_;  ///< time of SIGKILL by pid
};

/// Prints a line for processes that were not named before.
void print(Json const& processes, std::set<std::uint64_t>* printed) {
  std::string names;
  for (Json const& each : processes) {
    if (!printed->insert(field<std::uint64_t>(each, "pid")).second) continue;
    names += (names.empty() ? "" : ", ") + Mappers::describe(each);
  }
  if (names.empty()) return;
  std::fprintf(stderr,
               "mpix-nam: the window is evicted; its memory is free when these processes have ended: %s\n",
               names.c_str());
}

/// Returns nothing if the grant has ended or has no memory now.
std::optional<Mappers> mappers_of(PartsAnswer::Part const& part) {
  try {
    return std::make_optional<Mappers>(part);
  } catch (Error const& error) {
    if (error.code() != ErrorCode::not_found && error.code() != ErrorCode::unavailable) throw;
    return std::nullopt;
  }
}

void wait_for_mappers(PartsAnswer::Part const& part, bool ends, std::chrono::seconds grace,
                      std::set<std::uint64_t>* printed) {
  constexpr std::chrono::milliseconds pause{100};
  while (auto mappers = mappers_of(part)) {
    try {
      for (; mappers->refresh(); std::this_thread::sleep_for(pause)) {
        print(mappers->processes(), printed);
        if (ends) mappers->end(grace);
      }
      return;
    } catch (Error const& error) {
      if (error.code() != ErrorCode::unavailable) throw;
      std::this_thread::sleep_for(pause);  // the data process has ended; ask its successor
    }
  }
}

void print_dry_run(PartsAnswer const& evicted, Arguments const& arguments) {
  Json processes = Json::array();
  std::string names;
  for (PartsAnswer::Part const& part : evicted.parts) {
    auto mappers = mappers_of(part);
    if (!mappers) continue;
    (void)mappers->refresh();
    for (Json const& each : mappers->processes()) {
      processes.push_back(each);
      names += (names.empty() ? "" : ", ") + Mappers::describe(each);
    }
  }
  if (arguments.json) {
    Json shown = evicted.first;
    shown["processes"] = processes;
    return print_json(shown);
  }
  std::cout << "would evict window " << text_of(evicted.first, "window") << ": "
            << bytes_of(evicted.first, "bytes") << ", and " << evicted.first.at("other_parts").size()
            << " parts in other grants\n";
  if (!names.empty())
    std::cout << "would " << (arguments.end_processes ? "end" : "wait for") << " processes " << names << "\n";
}

}  // namespace

void evict(Arguments const& arguments) {
  std::chrono::seconds const grace(seconds_of(arguments.grace));  // checked before anything changes
  PartsAnswer const evicted =
      ask_for_parts(address_of(arguments), arguments.target, or_dry_run(arguments, {{"op", "evict"}}));
  if (arguments.dry_run) return print_dry_run(evicted, arguments);
  std::set<std::uint64_t> printed;
  if (!arguments.no_wait) {
    for (PartsAnswer::Part const& part : evicted.parts)
      wait_for_mappers(part, arguments.end_processes, grace, &printed);
  }
  if (arguments.json) print_json(evicted.first);
}

}  // namespace mpixrma::nam

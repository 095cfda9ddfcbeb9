#include "nam/server/control_server.hpp"

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "nam/process/log.hpp"
#include "nam/protocol/creation_mask.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/server/catalog_files.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::seconds longest_wait_for_directory{3};
/// The server answers all connections that it keeps of a host in less than this, also if it has little of a
/// core.
constexpr std::chrono::milliseconds least_stay{1000};
/// Connections that have not authenticated, of all hosts, whatever --max-connections is.
constexpr std::size_t least_unauthenticated = 1024;
constexpr int longest_end = 5;  ///< seconds
constexpr std::size_t least_lingering = 256;
constexpr std::uint64_t max_kept_answers = 64u << 20;

void make_private(std::filesystem::path const& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error || ::chmod(directory.c_str(), S_IRWXU) != 0)
    throw Error(ErrorCode::bad_request,
                "cannot use the directory " + directory.string() + ": " + std::strerror(errno));
}

/// Makes and locks the directory for this server alone.
FileDescriptor take_directory(Options const& options) {
  make_private(options.directory);
  make_private(options.directory / "run");
  if (options.storage == StorageKind::file) {
    std::error_code error;
    // Only this server creates files there.
    if (std::filesystem::create_directories(options.storage_directory, error))
      (void)::chmod(options.storage_directory.c_str(), S_IRWXU);
  }
  // The control process of a server that was killed is about to end, too.
  auto const end = std::chrono::steady_clock::now() + longest_wait_for_directory;
  for (;;) {
    try {
      return lock_directory(options.directory);
    } catch (Error const& error) {
      if (error.code() != ErrorCode::exists || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

ControlServer::ControlServer(Options options, std::function<std::optional<Options>()> reread,
                             SpawnerLink& spawner)
    : options_(std::move(options)),
      reread_(std::move(reread)),
      spawner_(spawner),
      lock_(take_directory(options_)),
      keys_(options_.directory / "server.key"),
      reserve_(options_.directory / "reserve"),
      catalog_(options_.directory / "catalog.sqlite", &reserve_),
      audit_(options_.audit_log),
      descriptor_limit_(raise_descriptor_limit()),
      admission_(
          max_connections(), [this](ClientId id) { give_way(id); }, least_stay,
          std::min(least_unauthenticated, descriptor_limit_ / 16)),
      secrets_(options_.directory / "secrets"),
      kept_answers_("bytes of messages", max_kept_answers) {
  log(Severity::info, "the limit of open descriptors is " + std::to_string(descriptor_limit_) +
                          ", that of connections " + std::to_string(admission_.limit()));
  (void)reserve_.take();
  if (!enable_interrupted_waits())
    log(Severity::warning,
        "the system has no timer left: descriptors that clients send may delay the server");
  open_listeners();
  loop_.on_signals({SIGTERM, SIGINT, SIGHUP, SIGCHLD}, [this](int signal) { on_signal(signal); });
  loop_.every(std::chrono::seconds(1), [this] { tick(); });
  if (options_.watch_stdin)
    loop_.watch(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) {
      char ignored[256];
      if (::read(STDIN_FILENO, ignored, sizeof ignored) > 0) return;
      loop_.forget(STDIN_FILENO);
      end();
    });
  for (Grant const& each : catalog_.grants()) start(each, 0);
  GrantFile::sweep(options_.storage_directory,
                   [this](std::string const& id) { return grants_.contains(id); });
}

int ControlServer::run() {
  spawner_.notify("READY=1");
  log(Severity::info, "ready at " + nam::format(address_));
  record_own("start");
  loop_.run();
  if (!address_.unix_path.empty()) ::unlink(address_.unix_path.c_str());
  return 0;
}

void ControlServer::open_listeners() {
  address_.unix_path = options_.socket;
  address_.host = options_.advertise;
  for (SpawnerLink::Listener& each : spawner_.take_listeners()) {
    add_listener(std::move(each.socket));
    if (address_.host.empty()) address_.host = each.host;
  }
  bool const inherited = !listeners_.empty();
  if (!inherited) {
    std::filesystem::path const parent = std::filesystem::path(options_.socket).parent_path();
    std::error_code ignored;
    // All users reach the socket, and only this one replaces it, whatever mask the server was started with.
    CreationMask const mask(S_IWGRP | S_IWOTH);
    if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
    // The system reports the user of each client that connects.
    add_listener(listen_unix(options_.socket, 0666));
    spawner_.keep_listener(listeners_.back(), "");
  }
  for (std::string const& endpoint : inherited ? std::vector<std::string>() : options_.listen) {
    try {
      FileDescriptor listener = listen_tcp(endpoint);
      address_.port = port_of(listener);
      std::string const host = endpoint.substr(0, endpoint.rfind(':'));
      if (address_.host.empty()) address_.host = host;
      spawner_.keep_listener(listener, host);
      add_listener(std::move(listener));
    } catch (Error const& error) {
      if (options_.listen_given) throw;
      log(Severity::warning, std::string("no TCP: ") + error.what());
    }
  }
  if (address_.port != 0 && (address_.host.empty() || address_.host == "0.0.0.0")) {
    char name[256] = {};
    (void)::gethostname(name, sizeof name - 1);
    address_.host = name;
  }
  if (address_.port != 0) address_.key = to_text(keys_.current().public_key);
  (void)format(Locator{std::string(32, '0'), std::string(32, '0'), address_});  // is short enough
}

void ControlServer::add_listener(FileDescriptor listener) {
  int const fd = listener.get();
  refuse_descriptors(listener);
  listeners_.push_back(std::move(listener));
  FileDescriptor const& kept = listeners_.back();
  if (std::uint16_t const port = port_of(kept); port != 0) address_.port = port;
  loop_.watch(fd, EPOLLIN,
              [this, index = listeners_.size() - 1](std::uint32_t) { take_connections(listeners_[index]); });
}

/// Clients that connect while the previous key is accepted receive the new one.
Json ControlServer::rotate_key(ClientId id, Json const& request) {
  if (!identity(id).is_admin)
    throw Error(ErrorCode::denied, "only administrators of the server change its key");
  keys_.rotate(calendar_.now() + static_cast<std::int64_t>(field<std::uint32_t>(request, "overlap")));
  std::string const key = to_text(keys_.current().public_key);
  if (address_.port != 0) address_.key = key;
  log(Severity::info, "the server has a new key: " + key);
  return {{"key", key}};
}

void ControlServer::on_signal(int signal) {
  if (signal == SIGHUP) return reread_options();
  if (signal != SIGCHLD) return end();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void ControlServer::reread_options() {
  spawner_.notify("RELOADING=1");
  if (auto fresh = reread_()) {
    options_.capacity = fresh->capacity;
    options_.admins = fresh->admins;
    options_.self_service = fresh->self_service;
    options_.user_capacity = fresh->user_capacity;
    options_.max_windows = fresh->max_windows;
    options_.max_regions = fresh->max_regions;
    options_.max_sessions = fresh->max_sessions;
    options_.lease = fresh->lease;
    options_.max_metadata = fresh->max_metadata;
    options_.max_connections = fresh->max_connections;
    options_.expiry_grace = fresh->expiry_grace;
    options_.max_user_grants = fresh->max_user_grants;
    admission_.set_limit(max_connections());
    secrets_.refresh();
    end_former_admins();
    subordinates_.refresh();
    set_log_level(fresh->log_level);
    log(Severity::info, "read the configuration again");
    audit_.reopen();
    record_own("reload");
  } else {
    log(Severity::error, "the configuration is invalid; the previous one remains in force");
  }
  spawner_.notify("READY=1");
}

void ControlServer::end() {
  if (std::exchange(is_ending_, true)) return loop_.stop();
  spawner_.notify("STOPPING=1");
  log(Severity::info, "ends");
  record_own("end");
  for (auto& [id, live] : grants_) ending_.push_back(std::move(live.link));
  grants_.clear();
  for (auto const& link : ending_) link->end(true);
  drop_ended();
}

/// Drops the links of data processes that have ended.
void ControlServer::drop_ended() {
  for (auto const& link : ending_) link->enforce_end();
  answer_revocations();
  std::erase_if(ending_, [this](auto const& link) {
    return link->has_ended() && (is_ending_ || link->release_memory());
  });
  // Their descriptors are kept in order to know which memory their clients use; if there are many, not for
  // all.
  auto const max_lingering = static_cast<std::ptrdiff_t>(std::max(least_lingering, descriptor_limit_ / 16));
  auto lingering =
      std::count_if(ending_.begin(), ending_.end(), [](auto const& link) { return link->has_ended(); });
  std::erase_if(ending_, [&](auto const& link) { return link->has_ended() && lingering-- > max_lingering; });
  if (is_ending_ && ending_.empty()) loop_.stop();
}

/// A user who makes and ends grants in a loop does not fill the log.
void ControlServer::log_of_grant(Grant const& grant, std::string const& text) {
  auto const omitted = grant_lines_.take(user_name(grant.owner), Budgets::Clock::now());
  if (!omitted) return;
  std::string const others = std::to_string(*omitted) + " lines about grants of this user were omitted";
  log(Severity::info, *omitted == 0 ? text : text + " (" + others + ")");
}

/// Called once a second.
void ControlServer::log_omitted_lines() {
  for (Budgets::Refused const& each : grant_lines_.take_refused(Budgets::Clock::now()))
    log(Severity::info,
        std::to_string(each.count) + " lines about grants of " + each.source + " were omitted");
}

/// Called once a second.
void ControlServer::tick() {
  if (is_ending_ && ++seconds_ending_ > longest_end) return loop_.stop();
  for (auto& [id, live] : grants_) live.link->tick();
  end_unauthenticated();
  if (is_ending_) return;
  end_expired();
  try {
    keys_.drop_expired(calendar_.now());
  } catch (Error const& error) {
    log(Severity::warning, error.what());  // they are not accepted in any case
  }
  drop_ended();
  remove_lost_windows();
  audit_.report_omitted();
  log_omitted_lines();
  (void)reserve_.take();
}

}  // namespace mpixrma::nam

#include "nam/server/listeners.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>

#include "nam/process/log.hpp"
#include "nam/protocol/creation_mask.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::milliseconds shortage_pause{100};
/// Connections that are accepted before other work has its turn. If other work waits, few TCP connections are
/// accepted: a host that connects fast would otherwise delay the answers to its own connections until they
/// end. Connections of the Unix socket wait in one queue for all users, and take turns once they are
/// accepted.
constexpr int max_taken = 16;
constexpr int max_taken_before_turns = 2;
/// Abandoned connections that are dropped in a turn: dropping takes little time, and others wait behind them.
constexpr int max_dropped = 256;

/// Whether the client has closed the connection, and takes no answer.
bool is_abandoned(FileDescriptor const& socket) noexcept {
  pollfd entry{socket.get(), 0, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & (POLLHUP | POLLERR)) != 0;
}

/// A message that was sent on the connection may carry descriptors, whose release may block.
void drop(FileDescriptor socket) noexcept {
  InterruptedWait const interrupted(may_carry_descriptors(socket));
  FileDescriptor const closed = std::move(socket);
}

}  // namespace

void Listeners::open(Options const& options, MainProcessLink& main_process, ServerKeys const& keys) {
  address_.unix_path = options.socket;
  address_.host = options.advertise;
  bool has_unix = false;
  bool has_network = false;
  for (MainProcessLink::Listener& each : main_process.take_listeners()) {
    bool const is_network = port_of(each.socket) != 0;
    (is_network ? has_network : has_unix) = true;
    owns_path_ = owns_path_ || (!is_network && !each.is_inherited);
    add(std::move(each.socket));
    if (address_.host.empty()) address_.host = each.host;
  }
  if (!has_unix) open_unix(options, main_process);
  if (!has_network) {
    for (std::string const& endpoint : options.listen) open_tcp(options, endpoint, main_process);
  }
  if (address_.port != 0 && (address_.host.empty() || address_.host == "0.0.0.0" || address_.host == "::")) {
    char name[256] = {};
    (void)::gethostname(name, sizeof name - 1);
    address_.host = name;
  }
  set_key(to_text(keys.current().public_key));
  (void)format(Locator{std::string(32, '0'), std::string(32, '0'), address_});  // throws if it is too long
}

/// Opens the Unix socket, on which the system reports the user of each client.
void Listeners::open_unix(Options const& options, MainProcessLink& main_process) {
  std::filesystem::path const parent = std::filesystem::path(options.socket).parent_path();
  std::error_code ignored;
  // All users reach the socket, and only the server's user replaces it, whatever mask the server was started
  // with.
  ScopedUmask const mask(S_IWGRP | S_IWOTH);
  if (!parent.empty()) std::filesystem::create_directories(parent, ignored);
  add(listen_unix(options.socket, 0666));
  owns_path_ = true;
  main_process.keep_listener(listeners_.back(), "");
}

void Listeners::remove_path() const noexcept {
  if (owns_path_) (void)::unlink(address_.unix_path.c_str());
}

void Listeners::open_tcp(Options const& options, std::string const& endpoint, MainProcessLink& main_process) {
  try {
    FileDescriptor listener = listen_tcp(endpoint);
    std::string const host = parse_endpoint(endpoint).value().host;
    main_process.keep_listener(listener, host);
    if (address_.host.empty()) address_.host = host;
    add(std::move(listener));
  } catch (Error const& error) {
    if (options.listen_given) throw;
    log(Severity::warning, std::string("no TCP: ") + error.what());
  }
}

void Listeners::add(FileDescriptor listener) {
  int const fd = listener.get();
  refuse_descriptors(listener);
  listeners_.push_back(std::move(listener));
  FileDescriptor const& kept = listeners_.back();
  if (std::uint16_t const port = port_of(kept); port != 0) address_.port = port;
  loop_.watch(fd, EPOLLIN,
              [this, index = listeners_.size() - 1](std::uint32_t) { take_connections(listeners_[index]); });
}

void Listeners::take_connections(FileDescriptor const& listener) {
  bool const is_network = port_of(listener) != 0;
  int const most = is_network && loop_.has_turns() ? max_taken_before_turns : max_taken;
  int dropped = 0;
  for (int taken = 0; taken < most && dropped < max_dropped;) {
    FileDescriptor socket = accept_from(listener);
    if (socket) {
      if (is_abandoned(socket)) {
        drop(std::move(socket));
        ++dropped;
        continue;
      }
      admit_(std::move(socket));
      ++taken;
      continue;
    }
    if (!is_shortage(errno)) return;
    // The connections wait in the queue of the listener.
    loop_.pause(listener.get(), shortage_pause);
    auto const now = Retry::Clock::now();
    if (!shortage_log_.is_due(now)) return;
    shortage_log_.note_failure(now);
    return log(Severity::error, std::string("cannot take connections now: ") + std::strerror(errno));
  }
}

}  // namespace mpixrma::nam

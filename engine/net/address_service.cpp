#include "engine/net/address_service.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/random.hpp"
#include "engine/net/network_devices.hpp"

namespace mpixrma::engine {

namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(sockaddr_storage);

  sockaddr* raw() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr const* raw() const noexcept { return reinterpret_cast<sockaddr const*>(&storage); }
};

SocketAddress local_address(std::uint64_t name) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte stays 0, for an abstract name.
  int const length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mpix-rma/network/%016" PRIx64, name);
  SocketAddress made;
  std::memcpy(&made.storage, &address, sizeof address);
  made.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  return made;
}

SocketAddress remote_address(std::uint32_t host, std::uint32_t port) noexcept {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  SocketAddress made;
  std::memcpy(&made.storage, &address, sizeof address);
  made.bytes = sizeof address;
  return made;
}

constexpr char const* unreachable = "it cannot be asked to start UCX";
// A host that never replies is given up after about the timeout of a TCP connection attempt.
constexpr std::chrono::minutes longest_silence{2};
constexpr std::chrono::milliseconds repeated_after{50};

FileDescriptor datagram_socket(int family) noexcept {
  return FileDescriptor(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

bool AddressService::open(char const* interfaces) {
  fill_randomly(std::as_writable_bytes(std::span(&address_.name, 1)));
  received_.resize(max_address_datagram);
  FileDescriptor made = datagram_socket(AF_UNIX);
  SocketAddress const own = local_address(address_.name);
  if (!made || ::bind(made.get(), own.raw(), own.bytes) != 0) return false;
  local_ = std::move(made);
  local_kept_ = KeptFromChildren(local_.get());
  open_remote(interfaces);
  return true;
}

/// Without this socket, processes of other hosts and network namespaces cannot ask.
void AddressService::open_remote(char const* interfaces) {
  std::optional<InterfaceAddress> const permitted =
      permitted_address(interfaces != nullptr ? interfaces : "^", interface_addresses());
  if (!permitted) return;
  FileDescriptor made = datagram_socket(AF_INET);
  SocketAddress own = remote_address(permitted->address, 0);
  if (!made || ::bind(made.get(), own.raw(), own.bytes) != 0) return;
  if (::getsockname(made.get(), own.raw(), &own.bytes) != 0) return;
  sockaddr_in bound{};
  std::memcpy(&bound, &own.storage, sizeof bound);
  address_.host = permitted->address;
  address_.port = ntohs(bound.sin_port);
  remote_ = std::move(made);
  remote_kept_ = KeptFromChildren(remote_.get());
}

void AddressService::handle_received(Credentials const& credentials, Handler const& handler) noexcept {
  for (int const socket : descriptors()) {
    try {
      if (socket >= 0) handle_received(socket, credentials, handler);
    } catch (std::exception const&) {
      // Without memory there is no reply, and the query is repeated.
    }
  }
}

void AddressService::handle_received(int socket, Credentials const& credentials, Handler const& handler) {
  for (;;) {
    SocketAddress from;
    ssize_t const bytes = ::recvfrom(socket, received_.data(), received_.size(), 0, from.raw(), &from.bytes);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return;
    SessionOpening opening;
    bool silent = false;
    auto const received = std::span(received_).first(static_cast<std::size_t>(bytes));
    if (read_address_query(credentials.secret, received, &opening)) {
      std::vector<std::byte> const reply = make_address_reply(credentials.secret, opening, handler.start());
      (void)!::sendto(socket, reply.data(), reply.size(), MSG_NOSIGNAL, from.raw(), from.bytes);
    } else if (handler.note_loss && read_loss_notice(credentials.secret, received, &opening, &silent)) {
      handler.note_loss(opening.origin, silent);
    }
  }
}

void AddressService::send(ServiceAddress const& where, std::span<std::byte const> datagram) const noexcept {
  constexpr int most_attempts = 100;
  auto const send_to = [&](int socket, SocketAddress to) {
    return ::sendto(socket, datagram.data(), datagram.size(), MSG_NOSIGNAL, to.raw(), to.bytes) >= 0;
  };
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (send_to(local_.get(), local_address(where.name))) return;
    if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (where.host != 0 && remote_) (void)send_to(remote_.get(), remote_address(where.host, where.port));
}

struct AddressQueries::Query {
  std::uint64_t process = 0;
  Secret secret{};
  SessionOpening opening;
  ServiceAddress where;
  bool is_remote = false;  ///< over UDP
  FileDescriptor socket;
  std::chrono::steady_clock::time_point next_send;
  std::chrono::steady_clock::time_point give_up;  ///< over UDP

  bool connect() noexcept {
    socket = datagram_socket(is_remote ? AF_INET : AF_UNIX);
    if (!socket) return false;
    SocketAddress const target =
        is_remote ? remote_address(where.host, where.port) : local_address(where.name);
    // The system chooses the name to which the reply is sent.
    sockaddr const unnamed{.sa_family = AF_UNIX, .sa_data = {}};
    if (!is_remote && ::bind(socket.get(), &unnamed, sizeof unnamed.sa_family) != 0) return false;
    return ::connect(socket.get(), target.raw(), target.bytes) == 0;
  }

  /// Switches to UDP. Returns false if that is not possible.
  bool try_remote() noexcept {
    if (is_remote || where.host == 0) return false;
    is_remote = true;
    give_up = std::chrono::steady_clock::now() + longest_silence;
    socket = {};
    return true;
  }
};

AddressQueries::AddressQueries(Credentials const& credentials) noexcept : credentials_(credentials) {}
AddressQueries::~AddressQueries() = default;

void AddressQueries::ask(std::uint64_t process, Secret const& secret, std::span<std::byte const> where) {
  forget(process);
  Query query;
  query.process = process;
  query.secret = secret;
  query.opening = {credentials_.process, credentials_.incarnation, process, ++number_, 1, credentials_.nonce};
  // An address of another length is not copied: no process receives the query, and it fails.
  if (where.size() == sizeof query.where) std::memcpy(&query.where, where.data(), sizeof query.where);
  queries_.push_back(std::move(query));
}

void AddressQueries::forget(std::uint64_t process) noexcept {
  std::erase_if(queries_, [=](Query const& query) { return query.process == process; });
  std::erase_if(results_, [&](Result const& result) { return result.process == process; });
}

/// A query ends only after its result has found memory.
void AddressQueries::progress() {
  results_.reserve(results_.size() + queries_.size());
  for (auto query = queries_.begin(); query != queries_.end();) {
    Result result{query->process, {}, nullptr};
    if (progress(*query, &result)) {
      results_.push_back(std::move(result));
      query = queries_.erase(query);
    } else {
      ++query;
    }
  }
}

bool AddressQueries::progress(Query& query, Result* result) {
  if (query.socket && receive(query, result)) return true;
  auto const now = std::chrono::steady_clock::now();
  if (query.socket && now < query.next_send) return false;
  query.next_send = now + repeated_after;
  if (query.is_remote && now > query.give_up) {
    result->failure = unreachable;
    return true;
  }
  std::vector<std::byte> const text = make_address_query(query.secret, query.opening);
  bool const connected = query.socket || query.connect();
  if (connected && ::send(query.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0) return false;
  // A full queue: the query is sent later.
  if (connected && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS)) return false;
  bool const is_scarce = errno == EMFILE || errno == ENFILE;
  if (query.try_remote()) return false;
  result->failure = is_scarce ? "no descriptor for the query of its address" : unreachable;
  return true;
}

/// Returns true if the reply has arrived, or the system reports that nobody receives the query.
bool AddressQueries::receive(Query const& query, Result* result) {
  for (;;) {
    ssize_t const size = ::recv(query.socket.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (size < 0 && errno == ECONNREFUSED) {
      result->failure = unreachable;
      return true;
    }
    if (size < 0) return false;
    std::vector<std::byte> reply(std::min(static_cast<std::size_t>(size), max_address_datagram));
    if (::recv(query.socket.get(), reply.data(), reply.size(), 0) < 0) return false;
    std::span<std::byte const> address;
    if (!read_address_reply(query.secret, query.opening, reply, &address)) continue;
    result->address.assign(address.begin(), address.end());
    if (address.empty()) result->failure = "UCX does not start in it";
    return true;
  }
}

}  // namespace mpixrma::engine

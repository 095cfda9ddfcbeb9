#include "nam/client/client.hpp"

#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "nam/client/known_servers.hpp"
#include "nam/client/local_server.hpp"
#include "nam/client/secrets.hpp"
#include "nam/protocol/default_socket.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

namespace {

constexpr int connect_timeout_ms = 5000;
constexpr std::int64_t longest_poll_ms = 3600000;
/// Bytes a second, a hundredth of what a disk stores: other users' windows may be stored at the same time.
constexpr std::uint64_t slowest_work = 1u << 20;
constexpr std::uint64_t most_work = std::uint64_t{1} << 50;
/// How long authentication is retried, and the pauses between attempts.
constexpr std::chrono::milliseconds longest_refusal{10000};
constexpr std::chrono::milliseconds first_pause{5};
constexpr std::chrono::milliseconds longest_pause{50};
constexpr int max_unanswered = 64;  ///< unanswered requests; a multiple of it fits into the socket buffers
/// Limits for a peer that has not proved yet that it is the server.
constexpr ChannelLimits unauthenticated_limits{.head_bytes = 16384, .data_bytes = 0, .descriptors = 0};
constexpr ChannelLimits client_limits{.head_bytes = 64u << 20, .data_bytes = 1u << 20, .descriptors = 8};

std::string own_user() {
  if (char const* const user = std::getenv("MPIX_NAM_USER")) return user;
  passwd const* const entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

/// Whether clients treat a server of this host like one of another host.
bool avoids_unix_sockets() {
  char const* const given = std::getenv("MPIX_NAM_TCP");
  return given != nullptr && std::string_view(given) == "1";
}

FileDescriptor connect_to(Address const& address) {
  bool const has_choice = address.port != 0 && avoids_unix_sockets();
  if (!address.unix_path.empty() && !has_choice) {
    if (FileDescriptor socket = connect_unix(address.unix_path)) {
      check_local_server(socket, address.unix_path);
      return socket;
    }
  }
  if (address.port != 0) {
    if (FileDescriptor socket = connect_tcp(address.host, address.port, connect_timeout_ms)) return socket;
  }
  throw Error(ErrorCode::unavailable,
              "no memory server answers at " + format(address) + "; 'mpix-namd --size 1G' starts one");
}

/// Polls briefly, yielding the core, before the process sleeps, because a wake-up may take longer than the
/// answer.
bool poll_briefly(pollfd& entry) {
  constexpr std::chrono::microseconds moment{100};
  auto const end = std::chrono::steady_clock::now() + moment;
  do {
    if (::poll(&entry, 1, 0) != 0) return true;
    ::sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

Client::Client(FileDescriptor socket, int timeout_ms)
    : shared_(std::make_shared<GuardedChannel>(std::move(socket), unauthenticated_limits)),
      timeout_ms_(timeout_ms) {}

Client::Client(Address const& address, int timeout_ms) : Client(connect_to(address), timeout_ms) {
  authenticate(address);
  shared_->channel.set_limits(client_limits);
}

/// Retries, because a server with too many connections of this host or user refuses new ones, and such a
/// connection may end before the answer is read. A server whose port is flooded may not answer in time.
void Client::authenticate(Address const& server) {
  if (server_user()) return;  // the kernel vouches for the peer's identity
  ServerTrust const trust = trust_in(server);
  auto const end =
      std::chrono::steady_clock::now() + std::min(std::chrono::milliseconds(timeout_ms_), longest_refusal);
  bool again = false;
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    try {
      if (again) {
        shared_ = std::make_shared<GuardedChannel>(connect_to(server), unauthenticated_limits);
        has_version_ = false;
      }
      return begin_session(server, trust);
    } catch (Error const& error) {
      bool const may_pass = error.code() == ErrorCode::quota || error.code() == ErrorCode::unavailable;
      if (!may_pass || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(pause);
    again = true;
  }
}

void Client::begin_session(Address const& server, ServerTrust const& trust) {
  ClientHandshake const handshake;
  Json const answer = request(handshake.hello(trust.expected()));
  SecuredSession const session =
      handshake.finish(answer, [&](PublicKey const& key) { check_key(server, trust, key); });
  shared_->channel.protect(SecureStream(session.keys));
  UserSecret const secret = secret_for(server);
  std::string const user = own_user();
  Json const proven = request({{"op", "prove"},
                               {"user", user},
                               {"proof", make_proof(secret, Prover::client, user, session.transcript)}});
  if (!is_proof(secret, Prover::server, user, session.transcript, field<std::string>(proven, "proof")))
    throw Error(ErrorCode::denied, "the memory server does not have the user's secret");
  server_key_ = field<std::string>(proven, "key");
  follow_rotation(server, trust, field<std::string>(answer, "key"), server_key_);
}

Json Client::request(Json const& request) { return exchange(request, {}, nullptr, nullptr); }

Json Client::exchange(Json const& request, std::span<std::byte const> sent, std::vector<std::byte>* received,
                      std::vector<FileDescriptor>* descriptors) {
  {
    std::lock_guard const held(shared_->mutex);
    std::vector<std::byte> data(sent.begin(), sent.end());
    if (std::exchange(has_version_, true)) {
      shared_->channel.post(request, std::move(data));
    } else {
      Json first = request;
      first["version"] = protocol_version;
      shared_->channel.post(first, std::move(data));
    }
  }
  Message answer = receive();
  unanswered_ = 0;
  throw_if_refused(answer.head);
  if (received != nullptr) *received = std::move(answer.data);
  if (descriptors != nullptr) *descriptors = std::move(answer.descriptors);
  return std::move(answer.head);
}

void Client::send_unanswered(Json request) {
  bool const answered = ++unanswered_ == max_unanswered;
  if (!answered) request["quiet"] = true;
  {
    std::lock_guard const held(shared_->mutex);
    shared_->channel.post(request);
    if (!shared_->channel.flush())
      throw Error(ErrorCode::unavailable, "the memory server has closed the connection");
  }
  if (!answered) return;
  unanswered_ = 0;  // also if the answer is late: later requests must be answered again
  (void)receive();
}

void Client::keep_lease() {
  if (is_local()) return;
  auto const lease = field<std::uint32_t>(request({{"op", "renew"}}), "lease");
  if (lease == 0) return;
  bound_silence(shared_->channel.socket(), std::chrono::seconds(lease));
  nam::keep_lease(shared_, std::chrono::seconds(lease));
}

void Client::expect_work(std::uint64_t bytes) noexcept {
  work_bytes_ += std::min(bytes, most_work - work_bytes_);
}

/// Returns the next message that is no late answer. Answers name no request, but arrive in the order of the
/// requests.
std::optional<Message> Client::next_answer() {
  std::optional<Message> message = shared_->channel.next();
  for (; message && late_answers_ != 0; --late_answers_) message = shared_->channel.next();
  return message;
}

Message Client::receive() {
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms_) +
                   std::chrono::seconds(std::exchange(work_bytes_, 0) / slowest_work);
  bool open = true;
  for (;;) {
    pollfd entry{descriptor(), POLLIN, 0};
    {
      // Read messages that the server sent before it closed the connection.
      std::lock_guard const held(shared_->mutex);
      (void)shared_->channel.flush();
      if (auto message = next_answer()) return std::move(*message);
      if (shared_->channel.has_output()) entry.events |= POLLOUT;
    }
    if (!open) throw Error(ErrorCode::unavailable, "the memory server has closed the connection");
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    int const wait_ms = static_cast<int>(std::min<std::int64_t>(left.count(), longest_poll_ms));
    if (left.count() <= 0) {
      ++late_answers_;
      throw Error(ErrorCode::unavailable, "the memory server does not answer");
    }
    if (!poll_briefly(entry) && ::poll(&entry, 1, wait_ms) == 0) continue;
    std::lock_guard const held(shared_->mutex);
    if ((entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) open = shared_->channel.fill();
  }
}

std::optional<uid_t> Client::server_user() const {
  auto const listener = credentials_of(shared_->channel.socket());
  return listener ? std::optional(listener->uid) : std::nullopt;
}

bool Client::is_open() const noexcept {
  pollfd entry{descriptor(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) == 0;
}

PublicKey offered_key(Address const& server, int timeout_ms) {
  Client client(connect_to({"", server.host, server.port}), timeout_ms);
  PublicKey offered{};
  ClientHandshake const handshake;
  (void)handshake.finish(client.request(handshake.hello(std::nullopt)),
                         [&](PublicKey const& key) { offered = key; });
  return offered;
}

Address server_address() {
  char const* const given = std::getenv("MPIX_NAM_SERVER");
  if (given == nullptr || *given == '\0') {
    std::vector<Locator> const grants = job_grants();
    return grants.empty() ? Address{default_socket(), "", 0} : grants.front().address;
  }
  std::string const text = given;
  if (text.front() == '/') return {text, "", 0};
  return parse_address(text.find('=') == std::string::npos ? "tcp=" + text : text);
}

std::vector<Locator> job_grants() {
  char const* const given = std::getenv("MPIX_NAM_ALLOCATION");
  if (given == nullptr || *given == '\0') return {};
  return parse_grants(given);
}

}  // namespace mpixrma::nam

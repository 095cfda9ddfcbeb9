/// A man in the middle between a client and a server, and servers that are not genuine.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nam/protocol/handshake.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

/// Listens at a port of its own, forwards all bytes between clients and a server, and records them.
class TcpProxy {
 public:
  /// May change forwarded bytes; `from_client` is their direction.
  using Meddle = std::function<void(bool from_client, std::vector<char>& bytes)>;

  explicit TcpProxy(Address const& server, Meddle meddle = {})
      : TcpProxy([server] { return connect_tcp(server.host, server.port, 5000); }, std::move(meddle)) {
    key_ = server.key;
  }
  /// `connect` returns a connection to the server behind the proxy.
  TcpProxy(std::function<FileDescriptor()> connect, Meddle meddle)
      : connect_(std::move(connect)), meddle_(std::move(meddle)), listener_(listen_tcp("127.0.0.1:0")) {
    thread_ = std::thread([this] { run(); });
  }
  ~TcpProxy() {
    stopping_ = true;
    thread_.join();
  }
  TcpProxy(TcpProxy const&) = delete;
  TcpProxy& operator=(TcpProxy const&) = delete;

  /// Returns the address for clients, with the key of the server behind the proxy.
  Address address() const { return {"", "127.0.0.1", port_of(listener_), key_}; }
  /// Returns the number of connections of clients; an ended one counts until all its data were received.
  std::size_t connections() const { return connections_; }
  /// Returns all that was received from both sides, before `meddle` changed it.
  std::string seen() const {
    std::lock_guard const held(lock_);
    return seen_;
  }

 private:
  void run() {
    std::vector<std::pair<FileDescriptor, FileDescriptor>> pairs;
    while (!stopping_) {
      connections_ = pairs.size();
      std::vector<pollfd> entries{{listener_.get(), POLLIN, 0}};
      for (auto const& [client, server] : pairs) {
        entries.push_back({client.get(), POLLIN, 0});
        entries.push_back({server.get(), POLLIN, 0});
      }
      if (::poll(entries.data(), entries.size(), 20) <= 0) continue;
      for (std::size_t i = pairs.size(); i-- > 0;) {
        bool open = true;
        if (entries[1 + 2 * i].revents != 0) open = pass(true, pairs[i].first, pairs[i].second);
        if (open && entries[2 + 2 * i].revents != 0) open = pass(false, pairs[i].second, pairs[i].first);
        if (!open) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (entries[0].revents == 0) continue;
      FileDescriptor client = accept_from(listener_);
      if (client) pairs.emplace_back(std::move(client), connect_());
    }
  }

  bool pass(bool from_client, FileDescriptor const& from, FileDescriptor const& to) {
    std::vector<char> bytes(65536);
    ssize_t const got = ::recv(from.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    bytes.resize(static_cast<std::size_t>(got));
    {
      std::lock_guard const held(lock_);
      seen_.append(bytes.data(), bytes.size());
    }
    if (meddle_) meddle_(from_client, bytes);
    for (std::size_t sent = 0; sent < bytes.size();) {
      ssize_t const now = ::send(to.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0 && errno != EAGAIN) return false;
      sent += now > 0 ? static_cast<std::size_t>(now) : 0;
    }
    return true;
  }

  std::function<FileDescriptor()> connect_;
  std::string key_;
  Meddle meddle_;
  FileDescriptor listener_;
  mutable std::mutex lock_;
  std::string seen_;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

/// Waits for the next message. Returns nothing if the other side has closed, or has sent nothing for 20
/// seconds.
inline std::optional<Message> await_message(Channel& channel) {
  for (;;) {
    (void)channel.flush();
    if (auto message = channel.next()) return message;
    pollfd entry{channel.descriptor(), POLLIN, 0};
    if (::poll(&entry, 1, 20000) <= 0 || !channel.fill()) return channel.next();
  }
}

/// Makes the server's side of a handshake with a key of the attacker's choice.
inline SecuredSession begin_as_server(Channel& channel, KeyPair const& key) {
  auto const hello = await_message(channel);
  if (!hello) throw Error(ErrorCode::unavailable, "no client");
  ServerHandshake const made = ServerHandshake::answer_to(
      hello->head, [&](std::optional<PublicKey> const&) -> KeyPair const& { return key; });
  channel.post(made.answer);
  channel.protect(SecureStream(made.session.keys));
  return made.session;
}

}  // namespace mpixrma::nam

/// Each connection that is opened again has a new number: messages with the number of a closed connection are
/// ignored.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/imposture.hpp"

namespace mpixrma::engine {
namespace {

using test::Identity;
using test::Rogue;
using test::Target;
using test::Text;

enum : int { serving_rank, origin_rank };
constexpr std::uint64_t origin_name = 0xbad;

/// An origin that requests the end of its connections.
class ClosingOrigin {
 public:
  explicit ClosingOrigin(Target const& target, Rank& rank)
      : target_(target),
        rogue_(target.worker_for(origin_name)),
        self_(test::identity_beside(rank, rogue_, origin_name)) {
    rogue_.on_message = [this](wire::MessageClass kind, std::span<std::byte const> header,
                               std::span<std::byte const>) {
      wire::DisconnectHeader reply{};
      if (kind != wire::MessageClass::disconnect) return;
      std::memcpy(&reply, header.data(), sizeof reply);
      replies_.emplace_back(reply.kind, reply.connection);
    };
  }

  void shake_hands(std::uint64_t connection) {
    SessionOpening opening = self_.opening_to(target_, ++handshakes_);
    opening.connection = connection;
    tokens_ = tokens_of(target_.secret, opening);
    send(test::handshake_message(make_handshake(target_.secret, opening, encode(self_.address))));
  }
  void put(RemoteAddress there, std::uint64_t value) {
    send(test::put_of(tokens_.request, ++sequence_, there, value));
  }
  void request_disconnect(std::uint64_t connection) {
    auto header = wire::begin_header<wire::DisconnectHeader>(wire::Disconnect::request);
    header.session = tokens_.request;
    header.connection = connection;
    rogue_.send(wire::MessageClass::disconnect, test::bytes_of(header), {}, UCP_AM_SEND_FLAG_EAGER);
  }
  bool wait_for_replies(std::size_t number) {
    return rogue_.wait([&] { return replies_.size() >= number; });
  }
  using Reply = std::pair<wire::Disconnect, std::uint64_t>;
  std::vector<Reply> const& replies() const { return replies_; }

 private:
  void send(Text const& text) {
    rogue_.send(wire::MessageClass::request, text.header, text.payload, UCP_AM_SEND_FLAG_EAGER);
  }

  Target target_;
  Rogue rogue_;
  Identity self_;
  SessionTokens tokens_;
  std::uint64_t handshakes_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<Reply> replies_;
};

TEST(ConnectionNumbers, MessagesOfClosedConnectionsAreIgnored) {
  auto const only_messages = [](mpix_engine_config& config, int) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
  };
  run_job(2, only_messages, [](Rank& rank) {
    std::uint64_t memory[2] = {};
    rank.publish(0, memory);
    rank.barrier();
    RemoteAddress const there = rank.published(serving_rank, 0);
    if (rank.rank() == origin_rank) {
      ClosingOrigin origin(test::target_of(rank, serving_rank), rank);
      origin.shake_hands(1);
      origin.put(there, 4);
      origin.request_disconnect(2);  // of a connection that does not exist
      origin.request_disconnect(1);
      ASSERT_TRUE(origin.wait_for_replies(1));
      origin.shake_hands(1);  // dropped
      origin.shake_hands(2);
      origin.put(there + 8, 5);
      origin.request_disconnect(1);  // as if it had been overtaken by the handshake
      origin.request_disconnect(2);
      ASSERT_TRUE(origin.wait_for_replies(2));
      EXPECT_EQ(origin.replies(), (std::vector<ClosingOrigin::Reply>{{wire::Disconnect::accept, 1u},
                                                                     {wire::Disconnect::accept, 2u}}));
    }
    rank.barrier();
    if (rank.rank() != serving_rank) return;
    EXPECT_EQ(memory[0], 4u);
    EXPECT_EQ(memory[1], 5u);
    EXPECT_EQ(rank.engine().traffic.statistics().messages_dropped, 1u);
  });
}

}  // namespace
}  // namespace mpixrma::engine

/// Messages between processes, valid and invalid ones.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <utility>
#include <vector>

#include "nam/client/lease_keeper.hpp"
#include "nam/protocol/channel.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    near_ = FileDescriptor(pair[0]);
    far_ = Channel(FileDescriptor(pair[1]), {.head_bytes = 4096, .data_bytes = 4096, .descriptors = 1});
  }
  FileDescriptor near_;
  Channel far_;
};

TEST_F(ChannelTest, MessagesArriveWithDataAndDescriptors) {
  Channel near(std::move(near_), {});
  std::vector<FileDescriptor> descriptors;
  descriptors.emplace_back(::dup(0));
  near.post({{"a", 1}}, std::vector<std::byte>(100, std::byte{3}), std::move(descriptors));
  near.post({{"a", 2}});
  EXPECT_TRUE(near.flush());
  EXPECT_TRUE(far_.fill());
  auto const first = far_.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(field<unsigned>(first->head, "a"), 1u);
  EXPECT_EQ(first->data, std::vector<std::byte>(100, std::byte{3}));
  EXPECT_EQ(first->descriptors.size(), 1u);
  EXPECT_TRUE(far_.fill());  // fill() reads no further than a message with descriptors
  auto const second = far_.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(field<unsigned>(second->head, "a"), 2u);
  EXPECT_FALSE(far_.next());
  near.release();
  EXPECT_FALSE(far_.fill());
}

/// The program computes, and the socket was full when it sent its last message.
TEST_F(ChannelTest, LeaseKeeperSendsWhatWaits) {
  auto const session = std::make_shared<GuardedChannel>(std::move(near_), ChannelLimits{});
  Json const message{{"text", std::string(4000, 'x')}};
  int posted = 0;
  for (; !session->channel.has_output(); ++posted) {
    session->channel.post(message);
    ASSERT_TRUE(session->channel.flush());
  }
  keep_lease(session, std::chrono::seconds(1));
  for (int received = 0; received < posted;) {
    pollfd entry{far_.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 60000), 1);
    ASSERT_TRUE(far_.fill());
    while (auto const next = far_.next()) received += next->head == message ? 1 : 0;
  }
}

TEST_F(ChannelTest, FieldsOfTheWrongKindAreRefused) {
  Json const json{{"negative", -1}, {"float", 1.5}, {"large", 1ull << 40}, {"list", {1, -2}}, {"text", 3}};
  EXPECT_THROW(field<std::uint64_t>(json, "negative"), Error);
  EXPECT_THROW(field<std::uint64_t>(json, "float"), Error);
  EXPECT_THROW(field<unsigned>(json, "large"), Error);
  EXPECT_THROW(field<std::vector<std::uint64_t>>(json, "list"), Error);
  EXPECT_THROW(field<std::string>(json, "text"), Error);
  EXPECT_THROW(field<bool>(json, "missing"), Error);
  EXPECT_EQ(field<std::uint64_t>(json, "large"), 1ull << 40);
}

TEST_F(ChannelTest, MessagesOfTooManyValuesAreRefused) {
  for (auto const& [values, is_permitted] : {std::pair(100u, true), std::pair(101u, false)}) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    Channel sender(FileDescriptor(pair[0]), {});
    Channel receiver(FileDescriptor(pair[1]), {.values = 102});
    sender.post({{"list", std::vector<unsigned>(values, 1)}, {"text", "[,,,{"}});
    ASSERT_TRUE(sender.flush());
    ASSERT_TRUE(receiver.fill());
    if (is_permitted) {
      EXPECT_TRUE(receiver.next());
    } else {
      EXPECT_THROW((void)receiver.next(), Error);
    }
  }
}

TEST_F(ChannelTest, RefusesMalformedMessages) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 500; ++round) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    FileDescriptor const sender(pair[0]);
    Channel receiver(FileDescriptor(pair[1]), {.head_bytes = 4096, .data_bytes = 4096, .descriptors = 0});
    std::string bytes(16 + random() % 100, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    ASSERT_EQ(::send(sender.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    (void)receiver.fill();
    EXPECT_THROW(while (receiver.next()){}, Error);
  }
}

}  // namespace
}  // namespace mpixrma::nam

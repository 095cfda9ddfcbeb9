/// Processes that messages cannot reach: killed ones, and live ones in which UCX does not start.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "tests/fault/mortal_target.hpp"
#include "tests/support/descriptors.hpp"
#include "tests/support/engine_paths.hpp"
#include "tests/support/stopped.hpp"

namespace mpixrma::engine {
namespace {

using test::JobKind;

TEST(MessagesLost, LineNamesTheProcessByItsRank) {
  auto const configure = [](mpix_engine_config& config) { config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE; };
  auto const body = [](Rank& rank) {
    std::uint64_t memory = 0;
    pid_t const target = test::start_mortal_target(rank, &memory);
    if (target == 0) return;
    std::uint64_t value = 1;
    RmaOp const put = contiguous(OpKind::put, &value, rank.published(1, 0), sizeof value);
    ASSERT_EQ(run(rank.engine(), rank.peer(1), put), Status::ok);
    test::stop(target);
    ::testing::internal::CaptureStderr();
    ASSERT_EQ(rank.engine().issue(rank.peer(1), put).status, Status::ok);
    ::kill(target, SIGKILL);
    rank.engine().order.complete(rank.peer(1), UINT64_MAX);
    std::string const written = ::testing::internal::GetCapturedStderr();
    std::string const line = "connection to process " + std::to_string(Rank::process_of(1)) + " lost: ";
    EXPECT_NE(written.find(line), std::string::npos) << written;
  };
  run_job(2, configure, body, JobKind::mortal);
}

/// The connection to a living process was lost, and nothing uses the peer any more: a new user learns of the
/// loss.
TEST(MessagesLost, ProcessThatIsFoundAgainStaysLost) {
  auto const configure = [](mpix_engine_config& config) { config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE; };
  test::run_job(2, configure, [](Rank& rank) {
    std::uint64_t memory = 0;
    rank.publish(0, &memory);
    rank.barrier();
    if (rank.rank() == 0) {
      std::uint64_t value = 1;
      RmaOp const put = contiguous(OpKind::put, &value, rank.published(1, 0), sizeof value);
      EnginePeers& peers = rank.engine().peers;
      Peer* const before = peers.find(Rank::process_of(1));
      EXPECT_EQ(run(rank.engine(), *before, put), Status::ok);
      peers.mark_unreachable_by_messages(*before);
      rank.engine().waits.until([&] { return before->is_unreachable_by_messages(); });
      peers.release(*before);
      Peer* const after = peers.find(Rank::process_of(1));
      EXPECT_TRUE(failed(run(rank.engine(), *after, put)));
      peers.release(*after);
    }
    rank.barrier();
  });
}

/// A process in which UCX does not start is alive, and its memory is in use; its end is detected later.
TEST(MessagesLost, EndOfTheProcessIsDetectedLater) {
  auto const configure = [](mpix_engine_config& config) {
    config.one_host = 1;  // UCX starts with the first message
    config.protocols = MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_MESSAGE;
  };
  auto const body = [](Rank& rank) {
    enum : int { plain, shared, ready, without_messages, ended };
    std::int64_t reached_by_messages = 0;
    void* allocated = nullptr;
    ASSERT_EQ(rank.engine().memory.allocate(64, &allocated), Status::ok);
    auto const* const mapped = static_cast<std::int64_t*>(allocated);
    rank.publish(plain, &reached_by_messages);
    rank.publish(shared, allocated);
    auto const put = [&](int target, int slot, std::int64_t value) {
      return run(rank.engine(), rank.peer(target),
                 contiguous(OpKind::put, &value, rank.published(target, slot), sizeof value));
    };
    if (rank.rank() == 1) test::use_up_descriptors();
    rank.signal(ready, 1);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(rank.wait_for_value(i, ready, 1));
    if (rank.rank() == 1) {
      ASSERT_TRUE(rank.wait_for_value(0, without_messages, 1));
      EXPECT_EQ(*mapped, 5);
      rank.die();
    }
    if (rank.rank() == 2) {
      ASSERT_TRUE(rank.wait_for_value(0, ended, 1));
      EXPECT_EQ(reached_by_messages, 9);
      return;
    }
    Peer& peer = rank.peer(1);
    EXPECT_EQ(put(1, shared, 4), Status::ok);
    EXPECT_NE(put(1, plain, 1), Status::ok);
    EXPECT_TRUE(peer.is_unreachable_by_messages());
    EXPECT_FALSE(peer.is_lost());
    EXPECT_EQ(put(1, shared, 5), Status::ok);
    rank.signal(without_messages, 1);
    Status status = Status::ok;
    for (int i = 0; i < 20000 && !failed(status); ++i) {
      status = put(1, shared, 5);
      ::usleep(1000);
    }
    EXPECT_EQ(status, Status::unreachable);
    EXPECT_TRUE(peer.is_lost());
    EXPECT_EQ(put(1, plain, 6), Status::unreachable);
    rank.engine().order.complete(peer, UINT64_MAX);
    EXPECT_EQ(put(2, plain, 9), Status::ok);
    rank.signal(ended, 1);
  };
  run_job(3, configure, body, JobKind::mortal);
}

}  // namespace
}  // namespace mpixrma::engine

/// Locks of users in somebody else's grant.
#include <sys/resource.h>

#include "tests/nam/attacks/guest.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t locker = 64015;
constexpr std::size_t locked_bytes = 4096;

TEST(GuestLocks, OfReadersDoNotExhaustDescriptorsOfOwner) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.spawn({"--size", "64M", "--listen", "none", "--max-windows", "1000"}, [] {
    rlimit const few{512, 512};
    (void)::setrlimit(RLIMIT_NOFILE, &few);
  });
  server.await();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, locked_bytes, 1, {.mode = 0644}).port;
  Session own = Session::open(grant);
  WindowInfo const window = own.join(parse_locator(port).window);
  UserProcess const reader(locker, locker, [&](UserProcess::Wait const& wait) {
    WindowInfo found;
    Session session = Session::connect(port, &found);
    std::optional<ErrorCode> end;
    for (std::uint64_t holder = 1; holder < 1000 && !end; ++holder)
      end = refusal([&] { (void)try_lock(session, found, engine::LockMode::shared, holder); });
    wait();
    std::vector<std::byte> values(locked_bytes);
    return end == ErrorCode::quota && !refusal([&] { session.read(found, 0, 0, values); });
  });
  reader.await();
  for (std::uint64_t holder = 1; holder < 32; ++holder)
    EXPECT_TRUE(try_lock(own, window, engine::LockMode::shared, holder));
  reader.go_on();
}

/// The next window in the same slot of the control block gets the same locks.
TEST(GuestLocks, EndWithTheEvictedWindow) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-windows", "8"});
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  WindowInfo const evicted = make_persistent(grant, locked_bytes, 1, {.mode = 0644});
  Session own = Session::open(grant);
  UserProcess const reader(locker, locker, [&](UserProcess::Wait const& wait) {
    WindowInfo found;
    Session session = Session::connect(evicted.port, &found);
    bool const holds = try_lock(session, found, engine::LockMode::shared, 1) &&
                       try_lock(session, found, engine::LockMode::shared, 2);
    wait();
    return holds && exclusive_lock(session, found) == ErrorCode::not_found;
  });
  reader.await();
  WindowInfo const other = own.join(evicted.id);
  EXPECT_FALSE(try_lock(own, other, engine::LockMode::exclusive));
  server.ask({{"op", "evict"}, {"port", evicted.port}});
  std::vector<WindowInfo> made;
  EXPECT_TRUE(eventually([&] { return own.usage().at("windows") == 0; }));
  while (made.size() < 8 && (made.empty() || made.back().slot != evicted.slot))
    made.push_back(own.allocate({locked_bytes}, {1}, {.mode = 0600}));
  EXPECT_EQ(made.back().slot, evicted.slot);
  EXPECT_TRUE(try_lock(own, made.back(), engine::LockMode::exclusive, 2));
  reader.go_on();
}

bool lock_rank(Session& session, WindowInfo const& window, std::uint32_t rank, engine::LockMode mode) {
  bool has_turn = false;
  return session.try_lock(window, 1, rank, mode, &has_turn);
}

TEST(GuestLocks, SharedLocksOutlastTheRightToWrite) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, locked_bytes, 1, {.mode = 0666}).port;
  Session own = Session::open(grant);
  WindowInfo const window = own.join(parse_locator(port).window);
  UserProcess const writer(locker, locker, [&](UserProcess::Wait const& wait) {
    WindowInfo found;
    Session session = Session::connect(port, &found);
    bool const holds = lock_rank(session, found, 0, engine::LockMode::shared) &&
                       lock_rank(session, found, 1, engine::LockMode::exclusive);
    wait();
    return holds;
  });
  writer.await();
  server.ask({{"op", "chmod"}, {"port", port}, {"mode", 0644u}});
  EXPECT_FALSE(lock_rank(own, window, 0, engine::LockMode::exclusive));
  EXPECT_TRUE(lock_rank(own, window, 1, engine::LockMode::exclusive));
  writer.go_on();
}

/// A client can forge the turn, because each lock request states whether the client has the turn.
TEST(GuestLocks, DoNotOvertakeByAForgedTurn) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, locked_bytes, 1, {.mode = 0666}).port;
  Session own = Session::open(grant);
  WindowInfo const window = own.join(parse_locator(port).window);
  EXPECT_TRUE(lock_rank(own, window, 0, engine::LockMode::shared));
  Session waiting = Session::open(grant);
  EXPECT_FALSE(lock_rank(waiting, window, 0, engine::LockMode::exclusive));
  own.unlock_soon(window, 1, 0);
  EXPECT_TRUE(eventually([&] { return own.usage().contains("sessions"); }));  // answered after the unlock
  EXPECT_TRUE(as_user(locker, [&] {
    WindowInfo found;
    Session session = Session::connect(port, &found);
    bool has_turn = true;
    return !session.try_lock(found, 1, 0, engine::LockMode::exclusive, &has_turn) && !has_turn;
  }));
  EXPECT_TRUE(lock_rank(waiting, window, 0, engine::LockMode::exclusive));
}

TEST(GuestLocks, OfAReaderAreBounded) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  constexpr std::uint32_t most = 4096;
  TestServer server;
  server.start();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  Session own = Session::open(grant);
  std::vector<std::uint64_t> const sizes(most + 2, 8);
  std::vector<std::uint64_t> const units(most + 2, 1);
  WindowInfo const window = own.allocate(sizes, units, {.persistent = true, .mode = 0644});
  UserProcess const reader(locker, locker, [&](UserProcess::Wait const& wait) {
    WindowInfo found;
    Session session = Session::connect(window.port, &found);
    auto const locks = [&](std::uint32_t rank) {
      return lock_rank(session, found, rank, engine::LockMode::shared);
    };
    auto const refused = [&](std::uint32_t rank) {
      return refusal([&] { (void)locks(rank); }) == ErrorCode::quota;
    };
    std::uint32_t held = 0;
    while (held < most + 2 && !refused(held)) ++held;
    bool good = held == most && refused(most + 1) && locks(0);
    session.unlock_soon(found, 1, 7);
    good = good && locks(most) && refused(7);
    session.end_locks(1);
    good = good && locks(most + 1);
    wait();
    return good;
  });
  reader.await();
  EXPECT_TRUE(lock_rank(own, window, 0, engine::LockMode::exclusive));
  EXPECT_FALSE(lock_rank(own, window, most + 1, engine::LockMode::exclusive));
  reader.go_on();
}

}  // namespace
}  // namespace mpixrma::nam

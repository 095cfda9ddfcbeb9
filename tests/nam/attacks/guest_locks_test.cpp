/// Locks of users in somebody else's grant.
#include <sys/resource.h>

#include "tests/nam/attacks/guest.hpp"

namespace mpixrma::nam {
namespace {

constexpr uid_t stranger = 64014;
constexpr std::size_t window_bytes = 4096;

TEST(GuestLocks, OfReadersLeaveDescriptorsToTheOwner) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.spawn({"--size", "64M", "--listen", "none", "--max-windows", "1000"}, [] {
    rlimit const few{512, 512};
    (void)::setrlimit(RLIMIT_NOFILE, &few);
  });
  server.await();
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  std::string const port = make_persistent(grant, window_bytes, 1, {.mode = 0644}).port;
  Session own = Session::open(grant);
  WindowInfo const window = own.join(parse_locator(port).window);
  UserProcess const reader(stranger, stranger, [&](UserProcess::Wait const& wait) {
    WindowInfo found;
    Session session = Session::connect(port, &found);
    std::optional<ErrorCode> end;
    for (std::uint64_t holder = 1; holder < 1000 && !end; ++holder)
      end = refusal([&] { (void)try_lock(session, found, engine::LockMode::shared, holder); });
    wait();
    std::vector<std::byte> values(window_bytes);
    return end == ErrorCode::quota && !refusal([&] { session.read(found, 0, 0, values); });
  });
  reader.await();
  for (std::uint64_t holder = 1; holder < 32; ++holder)
    EXPECT_TRUE(try_lock(own, window, engine::LockMode::shared, holder));
  reader.go_on();
}

/// The next window gets the same place in the control block, and with it the same locks.
TEST(GuestLocks, EndWithTheEvictedWindow) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  TestServer server;
  server.start({"--size", "64M", "--listen", "none", "--max-windows", "8"});
  server.admit_all_users();
  Locator const grant = server.grant(1u << 20);
  WindowInfo const evicted = make_persistent(grant, window_bytes, 1, {.mode = 0644});
  Session own = Session::open(grant);
  UserProcess const reader(stranger, stranger, [&](UserProcess::Wait const& wait) {
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
    made.push_back(own.allocate({window_bytes}, {1}, {.mode = 0600}));
  EXPECT_EQ(made.back().slot, evicted.slot);
  EXPECT_TRUE(try_lock(own, made.back(), engine::LockMode::exclusive, 2));
  reader.go_on();
}

}  // namespace
}  // namespace mpixrma::nam

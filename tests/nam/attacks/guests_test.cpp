/// Users of windows in somebody else's grant: each has exactly the rights that the mode of the window gives.
#include <cstring>

#include "tests/nam/attacks/guest.hpp"
#include "tests/nam/attacks/users.hpp"

namespace mpixrma::nam {
namespace {

constexpr gid_t group = 64012;
constexpr uid_t member = 64013;  ///< of the group

using engine::LayoutRun;
using Kind = OperationRequest::Kind;

std::optional<ErrorCode> put(Session& session, WindowInfo const& window, std::uint64_t offset,
                             std::span<std::byte const> data) {
  LayoutRun const run{static_cast<std::ptrdiff_t>(offset), data.size()};
  OperationRequest request{.kind = Kind::put, .runs = {&run, 1}, .operand = data};
  return refusal([&] { EXPECT_TRUE(session.operate(window, 0, request, {})); });
}

std::optional<ErrorCode> get(Session& session, WindowInfo const& window, std::vector<std::byte>* into) {
  LayoutRun const run{0, into->size()};
  OperationRequest request{.kind = Kind::get, .runs = {&run, 1}};
  return refusal([&] { EXPECT_TRUE(session.operate(window, 0, request, *into)); });
}

/// Updates an element of 8 bytes at `offset`. `*before` receives the previous value unless `before` is null.
std::optional<ErrorCode> update(Session& session, WindowInfo const& window, engine::ReduceOp operation,
                                std::int64_t operand, std::int64_t* before, std::ptrdiff_t offset = 0) {
  LayoutRun const run{offset, sizeof operand};
  OperationRequest request{.kind = Kind::update,
                           .operation = operation,
                           .type = engine::ElementType::int64,
                           .fetches_previous = before != nullptr,
                           .runs = {&run, 1}};
  if (request.operands() > 0) request.operand = std::as_bytes(std::span(&operand, 1));
  auto const fetched =
      before != nullptr ? std::as_writable_bytes(std::span(before, 1)) : std::span<std::byte>();
  return refusal([&] { EXPECT_TRUE(session.operate(window, 0, request, fetched)); });
}

class Guests : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs other users";
    start(TestServer::defaults());
  }
  void start(TestServer::Arguments const& arguments) {
    server_.start(arguments);
    std::filesystem::permissions(server_.directory(), std::filesystem::perms(0755));
    grant_ = server_.grant(1u << 20, {{"owner", std::to_string(owner)}});
  }
  /// Makes a window as the owner, in a process with the group. Rank 0's content is pattern(window_bytes, 1).
  std::string make(unsigned mode) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    expect_as(owner, group, [&] {
      std::string const port = make_persistent(grant_, window_bytes, 1, {.mode = mode}).port;
      return ::write(ends[1], port.data(), port.size()) == static_cast<ssize_t>(port.size());
    });
    char port[512] = "";
    EXPECT_GT(::read(ends[0], port, sizeof port - 1), 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return port;
  }

  TestServer server_;
  Locator grant_;
};

TEST_F(Guests, ReaderCannotWrite) {
  std::string const port = make(0644);
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    std::vector<std::byte> found(window_bytes);
    std::vector<std::byte> const other(window_bytes, std::byte{9});
    std::int64_t first = 0;
    std::int64_t before = -1;
    bool const reads = !get(session, window, &found) && found == pattern(window_bytes, 1);
    std::memcpy(&first, found.data(), sizeof first);
    bool const fetches = !update(session, window, engine::ReduceOp::no_op, 0, &before) && before == first;
    auto const denied = [](std::optional<ErrorCode> code) { return code == ErrorCode::denied; };
    bool const refused = denied(put(session, window, 0, other)) &&
                         denied(update(session, window, engine::ReduceOp::sum, 1, nullptr)) &&
                         denied(update(session, window, engine::ReduceOp::replace, 1, &before)) &&
                         denied(exclusive_lock(session, window)) &&
                         denied(refusal([&] { session.persist(window); })) &&
                         denied(refusal([&] { (void)session.map(); })) &&
                         denied(refusal([&] { (void)session.engine_address(); })) &&
                         denied(refusal([&] { session.release(window); }));
    bool const shares = try_lock(session, window, engine::LockMode::shared);
    bool const same = !get(session, window, &found) && found == pattern(window_bytes, 1);
    return !window.owns_grant && reads && fetches && refused && shares && same;
  });
}

TEST_F(Guests, GroupMemberWritesAndOtherUserIsRejected) {
  std::string const port = make(0660);
  expect_as(member, group, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    std::vector<std::byte> found(window_bytes);
    std::int64_t before = 0;
    return !put(session, window, 0, pattern(window_bytes, 5)) && !get(session, window, &found) &&
           found == pattern(window_bytes, 5) &&
           !update(session, window, engine::ReduceOp::replace, 41, nullptr) &&
           !update(session, window, engine::ReduceOp::sum, 1, &before) && before == 41 &&
           try_lock(session, window, engine::LockMode::exclusive) &&
           !refusal([&] { session.persist(window); });
  });
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    return refusal([&] { (void)Session::connect(port, &window); }) == ErrorCode::not_found;
  });
}

TEST_F(Guests, WriterWithoutReadRightCannotRead) {
  std::string const port = make(0602);
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    std::vector<std::byte> found(window_bytes);
    std::int64_t before = -1;
    auto const denied = [](std::optional<ErrorCode> code) { return code == ErrorCode::denied; };
    return !put(session, window, 0, pattern(window_bytes, 5)) &&
           !update(session, window, engine::ReduceOp::sum, 1, nullptr) &&
           denied(get(session, window, &found)) &&
           denied(update(session, window, engine::ReduceOp::sum, 1, &before)) &&
           denied(update(session, window, engine::ReduceOp::no_op, 0, &before)) && before == -1 &&
           denied(refusal([&] { session.read(window, 0, 0, found); }));
  });
}

/// A session that names other windows than the one for which it was opened.
TEST_F(Guests, ReaderOfOneWindowCannotUseAnother) {
  std::string const port = make(0644);
  std::string const hidden = make(0600);
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    window.id = parse_locator(hidden).window;
    std::vector<std::byte> found(window_bytes);
    return get(session, window, &found) == ErrorCode::not_found &&
           put(session, window, 0, found) == ErrorCode::not_found &&
           exclusive_lock(session, window) == ErrorCode::not_found &&
           refusal([&] { (void)try_lock(session, window, engine::LockMode::shared); }) ==
               ErrorCode::not_found;
  });
}

/// Open sessions have the new mode from their next request on, and lose the locks that it does not permit.
TEST_F(Guests, ChangeOfModeChangesRights) {
  std::string const port = make(0666);
  auto const chmod = [&](unsigned mode) { server_.ask({{"op", "chmod"}, {"port", port}, {"mode", mode}}); };
  Session own = Session::open(grant_);
  WindowInfo const window = own.join(parse_locator(port).window);
  {
    UserProcess const guest(stranger, stranger, [&](UserProcess::Wait const& wait) {
      WindowInfo found;
      Session session = Session::connect(port, &found);
      std::vector<std::byte> values(window_bytes);
      bool good = !put(session, found, 0, pattern(window_bytes, 5)) &&
                  try_lock(session, found, engine::LockMode::exclusive);
      wait();
      good = good && put(session, found, 0, pattern(window_bytes, 6)) == ErrorCode::denied &&
             !get(session, found, &values) && values == pattern(window_bytes, 5) &&
             exclusive_lock(session, found) == ErrorCode::denied &&
             try_lock(session, found, engine::LockMode::shared);
      wait();
      return good && get(session, found, &values) == ErrorCode::not_found;
    });
    guest.await();
    EXPECT_FALSE(try_lock(own, window, engine::LockMode::shared));
    chmod(0644);
    EXPECT_TRUE(try_lock(own, window, engine::LockMode::shared));
    own.unlock_soon(window, 1, 0);
    guest.go_on();
    guest.await();
    EXPECT_FALSE(try_lock(own, window, engine::LockMode::exclusive)) << "the guest still has a right to read";
    chmod(0600);
    EXPECT_TRUE(try_lock(own, window, engine::LockMode::exclusive));
    guest.go_on();
  }
  expect_as(stranger, stranger, [&] {
    WindowInfo found;
    return refusal([&] { (void)Session::connect(port, &found); }) == ErrorCode::not_found;
  });
  chmod(0666);
  expect_as(stranger, stranger, [&] {
    WindowInfo found;
    Session session = Session::connect(port, &found);
    return found.may_write && !put(session, found, 0, pattern(window_bytes, 7));
  });
}

TEST_F(Guests, MalformedOperationsAreRefused) {
  std::string const port = make(0666);
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    auto const send = [&](Json more, std::vector<LayoutRun> const& runs, std::size_t operand_bytes) {
      Json head{{"op", "operate"}, {"window", window.id}, {"rank", 0u}, {"runs", runs.size()}};
      head.update(more);
      auto const description = std::as_bytes(std::span(runs));
      std::vector<std::byte> data(description.begin(), description.end());
      data.resize(data.size() + operand_bytes);
      // The server ends a session after a malformed request.
      Client client(parse_locator(port).address);
      (void)client.request({{"op", "connect"}, {"port", port}});
      return refusal([&] { (void)client.exchange(head, data, nullptr, nullptr); });
    };
    Json const puts{{"kind", "put"}};
    auto const adds = [](unsigned operation, unsigned type) {
      return Json{{"kind", "update"}, {"operation", operation}, {"type", type}, {"fetch", false}};
    };
    auto const sum = static_cast<unsigned>(engine::ReduceOp::sum);
    auto const int64 = static_cast<unsigned>(engine::ElementType::int64);
    std::vector<std::optional<ErrorCode>> const refusals{
        send(puts, {{-8, 8}}, 8),
        send(puts, {{window_bytes - 4, 8}}, 8),
        send(puts, {{8, SIZE_MAX - 7}}, 8),
        send(puts, {{PTRDIFF_MAX, 8}}, 8),
        send(puts, {{0, 8}}, 7),
        send(puts, {{0, 8}}, 9),
        send(puts, {{0, 0}}, 0),
        send(puts, {}, 0),
        send({{"kind", "put"}, {"runs", 3u}}, {{0, 8}}, 8),
        send({{"kind", "put"}, {"runs", UINT64_MAX / 16 + 2}}, {{0, 8}}, 8),
        send({{"kind", "put"}, {"rank", 2u}}, {{0, 8}}, 8),
        send({{"kind", "erase"}}, {{0, 8}}, 8),
        send({{"kind", "get"}},
             std::vector<LayoutRun>(max_operation_bytes / window_bytes + 1, {0, window_bytes}), 0),
        send({{"kind", "get"}}, std::vector<LayoutRun>(max_operation_runs + 1, {0, 1}), 0),
        send(adds(sum, int64), {{0, 7}}, 7),
        send(adds(sum, int64), {{0, 4}, {8, 4}}, 8),
        send(adds(sum, 0), {{0, 8}}, 8),
        send(adds(200, int64), {{0, 8}}, 8),
        send(adds(sum, 200), {{0, 8}}, 8),
        send(adds(300, int64), {{0, 8}}, 8)};
    bool good = true;
    for (std::size_t i = 0; i < refusals.size(); ++i) {
      bool const refused = refusals[i] == ErrorCode::malformed || refusals[i] == ErrorCode::bad_request;
      if (!refused) std::fprintf(stderr, "operation %zu was not refused as malformed\n", i);
      good = good && refused;
    }
    std::vector<std::byte> found(window_bytes);
    return good && !get(session, window, &found) && found == pattern(window_bytes, 1);
  });
}

/// The runs of a request are not sorted, and are processed in their order.
TEST_F(Guests, OperationHasRunsAnywhereInTheRegion) {
  std::string const port = make(0666);
  expect_as(stranger, stranger, [&] {
    WindowInfo window;
    Session session = Session::connect(port, &window);
    std::vector<LayoutRun> const runs{{64, 8}, {0, 16}, {4000, 8}};
    std::vector<std::int64_t> const addends{1, 2, 3, 4};
    OperationRequest zero{.kind = Kind::put, .runs = runs};
    std::vector<std::byte> const zeroes(32);
    zero.operand = zeroes;
    OperationRequest add{.kind = Kind::update,
                         .operation = engine::ReduceOp::sum,
                         .type = engine::ElementType::int64,
                         .fetches_previous = true,
                         .runs = runs,
                         .operand = std::as_bytes(std::span(addends))};
    std::vector<std::int64_t> before(4);
    bool good = session.operate(window, 0, zero, {});
    for (std::int64_t round = 0; round < 3; ++round) {
      good = good && session.operate(window, 0, add, std::as_writable_bytes(std::span(before)));
      for (std::size_t i = 0; i < before.size(); ++i) good = good && before[i] == round * addends[i];
    }
    return good;
  });
}

}  // namespace
}  // namespace mpixrma::nam

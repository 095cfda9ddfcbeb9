/// Windows that are spread over grants of two servers, without MPI.
#include <cstdlib>
#include <filesystem>

#include "nam/client/spread.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

struct SpreadServers : ::testing::Test {
  static constexpr std::size_t bytes = 1000;
  static constexpr std::size_t ranks = 5;
  static constexpr std::uint64_t striped_bytes = 5 * chunk_granularity + 100;

  SpreadServers() {
    first.start();
    second.start();
    grants = {first.grant(1u << 20), second.grant(1u << 20)};
  }
  /// Makes a window and returns its port name; rank r has pattern(bytes, r).
  std::string make() const {
    Spread const spread(2);
    WindowOptions options{.persistent = true};
    for (std::size_t part : {1u, 0u}) {
      Session session = Session::open(grants[part]);
      std::uint64_t const regions = spread.regions_in_part(ranks, part);
      WindowInfo const window = session.allocate(std::vector<std::uint64_t>(regions, bytes),
                                                 std::vector<std::uint64_t>(regions, 8), options);
      for (std::uint64_t place = 0; place < regions; ++place)
        session.write(window, place, 0, pattern(bytes, static_cast<unsigned>(2 * place + part)));
      options.other_parts.push_back(window.port);
    }
    return options.other_parts.back();
  }
  /// Makes a striped window, in which each region has several stripes.
  std::string make_striped() const {
    Spread const spread(2, chunk_granularity);
    WindowOptions options{.persistent = true, .chunk_bytes = chunk_granularity};
    std::vector<std::uint64_t> const sizes(ranks, striped_bytes);
    for (std::size_t part : {1u, 0u}) {
      Session session = Session::open(grants[part]);
      WindowInfo const window =
          session.allocate(spread.sizes_in_part(sizes, part), std::vector<std::uint64_t>(ranks, 8), options);
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        std::vector<std::byte> const values = pattern(striped_bytes, static_cast<unsigned>(rank));
        for (std::uint64_t done = 0; done < striped_bytes;) {
          Spread::Location const at = spread.find(rank, done);
          std::uint64_t const left = std::min(at.bytes, striped_bytes - done);
          if (at.part == part) session.write(window, rank, at.offset, std::span(values).subspan(done, left));
          done += left;
        }
      }
      options.other_parts.push_back(window.port);
    }
    return options.other_parts.back();
  }
  static std::uint64_t used(TestServer const& server, Locator const& grant) {
    return server.show(grant).at("used").get<std::uint64_t>();
  }
  /// `input`: a command that writes what the tool reads.
  static int run_tool(std::string const& arguments, std::string const& input = "true") {
    return std::system((input + " | " MPIX_NAM_TOOL " " + arguments + " > /dev/null 2>&1").c_str());
  }
  std::string saved() const { return (first.directory() / "saved").string(); }
  /// Returns the port name of the only persistent window in the grant, as its server reports it.
  static std::string port_in(TestServer const& server, Locator const& grant) {
    return server.show(grant).at("window_list").at(0).at("port").get<std::string>();
  }
  static void expect_content(std::string const& port, std::uint64_t bytes_of_region) {
    std::vector<Session> sessions;
    std::vector<WindowInfo> const parts = find_parts(port, &sessions);
    Spread const spread = spread_of(parts);
    std::vector<WindowRegion> const regions = regions_of(parts);
    ASSERT_EQ(regions.size(), ranks);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      std::vector<std::byte> found(regions[rank].bytes);
      for (std::uint64_t done = 0; done < found.size();) {
        Spread::Location const at = spread.find(rank, done);
        std::uint64_t const left = std::min(at.bytes, found.size() - done);
        sessions[at.part].read(parts[at.part], at.place, at.offset, std::span(found).subspan(done, left));
        done += left;
      }
      EXPECT_EQ(found, pattern(bytes_of_region, static_cast<unsigned>(rank)));
    }
  }
  /// Expects that a backup of the window contains all parts, and can be restored as one window at one server
  /// or as a spread window.
  void expect_saved(std::string const& port, std::uint64_t bytes_of_region) const {
    ASSERT_EQ(run_tool("backup '" + port + "' " + saved()), 0);
    Locator const grant = second.grant(1u << 20);
    ASSERT_EQ(run_tool("restore '" + format(grant) + "' " + saved()), 0);
    EXPECT_EQ(find_parts(port_in(second, grant)).size(), 1u);
    expect_content(port_in(second, grant), bytes_of_region);
    Locator const other = first.grant(1u << 20);
    ASSERT_EQ(run_tool("restore '" + format(other) + "," + format(grant) + "' " + saved()), 0);
    std::vector<WindowInfo> const again = find_parts(port_in(first, other));
    EXPECT_EQ(again.size(), 2u);
    EXPECT_EQ(again.front().chunk_bytes, find_parts(port).front().chunk_bytes);
    expect_content(port_in(first, other), bytes_of_region);
  }

  TestServer first;
  TestServer second;
  std::vector<Locator> grants;
};

TEST_F(SpreadServers, PortNameLeadsToAllParts) {
  std::string const port = make();
  std::vector<Session> sessions;
  std::vector<WindowInfo> const parts = find_parts(port, &sessions);
  ASSERT_EQ(parts.size(), 2u);
  ASSERT_EQ(sessions.size(), 2u);
  Spread const spread(2);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    std::size_t const part = spread.part_of(rank);
    EXPECT_EQ(parts[part].grant, grants[part].grant);
    EXPECT_EQ(content(sessions[part], parts[part], spread.place_of(rank)),
              pattern(bytes, static_cast<unsigned>(rank)));
  }
}

TEST_F(SpreadServers, PartsSurviveRestartOfFirstServer) {
  TestServer::Arguments const on_storage{"--size", "64M", "--listen", "none", "--storage", "file"};
  first.stop();
  first.start(on_storage);
  grants[0] = first.grant(1u << 20);
  std::string const port = make();
  first.kill();
  first.start(on_storage);
  std::vector<WindowInfo> parts;
  EXPECT_TRUE(eventually([&] { return !refusal([&] { parts = find_parts(port); }); }));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].regions.size(), 2u);
}

TEST_F(SpreadServers, ErrorNamesMissingPart) {
  std::string const port = make();
  second.ask({{"op", "revoke"}, {"grant", grants[1].grant}});
  try {
    (void)find_parts(port);
    FAIL() << "the second part has gone";
  } catch (Error const& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(std::string(error.what()).find("part 2 of 2: "), 0u) << error.what();
  }
}

TEST_F(SpreadServers, RefusesPartsOfDifferentWindows) {
  Session session = Session::open(grants[0]);
  auto const allocate = [&](std::vector<std::string> const& others) {
    return session.allocate({8}, {8}, {.persistent = true, .other_parts = others}).port;
  };
  std::string const one = allocate({});
  std::string const two = make_persistent(grants[1], 8, 1).port;
  EXPECT_EQ(refusal([&] { (void)find_parts(allocate({two})); }), ErrorCode::malformed);
  EXPECT_EQ(find_parts(allocate({one})).size(), 2u);
  EXPECT_EQ(refusal([&] { allocate({"nonsense"}); }), ErrorCode::bad_request);
  EXPECT_EQ(refusal([&] { allocate({format(grants[1])}); }), ErrorCode::bad_request);
  EXPECT_EQ(refusal([&] { allocate(std::vector<std::string>(max_parts, one)); }), ErrorCode::bad_request);
}

TEST_F(SpreadServers, UnkeptPartsEndWithTheirSession) {
  std::string port;
  {
    Session of_first = Session::open(grants[0]);
    Session of_second = Session::open(grants[1]);
    Session of_others = Session::open(grants[1]);
    WindowInfo kept = of_second.allocate({8}, {8}, {.chunk_bytes = 4096});
    WindowInfo const left = of_second.allocate({8}, {8});
    of_second.make_persistent(&kept);
    EXPECT_TRUE(kept.persistent);
    EXPECT_EQ(kept.chunk_bytes, 4096u);
    EXPECT_EQ(refusal([&] { of_second.make_persistent(&kept); }), ErrorCode::denied);
    WindowInfo others = left;
    EXPECT_EQ(refusal([&] { of_others.make_persistent(&others); }), ErrorCode::denied);
    EXPECT_EQ(find_parts(kept.port).size(), 1u);
    Locator missing = grants[1];
    missing.window = left.id;
    port = of_first.allocate({8}, {8}, {.persistent = true, .other_parts = {format(missing)}}).port;
    EXPECT_EQ(run_tool("evict '" + kept.port + "'"), 0);
  }
  // As if their creator had been killed.
  EXPECT_TRUE(eventually([&] { return used(second, grants[1]) == 0; }));
  EXPECT_EQ(refusal([&] { (void)find_parts(port); }), ErrorCode::not_found);
  EXPECT_EQ(run_tool("evict '" + port + "'"), 0);
  EXPECT_TRUE(eventually([&] { return used(first, grants[0]) == 0; }));
}

/// An administrator may use and evict the windows of all users: the parts of a window must therefore belong
/// to one user.
TEST_F(SpreadServers, RefusesWindowOfAnotherUserAsPart) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  first.admit_all_users();
  Locator const grant = first.grant(1u << 20, {{"owner", std::to_string(another)}});
  std::string const victim = make_persistent(grants[0], 8, 1).port;
  EXPECT_TRUE(as_user(another, [&] {
    std::string const port =
        Session::open(grant).allocate({8, 8}, {8, 8}, {.persistent = true, .other_parts = {victim}}).port;
    first.ask({{"op", "publish"}, {"name", "trap"}, {"port", port}});
    return true;
  }));
  auto const trap = first.ask({{"op", "lookup"}, {"name", "~4321/trap"}}).at("port").get<std::string>();
  EXPECT_EQ(refusal([&] { (void)find_parts(trap); }), ErrorCode::denied);
  EXPECT_NE(run_tool("evict '" + trap + "'"), 0);
  expect_pattern(victim, 8, 1);
}

TEST_F(SpreadServers, StripedRegionsKeepTheirSizes) {
  std::vector<WindowInfo> parts = find_parts(make_striped());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(spread_of(parts).chunk_bytes(), chunk_granularity);
  std::vector<WindowRegion> const regions = regions_of(parts);
  ASSERT_EQ(regions.size(), ranks);
  for (WindowRegion const& region : regions) {
    EXPECT_EQ(region.bytes, striped_bytes);
    EXPECT_EQ(region.unit, 8u);
  }
  Session session = Session::open(grants[0]);
  EXPECT_EQ(refusal([&] { session.allocate({8}, {8}, {.chunk_bytes = 100}); }), ErrorCode::bad_request);
  // A window whose stripes are in wrong places.
  std::string const other = session.allocate({4096}, {8}, {.persistent = true, .chunk_bytes = 4096}).port;
  std::string const port =
      session.allocate({8}, {8}, {.persistent = true, .other_parts = {other}, .chunk_bytes = 4096}).port;
  EXPECT_EQ(refusal([&] { (void)find_parts(port); }), ErrorCode::malformed);
}

TEST_F(SpreadServers, ToolSavesRegionsInStripes) { expect_saved(make_striped(), striped_bytes); }

TEST_F(SpreadServers, ToolSavesAndEvictsAllParts) {
  std::string const port = make();
  expect_saved(port, bytes);
  EXPECT_NE(used(second, grants[1]), 0u);
  ASSERT_EQ(run_tool("evict '" + port + "'"), 0);
  EXPECT_TRUE(eventually([&] { return used(first, grants[0]) == 0 && used(second, grants[1]) == 0; }));
}

TEST_F(SpreadServers, FailedRestoreFreesAllParts) {
  ASSERT_EQ(run_tool("backup '" + make_striped() + "' " + saved()), 0);
  Locator const large = first.grant(1u << 20);
  Locator const small = second.grant(4096);
  EXPECT_NE(run_tool("restore '" + format(large) + "," + format(small) + "' " + saved()), 0);
  EXPECT_NE(run_tool("restore '" + format(small) + "," + format(large) + "' " + saved()), 0);
  EXPECT_TRUE(eventually([&] { return used(first, large) == 0 && used(second, small) == 0; }));
  EXPECT_TRUE(first.show(large).at("window_list").empty());
}

TEST_F(SpreadServers, ToolRefusesToRestoreTruncatedFile) {
  ASSERT_EQ(run_tool("backup '" + make_striped() + "' " + saved()), 0);
  auto const size = std::filesystem::file_size(saved());
  Locator const one = first.grant(1u << 20);
  Locator const other = second.grant(1u << 20);
  std::string const restore = "restore '" + format(one) + "," + format(other) + "' ";
  for (auto const wrong : {size - 1, size + 1, std::uintmax_t{0}}) {
    std::filesystem::resize_file(saved(), wrong);
    EXPECT_NE(run_tool(restore + saved()), 0) << wrong;
    EXPECT_TRUE(first.show(one).at("window_list").empty());
  }
  ASSERT_EQ(run_tool("backup '" + make_striped() + "' " + saved()), 0);
  // The length of data from a pipe is only known at their end.
  std::string const begin = "head -c " + std::to_string(size - 1) + " " + saved();
  EXPECT_NE(run_tool(restore + "/dev/stdin", begin), 0);
  EXPECT_TRUE(eventually([&] { return used(first, one) == 0 && used(second, other) == 0; }));
  EXPECT_TRUE(first.show(one).at("window_list").empty());
  EXPECT_EQ(run_tool(restore + saved()), 0);
}

TEST_F(SpreadServers, ToolManagesSeveralGrantsAtOnce) {
  std::string const all =
      std::string("'").append(format(grants[0])).append(",").append(format(grants[1])).append("'");
  EXPECT_EQ(run_tool("extend " + all + " --expires 1h"), 0);
  for (auto const& [server, grant] : {std::pair(&first, grants[0]), std::pair(&second, grants[1])})
    EXPECT_GT(server->show(grant).at("expires_in").get<std::int64_t>(), 3000);
  EXPECT_EQ(run_tool("show " + all), 0);
  first.ask({{"op", "revoke"}, {"grant", grants[0].grant}});
  EXPECT_NE(run_tool("show " + all), 0);
  // The remaining grant is revoked nevertheless.
  EXPECT_NE(run_tool("revoke " + all), 0);
  EXPECT_EQ(refusal([&] { second.show(grants[1]); }), ErrorCode::not_found);
}

}  // namespace
}  // namespace mpixrma::nam

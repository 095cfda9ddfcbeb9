/// Windows with known content at a memory server.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {

inline constexpr uid_t nobody = 65534;
inline constexpr uid_t another = 4321;

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> values(bytes);
  for (std::size_t i = 0; i < bytes; ++i) values[i] = static_cast<std::byte>(i * 7 + seed);
  return values;
}

inline std::vector<std::byte> content(Session& session, WindowInfo const& window, std::uint64_t rank) {
  std::vector<std::byte> values(window.regions[rank].bytes);
  session.read(window, rank, 0, values);
  return values;
}

inline WindowInfo make_persistent(Locator const& grant, std::size_t bytes, unsigned seed,
                                  WindowOptions options = {}) {
  Session session = Session::open(grant);
  options.persistent = true;
  WindowInfo const window = session.allocate({bytes, bytes}, {1, 8}, options);
  session.write(window, 0, 0, pattern(bytes, seed));
  session.write(window, 1, 0, pattern(bytes, seed + 1));
  session.persist(window);
  return window;
}

inline void expect_pattern(std::string const& port, std::size_t bytes, unsigned seed) {
  WindowInfo window;
  Session session = Session::connect(port, &window);
  ASSERT_EQ(window.regions.size(), 2u);
  EXPECT_EQ(window.regions[1].unit, 8u);
  EXPECT_EQ(content(session, window, 0), pattern(bytes, seed));
  EXPECT_EQ(content(session, window, 1), pattern(bytes, seed + 1));
}

/// Returns the descriptors that a session of the grant gets: the memory and the control block.
inline std::vector<FileDescriptor> mapped(Locator const& grant) {
  Client client(grant.address);
  (void)client.request({{"op", "open"}, {"grant", grant.grant}});
  std::vector<FileDescriptor> descriptors;
  (void)client.exchange({{"op", "map"}}, {}, nullptr, &descriptors);
  return descriptors;
}

inline bool is_root() { return ::geteuid() == 0; }

}  // namespace mpixrma::nam

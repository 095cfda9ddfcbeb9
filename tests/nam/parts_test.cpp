/// The parts of the memory server that need no server: units, locators, spread windows, layouts.
#include <gtest/gtest.h>

#include <map>

#include "nam/client/spread.hpp"
#include "nam/data/window.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/units.hpp"

namespace mpixrma::nam {
namespace {

TEST(Durability, HasThreeNames) {
  for (Durability const each : {Durability::clients, Durability::server, Durability::storage})
    EXPECT_EQ(parse_durability(to_string(each)), each);
  for (char const* const other : {"", "forever", "client", "Storage", "storage "})
    EXPECT_THROW((void)parse_durability(other), Error) << other;
}

TEST(Units, ParsesHumanReadableSizesAndTimes) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("512M"), 512ull << 20);
  EXPECT_EQ(parse_bytes("1g"), 1ull << 30);
  EXPECT_EQ(parse_seconds("2h"), 7200);
  for (char const* const wrong : {"", "G", "-1", "1GB", "1.5G", "99999999999T", "1 G"})
    EXPECT_THROW(parse_bytes(wrong), Error) << wrong;
  EXPECT_EQ(format_bytes(1ull << 30), "1G");
  EXPECT_EQ(format_bytes(1536), "1.50K");
  EXPECT_EQ(format_seconds(7200), "2h");
}

TEST(LocatorTest, PortNameRoundTripsAndRejectsMalformedText) {
  Locator const locator{
      std::string(32, 'a'), std::string(32, '7'), {"/run/mpix-nam/socket", "node17.cluster", 7726}};
  EXPECT_EQ(parse_locator(format(locator)), locator);
  EXPECT_LT(format(locator).size(), port_name_limit);
  Locator const grant{"0a", "", {"", "host", 1, to_text(KeyPair::make().public_key)}};
  EXPECT_EQ(parse_locator(format(grant)), grant);
  for (char const* const wrong :
       {"", "mpix-nam://", "mpix-nam://a", "mpix-nam://a?", "mpix-nam://a?unix=x", "mpix-nam://A?unix=/x",
        "mpix-nam:///w?unix=/x", "mpix-nam://a/?unix=/x", "mpix-nam://a?tcp=h", "mpix-nam://a?tcp=h:0",
        "mpix-nam://a?tcp=:1", "mpix-nam://a?tcp=../x:1", "mpix-nam://a?tcp=h:1&key=x",
        "mpix-nam://a?key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})
    EXPECT_THROW(parse_locator(wrong), Error) << wrong;
}

TEST(LocatorTest, SeparatesGrantsByCommas) {
  Locator const one{"0a", "", {"/a,b/socket", "host", 1}};
  Locator const two{"0b", "", {"", "other", 2}};
  EXPECT_EQ(parse_grants(format(one)), std::vector{one});
  EXPECT_EQ(parse_grants(format(one) + "," + format(two) + "," + format(one)), (std::vector{one, two, one}));
  std::string all = format(one);
  for (std::size_t i = 1; i < max_parts; ++i) all.append(",").append(format(two));
  EXPECT_EQ(parse_grants(all).size(), max_parts);
  std::string const window = format(Locator{"0a", "0c", one.address});
  for (std::string const& wrong :
       {std::string(), format(one) + ",", "," + format(one), format(one) + ",nonsense",
        format(one) + "," + window, all + "," + format(two)})
    EXPECT_THROW(parse_grants(wrong), Error) << wrong;
  EXPECT_THROW(parse_locator(format(one) + "," + format(two)), Error);
}

TEST(SpreadTest, EachRegionIsInOnePart) {
  for (std::size_t parts : {1u, 2u, 3u, 7u}) {
    Spread const spread(parts);
    std::vector<std::uint64_t> const all{5, 6, 7, 8, 9, 10, 11};
    std::vector<std::vector<std::uint64_t>> shares;
    for (std::size_t part = 0; part < parts; ++part) {
      shares.push_back(spread.elements_in_part(all, part));
      EXPECT_EQ(shares.back().size(), spread.regions_in_part(all.size(), part));
    }
    for (std::uint64_t rank = 0; rank < all.size(); ++rank)
      EXPECT_EQ(shares[spread.part_of(rank)].at(spread.place_of(rank)), all[rank]);
  }
}

/// Each byte is in one place, and the places of a part are contiguous.
TEST(SpreadTest, EachByteIsInOneStripe) {
  constexpr std::uint64_t stripe = 8;
  for (std::size_t parts : {1u, 2u, 3u, 7u}) {
    Spread const spread(parts, stripe);
    for (std::uint64_t rank : {0u, 1u, 5u}) {
      for (std::uint64_t bytes = 0; bytes < 3 * stripe * parts; ++bytes) {
        std::map<std::size_t, std::uint64_t> found;
        for (std::uint64_t offset = 0; offset < bytes;) {
          Spread::Location const at = spread.find(rank, offset);
          ASSERT_EQ(at.part, (rank + offset / stripe) % parts);
          ASSERT_EQ(at.place, rank);
          ASSERT_EQ(at.offset, found[at.part]) << "stripes follow each other";
          ASSERT_EQ(at.bytes, stripe);
          found[at.part] += std::min(stripe, bytes - offset);
          offset += std::min(stripe, bytes - offset);
        }
        for (std::size_t part = 0; part < parts; ++part)
          ASSERT_EQ(spread.bytes_in_part(rank, bytes, part), found[part])
              << parts << " " << rank << " " << bytes;
      }
    }
    EXPECT_EQ(spread.find(0, 3).bytes, stripe - 3);
    EXPECT_EQ(spread.find(0, stripe * parts + 3).offset, stripe + 3);
  }
}

TEST(WindowTest, RegionsAreAlignedAndConsecutive) {
  std::vector<Region> regions;
  EXPECT_EQ(lay_out({10, 0, 64, 1}, {1, 1, 8, 1}, &regions), 129u);
  EXPECT_EQ(regions[1].offset, 64u);
  EXPECT_EQ(regions[2].offset, 64u);
  EXPECT_EQ(regions[3].offset, 128u);
  for (auto const& [sizes, units] :
       std::vector<std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>>{
           {{}, {}},
           {{1}, {}},
           {{1}, {0}},
           {{UINT64_MAX}, {1}},
           {{1ull << 61, 1ull << 61, 1ull << 61}, {1, 1, 1}}}) {
    std::vector<Region> ignored;
    EXPECT_THROW(lay_out(sizes, units, &ignored), Error);
  }
}

}  // namespace
}  // namespace mpixrma::nam

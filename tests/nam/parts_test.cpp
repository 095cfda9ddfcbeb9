/// The parts of the memory server that need no server: names, units, secrets, allocation, the catalog,
/// messages.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "nam/client/spread.hpp"
#include "nam/data/segment_allocator.hpp"
#include "nam/data/window.hpp"
#include "nam/protocol/handshake.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/catalog.hpp"
#include "tests/support/slowness.hpp"

namespace mpixrma::nam {
namespace {

TEST(Units, sizes_and_times_are_read_as_people_write_them) {
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

TEST(LocatorTest, a_port_name_leads_back_to_what_it_was_made_of) {
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

TEST(LocatorTest, several_grants_have_commas_between) {
  Locator const one{"0a", "", {"/a,b/socket", "host", 1}};
  Locator const two{"0b", "", {"", "other", 2}};
  EXPECT_EQ(parse_grants(format(one)), std::vector{one});
  EXPECT_EQ(parse_grants(format(one) + "," + format(two) + "," + format(one)), (std::vector{one, two, one}));
  std::string all = format(one);
  for (std::size_t i = 1; i < most_parts; ++i) all.append(",").append(format(two));
  EXPECT_EQ(parse_grants(all).size(), most_parts);
  std::string const window = format(Locator{"0a", "0c", one.address});
  for (std::string const& wrong :
       {std::string(), format(one) + ",", "," + format(one), format(one) + ",nonsense",
        format(one) + "," + window, all + "," + format(two)})
    EXPECT_THROW(parse_grants(wrong), Error) << wrong;
  EXPECT_THROW(parse_locator(format(one) + "," + format(two)), Error);
}

TEST(SpreadTest, each_region_is_in_one_part) {
  for (std::size_t parts : {1u, 2u, 3u, 7u}) {
    Spread const spread(parts);
    std::vector<std::uint64_t> const all{5, 6, 7, 8, 9, 10, 11};
    std::vector<std::vector<std::uint64_t>> shares;
    for (std::size_t part = 0; part < parts; ++part) {
      shares.push_back(spread.share(all, part));
      EXPECT_EQ(shares.back().size(), spread.share(all.size(), part));
    }
    for (std::uint64_t rank = 0; rank < all.size(); ++rank)
      EXPECT_EQ(shares[spread.part_of(rank)].at(spread.place_of(rank)), all[rank]);
  }
}

/// Each byte is in one place, and the places of a part are all that it has.
TEST(SpreadTest, each_byte_is_in_one_stripe) {
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
          ASSERT_EQ(spread.share_of_region(rank, bytes, part), found[part])
              << parts << " " << rank << " " << bytes;
      }
    }
    EXPECT_EQ(spread.find(0, 3).bytes, stripe - 3);
    EXPECT_EQ(spread.find(0, stripe * parts + 3).offset, stripe + 3);
  }
}

struct Handshake : testing::Test {
  KeyPair server = KeyPair::make();
  ClientHandshake client;
  ServerHandshake answered = ServerHandshake::answer_to(
      client.hello(server.public_key), [this](auto const&) -> KeyPair const& { return server; });
  SecuredSession session = client.finish(answered.answer, [](PublicKey const&) {});
};

TEST_F(Handshake, BothSidesHaveTheSameKeys) {
  EXPECT_EQ(session.keys.sent, answered.session.keys.received);
  EXPECT_EQ(session.keys.received, answered.session.keys.sent);
  EXPECT_NE(session.keys.sent, session.keys.received);
  EXPECT_EQ(session.transcript, answered.session.transcript);
}

TEST_F(Handshake, ServerWithoutItsSecretKeyHasOtherKeys) {
  KeyPair fake = KeyPair::make();
  fake.public_key = server.public_key;
  ServerHandshake const forged = ServerHandshake::answer_to(
      client.hello(server.public_key), [&](auto const&) -> KeyPair const& { return fake; });
  SecuredSession const mine = client.finish(forged.answer, [](PublicKey const&) {});
  EXPECT_NE(mine.keys.sent, forged.session.keys.received);
  EXPECT_NE(mine.keys.received, forged.session.keys.sent);
}

TEST_F(Handshake, ProofHoldsForOneSecretSideUserAndSession) {
  UserSecret const secret = random_secret();
  std::string const proof = make_proof(secret, Prover::client, "ann", session.transcript);
  EXPECT_TRUE(is_proof(secret, Prover::client, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(secret, Prover::server, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(random_secret(), Prover::client, "ann", session.transcript, proof));
  EXPECT_FALSE(is_proof(secret, Prover::client, "bob", session.transcript, proof));
  ServerHandshake const another = ServerHandshake::answer_to(
      client.hello(server.public_key), [this](auto const&) -> KeyPair const& { return server; });
  EXPECT_FALSE(is_proof(secret, Prover::client, "ann", another.session.transcript, proof));
}

TEST_F(Handshake, RefusesOtherVersionsAndKeysOfSmallOrder) {
  auto const key_for = [this](auto const&) -> KeyPair const& { return server; };
  Json hello = client.hello(std::nullopt);
  hello["version"] = 1;
  EXPECT_THROW(ServerHandshake::answer_to(hello, key_for), Error);
  EXPECT_THROW(ServerHandshake::answer_to({{"op", "hello"}, {"user", "ann"}, {"nonce", "0"}}, key_for),
               Error);
  hello = client.hello(std::nullopt);
  hello["ephemeral"] = to_text(PublicKey{});
  EXPECT_THROW(ServerHandshake::answer_to(hello, key_for), Error);
  Json answer = answered.answer;
  answer["key"] = to_text(PublicKey{});
  EXPECT_THROW(client.finish(answer, [](PublicKey const&) {}), Error);
}

TEST_F(Handshake, StreamFindsEveryChangeOfARecord) {
  std::vector<std::byte> const plain(40000, std::byte{5});
  SecureStream sender(session.keys);
  std::vector<std::byte> records;
  sender.seal(plain, &records);
  std::vector<std::byte> opened;
  SecureStream receiver(answered.session.keys);
  EXPECT_EQ(receiver.open(records, &opened), records.size());
  EXPECT_EQ(opened, plain);
  EXPECT_THROW(receiver.open(records, &opened), Error) << "the same records a second time";
  for (std::size_t const at : {0u, 23u, 24u, 28u, 1000u, 39999u}) {
    std::vector<std::byte> changed = records;
    changed[at] ^= std::byte{1};
    SecureStream another(answered.session.keys);
    opened.clear();
    EXPECT_THROW(
        {
          if (another.open(changed, &opened) != changed.size()) throw Error(ErrorCode::malformed, "cut");
        },
        Error)
        << at;
  }
}

TEST_F(Handshake, StreamGoesOnInAnotherProcess) {
  std::vector<std::byte> const plain(100, std::byte{5});
  std::vector<std::byte> records;
  std::vector<std::byte> opened;
  SecureStream client_side(session.keys);
  SecureStream server_side(answered.session.keys);
  EXPECT_THROW((void)server_side.state(), Error);
  client_side.seal(plain, &records);
  (void)server_side.open(records, &opened);
  records.clear();
  server_side.seal(plain, &records);
  (void)client_side.open(records, &opened);
  SecureStream moved = SecureStream::from_state(server_side.state());
  records.clear();
  moved.seal(plain, &records);
  client_side.seal(plain, &records);
  opened.clear();
  std::size_t const own = 4 + plain.size() + 17;
  EXPECT_EQ(client_side.open(std::span(records).first(own), &opened), own);
  EXPECT_EQ(moved.open(std::span(records).subspan(own), &opened), own);
  EXPECT_EQ(opened.size(), 2 * plain.size());
  EXPECT_THROW(SecureStream::from_state("00"), Error);
}

TEST_F(Handshake, SecretThatOthersCanReadIsRefused) {
  auto const file = std::filesystem::temp_directory_path() / ("secret-" + random_identifier());
  EXPECT_FALSE(read_secret(file));
  UserSecret const secret = random_secret();
  write_secret(file, secret);
  EXPECT_EQ(read_secret(file), secret);
  std::filesystem::permissions(file, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
  EXPECT_THROW(read_secret(file), Error);
  std::filesystem::remove(file);
}

std::uint64_t seed_of_test() {
  char const* const given = std::getenv("MPIX_TEST_SEED");
  std::uint64_t const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// Against a list of what is taken: pieces never overlap, and all is free in one piece at the end.
TEST(SegmentAllocatorTest, random_pieces_never_overlap_and_come_back_whole) {
  std::mt19937_64 random(seed_of_test());
  constexpr std::uint64_t space = 64u << 20;
  SegmentAllocator allocator(space);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int round = 0; round < 20000 / test::slowness; ++round) {
    if (taken.empty() || random() % 2 == 0) {
      std::uint64_t const bytes = 1 + random() % (random() % 2 == 0 ? 8192u : 1u << 20);
      auto const offset = allocator.take(bytes);
      if (!offset) continue;
      auto const next = taken.lower_bound(*offset);
      EXPECT_TRUE(next == taken.end() || *offset + bytes <= next->first);
      EXPECT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *offset);
      ASSERT_TRUE(taken.emplace(*offset, SegmentAllocator::footprint(bytes)).second);
    } else {
      auto const piece = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      allocator.give_back(piece->first, piece->second);
      taken.erase(piece);
    }
  }
  std::uint64_t used = 0;
  for (auto const& [offset, bytes] : taken) used += bytes;
  EXPECT_EQ(allocator.free_bytes(), space - used);
  for (auto const& [offset, bytes] : taken) allocator.give_back(offset, bytes);
  EXPECT_EQ(allocator.largest_free(), space);
}

/// Half full for long, with sizes of all kinds: a tenth of the space is still to be had in one piece.
TEST(SegmentAllocatorTest, does_not_fragment_without_end) {
  std::mt19937_64 random(seed_of_test());
  constexpr std::uint64_t space = 256u << 20;
  SegmentAllocator allocator(space);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (int round = 0; round < 100000 / test::slowness; ++round) {
    if (allocator.free_bytes() > space / 2) {
      std::uint64_t const bytes = std::uint64_t{4096} << random() % 10;
      if (auto const offset = allocator.take(bytes)) taken.emplace_back(*offset, bytes);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      allocator.give_back(taken.back().first, taken.back().second);
      taken.pop_back();
    }
  }
  EXPECT_GT(allocator.largest_free(), space / 10);
}

TEST(SegmentAllocatorTest, nothing_fits_even_where_all_is_taken) {
  SegmentAllocator allocator(4096);
  ASSERT_TRUE(allocator.take(4096));
  EXPECT_TRUE(allocator.take(0));
  EXPECT_FALSE(allocator.take(1));
}

TEST(SegmentAllocatorTest, takes_a_piece_by_its_place_once) {
  SegmentAllocator allocator(10 * 4096);
  EXPECT_TRUE(allocator.take_at(4096, 8192));
  EXPECT_FALSE(allocator.take_at(8192, 1));
  EXPECT_FALSE(allocator.take_at(9 * 4096, 8192));
  EXPECT_FALSE(allocator.take_at(UINT64_MAX - 4096, 8192));
  EXPECT_TRUE(allocator.take_at(9 * 4096, 4096));
  EXPECT_EQ(allocator.take(7 * 4096), std::nullopt);
  EXPECT_EQ(allocator.take(6 * 4096), 3u * 4096);
}

class CatalogTest : public ::testing::Test {
 protected:
  CatalogTest() : file_(std::filesystem::temp_directory_path() / ("catalog-" + random_identifier())) {}
  ~CatalogTest() override {
    for (char const* const ending : {"", "-wal", "-shm", ".damaged"})
      std::filesystem::remove(file_.string() + ending);
  }

  static Window window(std::string const& id, std::uint64_t offset) {
    Window made{id, true, {1, 2, 0640}, Durability::server, offset, 0, {}};
    made.bytes = lay_out({100, 0, 300}, {1, 8, 4}, &made.regions);
    for (Region& region : made.regions) region.offset += offset;
    return made;
  }
  void fill(Catalog& catalog, int windows) {
    catalog.together([&] {
      Grant grant{"g1", 7, 64u << 20, StorageKind::memory, "", 100, 200};
      catalog.add(grant);
      for (int i = 0; i < windows; ++i)
        catalog.add("g1",
                    window(std::string("w").append(std::to_string(i)), static_cast<std::uint64_t>(i) * 4096));
      catalog.publish({7, "name"}, "w0");
    });
  }

  std::filesystem::path file_;
};

TEST_F(CatalogTest, keeps_grants_windows_and_names) {
  {
    Catalog catalog(file_);
    fill(catalog, 2);
  }
  Catalog catalog(file_);
  ASSERT_EQ(catalog.grants().size(), 1u);
  EXPECT_EQ(catalog.grants()[0].expires, 200);
  auto const found = catalog.find_window("w1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->grant, "g1");
  EXPECT_EQ(found->window.offset, 4096u);
  ASSERT_EQ(found->window.regions.size(), 3u);
  EXPECT_EQ(found->window.regions[2].offset, 4096u + 128);
  EXPECT_EQ(found->window.regions[2].unit, 4u);
  EXPECT_EQ(found->window.ownership.mode, 0640u);
  EXPECT_THROW(catalog.publish({7, "name"}, "w1"), Error);
  catalog.publish({8, "name"}, "w1");
  EXPECT_EQ(catalog.find_name({8, "name"})->window.id, "w1");
  EXPECT_TRUE(catalog.problems().empty());
  catalog.remove_window("w0");
  EXPECT_FALSE(catalog.find_name({7, "name"}));
  catalog.remove_grant("g1");
  EXPECT_FALSE(catalog.find_window("w1"));
}

TEST_F(CatalogTest, windows_on_each_other_are_found) {
  Catalog catalog(file_);
  fill(catalog, 1);
  catalog.add("g1", window("other", 0));
  catalog.add("g1", window("outside", 1u << 30));
  EXPECT_EQ(catalog.problems().size(), 2u);
}

TEST_F(CatalogTest, damage_is_refused_and_what_can_be_read_is_kept) {
  {
    Catalog catalog(file_);
    fill(catalog, 2000);
  }
  {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(file_) / 2));
    file << std::string(20000, '\x5a');
  }
  EXPECT_THROW(Catalog{file_}, Error);
  EXPECT_FALSE(repair_catalog(file_).lost.empty());
  Catalog catalog(file_);
  EXPECT_TRUE(catalog.problems().empty());
  EXPECT_EQ(catalog.grants().size(), 1u);
  EXPECT_GT(catalog.count_windows("g1"), 500u);
  EXPECT_LT(catalog.count_windows("g1"), 2000u);
}

TEST_F(CatalogTest, what_is_no_catalog_is_refused) {
  std::ofstream(file_) << std::string(8192, 'x');
  EXPECT_THROW(Catalog{file_}, Error);
}

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

TEST_F(ChannelTest, messages_arrive_with_data_and_descriptors) {
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
  EXPECT_TRUE(far_.fill());  // descriptors end what is taken in at once
  auto const second = far_.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(field<unsigned>(second->head, "a"), 2u);
  EXPECT_FALSE(far_.next());
  near.release();
  EXPECT_FALSE(far_.fill());
}

TEST_F(ChannelTest, fields_of_the_wrong_kind_are_refused) {
  Json const json{{"negative", -1}, {"float", 1.5}, {"large", 1ull << 40}, {"list", {1, -2}}, {"text", 3}};
  EXPECT_THROW(field<std::uint64_t>(json, "negative"), Error);
  EXPECT_THROW(field<std::uint64_t>(json, "float"), Error);
  EXPECT_THROW(field<unsigned>(json, "large"), Error);
  EXPECT_THROW(field<std::vector<std::uint64_t>>(json, "list"), Error);
  EXPECT_THROW(field<std::string>(json, "text"), Error);
  EXPECT_THROW(field<bool>(json, "missing"), Error);
  EXPECT_EQ(field<std::uint64_t>(json, "large"), 1ull << 40);
}

TEST_F(ChannelTest, nonsense_is_refused) {
  std::mt19937_64 random(seed_of_test());
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

TEST(WindowTest, regions_stand_aligned_behind_each_other) {
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

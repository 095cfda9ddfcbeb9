/// Short-lived processes leave nothing behind in a long-lived one. MPIX_TEST_CHILDREN: their number.
#include <dirent.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/support/engine_paths.hpp"
#include "tests/support/full_length.hpp"

namespace mpixrma::engine {
namespace {

constexpr std::uint64_t own_process = 0x100;
constexpr std::uint64_t first_child = 0x1000;

/// Memory shared by parent and children.
struct Board {
  std::atomic<std::uint64_t> next;   ///< child to be started; UINT64_MAX: no more
  std::atomic<std::uint64_t> ready;  ///< child whose address is stored here
  std::atomic<std::uint64_t> done;   ///< child that has received its data
  std::size_t bytes[2];
  std::byte addresses[2][8192];
  std::uint64_t word[2];
};
Board* board = nullptr;

void wait_for(std::atomic<std::uint64_t> const& value, std::uint64_t wanted) {
  while (value.load() != wanted) ::usleep(100);
}

mpix_engine_t* running = nullptr;

Engine& the_engine() { return *static_cast<Engine*>(running); }

int place_of(std::uint64_t process) { return process == own_process ? 0 : 1; }

void start_engine(std::uint64_t process, unsigned paths) {
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.protocols = paths;
  static std::uint64_t self = 0;
  self = process;
  mpix_bootstrap bootstrap{};
  bootstrap.size = sizeof bootstrap;
  bootstrap.process = process;
  bootstrap.publish = [](void*, void const* address, std::size_t length) {
    board->bytes[place_of(self)] = length;
    std::memcpy(board->addresses[place_of(self)], address, length);
    return 0;
  };
  bootstrap.peer_address = [](void*, std::uint64_t peer, void const** address, std::size_t* length) {
    *address = board->addresses[place_of(peer)];
    *length = board->bytes[place_of(peer)];
    return 0;
  };
  ASSERT_EQ(mpix_engine_create(&config, &bootstrap, &running), 0);
}

void add_one(std::uint64_t process, std::uint64_t* word) {
  Engine& engine = the_engine();
  Peer* const peer = engine.peers.find(process);
  ASSERT_NE(peer, nullptr);
  std::uint64_t const one = 1;
  RmaOp const add =
      contiguous(ReduceOp::sum, ElementType::uint64, &one, reinterpret_cast<RemoteAddress>(word), sizeof one);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(engine.issue(*peer, add).status, Status::ok);
  engine.order.complete(*peer, UINT64_MAX);
  engine.peers.release(*peer);
}

/// A child communicates with the parent in both directions and ends.
void run_child(std::uint64_t process, unsigned paths) {
  start_engine(process, paths);
  void* memory = nullptr;
  ASSERT_EQ(the_engine().memory.allocate(4096, &memory), Status::ok);
  auto* const word = new (memory) std::uint64_t(0);
  board->word[1] = reinterpret_cast<std::uint64_t>(word);
  board->ready.store(process);
  add_one(own_process, reinterpret_cast<std::uint64_t*>(board->word[0]));
  wait_for(board->done, process);
  EXPECT_EQ(__atomic_load_n(word, __ATOMIC_ACQUIRE), 5u);
  mpix_engine_destroy(running);
}

/// Starts children one after the other. Forked before the parent has an engine.
[[noreturn]] void run_nursery(unsigned paths) {
  for (std::uint64_t started = 0;;) {
    std::uint64_t const next = board->next.load();
    if (next == UINT64_MAX) ::_exit(0);
    if (next == started) {
      ::usleep(100);
      continue;
    }
    started = next;
    pid_t const child = ::fork();
    if (child == 0) {
      run_child(next, paths);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) ::_exit(1);
  }
}

std::size_t entries(char const* directory) {
  DIR* const open = ::opendir(directory);
  std::size_t count = 0;
  while (::readdir(open) != nullptr) ++count;
  ::closedir(open);
  return count;
}

struct Use {
  std::size_t heap = ::mallinfo2().uordblks;
  std::size_t files = entries("/proc/self/fd");
  std::size_t mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
  }();
  std::size_t peers = the_engine().traffic.statistics().peers;
};

class ShortLived : public ::testing::TestWithParam<unsigned> {};

int wanted_children() {
  char const* const given = std::getenv("MPIX_TEST_CHILDREN");
  return given != nullptr ? std::atoi(given) : std::max(60 / (test::slowness * test::shortened(2)), 8);
}

TEST_P(ShortLived, ResourcesOfEndedPeersAreReleased) {
  int const children = wanted_children();
  void* const shared =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  board = new (shared) Board{};
  pid_t const nursery = ::fork();
  if (nursery == 0) run_nursery(GetParam());
  start_engine(own_process, GetParam());
  void* memory = nullptr;
  ASSERT_EQ(the_engine().memory.allocate(4096, &memory), Status::ok);
  auto* const word = new (memory) std::uint64_t(0);
  board->word[0] = reinterpret_cast<std::uint64_t>(word);
  Use early;
  for (int i = 1; i <= children; ++i) {
    std::uint64_t const process = first_child + static_cast<std::uint64_t>(i);
    board->next.store(process);
    wait_for(board->ready, process);
    add_one(process, reinterpret_cast<std::uint64_t*>(board->word[1]));
    std::uint64_t const expected = 5 * static_cast<std::uint64_t>(i);
    the_engine().waits.until([&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) == expected; });
    board->done.store(process);
    if (i == children / 2) early = Use();
  }
  Use const late;
  board->next.store(UINT64_MAX);
  int status = 0;
  ASSERT_EQ(::waitpid(nursery, &status, 0), nursery);
  EXPECT_EQ(status, 0);
  auto const rest = static_cast<std::size_t>(children - children / 2);
  std::size_t const grown = late.heap > early.heap ? late.heap - early.heap : 0;
  std::printf(
      "for each of %zu processes: %zu bytes; %zu -> %zu descriptors, %zu -> %zu mappings, %zu peers\n", rest,
      grown / rest, early.files, late.files, early.mappings, late.mappings, late.peers);
  EXPECT_LE(late.peers, 5u);
  EXPECT_LE(late.files, early.files + 5);
  EXPECT_LE(grown, 16384 * rest + (1u << 20)) << "a few hundred bytes for each process are usual";
  mpix_engine_destroy(running);
  ::munmap(shared, sizeof(Board));
}

INSTANTIATE_TEST_SUITE_P(Paths, ShortLived,
                         ::testing::Values(static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_ALL),
                                           static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_MESSAGE)));

}  // namespace
}  // namespace mpixrma::engine

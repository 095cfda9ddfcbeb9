/// Several engines in one operating-system process, which are different processes of the job.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <random>
#include <span>
#include <thread>
#include <utility>

#include "tests/support/engine_paths.hpp"
#include "tests/support/random_layout.hpp"

namespace mpixrma::engine {
namespace {

/// Engines of this process, which find each other by files.
class Neighbours {
 public:
  ~Neighbours() {
    while (!members_.empty()) stop(members_.begin()->first);
  }

  Engine& start(std::uint64_t process, mpix_engine_config const& config) {
    Member& member = members_[process];
    EXPECT_EQ(mpix_file_bootstrap_open(directory_.path(), process, 10000, &member.files), 0);
    EXPECT_EQ(mpix_engine_create(&config, mpix_file_bootstrap_get(member.files), &member.engine), 0);
    return at(process);
  }
  void stop(std::uint64_t process) {
    Member const& member = members_.at(process);
    mpix_engine_destroy(member.engine);
    mpix_file_bootstrap_close(member.files);
    members_.erase(process);
  }
  Engine& at(std::uint64_t process) { return *static_cast<Engine*>(members_.at(process).engine); }

 private:
  struct Member {
    mpix_file_bootstrap_t* files = nullptr;
    mpix_engine_t* engine = nullptr;
  };

  test::JobDirectory directory_;
  std::map<std::uint64_t, Member> members_;
};

constexpr std::size_t slots = 64;  ///< of 64 bytes, one per thread of the job

/// The memory of one engine that all threads access.
struct Ground {
  std::int64_t counter;
  std::int64_t lock;
  std::int64_t guarded;  ///< read and written in two steps, under the lock
  double sums[1000];
  std::byte places[slots][64];
};

template <typename Value>
RemoteAddress address_of(Value& value) {
  return reinterpret_cast<RemoteAddress>(&value);
}

/// A thread that uses one engine.
class Worker {
 public:
  Worker(Engine& self, std::vector<Ground*> const& grounds, std::size_t slot, std::uint64_t seed)
      : engine_(self), grounds_(grounds), slot_(slot), random_(seed) {}

  void work(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      std::size_t const target = random_() % grounds_.size();
      switch (random_() % 5) {
        case 0: put_and_get(target); break;
        case 1: accumulate(target); break;
        case 2: count(target); break;
        case 3: update_guarded(target); break;
        default: allocate_and_free(target);
      }
    }
  }

  std::int64_t counted = 0;
  std::int64_t guarded = 0;
  std::int64_t accumulated = 0;

 private:
  Peer& peer(std::size_t target) { return *engine_.peers.find(Rank::process_of(static_cast<int>(target))); }

  void move(std::size_t target, OpKind direction, void* origin, RemoteAddress address, std::size_t bytes) {
    ASSERT_EQ(run(engine_, peer(target), contiguous(direction, origin, address, bytes)), Status::ok);
  }

  void put_and_get(std::size_t target) {
    std::byte out[64];
    std::byte in[64] = {};
    std::memset(out, static_cast<int>(random_() % 256), sizeof out);
    RemoteAddress const place = address_of(grounds_[target]->places[slot_]);
    move(target, OpKind::put, out, place, sizeof out);
    move(target, OpKind::get, in, place, sizeof in);
    EXPECT_EQ(std::memcmp(in, out, sizeof in), 0);
  }

  void accumulate(std::size_t target) {
    std::vector<double> ones(std::size(grounds_[0]->sums), 1.0);
    RmaOp sum = contiguous(ReduceOp::sum, ElementType::float64, ones.data(),
                           address_of(grounds_[target]->sums), ones.size() * sizeof(double));
    sum.flags = random_() % 2 == 0 ? OpFlags::atomic : OpFlags::element_atomic;
    ASSERT_EQ(run(engine_, peer(target), sum), Status::ok);
    ++accumulated;
  }

  std::int64_t update(std::size_t target, ReduceOp operation, std::int64_t& word, std::int64_t operand,
                      std::int64_t operand2) {
    std::int64_t before = -1;
    RmaOp update =
        contiguous(operation, ElementType::int64, &operand, address_of(word), sizeof word, &before);
    update.operand2 = reinterpret_cast<std::byte const*>(&operand2);
    EXPECT_EQ(run(engine_, peer(target), update), Status::ok);
    return before;
  }

  void count(std::size_t target) {
    (void)update(target, ReduceOp::sum, grounds_[target]->counter, 1, 0);
    ++counted;
  }

  void update_guarded(std::size_t target) {
    Ground& ground = *grounds_[target];
    while (update(target, ReduceOp::compare_swap_eq, ground.lock, 0, 1) != 0) std::this_thread::yield();
    std::int64_t value = 0;
    move(target, OpKind::get, &value, address_of(ground.guarded), sizeof value);
    ++value;
    move(target, OpKind::put, &value, address_of(ground.guarded), sizeof value);
    EXPECT_EQ(update(target, ReduceOp::replace, ground.lock, 0, 0), 1);
    ++guarded;
  }

  /// Allocates and frees memory of the worker's own engine.
  void allocate_and_free(std::size_t) {
    void* memory = nullptr;
    std::size_t const bytes = 64 + random_() % 100000;
    ASSERT_EQ(engine_.memory.allocate(bytes, &memory), Status::ok);
    std::vector<std::byte> out(bytes, static_cast<std::byte>(random_() % 256));
    Peer& self = *engine_.peers.find(engine_.process());
    ASSERT_EQ(run(engine_, self,
                  contiguous(OpKind::put, out.data(), reinterpret_cast<RemoteAddress>(memory), bytes)),
              Status::ok);
    EXPECT_EQ(std::memcmp(memory, out.data(), bytes), 0);
    EXPECT_EQ(engine_.memory.free(memory), Status::ok);
  }

  Engine& engine_;
  std::vector<Ground*> const& grounds_;
  std::size_t slot_;
  std::mt19937_64 random_;
};

class Engines : public EnginePath {
 protected:
  mpix_engine_config config_of(int rank) {
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    configure(config, rank);
    return config;
  }
  /// `count` engines with `threads` threads each, which run all operations on all engines concurrently.
  void work_together(int count, int threads);

  std::uint64_t seed_ = test::seed();
};

INSTANTIATE_TEST_SUITE_P(Paths, Engines, every_path(), path_name);

void Engines::work_together(int count, int threads) {
  Neighbours neighbours;
  std::vector<Ground*> grounds;
  for (int rank = 0; rank < count; ++rank) {
    Engine& engine = neighbours.start(Rank::process_of(rank), config_of(rank));
    void* memory = nullptr;
    ASSERT_EQ(engine.memory.allocate(sizeof(Ground), &memory), Status::ok);
    grounds.push_back(new (memory) Ground());
  }
  std::vector<Worker> workers;
  for (int i = 0; i < count * threads; ++i) {
    auto const slot = static_cast<std::size_t>(i);
    workers.emplace_back(neighbours.at(Rank::process_of(i % count)), grounds, slot, seed_ + slot);
  }
  std::vector<std::thread> running;
  for (Worker& worker : workers) running.emplace_back([&] { worker.work(600 / test::slowness); });
  for (std::thread& thread : running) thread.join();

  std::int64_t wanted[3] = {0, 0, 0};
  for (Worker const& worker : workers) {
    wanted[0] += worker.counted;
    wanted[1] += worker.guarded;
    wanted[2] += worker.accumulated;
  }
  std::int64_t found[3] = {0, 0, 0};
  for (Ground const* const ground : grounds) {
    found[0] += ground->counter;
    found[1] += ground->guarded;
    found[2] += static_cast<std::int64_t>(ground->sums[0]);
    for (double const sum : ground->sums) EXPECT_EQ(sum, ground->sums[0]);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(found[i], wanted[i]) << i;
}

TEST_P(Engines, TwoInOneProcessWorkWithEachOther) { work_together(2, 2); }

TEST_P(Engines, FourInOneProcessWorkWithEachOther) { work_together(4, 2); }

TEST_P(Engines, EndOfOneDoesNotAffectOthers) {
  Neighbours neighbours;
  for (int rank = 0; rank < 3; ++rank) neighbours.start(Rank::process_of(rank), config_of(rank));
  std::int64_t word = 0;
  std::int64_t value = 5;
  auto const put = [&](int from, int to) {
    ++value;
    Engine& engine = neighbours.at(Rank::process_of(from));
    Peer* const peer = engine.peers.find(Rank::process_of(to));
    ASSERT_NE(peer, nullptr);
    ASSERT_EQ(run(engine, *peer, contiguous(OpKind::put, &value, address_of(word), sizeof word)), Status::ok);
    EXPECT_EQ(word, value);
  };
  put(0, 1);
  put(1, 2);
  put(2, 0);
  Engine& first = neighbours.at(Rank::process_of(0));
  Peer& second = *first.peers.find(Rank::process_of(1));
  neighbours.stop(Rank::process_of(1));
  // After its file is removed, the process counts as ended.
  for (int i = 0; i < 2000 && !second.is_lost(); ++i) ::usleep(5000);
  EXPECT_EQ(run(first, second, contiguous(OpKind::put, &value, address_of(word), sizeof word)),
            Status::unreachable);
  put(0, 2);
  put(2, 0);
  neighbours.start(Rank::process_of(3), config_of(3));
  put(0, 3);
  put(3, 2);
}

TEST_P(Engines, ForkedChildDoesNotAffectEnginesOfItsParent) {
  Neighbours neighbours;
  Engine& first = neighbours.start(Rank::process_of(0), config_of(0));
  neighbours.start(Rank::process_of(1), config_of(1));
  pid_t const child = ::fork();
  if (child == 0) {
    mpix_engine_destroy(&first);
    ::_exit(first.is_of_this_process() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::int64_t word = 0;
  std::int64_t value = 7;
  EXPECT_EQ(run(first, *first.peers.find(Rank::process_of(1)),
                contiguous(OpKind::put, &value, address_of(word), sizeof word)),
            Status::ok);
  EXPECT_EQ(word, value);
}

/// An engine that knows the address of one neighbour, after `await` has returned for it.
class LateAddress {
 public:
  LateAddress(std::span<std::byte const> address, std::function<void(std::uint64_t process)> await)
      : address_(address), await_(std::move(await)) {
    mpix_bootstrap bootstrap{};
    bootstrap.size = sizeof bootstrap;
    bootstrap.context = this;
    bootstrap.process = Rank::process_of(0);
    bootstrap.publish = [](void*, void const*, std::size_t) { return 0; };
    bootstrap.peer_address = [](void* self, std::uint64_t, void const** found, std::size_t* length) {
      *found = static_cast<LateAddress*>(self)->address_.data();
      *length = static_cast<LateAddress*>(self)->address_.size();
      return 0;
    };
    bootstrap.await_address = [](void* self, std::uint64_t process) {
      static_cast<LateAddress*>(self)->await_(process);
      return process == neighbour ? 0 : -1;
    };
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    EXPECT_EQ(mpix_engine_create(&config, &bootstrap, &engine_), 0);
  }
  ~LateAddress() { mpix_engine_destroy(engine_); }
  LateAddress(LateAddress const&) = delete;
  LateAddress& operator=(LateAddress const&) = delete;

  Engine& engine() const { return *static_cast<Engine*>(engine_); }

  static constexpr std::uint64_t neighbour = 0x101;

 private:
  std::span<std::byte const> address_;
  std::function<void(std::uint64_t)> await_;
  mpix_engine_t* engine_ = nullptr;
};

class Addresses : public ::testing::Test {
 protected:
  void SetUp() override {
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    address_ = neighbours_.start(LateAddress::neighbour, config).address();
  }

  Neighbours neighbours_;
  std::span<std::byte const> address_;
};

TEST_F(Addresses, WaitForOneDelaysNoOtherProcess) {
  std::promise<void> asked;
  std::promise<void> found;
  bool in_time = false;
  LateAddress const late(address_, [&](std::uint64_t process) {
    if (process == LateAddress::neighbour) return;
    asked.set_value();
    in_time = found.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  });
  std::thread waiting([&] { EXPECT_EQ(late.engine().peers.find(Rank::process_of(2)), nullptr); });
  asked.get_future().wait();
  EXPECT_NE(late.engine().peers.find(LateAddress::neighbour), nullptr);
  found.set_value();
  waiting.join();
  EXPECT_TRUE(in_time);
}

TEST_F(Addresses, ThreadsThatWaitForOneFindOnePeer) {
  std::latch both(2);
  LateAddress const late(address_, [&](std::uint64_t) { both.arrive_and_wait(); });
  Peer* other = nullptr;
  std::thread waiting([&] { other = late.engine().peers.find(LateAddress::neighbour); });
  Peer* const found = late.engine().peers.find(LateAddress::neighbour);
  waiting.join();
  EXPECT_NE(found, nullptr);
  EXPECT_EQ(found, other);
}

}  // namespace
}  // namespace mpixrma::engine

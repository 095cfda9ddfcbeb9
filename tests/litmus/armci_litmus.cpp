/// Litmus tests of ARMCI: location consistency, ARMCI_Fence, mutexes.
///
///   mpirun -np 3 armci_litmus [--slice MICROSECONDS] [--rounds LEAST] [--sample N] [--only TEXT] [--verbose]
///
/// Options and output are those of mpix_litmus. ARMCI orders the operations of one process to one other;
/// as with MPIX_RMA's ORDERING, a get may be performed before an earlier put that it does not overlap.
#include <mpi.h>

#include <cstring>

#include "include/armci/armci.h"
#include "tests/litmus/pairwise.hpp"
#include "tests/litmus/suite.hpp"

namespace mpixrma::test::litmus {

namespace {

constexpr std::ptrdiff_t distance = 128;
constexpr std::size_t memory_bytes = 2 * distance * (words_per_sweep + 1);

enum class Action { none, fence, fence_all, mutex };

struct Row {
  Shape const& shape;
  char const* promise;
  char const* clause;
  Action action;
  bool forbids;
};

Row const table[] = {
    {store_buffering, "ordered operations", "A_02", Action::none, false},
    {message_passing, "ordered operations", "A_02", Action::none, true},
    {load_buffering, "ordered operations", "A_02", Action::none, true},
    {two_plus_two_writes, "ordered operations", "A_02", Action::none, true},
    {coherence, "ordered operations", "P_02", Action::none, true},
    {read_own_write, "ordered operations", "P_02", Action::none, true},
    {write_to_read_causality, "ordered operations", "A_02", Action::none, true},
    {isa2, "ordered operations", "A_02", Action::none, true},
    {iriw, "ordered operations", "A_02", Action::none, true},

    {store_buffering, "ARMCI_Fence", "A_16", Action::fence, true},
    {message_passing, "ARMCI_Fence", "A_16", Action::fence, true},
    {two_plus_two_writes, "ARMCI_Fence", "A_16", Action::fence, true},
    {store_buffering, "ARMCI_AllFence", "A_17", Action::fence_all, true},
    {write_to_read_causality, "ARMCI_AllFence", "A_17", Action::fence_all, true},
    {isa2, "ARMCI_AllFence", "A_17", Action::fence_all, true},

    {store_buffering, "ARMCI_Lock", "A_14", Action::mutex, true},
    {message_passing, "ARMCI_Lock", "A_14", Action::mutex, true},
    {two_plus_two_writes, "ARMCI_Lock", "A_14", Action::mutex, true},
};

struct Setting {
  enum class Put : unsigned { word, nonblocking, strided, accumulate, swap, count_ };
  enum class Get : unsigned { word, nonblocking, strided, count_ };

  Put put;
  Get get;
  int home;     ///< rank
  bool spread;  ///< each variable at a different rank

  std::string text() const {
    static char const* const puts[] = {"put", "non-blocking put", "strided put", "accumulate", "swap"};
    static char const* const gets[] = {"get", "non-blocking get", "strided get"};
    return std::string(puts[static_cast<unsigned>(put)]) + ", " + gets[static_cast<unsigned>(get)] +
           (spread ? ", memory of a rank each" : ", memory of rank " + std::to_string(home));
  }
};

class ArmciPort final : public Port {
 public:
  ArmciPort(Action action, Setting setting, std::vector<void*> const& bases)
      : action_(action), setting_(setting), bases_(bases) {}

  void put(Variable variable, std::uint64_t round) override {
    rank_ = rank(variable);
    lock();
    auto* const value = const_cast<Value*>(numbers() + round);
    store(value, address(variable));
    unlock();
  }
  void get(Variable variable, Value* result) override {
    rank_ = rank(variable);
    lock();
    fetch(address(variable), result);
    unlock();
  }
  void order() override {
    if (action_ == Action::fence) ARMCI_Fence(rank_);
    if (action_ == Action::fence_all) ARMCI_AllFence();
  }
  void select(std::uint64_t round) override { offset_ = 2 * distance * static_cast<std::ptrdiff_t>(round); }
  void finish() override {
    ARMCI_WaitAll();
    ARMCI_AllFence();
  }

 private:
  char* address(Variable variable) const {
    auto* const base = static_cast<char*>(bases_[static_cast<std::size_t>(rank(variable))]);
    return base + offset_ + distance * static_cast<int>(variable);
  }
  int rank(Variable variable) const {
    return setting_.spread ? static_cast<int>(variable) % static_cast<int>(bases_.size()) : setting_.home;
  }
  // A mutex of the variable's process protects every access.
  void lock() const {
    if (action_ == Action::mutex) ARMCI_Lock(0, rank_);
  }
  void unlock() const {
    if (action_ == Action::mutex) ARMCI_Unlock(0, rank_);
  }
  void store(Value* value, char* target) {
    int const proc = rank_;
    switch (setting_.put) {
      case Setting::Put::nonblocking: ARMCI_NbPut(value, target, sizeof *value, proc, nullptr); return;
      case Setting::Put::strided: {
        int strides[] = {64};
        int own_strides[] = {sizeof *value};
        int counts[] = {sizeof *value, 2};
        ARMCI_PutS(value, own_strides, target, strides, counts, 1, proc);
        return;
      }
      case Setting::Put::accumulate: {
        long one = 1;
        long scale = 1;
        ARMCI_Acc(ARMCI_ACC_LNG, &scale, &one, target, sizeof one, proc);
        return;
      }
      case Setting::Put::swap: {
        long word = *value;
        ARMCI_Rmw(ARMCI_SWAP_LONG, &word, target, 0, proc);
        return;
      }
      default: ARMCI_Put(value, target, sizeof *value, proc);
    }
  }
  void fetch(char* target, Value* result) const {
    int const proc = rank_;
    if (setting_.get == Setting::Get::word) {
      ARMCI_Get(target, result, sizeof *result, proc);
    } else if (setting_.get == Setting::Get::nonblocking && action_ != Action::mutex) {
      ARMCI_NbGet(target, result, sizeof *result, proc, nullptr);
    } else {
      Value words[2] = {};
      int strides[] = {64};
      int own_strides[] = {sizeof *result};
      int counts[] = {sizeof *result, 2};
      ARMCI_GetS(target, strides, words, own_strides, counts, 1, proc);
      *result = words[0];
    }
  }

  Action action_;
  Setting setting_;
  std::vector<void*> const& bases_;
  std::ptrdiff_t offset_ = 0;
  int rank_ = 0;  ///< of the newest access
};

class Cases {
 public:
  Cases() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    bases_.resize(static_cast<std::size_t>(size_));
    ARMCI_Malloc(bases_.data(), memory_bytes);
    ARMCI_Create_mutexes(1);
  }
  ~Cases() {
    ARMCI_Destroy_mutexes();
    ARMCI_Free(at(rank_));
  }
  Cases(Cases const&) = delete;
  Cases& operator=(Cases const&) = delete;

  std::vector<Trial> trials(Options const& options, unsigned seed) {
    std::vector<Trial> trials;
    for (Row const& row : table) {
      auto const roles = static_cast<int>(row.shape.roles.size());
      if (roles > size_) continue;
      Trial trial{row.shape, row.promise, row.clause, {(roles > 2 ? 4 : 2) * options.slice_microseconds}, {}};
      auto const puts = row.shape.word_per_round ? 3u : static_cast<unsigned>(Setting::Put::count_);
      for (auto const& v : pairwise({puts, static_cast<unsigned>(Setting::Get::count_), 4}, seed++)) {
        int const home = v[2] >= 2 ? size_ - 1 : static_cast<int>(v[2]);
        // A fence of all targets also orders operations to different targets.
        bool const spread = v[2] == 3 && row.action == Action::fence_all;
        trial.cases.push_back(
            make(row, {Setting::Put{v[0]}, spread ? Setting::Get::word : Setting::Get{v[1]}, home, spread}));
      }
      trials.push_back(std::move(trial));
    }
    return trials;
  }

 private:
  char* at(int rank) const { return static_cast<char*>(bases_[static_cast<std::size_t>(rank)]); }

  Case make(Row const& row, Setting const& setting) {
    auto const prepare = [this, &row, setting] {
      std::memset(at(rank_), 0, memory_bytes);
      std::vector<Player> players(row.shape.roles.size());
      for (std::size_t role = 0; role < players.size(); ++role) {
        players[role].rank = static_cast<int>(role);
        players[role].make_port = [this, &row, setting] {
          return std::make_unique<ArmciPort>(row.action, setting, bases_);
        };
      }
      return players;
    };
    auto const count = [this, setting] {
      return count_forbidden_ends(MPI_COMM_WORLD, setting.home, at(rank_), at(rank_) + distance,
                                  2 * distance);
    };
    return {setting.text(), row.forbids, prepare, count};
  }

  int rank_ = 0;
  int size_ = 0;
  std::vector<void*> bases_;
};

}  // namespace
}  // namespace mpixrma::test::litmus

int main(int argc, char** argv) {
  using namespace mpixrma::test::litmus;
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  int const failed = run_suite<Cases>(Options::of(argc, argv));
  ARMCI_Finalize();
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}

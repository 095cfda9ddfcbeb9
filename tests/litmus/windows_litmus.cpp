/// Litmus tests of MPI's windows: flushes, MPIX_Win_order, the order of accumulates, locks, fences, and
/// post-start-complete-wait.
///
///   mpirun -np 3 windows_litmus [--slice MICROSECONDS] [--rounds LEAST] [--sample N] [--only TEXT]
///                               [--verbose]
///
/// Options and output are those of mpix_litmus.
#include <mpi.h>

#include <cstring>
#include <memory>

#include "include/mpix_rma.h"
#include "tests/litmus/pairwise.hpp"
#include "tests/litmus/suite.hpp"

namespace mpixrma::test::litmus {

namespace {

constexpr std::ptrdiff_t distance = 128;
constexpr std::size_t memory_bytes = 2 * distance * (words_per_sweep + 1);
constexpr std::uint64_t collective_rounds = 400;

/// The means that order the steps of a role, and the epoch that they need.
enum class Action { flush, order, accumulate_order, lock, fence, groups };

struct Row {
  Shape const& shape;
  char const* promise;
  char const* clause;
  Action action;
  bool forbids = true;
};

Row const table[] = {
    {store_buffering, "MPI_Win_flush", "W1154_01", Action::flush},
    {message_passing, "MPI_Win_flush", "W1154_01", Action::flush},
    {load_buffering, "MPI_Win_flush", "W1154_01", Action::flush},
    {two_plus_two_writes, "MPI_Win_flush", "W1154_01", Action::flush},
    {coherence, "MPI_Win_flush", "W1154_01", Action::flush},
    {read_own_write, "MPI_Win_flush", "W1154_01", Action::flush},
    {write_to_read_causality, "MPI_Win_flush", "W1154_01", Action::flush},
    {isa2, "MPI_Win_flush", "W1154_01", Action::flush},
    {iriw, "MPI_Win_flush", "W1154_01", Action::flush},

    {store_buffering, "MPIX_Win_order", "E_01", Action::order},
    {message_passing, "MPIX_Win_order", "E_01", Action::order},
    {load_buffering, "MPIX_Win_order", "E_01", Action::order},
    {two_plus_two_writes, "MPIX_Win_order", "E_01", Action::order},
    {coherence, "MPIX_Win_order", "E_01", Action::order},
    {read_own_write, "MPIX_Win_order", "E_01", Action::order},
    {write_to_read_causality, "MPIX_Win_order", "E_01", Action::order},
    {isa2, "MPIX_Win_order", "E_01", Action::order},
    {iriw, "MPIX_Win_order", "E_01", Action::order},

    {coherence, "order of accumulates", "W1172_01", Action::accumulate_order},
    {read_own_write, "order of accumulates", "W1172_01", Action::accumulate_order},

    {store_buffering, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},
    {message_passing, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},
    {two_plus_two_writes, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},
    {read_own_write, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},
    {write_to_read_causality, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},
    {isa2, "MPI_Win_lock, exclusive", "W1153_01", Action::lock},

    {store_buffering, "MPI_Win_fence", "W1151_01", Action::fence},
    {message_passing, "MPI_Win_fence", "W1151_01", Action::fence},
    {load_buffering, "MPI_Win_fence", "W1151_01", Action::fence},
    {read_own_write, "MPI_Win_fence", "W1151_01", Action::fence},

    {message_passing, "post, start, complete, wait", "W1152_01", Action::groups},
};

struct Setting {
  enum class Flavour : unsigned { allocated, created, dynamic, shared, count_ };
  enum class Put : unsigned { put, accumulate, fetch, count_ };
  enum class Get : unsigned { get, accumulate, count_ };

  Flavour flavour;
  Put put;
  Get get;
  int home;             ///< rank
  bool spread = false;  ///< each variable at a different rank

  std::string text() const {
    static char const* const flavours[] = {"MPI_Win_allocate", "MPI_Win_create", "MPI_Win_create_dynamic",
                                           "MPI_Win_allocate_shared"};
    static char const* const puts[] = {"MPI_Put", "MPI_Accumulate", "MPI_Fetch_and_op"};
    static char const* const gets[] = {"MPI_Get", "MPI_Get_accumulate"};
    return std::string(flavours[static_cast<unsigned>(flavour)]) + ", " + puts[static_cast<unsigned>(put)] +
           ", " + gets[static_cast<unsigned>(get)] +
           (spread ? ", memory of a rank each" : ", memory of rank " + std::to_string(home));
  }
};

/// A window of one flavour.
class Window {
 public:
  Window(Setting::Flavour flavour, MPI_Comm comm) {
    switch (flavour) {
      case Setting::Flavour::allocated:
        MPI_Win_allocate(memory_bytes, 1, MPI_INFO_NULL, comm, &own_, &window_);
        break;
      case Setting::Flavour::shared:
        MPI_Win_allocate_shared(memory_bytes, 1, MPI_INFO_NULL, comm, &own_, &window_);
        break;
      case Setting::Flavour::dynamic:
        take_heap();
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window_);
        MPI_Win_attach(window_, own_, memory_bytes);
        break;
      default: take_heap(); MPI_Win_create(own_, memory_bytes, 1, MPI_INFO_NULL, comm, &window_);
    }
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    bases_.resize(static_cast<std::size_t>(ranks));
    MPI_Aint base = 0;
    if (flavour == Setting::Flavour::dynamic) MPI_Get_address(own_, &base);
    MPI_Allgather(&base, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, comm);
  }
  ~Window() { MPI_Win_free(&window_); }
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;

  MPI_Win handle() const { return window_; }
  char* own() const { return own_; }
  int ranks() const { return static_cast<int>(bases_.size()); }
  /// Displacement of a rank's memory.
  MPI_Aint base(int rank) const { return bases_[static_cast<std::size_t>(rank)]; }

 private:
  void take_heap() {
    heap_ = std::make_unique<char[]>(memory_bytes);
    own_ = heap_.get();
  }

  MPI_Win window_ = MPI_WIN_NULL;
  char* own_ = nullptr;
  std::unique_ptr<char[]> heap_;
  std::vector<MPI_Aint> bases_;
};

class WindowPort final : public Port {
 public:
  /// `partners`: the group of the other role, for Action::groups.
  WindowPort(Action action, Setting setting, Window const& window, bool all, MPI_Group partners)
      : action_(action),
        setting_(setting),
        window_(window.handle()),
        memory_(window),
        all_(all),
        partners_(partners) {
    if (is_passive()) MPI_Win_lock_all(0, window_);
    if (action_ == Action::fence) MPI_Win_fence(0, window_);
  }

  void put(Variable variable, std::uint64_t round) override {
    if (action_ == Action::groups && variable == Variable::x) MPI_Win_start(partners_, 0, window_);
    go_to(variable);
    lock();
    store(numbers() + round);
    unlock();
    completes_ = variable == Variable::y;
  }
  void get(Variable variable, Value* result) override {
    if (action_ == Action::groups) return load(variable, result);
    go_to(variable);
    lock();
    fetch(result);
    unlock();
  }
  void order() override {
    switch (action_) {
      case Action::flush: all_ ? MPI_Win_flush_all(window_) : MPI_Win_flush(rank_, window_); break;
      case Action::order: all_ ? MPIX_Win_order_all(window_) : MPIX_Win_order(rank_, window_); break;
      case Action::fence: MPI_Win_fence(0, window_); break;
      case Action::groups:
        if (completes_) MPI_Win_complete(window_);
        completes_ = false;
        break;
      default: break;
    }
  }
  void select(std::uint64_t round) override { offset_ = 2 * distance * static_cast<std::ptrdiff_t>(round); }
  void finish() override {
    if (is_passive()) MPI_Win_unlock_all(window_);
    if (action_ == Action::fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
  }

 private:
  bool is_passive() const {
    return action_ == Action::flush || action_ == Action::order || action_ == Action::accumulate_order;
  }
  /// Sets the variable of the next access.
  void go_to(Variable variable) {
    int const v = static_cast<int>(variable);
    rank_ = setting_.spread ? v % memory_.ranks() : setting_.home;
    place_ = memory_.base(rank_) + offset_ + distance * v;
  }
  void lock() const {
    if (action_ == Action::lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window_);
  }
  void unlock() const {
    if (action_ == Action::lock) MPI_Win_unlock(rank_, window_);
  }
  void store(Value const* value) {
    if (setting_.put == Setting::Put::put) {
      MPI_Put(value, 1, MPI_INT64_T, rank_, place_, 1, MPI_INT64_T, window_);
    } else if (setting_.put == Setting::Put::accumulate) {
      MPI_Accumulate(value, 1, MPI_INT64_T, rank_, place_, 1, MPI_INT64_T, MPI_REPLACE, window_);
    } else {
      MPI_Fetch_and_op(value, &unused_, MPI_INT64_T, rank_, place_, MPI_REPLACE, window_);
    }
  }
  void fetch(Value* result) {
    if (setting_.get == Setting::Get::get) {
      MPI_Get(result, 1, MPI_INT64_T, rank_, place_, 1, MPI_INT64_T, window_);
    } else {
      MPI_Get_accumulate(nullptr, 0, MPI_INT64_T, result, 1, MPI_INT64_T, rank_, place_, 1, MPI_INT64_T,
                         MPI_NO_OP, window_);
    }
  }
  /// At the target: a read of y opens an exposure and waits for its end, after which both words have arrived.
  void load(Variable variable, Value* result) {
    if (variable == Variable::y) {
      MPI_Win_post(partners_, 0, window_);
      MPI_Win_wait(window_);
    }
    *result = *reinterpret_cast<Value const volatile*>(memory_.own() + offset_ +
                                                       (variable == Variable::y ? distance : 0));
  }

  Action action_;
  Setting setting_;
  MPI_Win window_;
  Window const& memory_;
  bool all_;
  MPI_Group partners_;
  bool completes_ = false;
  std::ptrdiff_t offset_ = 0;
  Value unused_ = 0;
  int rank_ = 0;        ///< of the newest access
  MPI_Aint place_ = 0;  ///< its displacement
};

class Cases {
 public:
  Cases() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_split(MPI_COMM_WORLD, rank_ < 2 ? 0 : 1, rank_, &players_comm_);
    MPI_Group players = MPI_GROUP_NULL;
    MPI_Comm_group(players_comm_, &players);
    int const other[] = {1 - rank_};
    if (rank_ < 2) MPI_Group_incl(players, 1, other, &other_);
    MPI_Group_free(&players);
    windows_.resize(flavours_);
    players_windows_.resize(flavours_);
    for (unsigned flavour = 0; flavour < flavours_; ++flavour) {
      windows_[flavour] = std::make_unique<Window>(Setting::Flavour{flavour}, MPI_COMM_WORLD);
      players_windows_[flavour] = std::make_unique<Window>(Setting::Flavour{flavour}, players_comm_);
    }
  }
  ~Cases() {
    for (unsigned flavour = 0; flavour < flavours_; ++flavour) {
      windows_[flavour].reset();
      players_windows_[flavour].reset();
    }
    if (other_ != MPI_GROUP_NULL) MPI_Group_free(&other_);
    MPI_Comm_free(&players_comm_);
  }
  Cases(Cases const&) = delete;
  Cases& operator=(Cases const&) = delete;

  std::vector<Trial> trials(Options const& options, unsigned seed) {
    std::vector<Trial> trials;
    for (Row const& row : table) {
      auto const roles = static_cast<int>(row.shape.roles.size());
      if (roles > size_) continue;
      Trial trial{row.shape, row.promise, row.clause, {(roles > 2 ? 4 : 2) * options.slice_microseconds}, {}};
      if (is_collective(row.action)) trial.length.exact_rounds = collective_rounds;
      for (auto const& v : pairwise(
               {flavours_, count_of(Setting::Put::count_), count_of(Setting::Get::count_), 4, 2}, seed++)) {
        Setting setting{Setting::Flavour{v[0]}, Setting::Put{v[1]}, Setting::Get{v[2]},
                        v[3] >= 2 ? size_ - 1 : static_cast<int>(v[3])};
        // Completion orders operations to different targets too.
        bool const spans_targets = row.action == Action::flush || row.action == Action::lock;
        setting.spread = v[3] == 3 && spans_targets && !row.shape.word_per_round;
        if (row.action == Action::accumulate_order) {
          setting.put = Setting::Put{1 + v[1] % 2};
          setting.get = Setting::Get::accumulate;
        }
        if (is_collective(row.action)) setting.home = setting.home == 0 ? 0 : 1;
        if (row.action == Action::groups) setting.home = 1;
        trial.cases.push_back(make(row, setting, v[4] != 0));
      }
      trials.push_back(std::move(trial));
    }
    return trials;
  }

 private:
  /// Returns the number of flavours: the last one, shared memory, only if all processes are on one host.
  static unsigned flavours_here() {
    int size = 0;
    int size_of_host = 0;
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size_of_host);
    MPI_Comm_free(&host);
    auto const all = static_cast<unsigned>(Setting::Flavour::count_);
    return size_of_host == size ? all : all - 1;
  }
  static constexpr unsigned count_of(auto last) noexcept { return static_cast<unsigned>(last); }
  static constexpr bool is_collective(Action action) noexcept {
    return action == Action::fence || action == Action::groups;
  }

  Case make(Row const& row, Setting const& setting, bool all) {
    auto const flavour = static_cast<unsigned>(setting.flavour);
    Window& window = is_collective(row.action) ? *players_windows_[flavour] : *windows_[flavour];
    auto const prepare = [this, &row, setting, all, &window] {
      std::memset(window.own(), 0, memory_bytes);
      std::vector<Player> players(row.shape.roles.size());
      for (std::size_t role = 0; role < players.size(); ++role) {
        players[role].rank = static_cast<int>(role);
        players[role].make_port = [this, &row, setting, all, &window] {
          return std::make_unique<WindowPort>(row.action, setting, window, all, other_);
        };
      }
      return players;
    };
    auto const count = [setting, &window] {
      return count_forbidden_ends(MPI_COMM_WORLD, setting.home, window.own(), window.own() + distance,
                                  2 * distance);
    };
    return {setting.text(), row.forbids, prepare, count};
  }

  int rank_ = 0;
  int size_ = 0;
  MPI_Comm players_comm_ = MPI_COMM_NULL;  ///< ranks 0 and 1, for collective synchronisation
  MPI_Group other_ = MPI_GROUP_NULL;       ///< rank 1 at rank 0, rank 0 at rank 1
  unsigned const flavours_ = flavours_here();
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::unique_ptr<Window>> players_windows_;
};

}  // namespace
}  // namespace mpixrma::test::litmus

int main(int argc, char** argv) {
  using namespace mpixrma::test::litmus;
  MPI_Init(&argc, &argv);
  int const failed = run_suite<Cases>(Options::of(argc, argv));
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}

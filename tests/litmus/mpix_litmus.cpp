/// Litmus tests of MPIX_RMA: the visibility of one origin's operations to another origin.
///
/// mpirun -np 3 mpix_litmus [--slice MICROSECONDS] [--rounds LEAST] [--sample N] [--only TEXT] [--verbose]
///
/// Every row of the table below is one shape under one promise. It runs in settings that are chosen so that
/// every pair of values of two dimensions (memory of x, of y, kind of PUT, of GET, ...) occurs that the
/// promise covers.
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "tests/litmus/mpix_port.hpp"
#include "tests/litmus/options.hpp"
#include "tests/litmus/pairwise.hpp"
#include "tests/litmus/suite.hpp"

namespace mpixrma::test::litmus {

namespace {

using Action = Promise::Action;
constexpr std::uint64_t ordering = MPIX_RMA_ATTR_ORDERING;
constexpr std::uint64_t blocking_remote = MPIX_RMA_ATTR_BLOCKING | MPIX_RMA_ATTR_REMOTE_COMPLETION;

Promise const nothing{"no attribute", "X511_11", 0, Action::none};
Promise const ordered{"ORDERING", "X511_12", ordering, Action::none};
Promise const fenced{"MPIX_RMA_Fence", "X52_06", 0, Action::fence};
Promise const completed{"MPIX_RMA_Complete", "X52_04", 0, Action::complete};
Promise const remotely_complete{"BLOCKING and REMOTE_COMPLETION", "X511_18", blocking_remote, Action::none};
Promise const waited_for{"REMOTE_COMPLETION and MPI_Wait",
                         "X511_18",
                         MPIX_RMA_ATTR_REMOTE_COMPLETION,
                         Action::none,
                         false,
                         false,
                         true};
Promise const notified{"NOTIFY", "G_13", 0, Action::none, true};
Promise const atomic{"ATOMICITY",  "X511_08", MPIX_RMA_ATTR_ATOMICITY | blocking_remote,
                     Action::none, false,     true};

enum class Outcome {
  forbidden,
  permitted,
  forbidden_in_span,  ///< if the GET covers both words; else permitted
};

struct Row {
  Shape const& shape;
  Promise const& promise;
  Outcome relaxed;  ///< the outcome that is not sequentially consistent
  int slices = 1;   ///< time per case: more if the outcome is rare
};

Row const table[] = {
    {store_buffering, nothing, Outcome::permitted},
    {message_passing, nothing, Outcome::permitted},
    {write_to_read_causality, nothing, Outcome::permitted},
    {isa2, nothing, Outcome::permitted},
    {iriw, nothing, Outcome::permitted},

    {store_buffering, ordered, Outcome::forbidden_in_span, 4},
    {message_passing, ordered, Outcome::forbidden},
    {load_buffering, ordered, Outcome::forbidden},
    {two_plus_two_writes, ordered, Outcome::forbidden},
    {coherence, ordered, Outcome::forbidden},
    {read_own_write, ordered, Outcome::forbidden},
    {write_to_read_causality, ordered, Outcome::forbidden, 3},
    {isa2, ordered, Outcome::forbidden, 3},
    {iriw, ordered, Outcome::forbidden, 4},

    {store_buffering, fenced, Outcome::forbidden, 4},
    {message_passing, fenced, Outcome::forbidden},
    {load_buffering, fenced, Outcome::forbidden},
    {two_plus_two_writes, fenced, Outcome::forbidden},
    {coherence, fenced, Outcome::forbidden},
    {read_own_write, fenced, Outcome::forbidden},
    {write_to_read_causality, fenced, Outcome::forbidden, 3},
    {isa2, fenced, Outcome::forbidden, 3},
    {iriw, fenced, Outcome::forbidden, 4},

    {store_buffering, completed, Outcome::forbidden, 4},
    {message_passing, completed, Outcome::forbidden},
    {load_buffering, completed, Outcome::forbidden},
    {two_plus_two_writes, completed, Outcome::forbidden},
    {coherence, completed, Outcome::forbidden},
    {read_own_write, completed, Outcome::forbidden},
    {write_to_read_causality, completed, Outcome::forbidden, 3},
    {isa2, completed, Outcome::forbidden, 3},
    {iriw, completed, Outcome::forbidden, 4},

    {store_buffering, remotely_complete, Outcome::forbidden, 4},
    {message_passing, remotely_complete, Outcome::forbidden},
    {two_plus_two_writes, remotely_complete, Outcome::forbidden},
    {read_own_write, remotely_complete, Outcome::forbidden},
    {isa2, remotely_complete, Outcome::forbidden, 3},
    {iriw, remotely_complete, Outcome::forbidden, 4},

    {store_buffering, waited_for, Outcome::forbidden, 4},
    {message_passing, waited_for, Outcome::forbidden},

    {message_passing, notified, Outcome::forbidden},

    {coherence, atomic, Outcome::forbidden},
    {read_own_write, atomic, Outcome::forbidden},
};

constexpr unsigned count_of(auto last) noexcept { return static_cast<unsigned>(last); }

/// Whether the promise also holds between operations to different targets, as that of completion does.
bool spans_targets(Promise const& promise) {
  return promise.action == Action::complete || (promise.attributes & MPIX_RMA_ATTR_REMOTE_COMPLETION) != 0;
}

/// Replaces values that the promise does not cover in this combination.
void make_consistent(Row const& row, Setting& setting) {
  bool const can_spread = spans_targets(row.promise) && !row.shape.word_per_round;
  if (setting.home == Setting::Home::spread && !can_spread) setting.home = Setting::Home::last;
  if (setting.home == Setting::Home::spread && setting.get == Setting::Get::span)
    setting.get = Setting::Get::outstanding;
  // Waiting for the request of each PUT does not order a GET.
  if (row.promise.waits && setting.get == Setting::Get::outstanding) setting.get = Setting::Get::blocking;
  if (setting.get == Setting::Get::span) setting.kind[1] = setting.kind[2] = setting.kind[0];
}

/// The memory of all variables is one dimension: each pair of kinds, and so of paths, meets all other values.
std::vector<Setting> settings_for(Row const& row, unsigned seed) {
  constexpr unsigned kinds = count_of(Setting::Kind::count_);
  unsigned const kinds_of_z = row.shape.uses(Variable::z) ? kinds : 1;
  std::vector<Setting> settings;
  for (auto const& v : pairwise({kinds * kinds * kinds_of_z, count_of(Setting::Put::count_),
                                 count_of(Setting::Get::count_), count_of(Setting::Home::count_), 2, 2, 2, 4},
                                seed)) {
    Setting setting{{Setting::Kind{v[0] / kinds % kinds}, Setting::Kind{v[0] % kinds},
                     Setting::Kind{v[0] / (kinds * kinds)}},
                    Setting::Put{v[1]},
                    Setting::Get{v[2]},
                    Setting::Home{v[3]},
                    v[4] != 0,
                    v[5] != 0,
                    v[6] != 0,
                    v[7] == 0};
    make_consistent(row, setting);
    if (row.shape.word_per_round || row.promise.waits) setting.put = Setting::Put{v[1] % 2};
    if (row.promise.notifies) {
      setting.home = Setting::Home::role_1;
      setting.threads = setting.second_comm = false;
    }
    settings.push_back(setting);
  }
  // Store buffering occurs only if both roles run within the same few nanoseconds, which is more frequent
  // with load and store.
  constexpr unsigned repetitions = 24;
  for (unsigned i = 0; &row.shape == &store_buffering && i < repetitions; ++i) {
    auto const get = i % 2 == 0 ? Setting::Get::blocking : Setting::Get::span;
    settings.push_back({{Setting::Kind::allocated, Setting::Kind::allocated, Setting::Kind::allocated},
                        Setting::Put::word,
                        get,
                        Setting::Home{i % count_of(Setting::Home::spread)},
                        false,
                        i % 4 == 3,
                        i % 3 == 0,
                        false});
  }
  return settings;
}

/// Orders in a separate thread: Fence and Complete cover the operations of all threads.
class HelperPort final : public Port {
 public:
  explicit HelperPort(std::unique_ptr<Port> port) : port_(std::move(port)), thread_([this] { serve(); }) {}
  ~HelperPort() override {
    work_.store(Work::leave);
    thread_.join();
  }
  void put(Variable variable, std::uint64_t round) override { port_->put(variable, round); }
  void get(Variable variable, Value* result) override { port_->get(variable, result); }
  void select(std::uint64_t round) override { port_->select(round); }
  void finish() override { port_->finish(); }
  void order() override {
    work_.store(Work::order, std::memory_order_release);
    while (work_.load(std::memory_order_acquire) != Work::none) std::this_thread::yield();
  }

 private:
  enum class Work { none, order, leave };
  void serve() {
    for (;;) {
      Work const work = work_.load(std::memory_order_acquire);
      if (work == Work::leave) return;
      if (work == Work::order) {
        port_->order();
        work_.store(Work::none, std::memory_order_release);
      }
      std::this_thread::yield();
    }
  }

  std::unique_ptr<Port> port_;
  std::atomic<Work> work_{Work::none};
  std::thread thread_;
};

/// Memory of every kind at every rank, for the whole run.
class Memory {
 public:
  explicit Memory(MPI_Comm comm)
      : comm_(comm),
        allocated_(comm, memory_bytes),
        own_{allocated_.own(), registered_.data(), heap_.data()} {
    int size = 0;
    MPI_Comm_size(comm, &size);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      where_[kind].resize(static_cast<std::size_t>(size));
      MPI_Allgather(&own_[kind], sizeof(char*), MPI_BYTE, where_[kind].data(), sizeof(char*), MPI_BYTE, comm);
    }
    if (!is_communicatable(comm, 0, where_[0][0])) throw std::runtime_error("allocated memory is not found");
  }

  /// Clears the memory of this rank; every rank calls it before a case.
  void clear() {
    for (char* const memory : own_) std::memset(memory, 0, memory_bytes);
  }
  char* own(Setting::Kind kind) const { return own_[static_cast<unsigned>(kind)]; }
  char* at(int rank, Setting::Kind kind) const {
    return where_[static_cast<unsigned>(kind)][static_cast<std::size_t>(rank)];
  }

 private:
  static constexpr std::size_t kinds = static_cast<std::size_t>(Setting::Kind::count_);

  MPI_Comm comm_;
  CommunicatableMemory allocated_;
  std::vector<char> registered_ = std::vector<char>(memory_bytes);
  std::vector<char> heap_ = std::vector<char>(memory_bytes);
  Registration registration_{registered_.data(), static_cast<MPI_Aint>(memory_bytes)};
  char* own_[kinds];
  std::vector<char*> where_[kinds];
};

/// The settings of a row as cases.
class Cases {
 public:
  Cases() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms_[1]);
    set_notification_counters(comms_[0], 1);
    memory_.emplace(MPI_COMM_WORLD);
  }
  ~Cases() {
    memory_.reset();
    MPI_Comm_free(&comms_[1]);
  }
  Cases(Cases const&) = delete;
  Cases& operator=(Cases const&) = delete;

  std::vector<Trial> trials(Options const& options, unsigned seed) {
    std::vector<Trial> trials;
    for (Row const& row : table) {
      Trial trial{
          row.shape, row.promise.name, row.promise.clause, {row.slices * options.slice_microseconds}, {}};
      for (Setting const& setting : settings_for(row, seed++)) trial.cases.push_back(make(row, setting));
      trials.push_back(std::move(trial));
    }
    return trials;
  }

 private:
  Case make(Row const& row, Setting const& setting) {
    bool const forbidden = row.relaxed == Outcome::forbidden ||
                           (row.relaxed == Outcome::forbidden_in_span && setting.get == Setting::Get::span);
    return {setting.text(), forbidden, [this, &row, setting] { return prepare(row, setting); },
            [this, setting] {
              int const home = home_of(setting);
              return count_forbidden_ends(MPI_COMM_WORLD, home, memory_->own(setting.kind[0]),
                                          memory_->own(setting.kind[1]) + distance, 2 * distance);
            }};
  }

  int home_of(Setting const& setting) const {
    switch (setting.home) {
      case Setting::Home::role_0: return 0;
      case Setting::Home::role_1: return setting.threads ? 0 : 1;
      default: return size_ - 1;
    }
  }

  std::vector<Player> prepare(Row const& row, Setting const& setting) {
    int const home = home_of(setting);
    memory_->clear();
    std::int64_t notifications = notification_value(comms_[0], 0);
    MPI_Bcast(&notifications, 1, MPI_INT64_T, home, MPI_COMM_WORLD);
    std::vector<Player> players(row.shape.roles.size());
    for (std::size_t role = 0; role < players.size(); ++role) {
      Place place{comms_[role % 2 == 1 && setting.second_comm ? 1 : 0], {}, {}, notifications};
      for (std::size_t v = 0; v < variables; ++v) {
        bool const spread = setting.home == Setting::Home::spread;
        place.rank[v] = spread ? static_cast<int>(v) % size_ : home;
        place.variable[v] =
            memory_->at(place.rank[v], setting.kind[v]) + distance * static_cast<std::ptrdiff_t>(v);
      }
      players[role].rank = setting.threads ? 0 : static_cast<int>(role) % size_;
      players[role].make_port = [&row, setting, place]() -> std::unique_ptr<Port> {
        auto port = std::make_unique<MpixPort>(row.promise, setting, place);
        if (!setting.helper || row.promise.action == Action::none) return port;
        return std::make_unique<HelperPort>(std::move(port));
      };
    }
    return players;
  }

  int rank_ = 0;
  int size_ = 0;
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  std::optional<Memory> memory_;
};

}  // namespace
}  // namespace mpixrma::test::litmus

int main(int argc, char** argv) {
  using namespace mpixrma::test::litmus;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int const failed = run_suite<Cases>(Options::of(argc, argv));
  MPI_Finalize();
  return failed == 0 ? 0 : 1;
}

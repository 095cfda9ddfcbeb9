/// Executes a plan with MPI and compares the results with the model.
#pragma once

#include <list>
#include <memory>

#include "tests/windows/random/model.hpp"
#include "tests/windows/random/window.hpp"

namespace mpixrma::random_windows {

class Player {
 public:
  Player(Plan const& plan, Shapes const& shapes, MPI_Comm comm);

  /// Returns the number of differences and errors of all ranks. Collective.
  std::uint64_t run();
  /// Returns the first differences of this rank, a line each.
  std::string const& report() const { return report_; }

 private:
  /// An operation whose buffers are in use.
  struct Pending {
    Step const* step;
    std::unique_ptr<Buffer> origin, result;
    std::vector<std::byte> compare;
    MPI_Request request = MPI_REQUEST_NULL;
    bool released = false;  ///< checked; kept only to detect late accesses
  };

  /// A flush with a request, and the operations before it.
  struct PendingFlush {
    MPI_Request request;
    std::vector<Pending*> covered;
  };

  void run_episode(Episode const& episode);
  void run_stores(Episode const& episode);
  void open(Epoch const& epoch, std::size_t segment);
  void close(Epoch const& epoch);
  void play(Step const& step);
  void play_operation(Step const& step);
  int issue(Pending& pending);
  int issue_with_request(Pending& pending, int target, MPI_Aint at);
  int issue_single(Pending& pending, int target, MPI_Aint at);
  void play_synchronisation(Step const& step);
  void make_counters();
  void count(Step const& step);
  template <typename Use>
  void for_own_counters(Episode const& episode, Use use);
  void await_counter(int index, int counter, MPI_Count expected);
  void check_counters(Episode const& episode);
  int issue_notification(Pending& pending, int target, MPI_Aint at);
  int play_extension(Step const& step);
  int flush_several(Step const& step);
  void wait_for_flushes();
  void wait_all(std::uint64_t seed);
  static constexpr int all_targets = -1;
  /// Checks and overwrites the buffers of operations on the window, to one target or to all.
  void check_buffers(int window, int target);
  void check(Pending& pending);
  void check_memories();
  void simulate(Step const& step);
  bool require(int code, Step const* step, char const* what);
  void fail(std::string const& line);
  Model& model_of(Step const& step) {
    auto const memory = static_cast<std::size_t>(plan_.windows[static_cast<std::size_t>(step.window)].memory);
    return models_[memory][static_cast<std::size_t>(step.target)];
  }
  Window& window(int index) { return *windows_[static_cast<std::size_t>(index)]; }

  Plan const& plan_;
  Shapes const& shapes_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  std::vector<std::unique_ptr<Window>> windows_;
  std::vector<std::vector<Model>> models_;  ///< by memory and rank
  std::list<Pending> pending_;
  std::list<PendingFlush> flushes_;
  std::vector<std::vector<std::vector<MPI_Count>>> counts_;  ///< by window, rank and counter
  std::uint64_t failures_ = 0;
  std::string report_;
};

/// Whether the step is an MPI_NO_OP for which the call passes no origin.
bool is_without_origin(Step const& step);

/// Returns a step as a line of text.
std::string describe(Step const& step, Plan const& plan);

}  // namespace mpixrma::random_windows

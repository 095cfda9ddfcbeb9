/// Kernels of parallel programs: a stencil, the transposition of a matrix, and a wavefront, whose processes
/// wait for their neighbour row by row. Each result is compared with the exact one. Microseconds of one
/// iteration.
///
/// usage: bench_kernels mpix|window    (any number of ranks)
#include <mpi.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/kernel_port.hpp"

namespace {

using bench::KernelPort;

int size() {
  int value = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}

std::unique_ptr<KernelPort> make_port(std::string const& kind, std::size_t words, int channels) {
  if (kind == "mpix") return std::make_unique<bench::MpixPort>(words, channels);
  return std::make_unique<bench::WindowPort>(words, channels);
}

/// The star stencil of radius 1 (sum of central differences) on a grid that is divided by rows. Each rank
/// puts its first and its last row to its neighbours, and waits for theirs. Two sets of halo rows, so that a
/// neighbour may be one iteration ahead.
class Stencil {
 public:
  static constexpr int columns = 512;
  static constexpr int rows = 64;  ///< of each rank
  static constexpr int halo = columns;

  explicit Stencil(std::string const& kind)
      : port_(make_port(kind, 4 * halo, 2)), in_((rows + 2) * columns), out_(rows * columns) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) row(i)[j] = bench::rank() * rows + i + j;
  }

  void iterate() {
    int const me = bench::rank();
    Set const set = done_ % 2 != 0 ? Set::odd : Set::even;
    ++done_;
    if (me > 0) port_->put_notified(row(0), columns, me - 1, halo_at(set, Side::below), from_below);
    if (me + 1 < size())
      port_->put_notified(row(rows - 1), columns, me + 1, halo_at(set, Side::above), from_above);
    update(1, rows - 1);
    if (me > 0) {
      port_->wait(from_above, done_);
      std::copy_n(port_->memory() + halo_at(set, Side::above), columns, row(-1));
      update(0, 1);
    }
    if (me + 1 < size()) {
      port_->wait(from_below, done_);
      std::copy_n(port_->memory() + halo_at(set, Side::below), columns, row(rows));
      update(rows - 1, rows);
    }
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) row(i)[j] += 1.0;
  }

  /// The stencil of a function that is linear in both directions is constant.
  bool is_correct() {
    int const first = bench::rank() == 0 ? 1 : 0;
    int const last = bench::rank() + 1 == size() ? rows - 1 : rows;
    for (int i = first; i < last; ++i)
      for (int j = 1; j + 1 < columns; ++j)
        if (std::abs(out_[static_cast<std::size_t>(i * columns + j)] - static_cast<double>(done_) * 2.0) >
            1e-6)
          return false;
    return true;
  }

 private:
  static constexpr int from_above = 0;
  static constexpr int from_below = 1;

  /// Halo rows of even and odd iterations.
  enum class Set { even, odd };
  /// Neighbour that a halo row comes from.
  enum class Side { above, below };

  static std::size_t halo_at(Set set, Side side) {
    return (set == Set::odd ? 2 * halo : 0) + (side == Side::below ? halo : 0);
  }
  double* row(int i) { return in_.data() + (i + 1) * columns; }
  void update(int begin, int end) {
    for (int i = begin; i < end; ++i) {
      double const* const above = row(i - 1);
      double const* const here = row(i);
      double const* const below = row(i + 1);
      double* const out = out_.data() + i * columns;
      for (int j = 1; j + 1 < columns; ++j)
        out[j] += 0.5 * (below[j] - above[j]) + 0.5 * (here[j + 1] - here[j - 1]);
    }
  }

  std::unique_ptr<KernelPort> port_;
  std::vector<double> in_;  ///< with the halo rows
  std::vector<double> out_;
  long done_ = 0;
};

/// B += transpose of A, both divided by columns: each rank puts a transposed block to each rank, itself
/// included.
class Transpose {
 public:
  static constexpr int block = 128;  ///< columns of each rank

  explicit Transpose(std::string const& kind)
      : order_(block * size()),
        port_(make_port(kind, static_cast<std::size_t>(order_ * block), 1)),
        a_(static_cast<std::size_t>(order_ * block)),
        sum_(a_.size()),
        packed_(static_cast<std::size_t>(block * block)) {
    for (int j = 0; j < block; ++j)
      for (int i = 0; i < order_; ++i) a_[at(i, j)] = i + 1000.0 * (bench::rank() * block + j);
  }

  void iterate() {
    for (int phase = 0; phase < size(); ++phase) {
      int const target = (bench::rank() + phase) % size();
      for (int j = 0; j < block; ++j)
        for (int i = 0; i < block; ++i)
          packed_[static_cast<std::size_t>(i * block + j)] = a_[at(target * block + i, j)];
      port_->put(packed_.data(), block * block, target,
                 static_cast<std::size_t>(bench::rank() * block * block));
      port_->synchronise();
    }
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += port_->memory()[i];
    ++done_;
    port_->synchronise();
  }

  bool is_correct() {
    for (int from = 0; from < size(); ++from)
      for (int j = 0; j < block; ++j)
        for (int i = 0; i < block; ++i) {
          // Column j of this rank, row i of the block that `from` has sent.
          double const found = sum_[static_cast<std::size_t>(from * block * block + j * block + i)];
          double const expected = bench::rank() * block + j + 1000.0 * (from * block + i);
          if (std::abs(found - expected * static_cast<double>(done_)) > 1e-6 * std::abs(found)) return false;
        }
    return true;
  }

 private:
  std::size_t at(int i, int j) const { return static_cast<std::size_t>(j * order_ + i); }

  int order_;
  std::unique_ptr<KernelPort> port_;
  std::vector<double> a_;
  std::vector<double> sum_;
  std::vector<double> packed_;
  long done_ = 0;
};

/// A wavefront: every element of a row is computed from three neighbours, so each rank waits for the last
/// element of its left neighbour, row by row. One put of 8 bytes with a notification for each row and rank.
class Wavefront {
 public:
  static constexpr int columns = 64;  ///< of each rank
  static constexpr int rows = 256;

  explicit Wavefront(std::string const& kind)
      : port_(make_port(kind, rows + 1, 1)), grid_(static_cast<std::size_t>(rows * (columns + 1))) {}

  void iterate() {
    int const me = bench::rank();
    for (int j = 0; j <= columns; ++j) at(0, j) = me * columns + j;
    for (int i = 1; i < rows; ++i) {
      if (me > 0) {
        port_->wait(0, done_ * (rows - 1) + i);
        at(i, 0) = port_->memory()[i];
      } else {
        at(i, 0) = i;
      }
      for (int j = 1; j <= columns; ++j) at(i, j) = at(i - 1, j) + at(i, j - 1) - at(i - 1, j - 1);
      if (me + 1 < size()) port_->put_notified(&at(i, columns), 1, me + 1, static_cast<std::size_t>(i), 0);
    }
    ++done_;
    port_->synchronise();
  }

  bool is_correct() { return at(rows - 1, columns) == rows - 1 + (bench::rank() + 1.0) * columns; }

 private:
  double& at(int i, int j) { return grid_[static_cast<std::size_t>(i * (columns + 1) + j)]; }

  std::unique_ptr<KernelPort> port_;
  std::vector<double> grid_;
  long done_ = 0;
};

template <typename Kernel>
void run(std::string const& kind, std::string const& name, int rounds) {
  bench::Case const what{
      "kernels", bench::label_or(kind), name, "allocated", static_cast<std::size_t>(size()), 0};
  if (!bench::is_wanted(what)) return;
  Kernel kernel(kind);
  kernel.iterate();
  bench::measure_together(what, rounds, [&] { kernel.iterate(); });
  bench::require(kernel.is_correct(), what);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const kind = argc > 1 ? argv[1] : "";
  if (kind != "mpix" && kind != "window") return bench::refuse("bench_kernels mpix|window");
  run<Stencil>(kind, "stencil", 200);
  run<Transpose>(kind, "transpose", 50);
  run<Wavefront>(kind, "wavefront", 5);
  MPI_Finalize();
  return 0;
}

/// Location consistency (ARMCI over MPI, section IV-A): a process sees its own operations to a process in the
/// order in which they were issued. Random contiguous, strided and vector puts, accumulates and gets,
/// blocking and nonblocking, without a fence; a model computes the expected values.
///
/// usage: location_consistency [--ops N] [--seed N]    (operations of all processes together)
#include <getopt.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "include/armci/armci.h"

namespace {

constexpr int part_longs = 4096;  ///< of each origin at each target

/// The places of the elements of an operation, in longs: pairs of a place in the buffer and a place in the
/// target's part.
struct Shape {
  enum Kind { contiguous, strided, vector, kinds } kind;
  int rows = 1;
  int row_longs = 1;
  int buffer_stride = 1;
  int target_stride = 1;
  int target = 0;                  ///< first long in the part
  std::vector<int> buffer_places;  ///< vector: of each segment
  std::vector<int> target_places;
  int buffer_at(int row) const { return kind == vector ? buffer_places[index(row)] : row * buffer_stride; }
  int target_at(int row) const {
    return kind == vector ? target_places[index(row)] : target + row * target_stride;
  }
  static std::size_t index(int row) { return static_cast<std::size_t>(row); }
};

class Process {
 public:
  explicit Process(std::uint64_t seed) : random_(seed) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    bases_.resize(static_cast<std::size_t>(size_));
    std::size_t const bytes = sizeof(long) * part_longs * static_cast<std::size_t>(size_);
    ARMCI_Malloc(bases_.data(), static_cast<armci_size_t>(bytes));
    std::memset(bases_[static_cast<std::size_t>(rank_)], 0, bytes);
    model_.assign(static_cast<std::size_t>(size_), std::vector<long>(part_longs, 0));
    ARMCI_Barrier();
  }
  ~Process() { ARMCI_Free(bases_[static_cast<std::size_t>(rank_)]); }
  Process(Process const&) = delete;
  Process& operator=(Process const&) = delete;

  void run(long operations) {
    for (long i = 0; i < operations; ++i) {
      issue();
      if (pending_.size() >= 16 || below(8) == 0) complete_and_check();
    }
    complete_and_check();
  }

  /// Compares this process's memory with the values that all processes expect in it.
  long check() {
    ARMCI_Barrier();
    long wrong = failures_;
    for (int target = 0; target < size_; ++target) {
      std::vector<long> expected(static_cast<std::size_t>(size_) * part_longs);
      MPI_Gather(model_[static_cast<std::size_t>(target)].data(), part_longs, MPI_LONG, expected.data(),
                 part_longs, MPI_LONG, target, MPI_COMM_WORLD);
      if (target == rank_ && std::memcmp(expected.data(), bases_[static_cast<std::size_t>(rank_)],
                                         expected.size() * sizeof(long)) != 0) {
        std::fprintf(stderr, "process %d: its memory is not what was written\n", rank_);
        ++wrong;
      }
    }
    long all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

 private:
  /// An operation. The expected result of a get is known before the get is complete.
  struct Pending {
    std::vector<long> buffer;
    std::vector<long> expected;
    armci_hdl_t handle;
    bool waits = false;
    bool reads = false;
  };

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  Shape random_shape() {
    Shape shape;
    shape.kind = static_cast<Shape::Kind>(below(Shape::kinds));
    shape.row_longs = 1 + below(6);
    if (shape.kind == Shape::contiguous) {
      shape.row_longs = 1 + below(100);
    } else {
      shape.rows = 1 + below(12);
    }
    shape.buffer_stride = shape.row_longs + below(3);
    shape.target_stride = shape.row_longs + below(5);
    int const span = shape.rows * shape.target_stride + shape.row_longs;
    shape.target = below(below(4) == 0 ? part_longs - span : 300);
    for (int row = 0; row < shape.rows; ++row) {
      shape.buffer_places.push_back(row * shape.buffer_stride);
      // Segments sometimes overlap: of a put the later one counts.
      int const place = below(10) == 0 ? below(200) : shape.target + row * shape.target_stride;
      shape.target_places.push_back(place);
    }
    if (below(3) == 0) std::reverse(shape.target_places.begin(), shape.target_places.end());
    return shape;
  }

  void issue() {
    int const process = below(size_);
    int const what = below(3);  // put, accumulate, get
    Shape const shape = random_shape();
    Pending& pending = pending_.emplace_back();
    pending.buffer.assign(static_cast<std::size_t>(shape.rows * shape.buffer_stride + shape.row_longs), -1);
    pending.reads = what == 2;
    pending.waits = below(2) == 0;
    ARMCI_INIT_HANDLE(&pending.handle);
    long const scale = 1 + below(3);
    std::vector<long>& model = model_[static_cast<std::size_t>(process)];
    if (what != 2)
      for (long& value : pending.buffer) value = static_cast<long>(random_() % 1000000);
    pending.expected = pending.buffer;
    for (int row = 0; row < shape.rows; ++row) {
      for (int k = 0; k < shape.row_longs; ++k) {
        long& mine = pending.expected[static_cast<std::size_t>(shape.buffer_at(row) + k)];
        long& there = model[static_cast<std::size_t>(shape.target_at(row) + k)];
        if (what == 0) there = mine;
        if (what == 1) there += scale * mine;
        if (what == 2) mine = there;
      }
    }
    if (call(what, shape, process, scale, pending) != 0) ++failures_;
    if (!pending.waits && what == 2) compare(pending);
    if (!pending.waits) pending_.pop_back();
  }

  int call(int what, Shape const& shape, int process, long scale, Pending& pending) {
    long* const part = static_cast<long*>(bases_[static_cast<std::size_t>(process)]) + rank_ * part_longs;
    long* const buffer = pending.buffer.data();
    void* const local = buffer;
    void* const remote = part + shape.target;
    armci_hdl_t* const handle = pending.waits ? &pending.handle : nullptr;
    auto factor = const_cast<long*>(&scale);
    int const bytes = shape.row_longs * static_cast<int>(sizeof(long));
    if (shape.kind == Shape::contiguous) {
      if (what == 0)
        return handle != nullptr ? ARMCI_NbPut(local, remote, bytes, process, handle)
                                 : ARMCI_Put(local, remote, bytes, process);
      if (what == 1)
        return handle != nullptr ? ARMCI_NbAcc(ARMCI_ACC_LNG, factor, local, remote, bytes, process, handle)
                                 : ARMCI_Acc(ARMCI_ACC_LNG, factor, local, remote, bytes, process);
      return handle != nullptr ? ARMCI_NbGet(remote, local, bytes, process, handle)
                               : ARMCI_Get(remote, local, bytes, process);
    }
    if (shape.kind == Shape::strided) {
      int here[] = {shape.buffer_stride * static_cast<int>(sizeof(long))};
      int there[] = {shape.target_stride * static_cast<int>(sizeof(long))};
      int count[] = {bytes, shape.rows};
      if (what == 0)
        return handle != nullptr ? ARMCI_NbPutS(local, here, remote, there, count, 1, process, handle)
                                 : ARMCI_PutS(local, here, remote, there, count, 1, process);
      if (what == 1)
        return handle != nullptr
                   ? ARMCI_NbAccS(ARMCI_ACC_LNG, factor, local, here, remote, there, count, 1, process,
                                  handle)
                   : ARMCI_AccS(ARMCI_ACC_LNG, factor, local, here, remote, there, count, 1, process);
      return handle != nullptr ? ARMCI_NbGetS(remote, there, local, here, count, 1, process, handle)
                               : ARMCI_GetS(remote, there, local, here, count, 1, process);
    }
    std::vector<void*> here;
    std::vector<void*> there;
    for (int row = 0; row < shape.rows; ++row) {
      here.push_back(buffer + shape.buffer_at(row));
      there.push_back(part + shape.target_at(row));
    }
    armci_giov_t set{};
    set.bytes = bytes;
    set.ptr_array_len = shape.rows;
    set.src_ptr_array = what == 2 ? there.data() : here.data();
    set.dst_ptr_array = what == 2 ? here.data() : there.data();
    if (what == 0)
      return handle != nullptr ? ARMCI_NbPutV(&set, 1, process, handle) : ARMCI_PutV(&set, 1, process);
    if (what == 1)
      return handle != nullptr ? ARMCI_NbAccV(ARMCI_ACC_LNG, factor, &set, 1, process, handle)
                               : ARMCI_AccV(ARMCI_ACC_LNG, factor, &set, 1, process);
    return handle != nullptr ? ARMCI_NbGetV(&set, 1, process, handle) : ARMCI_GetV(&set, 1, process);
  }

  void compare(Pending const& pending) {
    if (pending.buffer == pending.expected) return;
    if (++failures_ <= 5)
      std::fprintf(stderr, "process %d: a get is not what was written before it\n", rank_);
  }

  void complete_and_check() {
    for (Pending& pending : pending_) {
      if (ARMCI_Wait(&pending.handle) != 0) ++failures_;
      if (pending.reads) compare(pending);
    }
    pending_.clear();
  }

  int rank_ = 0;
  int size_ = 0;
  std::mt19937_64 random_;
  std::vector<void*> bases_;
  std::vector<std::vector<long>> model_;  ///< this process's part at each target
  std::vector<Pending> pending_ = [] {
    std::vector<Pending> reserved;
    reserved.reserve(32);  // handles and buffers stay where they are
    return reserved;
  }();
  long failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  long operations = 100000;
  std::uint64_t seed = 0;
  static option const known[] = {{"ops", required_argument, nullptr, 'o'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {nullptr, 0, nullptr, 0}};
  for (int c = 0; (c = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    if (c == 'o') operations = std::strtol(optarg, nullptr, 10);
    if (c == 's') seed = std::strtoull(optarg, nullptr, 10);
    if (c == '?') return 2;
  }
  MPI_Init(&argc, &argv);
  ARMCI_Init();
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (seed == 0) seed = std::random_device{}();
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  long wrong = 0;
  {
    Process process(seed * 1000003 + static_cast<std::uint64_t>(rank));
    process.run(operations / size);
    wrong = process.check();
  }
  if (rank == 0)
    std::printf("seed %llu: %ld operations of %d processes, %ld failures\n",
                static_cast<unsigned long long>(seed), operations, size, wrong);
  ARMCI_Finalize();
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}

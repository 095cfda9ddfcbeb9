/// Random operations of one origin on overlapping memory of a target, with all calls, sizes and strides: each
/// get returns the result of the preceding calls, without a flush in between (docs/semantics.md, Windows).
#include <memory>
#include <set>

#include "tests/attacks/windows/attack.hpp"

namespace mpixrma::test {
namespace {

enum class Call {
  put,
  get,
  accumulate,
  get_accumulate,
  fetch_and_op,
  compare_and_swap,
  rput,
  rget,
  raccumulate,
  rget_accumulate,
  count_
};

bool fetches(Call call) {
  static std::set<Call> const calls{Call::get,  Call::get_accumulate,  Call::fetch_and_op,
                                    Call::rget, Call::rget_accumulate, Call::compare_and_swap};
  return calls.contains(call);
}
bool puts(Call call) { return call == Call::put || call == Call::rput; }
bool takes_operation(Call call) {
  static std::set<Call> const calls{Call::accumulate, Call::get_accumulate, Call::fetch_and_op,
                                    Call::raccumulate, Call::rget_accumulate};
  return calls.contains(call);
}

using Words = std::vector<std::uint32_t>;

struct Operation {
  Call call = Call::put;
  MPI_Op op = MPI_SUM;
  int target = 0;
  int count = 1;
  int stride = 1;
  int place = 0;  ///< of the first word
  Words origin, result, expected;
  std::uint32_t compared = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

class IssueOrder : public FlavourTest {
 protected:
  static constexpr int words = 65536;  ///< words of an origin at each target
  static constexpr std::size_t max_pending = 64;

  void draw(Operation& operation) {
    static constexpr int counts[] = {1, 1, 1, 2, 3, 8, 50, 300, 2000, 20000};
    static MPI_Op const operations[] = {MPI_SUM, MPI_SUM, MPI_REPLACE, MPI_NO_OP};
    operation.call = static_cast<Call>(random_.below(static_cast<int>(Call::count_)));
    operation.target = random_.chance(2) ? next_ : random_.below(size_);
    operation.count = counts[random_.below(10)];
    operation.stride = random_.chance(3) ? 1 + random_.below(3) : 1;
    bool const single = operation.call == Call::fetch_and_op || operation.call == Call::compare_and_swap;
    if (single) operation.count = operation.stride = 1;
    bool const may_do_nothing = operation.call != Call::accumulate && operation.call != Call::raccumulate;
    operation.op = operations[random_.below(may_do_nothing ? 4 : 3)];
    int const span = (operation.count - 1) * operation.stride + 1;
    int const room = random_.chance(4) ? words : std::max(span, 256);  // most overlap in few words
    operation.place = random_.below(room - span + 1);
    auto const count = static_cast<std::size_t>(operation.count);
    operation.origin.resize(count);
    for (std::uint32_t& word : operation.origin) word = random_.word();
    operation.result.assign(count, 0xdeadbeef);
  }

  /// Applies the operation to the model.
  void expect(Operation& operation) {
    Words& model = models_[static_cast<std::size_t>(operation.target)];
    auto const present = [&](int i) -> std::uint32_t& {
      return model[static_cast<std::size_t>(operation.place + i * operation.stride)];
    };
    for (int i = 0; i < operation.count; ++i) operation.expected.push_back(present(i));
    if (operation.call == Call::compare_and_swap) {
      operation.compared = random_.chance(2) ? present(0) : ~present(0);
      if (operation.compared == present(0)) present(0) = operation.origin[0];
      return;
    }
    for (int i = 0; i < operation.count; ++i) {
      std::uint32_t const value = operation.origin[static_cast<std::size_t>(i)];
      bool const adds = takes_operation(operation.call) && operation.op == MPI_SUM;
      bool const sets =
          puts(operation.call) || (takes_operation(operation.call) && operation.op == MPI_REPLACE);
      if (adds) present(i) += value;
      if (sets) present(i) = value;
    }
  }

  int issue(Window& window, Operation& of) {
    Type const strided([&](auto* type) { MPI_Type_vector(of.count, 1, of.stride, MPI_UINT32_T, type); });
    MPI_Datatype const word = MPI_UINT32_T;
    MPI_Datatype const type = of.stride == 1 ? word : static_cast<MPI_Datatype>(strided);
    int const types = of.stride == 1 ? of.count : 1;
    MPI_Aint const at = window.at(of.target, 4 * (MPI_Aint{rank_} * words + of.place));
    auto* const origin = of.origin.data();
    auto* const result = of.result.data();
    MPI_Request* const request = &of.request;
    switch (of.call) {
      case Call::put: return MPI_Put(origin, of.count, word, of.target, at, types, type, window);
      case Call::get: return MPI_Get(result, of.count, word, of.target, at, types, type, window);
      case Call::accumulate:
        return MPI_Accumulate(origin, of.count, word, of.target, at, types, type, of.op, window);
      case Call::get_accumulate:
        return MPI_Get_accumulate(origin, of.count, word, result, of.count, word, of.target, at, types, type,
                                  of.op, window);
      case Call::fetch_and_op: return MPI_Fetch_and_op(origin, result, word, of.target, at, of.op, window);
      case Call::compare_and_swap:
        return MPI_Compare_and_swap(origin, &of.compared, result, word, of.target, at, window);
      case Call::rput: return MPI_Rput(origin, of.count, word, of.target, at, types, type, window, request);
      case Call::rget: return MPI_Rget(result, of.count, word, of.target, at, types, type, window, request);
      case Call::raccumulate:
        return MPI_Raccumulate(origin, of.count, word, of.target, at, types, type, of.op, window, request);
      default:
        return MPI_Rget_accumulate(origin, of.count, word, result, of.count, word, of.target, at, types, type,
                                   of.op, window, request);
    }
  }

  void finish(Window& window) {
    int const way = random_.below(3);
    if (way == 0) MPI_Win_flush_all(window);
    if (way == 1) MPI_Win_flush_local_all(window);
    for (int target = 0; way == 2 && target < size_; ++target) MPI_Win_flush_local(target, window);
    for (auto const& operation : pending_) {
      if (operation->request != MPI_REQUEST_NULL)
        random_.chance(2) ? MPI_Wait(&operation->request, MPI_STATUS_IGNORE)
                          : MPI_Request_free(&operation->request);
      if (fetches(operation->call))
        ASSERT_EQ(operation->result, operation->expected)
            << "call " << static_cast<int>(operation->call) << ", " << operation->count << " words";
    }
    pending_.clear();
  }

  Random random_{1000 + static_cast<std::uint64_t>(rank_)};
  std::vector<Words> models_{static_cast<std::size_t>(size_), Words(words)};
  std::vector<std::unique_ptr<Operation>> pending_;
};

TEST_P(IssueOrder, GetsReturnResultsOfEarlierCalls) {
  Window window(GetParam(), 4 * MPI_Aint{words} * size_);
  MPI_Win_lock_all(0, window);
  for (int round = 0; round < rounds(250) && !HasFatalFailure(); ++round) {
    Operation& operation = *pending_.emplace_back(std::make_unique<Operation>());
    draw(operation);
    expect(operation);
    EXPECT_EQ(issue(window, operation), MPI_SUCCESS);
    if (pending_.size() == max_pending || random_.chance(12)) finish(window);
  }
  finish(window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(world);
  for (int distance = 0; distance < size_; ++distance) {
    auto const target = static_cast<std::size_t>((rank_ + distance) % size_);
    int const origin = (rank_ + size_ - distance) % size_;
    Words expected(words);
    MPI_Sendrecv(models_[target].data(), words, MPI_UINT32_T, static_cast<int>(target), 0, expected.data(),
                 words, MPI_UINT32_T, origin, 0, world, MPI_STATUS_IGNORE);
    auto const* const begin =
        window.base<std::uint32_t>() + std::size_t{words} * static_cast<std::size_t>(origin);
    EXPECT_EQ(Words(begin, begin + words), expected) << "from " << origin;
  }
}

MPIX_ON_EACH_FLAVOUR(IssueOrder);

}  // namespace
}  // namespace mpixrma::test

#include "tests/stress/origin.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mpixrma::stress {

namespace {

constexpr int batch_operations = 32;
constexpr std::size_t arena_bytes = 1u << 20;
constexpr std::size_t max_per_operation = 3 * 49152;
constexpr int max_reports = 10;

}  // namespace

Origin::Origin(Job const& job, Region const& region, Places const& places, int thread, std::uint64_t seed)
    : job_(job),
      region_(region),
      places_(places),
      thread_(thread),
      own_part_(region.private_at(job.rank * job.threads + thread)),
      random_(seed),
      arena_(arena_bytes, static_cast<int>(random_() % Places::kinds)),
      requests_(random_, batch_operations,
                [this](int code, char const* what) { (void)require(code, what); }) {
  for (auto& of_kind : models_) of_kind.resize(static_cast<std::size_t>(job.size));
  notified_.resize(notified_at(job.channels.size(), 0, 0));
  next_place_.resize(static_cast<std::size_t>(Places::kinds * job.size * zones));
}

bool Origin::require(int code, char const* what) {
  if (code == MPI_SUCCESS) return true;
  int kind = code;
  MPI_Error_class(code, &kind);
  fail(what, kind);
  return false;
}

void Origin::fail(char const* what, long detail) {
  if (++failures_ <= max_reports)
    std::fprintf(stderr, "rank %d, thread %d, batch %llu, operation %llu: %s (%ld)\n", job_.rank, thread_,
                 static_cast<unsigned long long>(batches_), static_cast<unsigned long long>(operations_),
                 what, detail);
}

void Origin::run(std::uint64_t operations) {
  while (operations_ < operations) run_batch();
}

void Origin::run_batch() {
  ++batches_;
  discipline_ = static_cast<Discipline>(below(static_cast<unsigned>(Discipline::disciplines)));
  channel_ = below(job_.channels.size());
  comm_ = channel().comm;
  std::fill(next_place_.begin(), next_place_.end(), below(Region::zone_bytes / 2));
  // Mostly one target, so that operations conflict.
  int const home = static_cast<int>(below(static_cast<unsigned>(job_.size)));
  for (int i = 0; i < batch_operations && arena_.has(max_per_operation); ++i) {
    int const rank = chance(80) ? home : static_cast<int>(below(static_cast<unsigned>(job_.size)));
    issue(rank, static_cast<int>(below(Places::kinds)));
    if (discipline_ == Discipline::fenced)
      require(MPIX_RMA_Fence(comm(), chance(90) ? rank : MPIX_ALL_RANKS), "fence");
    if (discipline_ == Discipline::completed) require(MPIX_RMA_Complete(comm(), rank), "complete");
  }
  complete_and_check();
}

void Origin::issue(int rank, int kind) {
  std::uint64_t const choice = below(100);
  if (choice < 45) return put_or_get(rank, kind);
  if (choice < 65) return accumulate(rank, kind);
  if (choice < 80) return modify(rank, kind);
  if (choice < 86) return add(rank, kind);
  if (choice < 90) return flip(rank, kind);
  if (choice < 95) return touch_uniform(rank, kind);
  if (choice < 99) return count(rank, kind);
  use_short_lived_memory();
}

/// Draws random attributes; sets ordering if the discipline needs it.
MPIX_RMA_Attributes Origin::attributes(int kind, int rank) {
  MPIX_RMA_Attributes chosen{};
  bool const needed = discipline_ == Discipline::ordered && !channel().ordered;
  if (needed || chance(10)) chosen.set |= MPIX_RMA_ATTR_ORDERING;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_BLOCKING;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_REMOTE_COMPLETION;
  if (chance(15) && arena_.is_communicatable()) chosen.set |= MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE;
  if (chance(15) && kind != 2) chosen.set |= MPIX_RMA_ATTR_TARGET_COMMUNICATABLE;
  if (chance(10)) {
    chosen.set |= MPIX_RMA_ATTR_NOTIFY;
    chosen.notify_index = static_cast<int>(below(Channel::counters));
    ++notified_[notified_at(channel_, rank, chosen.notify_index)];
  }
  return chosen;
}

/// Issues the transfer by one of the forms of the call.
bool Origin::submit(Transfer const& t, MPIX_RMA_Attributes& chosen) {
  ++operations_;
  MPI_Datatype const from = t.here.shape->type;
  MPI_Datatype const to = t.there.shape->type;
  switch (below(8)) {
    case 0:
      return require(MPIX_RMA_xfer(t.op, t.origin, t.here.count, from, t.rank, t.target, t.there.count, to,
                                   requests_.native(), comm(), &chosen),
                     "xfer with a request");
    case 1:
      return require(MPIX_RMA_xfer_req(t.op, t.origin, t.here.count, from, t.rank, t.target, t.there.count,
                                       to, requests_.native_with(chosen), comm()),
                     "xfer with a request object");
    case 2:
      return require(MPIX_RMA_xfer_rma(t.op, t.origin, t.here.count, from, t.rank, t.target, t.there.count,
                                       to, requests_.own_with(chosen), comm()),
                     "xfer_rma");
    case 3: {
      MPIX_RMA_Plan plan = MPIX_RMA_PLAN_NULL;
      if (!require(MPIX_RMA_Plan_create(t.op, from, t.rank, to, comm_, &chosen, &plan), "plan created"))
        return false;
      bool const issued = require(MPIX_RMA_Plan_issue(plan, t.origin, t.here.count, t.target, t.there.count,
                                                      chance(50) ? requests_.native() : nullptr),
                                  "planned xfer");
      return require(MPIX_RMA_Plan_free(&plan), "plan freed") && issued;
    }
    default:
      return require(MPIX_RMA_xfer(t.op, t.origin, t.here.count, from, t.rank, t.target, t.there.count, to,
                                   nullptr, comm(), &chosen),
                     "xfer");
  }
}

bool Origin::submit(Modification const& m, MPIX_RMA_Attributes& chosen) {
  ++operations_;
  MPI_Aint const at = reinterpret_cast<std::intptr_t>(m.target);
  bool const two = m.op >= Modify::mask_swap;
  auto const op = static_cast<MPIX_RMW_Op>(static_cast<int>(m.op) + MPIX_RMW_INC);
  auto const op2 = static_cast<MPIX_RMW2_Op>(static_cast<int>(m.op) - static_cast<int>(Modify::mask_swap) +
                                             MPIX_RMW2_MASK_SWAP);
  switch (below(6)) {
    case 0: {
      MPI_Request* const request = requests_.native_with(chosen);
      return two ? require(MPIX_RMA_rmw2_req(op2, m.operand, m.count, m.type, m.operand2, m.result, m.rank,
                                             at, request, comm()),
                           "rmw2 with a request object")
                 : require(MPIX_RMA_rmw_req(op, m.operand, m.count, m.type, m.result, m.rank, at, request,
                                            comm()),
                           "rmw with a request object");
    }
    case 1: {
      MPIX_Rmw_request* const request = requests_.own();
      return two ? require(MPIX_RMA_rmw2_rma(op2, m.operand, m.count, m.type, m.operand2, m.result, m.rank,
                                             at, request, comm(), &chosen),
                           "rmw2_rma")
                 : require(MPIX_RMA_rmw_rma(op, m.operand, m.count, m.type, m.result, m.rank, at, request,
                                            comm(), &chosen),
                           "rmw_rma");
    }
    default: {
      MPI_Request* const request = chance(20) ? requests_.native() : nullptr;
      MPIX_RMA_Attributes const* const given = chosen.set != 0 ? &chosen : nullptr;
      return two ? require(MPIX_RMA_rmw2(op2, m.operand, m.count, m.type, m.operand2, m.result, m.rank, at,
                                         request, comm(), given),
                           "rmw2")
                 : require(MPIX_RMA_rmw(op, m.operand, m.count, m.type, m.result, m.rank, at, request, comm(),
                                        given),
                           "rmw");
    }
  }
}

void Origin::check_expectations() {
  for (Expectation const& expected : expectations_) {
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (expected.known[i] == 0 || expected.buffer[i] == expected.values[i]) continue;
      fail(expected.what, static_cast<long>(i));
      break;
    }
  }
  for (int const* const block : uniforms_) {
    bool const equal =
        std::all_of(block, block + Region::uniform_ints, [&](int value) { return value == block[0]; });
    if (!equal) fail("an atomic operation was seen half done", static_cast<long>(discipline_));
  }
}

void Origin::complete_and_check() {
  requests_.finish();
  require(MPIX_RMA_Complete(comm(), MPIX_ALL_RANKS), "complete");
  check_expectations();
  expectations_.clear();
  uniforms_.clear();
  arena_.clear();
}

}  // namespace mpixrma::stress

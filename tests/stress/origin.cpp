#include "tests/stress/origin.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace mpix::stress {

namespace {

constexpr int batch_operations = 32;
constexpr int max_reports = 10;

/// The operations of an accumulate, and what they do to one int.
struct Combination {
  MPI_Op op;
  int (*apply)(int target, int origin);
};
int wrapping_sum(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}
Combination const combinations[] = {
    {MPI_SUM, &wrapping_sum},
    {MPI_MIN, [](int a, int b) { return std::min(a, b); }},
    {MPI_MAX, [](int a, int b) { return std::max(a, b); }},
    {MPI_BAND, [](int a, int b) { return a & b; }},
    {MPI_BOR, [](int a, int b) { return a | b; }},
    {MPI_BXOR, [](int a, int b) { return a ^ b; }},
    {MPI_LXOR, [](int a, int b) { return static_cast<int>((a != 0) != (b != 0)); }},
    {MPI_REPLACE, [](int, int b) { return b; }},
    {MPI_NO_OP, [](int a, int) { return a; }},
};

/// The operations of rmw, and of rmw2 from `first_double` on.
struct Modification {
  int op;
  int (*apply)(int target, int operand, int operand2);
};
Modification const modifications[] = {
    {MPIX_RMW_INC, [](int t, int, int) { return wrapping_sum(t, 1); }},
    {MPIX_RMW_SUM, [](int t, int o, int) { return wrapping_sum(t, o); }},
    {MPIX_RMW_BXOR, [](int t, int o, int) { return t ^ o; }},
    {MPIX_RMW_SWAP, [](int, int o, int) { return o; }},
    {MPIX_RMW2_MASK_SWAP, [](int t, int o, int n) { return (t & ~o) | (n & o); }},
    {MPIX_RMW2_COMP_SWAP_LT, [](int t, int o, int n) { return o < t ? n : t; }},
    {MPIX_RMW2_COMP_SWAP_E, [](int t, int o, int n) { return o == t ? n : t; }},
    {MPIX_RMW2_COMP_SWAP_GE, [](int t, int o, int n) { return o >= t ? n : t; }},
};
constexpr std::size_t first_double = 4;

}  // namespace

Origin::Origin(MPI_Comm comm, Region const& region, Places const& places, std::uint64_t seed)
    : comm_(comm), region_(region), places_(places), random_(seed) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  models_.resize(places_.of_kind.size());
  for (auto& kind : models_) kind.resize(static_cast<std::size_t>(size_));
}

void Origin::require(int code, char const* what) {
  if (code != MPI_SUCCESS) fail(what, code);
}

void Origin::fail(char const* what, int detail) {
  if (++failures_ <= max_reports)
    std::fprintf(stderr, "rank %d, operation %llu: %s (%d)\n", rank_,
                 static_cast<unsigned long long>(operations_), what, detail);
}

void Origin::run_batch() {
  discipline_ = static_cast<Discipline>(below(static_cast<unsigned>(Discipline::disciplines)));
  // Mostly a few targets, so that operations meet.
  int const home = static_cast<int>(below(static_cast<unsigned>(size_)));
  for (int i = 0; i < batch_operations && arena_.has(3 * 4 * 2400); ++i) {
    int const rank = chance(80) ? home : static_cast<int>(below(static_cast<unsigned>(size_)));
    issue(rank, static_cast<int>(below(places_.of_kind.size())));
    if (discipline_ == Discipline::fenced)
      require(MPIX_RMA_Fence(&comm_, chance(90) ? rank : MPIX_ALL_RANKS), "fence");
    if (discipline_ == Discipline::completed) require(MPIX_RMA_Complete(&comm_, rank), "complete");
  }
  settle();
}

void Origin::issue(int rank, int kind) {
  ++operations_;
  Model& model = models_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank)];
  switch (below(10)) {
    case 0: modify(rank, kind, model); break;
    case 1: add(rank, kind, model); break;
    case 2: touch_uniform(rank, kind); break;
    case 3: count(rank, kind, model); break;
    default: transfer(rank, kind, model); break;
  }
}

/// Random attributes; ordering where the discipline relies on it.
MPIX_RMA_Attributes Origin::attributes() {
  MPIX_RMA_Attributes chosen{};
  if (discipline_ == Discipline::ordered || chance(10)) chosen.set |= MPIX_RMA_ATTR_ORDERING;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_BLOCKING;
  if (chance(10)) chosen.set |= MPIX_RMA_ATTR_REMOTE_COMPLETION;
  return chosen;
}

void Origin::call(MPIX_RMA_Op op, void* origin, Shape const& here, int rank, void* target, Shape const& there,
                  MPIX_RMA_Attributes& chosen) {
  MPI_Request* request = nullptr;
  if (chance(15)) request = &native_.emplace_back(MPI_REQUEST_NULL);
  if (chance(10)) {
    // The own type has no attributes on the call: an object carries them.
    MPIX_Rma_request& object = own_.emplace_back(MPIX_RMA_REQUEST_NULL);
    if ((chosen.set & MPIX_RMA_ATTR_ORDERING) != 0)
      require(MPIX_Rma_req_set_attr(&object, MPIX_RMA_ORDERING, MPIX_RMA_ON), "set attribute");
    if ((chosen.set & MPIX_RMA_ATTR_ATOMICITY) != 0)
      require(MPIX_Rma_req_set_attr(&object, MPIX_RMA_ATOMICITY, MPIX_RMA_ON), "set attribute");
    if ((chosen.set & MPIX_RMA_ATTR_ACCUMULATE_OP) != 0)
      require(MPIX_Rma_req_set_attr(&object, MPIX_RMA_ACCUMULATE_OP, MPIX_RMA_OP_VALUE(chosen.accumulate_op)),
              "set attribute");
    require(MPIX_RMA_xfer_rma(op, origin, here.count, here.type, rank, target, there.count, there.type,
                              &object, &comm_),
            "xfer");
    return;
  }
  require(MPIX_RMA_xfer(op, origin, here.count, here.type, rank, target, there.count, there.type, request,
                        &comm_, &chosen),
          "xfer");
}

/// Put, get or accumulate in this origin's own part, with any two datatypes.
void Origin::transfer(int rank, int kind, Model& model) {
  std::size_t const size = chance(97) ? below(Shapes::sizes.size() - 2) : below(Shapes::sizes.size());
  Shape const& here = shapes_.any(random_, size);
  Shape const& there = shapes_.any(random_, size);
  int* const base = arena_.take(static_cast<std::size_t>(here.span));
  int* const origin = base + here.first;
  // Small operations crowd in a small place.
  int const room = size < 3 && chance(70) ? 256 : Region::private_ints;
  int const start = there.first + static_cast<int>(below(static_cast<unsigned>(room - there.span)));
  void* const target =
      places_.at(kind, rank, region_.private_at(rank_) + sizeof(int) * static_cast<std::size_t>(start));
  auto const modelled = [&](std::size_t i) -> int& {
    return model.mine[static_cast<std::size_t>(start + there.elements[i])];
  };
  MPIX_RMA_Attributes chosen = attributes();
  auto const op = static_cast<MPIX_RMA_Op>(1 + below(3));
  std::size_t const n = here.elements.size();
  if (op == MPIX_RMA_GET) {
    std::memset(base, 0x5a, sizeof(int) * static_cast<std::size_t>(here.span));
    Expectation& expected =
        expectations_.emplace_back(Expectation{origin, &here.elements, std::vector<int>(n)});
    for (std::size_t i = 0; i < n; ++i) expected.values[i] = modelled(i);
  } else {
    Combination const* combination =
        op == MPIX_RMA_PUT ? &combinations[7] : &combinations[below(std::size(combinations))];
    if (op == MPIX_RMA_ACCUMULATE) {
      chosen.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
      chosen.accumulate_op = combination->op;
    }
    for (std::size_t i = 0; i < n; ++i) {
      int const value = static_cast<int>(random_());
      origin[here.elements[i]] = value;
      modelled(i) = combination->apply(modelled(i), value);
    }
  }
  call(op, origin, here, rank, target, there, chosen);
}

/// Read-modify-write in the own part.
void Origin::modify(int rank, int kind, Model& model) {
  std::size_t const which = below(std::size(modifications));
  Modification const& modification = modifications[which];
  std::size_t const n = chance(80) ? 1 : 1 + below(40);
  int* const operand = arena_.take(n);
  int* const operand2 = arena_.take(n);
  bool const fetch = chance(80);
  int* const result = fetch ? arena_.take(n) : nullptr;
  std::size_t const start = below(Region::private_ints - n);
  std::vector<int> before(n);
  for (std::size_t i = 0; i < n; ++i) {
    int& target = model.mine[start + i];
    before[i] = target;
    operand[i] = chance(50) ? target : static_cast<int>(random_());
    operand2[i] = static_cast<int>(random_());
    target = modification.apply(target, operand[i], operand2[i]);
  }
  MPIX_RMA_Attributes chosen = attributes();
  auto const displacement =
      reinterpret_cast<MPI_Aint>(places_.at(kind, rank, region_.private_at(rank_) + start * sizeof(int)));
  MPI_Request* const request = chance(20) ? &native_.emplace_back(MPI_REQUEST_NULL) : nullptr;
  int const count = static_cast<int>(n);
  if (which < first_double) {
    require(MPIX_RMA_rmw(static_cast<MPIX_RMW_Op>(modification.op), operand, count, MPI_INT, result, rank,
                         displacement, request, &comm_, &chosen),
            "rmw");
  } else {
    require(MPIX_RMA_rmw2(static_cast<MPIX_RMW2_Op>(modification.op), operand, count, MPI_INT, operand2,
                          result, rank, displacement, request, &comm_, &chosen),
            "rmw2");
  }
  if (fetch) expectations_.push_back({result, nullptr, std::move(before)});
}

/// Atomic sums that every origin takes part in.
void Origin::add(int rank, int kind, Model& model) {
  bool const real = chance(50);
  std::size_t const n = 1 + below(Region::sums - 1);
  std::size_t const start = below(Region::sums - n);
  int* const buffer = arena_.take(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const value = static_cast<std::int64_t>(below(1000));
    auto const as_real = static_cast<double>(value);
    std::memcpy(buffer + 2 * i, real ? static_cast<void const*>(&as_real) : &value, 8);
    model.added[start + i] += real ? 0 : value;
    model.reals[start + i] += real ? as_real : 0;
  }
  MPIX_RMA_Attributes chosen = attributes();
  chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
  std::size_t const at = (real ? region_.reals_at() : region_.sums_at()) + 8 * start;
  MPI_Datatype const type = real ? MPI_DOUBLE : MPI_INT64_T;
  require(MPIX_RMA_xfer(MPIX_RMA_ACCUMULATE, buffer, static_cast<int>(n), type, rank,
                        places_.at(kind, rank, at), static_cast<int>(n), type, nullptr, &comm_, &chosen),
          "atomic accumulate");
}

/// Whole-block updates and reads of a block whose elements are always equal.
void Origin::touch_uniform(int rank, int kind) {
  int* const buffer = arena_.take(Region::uniform_ints);
  std::fill_n(buffer, Region::uniform_ints, static_cast<int>(below(1000)));
  auto const op = static_cast<MPIX_RMA_Op>(1 + below(3));
  MPIX_RMA_Attributes chosen = attributes();
  chosen.set |= MPIX_RMA_ATTR_ATOMICITY;
  require(MPIX_RMA_xfer(op, buffer, Region::uniform_ints, MPI_INT, rank,
                        places_.at(kind, rank, region_.uniform_at()), Region::uniform_ints, MPI_INT, nullptr,
                        &comm_, &chosen),
          "atomic transfer");
  uniforms_.push_back({buffer});
}

/// Counters that hand out every value once: what this origin gets only grows.
void Origin::count(int rank, int kind, Model& model) {
  std::size_t const which = below(Region::counters);
  std::int64_t one = 1;
  std::int64_t before = -1;
  MPIX_RMA_Attributes chosen{};
  chosen.set = MPIX_RMA_ATTR_BLOCKING;
  auto const at = reinterpret_cast<MPI_Aint>(places_.at(kind, rank, region_.counters_at() + 8 * which));
  require(MPIX_RMA_rmw(MPIX_RMW_SUM, &one, 1, MPI_INT64_T, &before, rank, at, nullptr, &comm_, &chosen),
          "counter");
  if (before <= model.last_fetched[which]) fail("a counter went back", kind);
  model.last_fetched[which] = before;
  ++model.counted[which];
}

void Origin::settle() {
  if (!native_.empty())
    require(MPI_Waitall(static_cast<int>(native_.size()), native_.data(), MPI_STATUSES_IGNORE), "waitall");
  require(MPIX_Rma_waitall(static_cast<int>(own_.size()), own_.data()), "own waitall");
  for (MPIX_Rma_request& request : own_)
    if (request != MPIX_RMA_REQUEST_NULL) require(MPIX_Rma_free(&request), "free");
  require(MPIX_RMA_Complete(&comm_, MPIX_ALL_RANKS), "complete");
  for (Expectation const& expected : expectations_) {
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      auto const place = expected.elements != nullptr ? (*expected.elements)[i] : static_cast<int>(i);
      if (expected.buffer[place] == expected.values[i]) continue;
      fail("a value that was read is wrong", static_cast<int>(discipline_));
      break;
    }
  }
  for (Uniform const& block : uniforms_) {
    bool const equal = std::all_of(block.buffer, block.buffer + Region::uniform_ints,
                                   [&](int value) { return value == block.buffer[0]; });
    if (!equal) fail("an atomic operation was seen half done", 0);
  }
  expectations_.clear();
  uniforms_.clear();
  native_.clear();
  own_.clear();
  arena_.clear();
}

}  // namespace mpix::stress

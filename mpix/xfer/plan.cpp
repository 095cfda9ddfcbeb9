/// Plans: series of transfers. The direct path relies on the checks that MPIX_RMA_Plan_create has made.
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "datatype/envelope.hpp"
#include "include/mpix_rma.h"
#include "mpix/error/error.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"
#include "mpix/xfer/call.hpp"
#include "mpix/xfer/target_cache.hpp"
#include "mpix/xfer/transfer.hpp"

MPIX_PROFILED(MPIX_RMA_Plan_create)
MPIX_PROFILED(MPIX_RMA_Plan_issue)
MPIX_PROFILED(MPIX_RMA_Plan_issue_c)
MPIX_PROFILED(MPIX_RMA_Plan_free)

namespace mpixrma {

/// A datatype that remains valid as long as the plan, even if the application frees its own.
class RetainedDatatype {
 public:
  explicit RetainedDatatype(MPI_Datatype type) : type_(type) {
    if (envelope_of(type).combiner == MPI_COMBINER_NAMED) return;
    if (MPI_Type_dup(type, &type_) != MPI_SUCCESS) throw std::bad_alloc();
    copied_ = true;
  }
  ~RetainedDatatype() {
    if (copied_) MPI_Type_free(&type_);
  }
  RetainedDatatype(RetainedDatatype const&) = delete;
  RetainedDatatype& operator=(RetainedDatatype const&) = delete;

  MPI_Datatype handle() const noexcept { return type_; }

 private:
  MPI_Datatype type_;
  bool copied_ = false;
};

namespace {

std::atomic<std::uint64_t> next_number{1};

}  // namespace
}  // namespace mpixrma

/// The object that MPIX_RMA_Plan points to.
struct MPIX_RMA_Plan_s {
  MPIX_RMA_Plan_s(mpixrma::XferCall const& given, mpixrma::Communicator& state, mpixrma::Target* rank)
      : origin_type(given.origin_type),
        target_type(given.target_type),
        communicator(&state),
        context(state.context()),
        target(rank),
        call(given) {
    call.origin_type = origin_type.handle();
    call.target_type = target_type.handle();
    if (given.attributes == nullptr) return;
    mpixrma::join(attributes, *given.attributes);
    call.attributes = &attributes;
    mpixrma::Datatype const& type = *mpixrma::Datatype::find(call.origin_type);
    std::size_t const element = mpixrma::engine::element_size(type.flat().element);
    bool const scaled = (attributes.set & MPIX_RMA_ATTR_ACCUMULATE_SCALE) != 0 && element <= sizeof scale;
    if (!scaled || attributes.accumulate_scale == nullptr) return;
    std::memcpy(scale, attributes.accumulate_scale, element);
    attributes.accumulate_scale = scale;
  }

  // Hot: read by the direct path.
  std::uint64_t number = mpixrma::next_number.fetch_add(1, std::memory_order_relaxed);  ///< never used twice
  /// 0 if the direct path never serves the plan: it serves put and get without attributes, of equal
  /// contiguous types, to a target other than MPI_PROC_NULL
  std::size_t element_bytes = 0;
  mpixrma::RetainedDatatype origin_type;
  mpixrma::RetainedDatatype target_type;
  mpixrma::Communicator* communicator;
  std::uint32_t context;    ///< of the communicator when the plan was created
  mpixrma::Target* target;  ///< null for MPI_PROC_NULL
  mpixrma::XferCall call;
  MPIX_RMA_Attributes attributes{};
  alignas(32) std::byte scale[32] = {};
};

namespace mpixrma {

namespace {

inline RecentPlan const& recent_of(MPIX_RMA_Plan_s const& plan) noexcept {
  RecentPlan const* entry = &recent_plan[plan.number % recent_plan_count];
  asm("" : "+r"(entry));  // or the compiler computes it again for every use
  return *entry;
}

/// The memory of a transfer after all checks.
struct PlannedCopy {
  std::byte* to;
  std::byte const* from;
  std::size_t bytes;
};

/// Resolves the memory of a transfer by the segment that an earlier transfer of this plan has cached. Returns
/// false if that is impossible; then the caller must check all arguments. Direct access to the plan's peer
/// may be guarded.
template <typename Count>
inline bool resolve(MPIX_RMA_Plan_s const& plan, void* origin, void* target, Count count, PlannedCopy* copy) {
  RecentPlan const& recent = recent_of(plan);
  if (recent.number != plan.number || count <= 0 || origin == nullptr) return false;
  if (plan.communicator->attribute_word() != 0 || plan.communicator->context() != plan.context) return false;
  if (!multiply(plan.element_bytes, count, &copy->bytes)) return false;
  std::byte* const remote = recent.segment.translate(reinterpret_cast<RemoteAddress>(target), copy->bytes);
  if (remote == nullptr) return false;
  auto* const local = static_cast<std::byte*>(origin);
  bool const put = plan.call.operation == MPIX_RMA_PUT;
  copy->to = put ? remote : local;
  copy->from = put ? local : remote;
  return true;
}

inline int execute(PlannedCopy const& copy) noexcept {
  if (copy.bytes == sizeof(std::uint64_t)) {
    std::memcpy(copy.to, copy.from, sizeof(std::uint64_t));
  } else {
    engine::copy_bytes(copy.to, copy.from, copy.bytes);
  }
  return MPI_SUCCESS;
}

/// Executes the copy while a trace is written, and records the transfer.
__attribute__((noinline)) int execute_traced(PlannedCopy copy, MPIX_RMA_Plan_s const& plan) noexcept {
  engine::Recorder& recorder = *direct_recorder();
  std::uint64_t const began = recorder.now();
  execute(copy);
  recorder.add_direct(began, plan.target->peer->process(),
                      plan.call.operation == MPIX_RMA_PUT ? engine::TracedOp::put : engine::TracedOp::get,
                      copy.bytes);
  return MPI_SUCCESS;
}

/// Caches the segment of this address for the next transfer, if the segment is mapped.
void cache_segment(MPIX_RMA_Plan_s const& plan, void const* target) {
  auto const address = reinterpret_cast<RemoteAddress>(target);
  if (plan.element_bytes == 0) return;
  engine::Peer const& peer = *plan.target->peer;
  if (peer.translate_traced(address, 1) == nullptr) return;
  if (ThreadCache* const cache = writable_thread_cache())
    cache->plans[plan.number % recent_plan_count] = {plan.number, peer.view(address)};
}

template <typename Count>
constexpr char const* name_of_call() noexcept {
  return std::is_same_v<Count, MPI_Count> ? "MPIX_RMA_Plan_issue_c" : "MPIX_RMA_Plan_issue";
}

template <typename Count>
__attribute__((noinline)) int transfer_by_plan(MPIX_RMA_Plan plan, void* origin_addr, Count origin_count,
                                               void* target_addr, Count target_count,
                                               MPI_Request* request) try {
  Site const site{name_of_call<Count>()};
  if (prepare() != Readiness::ready) return raise_unusable(site.call, nullptr);
  if (plan == MPIX_RMA_PLAN_NULL) return raise(site, MPI_ERR_ARG, "plan is MPIX_RMA_PLAN_NULL");
  if (plan->communicator->context() != plan->context)
    return raise(site, MPI_ERR_COMM, "the communicator of the plan has been freed");
  XferCall call = plan->call;
  call.name = site.call;
  call.origin = origin_addr;
  call.origin_count = origin_count;
  call.target = target_addr;
  call.target_count = target_count;
  int const code = xfer_general_path(call, RequestSlot(request, RequestArgument::out), *plan->communicator);
  if (code == MPI_SUCCESS && target_count > 0) cache_segment(*plan, target_addr);
  return code;
} catch (...) {
  return raise_exception(nullptr, name_of_call<Count>());
}

template <typename Count>
inline int issue_plan(MPIX_RMA_Plan plan, void* origin_addr, Count origin_count, void* target_addr,
                      Count target_count, MPI_Request* request) {
  PlannedCopy copy;
  if (plan != MPIX_RMA_PLAN_NULL && origin_count == target_count && request == nullptr &&
      resolve(*plan, origin_addr, target_addr, origin_count, &copy)) [[likely]] {
    engine::Peer const& peer = *plan->target->peer;
    if (!peer.direct_access_is_guarded()) [[likely]]
      return execute(copy);
    if (direct_recorder() != nullptr && !peer.direct_access_is_deferred()) return execute_traced(copy, *plan);
  }
  return transfer_by_plan(plan, origin_addr, origin_count, target_addr, target_count, request);
}

int check_plan(Site const& site, XferCall const& call, Communicator& communicator) {
  bool const nobody = call.rank == MPI_PROC_NULL;
  if (!nobody && (call.rank < 0 || call.rank >= communicator.size()))
    return raise_rank(site, call.rank, communicator.size());
  if (int const code = check_fixed_arguments(site, call); code != MPI_SUCCESS) return code;
  if (nobody || communicator.target(call.rank) != nullptr) return MPI_SUCCESS;
  return raise(site, failure(engine::Status::unreachable, {call.rank}));
}

}  // namespace
}  // namespace mpixrma

int MPIX_RMA_Plan_create(MPIX_RMA_Op op, MPI_Datatype origin_datatype, int target_rank,
                         MPI_Datatype target_datatype, MPI_Comm communicator,
                         MPIX_RMA_Attributes const* rma_attr_val, MPIX_RMA_Plan* plan) try {
  using namespace mpixrma;
  Communicator* const state = Communicator::find(communicator);
  if (state == nullptr) return raise_unusable("MPIX_RMA_Plan_create", &communicator);
  Site const site{"MPIX_RMA_Plan_create", state->handle()};
  XferCall const call{site.call,       op,
                      nullptr,         0,
                      origin_datatype, target_rank,
                      nullptr,         0,
                      target_datatype, static_cast<MPIX_RMA_Attributes const*>(rma_attr_val)};
  if (plan == nullptr) return raise(site, MPI_ERR_ARG, "plan is a null pointer");
  if (int const code = check_plan(site, call, *state); code != MPI_SUCCESS) return code;
  Target* const target = target_rank == MPI_PROC_NULL ? nullptr : state->target(target_rank);
  auto made = std::make_unique<MPIX_RMA_Plan_s>(call, *state, target);
  Datatype const& type = *Datatype::find(origin_datatype);
  bool const plain =
      target != nullptr && op != MPIX_RMA_ACCUMULATE && made->attributes.set == 0 && is_cacheable(type);
  if (plain && origin_datatype == target_datatype && type.is_contiguous()) made->element_bytes = type.size();
  *plan = made.release();
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(&communicator);
}

int MPIX_RMA_Plan_issue(MPIX_RMA_Plan plan, void* origin_addr, int origin_count, void* target_addr,
                        int target_count, MPI_Request* request) {
  return mpixrma::issue_plan(plan, origin_addr, origin_count, target_addr, target_count, request);
}

int MPIX_RMA_Plan_issue_c(MPIX_RMA_Plan plan, void* origin_addr, MPI_Count origin_count, void* target_addr,
                          MPI_Count target_count, MPI_Request* request) {
  return mpixrma::issue_plan(plan, origin_addr, origin_count, target_addr, target_count, request);
}

int MPIX_RMA_Plan_free(MPIX_RMA_Plan* plan) try {
  using namespace mpixrma;
  Site const site{"MPIX_RMA_Plan_free"};
  if (prepare() != Readiness::ready) return raise_unusable(site.call, nullptr);
  if (plan == nullptr) return raise(site, MPI_ERR_ARG, "plan is a null pointer");
  if (*plan == MPIX_RMA_PLAN_NULL) return raise(site, MPI_ERR_ARG, "plan is MPIX_RMA_PLAN_NULL");
  delete *plan;
  *plan = MPIX_RMA_PLAN_NULL;
  return MPI_SUCCESS;
} catch (...) {
  return mpixrma::raise_exception(nullptr);
}

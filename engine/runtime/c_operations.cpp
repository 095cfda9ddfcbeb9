/// The C interface: wrappers of the engine's functions. A returned status also reports a lack of memory.
#include <algorithm>
#include <cstddef>
#include <new>
#include <thread>

#include "engine/op/exposure.hpp"
#include "engine/runtime/c_handles.hpp"

namespace mpixrma::engine {
namespace {

static_assert(static_cast<int>(Status::not_writable) == MPIX_ENGINE_NOT_WRITABLE);
static_assert(static_cast<unsigned>(OpFlags::overlap_ordered) == MPIX_ENGINE_OVERLAP_ORDERED);
static_assert(static_cast<unsigned>(Rights::update) == MPIX_ENGINE_UPDATE);
static_assert(static_cast<int>(ElementType::count_) == MPIX_ENGINE_TYPE_DOUBLE_DOUBLE + 1);
static_assert(static_cast<int>(ReduceOp::count_) == MPIX_ENGINE_OP_COMPARE_SWAP_NE + 1);

template <typename Body>
int status_of(Body body) noexcept {
  try {
    return static_cast<int>(body());
  } catch (std::bad_alloc const&) {
    return MPIX_ENGINE_OUT_OF_MEMORY;
  }
}

template <typename Find>
Peer* peer_from(Find find) noexcept {
  try {
    return find();
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

Layout layout_of(mpix_engine_layout const& layout) noexcept {
  return {layout.block, {layout.dims, layout.dim_count}, {layout.segments, layout.segment_count}};
}

template <typename Given>
ExposedMemory exposed_by(Given const& given) noexcept {
  return {static_cast<ExposureId>(given.exposure), static_cast<ExposureId>(given.notify_exposure)};
}

/// Placed in the private part of the caller's completion.
struct CallbackCompletion : Completion {
  static Completion* of(mpix_engine_completion* completion) noexcept {
    static_assert(sizeof(CallbackCompletion) <= sizeof completion->engine_private);
    return completion == nullptr ? nullptr : new (completion->engine_private) CallbackCompletion(*completion);
  }

 private:
  explicit CallbackCompletion(mpix_engine_completion& completion) noexcept : completion_(&completion) {
    done = [](Completion& self, Status status, std::size_t bytes) noexcept {
      mpix_engine_completion* const callback = static_cast<CallbackCompletion&>(self).completion_;
      callback->done(callback, static_cast<int>(status), bytes);
    };
  }

  mpix_engine_completion* completion_;
};

Status result_of(Issued const& issued, mpix_engine_issued* result) noexcept {
  if (result != nullptr) *result = {issued.complete ? 1 : 0, issued.sequence};
  return issued.status;
}

/// The fields that a transfer and an update have in common in the C interface.
template <typename Given>
RmaOp common_of(OpKind kind, Given const& given) noexcept {
  RmaOp operation;
  operation.kind = kind;
  operation.flags = static_cast<OpFlags>(given.flags);
  operation.context = given.context;
  operation.origin = read_only(given.origin);
  operation.origin_layout = layout_of(given.origin_layout);
  operation.target = given.target;
  operation.target_layout = layout_of(given.target_layout);
  operation.notify = given.notify;
  operation.exposed = exposed_by(given);
  operation.completion = CallbackCompletion::of(given.completion);
  return operation;
}

RmaOp update_of(mpix_engine_update const& given) noexcept {
  RmaOp update = common_of(OpKind::update, given);
  update.reduce_op = static_cast<ReduceOp>(given.operation);
  update.type = static_cast<ElementType>(given.type);
  update.operand2 = static_cast<std::byte const*>(given.operand2);
  update.result = static_cast<std::byte*>(given.result);
  update.result_layout = layout_of(given.result_layout);
  update.scale = given.scale;
  return update;
}

int issue(mpix_engine_t* engine, mpix_engine_peer_t* peer, RmaOp const& operation,
          mpix_engine_issued* result) noexcept {
  return status_of([&] { return result_of(engine_of(engine).issue(peer_of(peer), operation), result); });
}

template <typename Enumeration>
bool is_one_of(int value, Enumeration end) noexcept {
  return value >= 0 && value < static_cast<int>(end);
}

void show(Traffic const& traffic, mpix_engine_traffic* shown) noexcept {
  static_assert(std::size(decltype(shown->operations){}) == protocol_count);
  std::ranges::copy(traffic.operations, shown->operations);
  std::ranges::copy(traffic.bytes, shown->bytes);
  shown->messages_sent = traffic.messages_sent;
  shown->messages_executed = traffic.messages_executed;
}

}  // namespace
}  // namespace mpixrma::engine

using namespace mpixrma::engine;

void mpix_engine_wait_until(mpix_engine_t* engine, int (*done)(void* context), void* context) {
  engine_of(engine).waits.until([&] { return done(context) != 0; });
}

mpix_engine_peer_t* mpix_engine_find_peer(mpix_engine_t* engine, uint64_t process) {
  return peer_from([&] { return engine_of(engine).peers.find(process); });
}

mpix_engine_peer_t* mpix_engine_find_peer_at(mpix_engine_t* engine, const void* address, size_t length) {
  return peer_from([&] {
    return engine_of(engine).peers.at({static_cast<std::byte const*>(address), length});
  });
}

int mpix_engine_allocate(mpix_engine_t* engine, size_t bytes, const struct mpix_engine_hints* hints,
                         void** base) {
  AllocationHints const wanted =
      hints == nullptr ? AllocationHints{}
                       : AllocationHints{hints->alignment, hints->huge_pages != 0, hints->lazy != 0};
  return status_of([&] { return engine_of(engine).memory.allocate(bytes, wanted, base); });
}

int mpix_engine_free(mpix_engine_t* engine, void* base) {
  return status_of([&] { return engine_of(engine).memory.free(base); });
}

int mpix_engine_attach(mpix_engine_t* engine, void* base, size_t bytes) {
  return status_of([&] { return engine_of(engine).memory.attach(base, bytes); });
}

int mpix_engine_detach(mpix_engine_t* engine, void* base, size_t bytes) {
  return status_of([&] { return engine_of(engine).memory.detach(base, bytes); });
}

int mpix_engine_expose(mpix_engine_t* engine, void* base, size_t bytes, unsigned rights, uint64_t* exposure) {
  return status_of([&] {
    ExposureId id = ExposureId::none;
    Status const status = engine_of(engine).exposures.expose(base, bytes, static_cast<Rights>(rights), &id);
    *exposure = static_cast<std::uint64_t>(id);
    return status;
  });
}

int mpix_engine_withdraw(mpix_engine_t* engine, uint64_t exposure) {
  return status_of([&] { return engine_of(engine).exposures.withdraw(static_cast<ExposureId>(exposure)); });
}

int mpix_engine_start_withdraw(mpix_engine_t* engine, uint64_t exposure, mpix_engine_withdrawn* left) {
  return status_of([&] {
    WithdrawnExposure withdrawn;
    Status const status =
        engine_of(engine).exposures.start_withdraw(static_cast<ExposureId>(exposure), &withdrawn);
    *left = {static_cast<std::uint64_t>(withdrawn.id), withdrawn.begin, withdrawn.end};
    return status;
  });
}

int mpix_engine_is_unreachable(mpix_engine_t* engine, mpix_engine_withdrawn const* left) {
  WithdrawnExposure const withdrawn{static_cast<ExposureId>(left->exposure), left->begin, left->end};
  return engine_of(engine).exposures.is_unreachable(withdrawn) ? 1 : 0;
}

void* mpix_engine_map(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t address, size_t bytes) {
  void* local = nullptr;
  (void)status_of([&] {
    local = engine_of(engine).peer_memory.map(peer_of(peer), address, bytes);
    return Status::ok;
  });
  return local;
}

int mpix_engine_put(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                    const struct mpix_engine_transfer* transfer, struct mpix_engine_issued* issued) {
  return issue(engine, peer, common_of(OpKind::put, *transfer), issued);
}

int mpix_engine_get(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                    const struct mpix_engine_transfer* transfer, struct mpix_engine_issued* issued) {
  return issue(engine, peer, common_of(OpKind::get, *transfer), issued);
}

int mpix_engine_issue_update(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                             const struct mpix_engine_update* update, struct mpix_engine_issued* issued) {
  bool const known =
      is_one_of(update->operation, ReduceOp::count_) && is_one_of(update->type, ElementType::count_);
  if (!known) return MPIX_ENGINE_BAD_ARGUMENT;
  return issue(engine, peer, update_of(*update), issued);
}

uint64_t mpix_engine_newest(const mpix_engine_peer_t* peer) { return peer_of(peer).newest(); }

void mpix_engine_complete(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence) {
  // The request for a delayed acknowledgement may lack memory until others free some.
  while (status_of([&] {
           engine_of(engine).order.complete(peer_of(peer), sequence);
           return Status::ok;
         }) != MPIX_ENGINE_OK)
    std::this_thread::yield();
}

void mpix_engine_complete_local(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence) {
  engine_of(engine).order.complete_local(peer_of(peer), sequence);
}

int mpix_engine_test(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence) {
  return status_of([&] {
           return engine_of(engine).order.test(peer_of(peer), sequence) ? Status::ok : Status::busy;
         }) == MPIX_ENGINE_OK;
}

void mpix_engine_fence(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint64_t sequence) {
  engine_of(engine).order.fence(peer_of(peer), sequence);
}

int mpix_engine_take_error(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t context) {
  return static_cast<int>(engine_of(engine).failures.take(peer_of(peer), context));
}

int mpix_engine_watch(mpix_engine_t* engine, const uint64_t* counter, uint64_t threshold,
                      struct mpix_engine_completion* completion) {
  return status_of([&] {
    engine_of(engine).counters.watch(counter, threshold, *CallbackCompletion::of(completion));
    return Status::ok;
  });
}

void mpix_engine_forget_counters(mpix_engine_t* engine, const void* begin, const void* end) {
  engine_of(engine).counters.forget(begin, end);
}

int mpix_engine_create_locks(mpix_engine_t* engine, uint32_t count, uint32_t* first) {
  return status_of([&] { return engine_of(engine).locks.create(count, first); });
}

int mpix_engine_destroy_locks(mpix_engine_t* engine, uint32_t first, uint32_t count) {
  return status_of([&] { return engine_of(engine).locks.destroy(first, count); });
}

int mpix_engine_lock(mpix_engine_t* engine, mpix_engine_peer_t* peer,
                     const struct mpix_engine_lock_request* request, struct mpix_engine_issued* issued) {
  LockRequest const wanted{request->lock,
                           request->shared != 0 ? LockMode::shared : LockMode::exclusive,
                           request->owner,
                           request->attempt != 0,
                           CallbackCompletion::of(request->completion),
                           request->overtakes != 0};
  return status_of([&] { return result_of(engine_of(engine).locks.acquire(peer_of(peer), wanted), issued); });
}

int mpix_engine_unlock(mpix_engine_t* engine, mpix_engine_peer_t* peer, uint32_t lock, uint32_t owner,
                       uint32_t context, struct mpix_engine_issued* issued) {
  return status_of([&] {
    return result_of(engine_of(engine).locks.release(peer_of(peer), lock, owner, context), issued);
  });
}

void mpix_engine_read_traffic(const mpix_engine_t* engine, struct mpix_engine_traffic* traffic) {
  show(engine_of(engine).traffic.statistics().traffic, traffic);
}

void mpix_engine_read_traffic_with(const mpix_engine_t* engine, uint64_t process,
                                   struct mpix_engine_traffic* traffic) {
  show(engine_of(engine).traffic.with(process), traffic);
}

/// Vector transfers: lists of equally long segments.
#include "armci/vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "armci/overlap.hpp"
#include "armci/settings.hpp"
#include "mpix/xfer/list.hpp"

namespace armci {

namespace {

using mpixrma::engine::LayoutRun;

/// Stores in `segments` the segments from number `first` on, relative to the pointer of that one.
void list_segments(char const* call, int process, void* const* pointers, int first, armci_giov_t const& set,
                   std::vector<LayoutRun>& segments) {
  auto const* const base = static_cast<char const*>(pointers[first]);
  segments.resize(static_cast<std::size_t>(set.ptr_array_len - first));
  for (int i = first; i < set.ptr_array_len; ++i) {
    if (pointers[i] == nullptr) fail_at(call, process, nullptr, "the address of segment %d is null", i);
    segments[static_cast<std::size_t>(i - first)] = {static_cast<char const*>(pointers[i]) - base,
                                                     static_cast<std::size_t>(set.bytes)};
  }
}

/// The distances between the segments of a list that is regular on both sides.
struct Spacing {
  std::ptrdiff_t local;
  std::ptrdiff_t remote;
};

/// The arithmetic progression that begins at the first pointer of a list. The other pointers are compared
/// with it.
class Progression {
 public:
  Progression(void* const* pointers, int count, std::ptrdiff_t stride) noexcept
      : pointers_(pointers),
        count_(count),
        step_(static_cast<std::uintptr_t>(stride)),
        first_(reinterpret_cast<std::uintptr_t>(pointers[0])),
        last_(first_ + static_cast<std::uintptr_t>(count - 1) * step_) {
    std::ptrdiff_t distance = 0;
    std::uintptr_t last = 0;
    wraps_ = __builtin_mul_overflow(static_cast<std::ptrdiff_t>(count - 1), stride, &distance) ||
             __builtin_add_overflow(first_, distance, &last);
  }

  /// Whether the progression contains no null pointer and does not wrap around.
  bool is_sound() const noexcept { return !wraps_ && first_ != 0 && last_ != 0; }
  /// Whether the pointers [begin, end) follow the progression. Free of branches, so that the compiler
  /// compares several of them at once.
  bool holds(int begin, int end) const noexcept {
    std::uintptr_t differences = 0;
    std::uintptr_t expected = first_ + static_cast<std::uintptr_t>(begin) * step_;
    for (int i = begin; i < end; ++i, expected += step_)
      differences |= reinterpret_cast<std::uintptr_t>(pointers_[i]) ^ expected;
    return differences == 0;
  }
  int count() const noexcept { return count_; }

 private:
  void* const* pointers_;
  int count_;
  std::uintptr_t step_;
  std::uintptr_t first_;
  std::uintptr_t last_;
  bool wraps_ = false;
};

/// Whether all pointers of both lists, which are equally long, follow their progressions.
bool are_regular(Progression const& local, Progression const& remote) noexcept {
  constexpr int block_length = 128;  // few, because most irregular lists differ in the first pointers
  if (!local.is_sound() || !remote.is_sound()) return false;
  for (int begin = 0; begin < local.count(); begin += block_length) {
    int const end = std::min(begin + block_length, local.count());
    if (!remote.holds(begin, end) || !local.holds(begin, end)) return false;
  }
  return true;
}

std::ptrdiff_t first_distance(void* const* pointers) noexcept {
  return static_cast<char const*>(pointers[1]) - static_cast<char const*>(pointers[0]);
}

/// Returns nothing for lists of one segment or that are not regular, if segments of the destination overlap,
/// or if the settings ask for another method.
template <Direction direction>
std::optional<Spacing> spacing_of(void* const* local, void* const* remote, armci_giov_t const& set) noexcept {
  bool const permitted =
      settings.iov_method == IovMethod::automatic || settings.iov_method == IovMethod::direct;
  if (!permitted || settings.iov_checks || set.ptr_array_len < 2) return std::nullopt;
  Spacing const spacing{first_distance(local), first_distance(remote)};
  if (std::abs(direction == Direction::get ? spacing.local : spacing.remote) < set.bytes) return std::nullopt;
  bool const regular =
      are_regular({local, set.ptr_array_len, spacing.local}, {remote, set.ptr_array_len, spacing.remote});
  return regular ? std::optional(spacing) : std::nullopt;
}

/// Transfers segments by load and store while their target memory is mapped here; all methods are equivalent
/// then. Returns the number of segments transferred.
template <Direction direction>
int move_segments(char const* call, void* const* local, void* const* remote, armci_giov_t const& set,
                  int process, Scaled const& scaled) {
  if (settings.iov_checks) return 0;
  auto const bytes = static_cast<std::size_t>(set.bytes);
  auto const count = static_cast<std::size_t>(set.ptr_array_len);
  mpixrma::Target& target = target_of(call, process);
  std::size_t done = 0;
  if constexpr (direction == Direction::accumulate) {
    bool const exclusive = !modes.all_default() && std::all_of(remote, remote + count, [=](void const* each) {
      return is_exclusive(process, each, bytes);
    });
    mpixrma::engine::Reduction const reduction = reduction_of(call, process, remote[0], scaled, exclusive);
    bool const whole = bytes % mpixrma::engine::element_size(reduction.type) == 0;
    if (whole && mpixrma::try_direct_accumulate_list(target, reduction, {local, remote, count, bytes}))
      done = count;
  } else {
    std::size_t last = 1;
    for (; done < count && last != 0; done += last)
      last = mpixrma::try_direct_list<armci::op_kind<direction>>(
          target, {local + done, remote + done, count - done, bytes});
  }
  return static_cast<int>(done);
}

/// Transfers a part of a descriptor's segments in one operation.
template <Direction direction, typename Mode>
void transfer_segments(char const* call, Lists const& lists, std::size_t first, std::size_t count,
                       int process, Scaled const& scaled, Mode mode) {
  std::span<LayoutRun const> const here = std::span(lists.local).subspan(first, count);
  std::span<LayoutRun const> const there = std::span(lists.remote).subspan(first, count);
  std::size_t const bytes = count * lists.segment_bytes;
  transfer<direction>(call, lists.local_base, Layout{bytes, {}, here}, lists.remote_base,
                      Layout{bytes, {}, there}, process, scaled, mode);
}

/// Transfers the segments of a regular list as the rows of a strided block. Returns false for other lists.
template <Direction direction, typename Mode>
bool transfer_regular(char const* call, void* const* local, void* const* remote, armci_giov_t const& set,
                      int process, Scaled const& scaled, Mode mode) {
  auto const spacing = spacing_of<direction>(local, remote, set);
  if (!spacing) return false;
  auto const rows = static_cast<std::size_t>(set.ptr_array_len);
  auto const bytes = static_cast<std::size_t>(set.bytes);
  mpixrma::engine::Dimension const here[] = {{rows, spacing->local}};
  mpixrma::engine::Dimension const there[] = {{rows, spacing->remote}};
  transfer<direction>(call, local[0], Layout{bytes, here, {}}, remote[0], Layout{bytes, there, {}}, process,
                      scaled, mode);
  return true;
}

}  // namespace

template <Direction direction, typename Mode>
void transfer_lists(char const* call, Lists const& lists, std::size_t batch, int process,
                    Scaled const& scaled, Mode mode) {
  for (std::size_t first = 0; first < lists.local.size(); first += batch)
    transfer_segments<direction>(call, lists, first, std::min(batch, lists.local.size() - first), process,
                                 scaled, mode);
}

template <Direction direction, typename Mode>
void transfer_lists(char const* call, Lists const& lists, int process, Scaled const& scaled, Mode mode) {
  auto const& destination = direction == Direction::get ? lists.local : lists.remote;
  // An accumulate whose segments overlap must add each of them, whatever the method.
  bool const looks = settings.iov_method == IovMethod::automatic || settings.iov_checks ||
                     direction == Direction::accumulate;
  bool const overlapping = looks && overlap(destination);
  if (overlapping && settings.iov_checks)
    fail_at(call, process, lists.remote_base, "segments of the destination overlap");
  std::size_t batch = lists.local.size();
  if (overlapping || settings.iov_method == IovMethod::conservative) {
    batch = 1;
  } else if (settings.iov_method == IovMethod::batched && settings.batch > 0) {
    batch = static_cast<std::size_t>(settings.batch);
  }
  transfer_lists<direction>(call, lists, batch, process, scaled, mode);
}

#define ARMCI_TRANSFER_LISTS(direction, Mode)                                                              \
  template void transfer_lists<Direction::direction>(char const*, Lists const&, int, Scaled const&, Mode); \
  template void transfer_lists<Direction::direction>(char const*, Lists const&, std::size_t, int,          \
                                                     Scaled const&, Mode)
ARMCI_TRANSFER_LISTS(put, Blocking);
ARMCI_TRANSFER_LISTS(get, Blocking);
ARMCI_TRANSFER_LISTS(accumulate, Blocking);
ARMCI_TRANSFER_LISTS(put, NonBlocking);
ARMCI_TRANSFER_LISTS(get, NonBlocking);
ARMCI_TRANSFER_LISTS(accumulate, NonBlocking);
#undef ARMCI_TRANSFER_LISTS

namespace {

template <Direction direction, typename Mode>
int transfer_sets(char const* call, armci_giov_t* sets, int length, int process, Scaled const& scaled,
                  Mode mode) {
  check_process(call, process);
  if (length < 0) fail_at(call, process, nullptr, "number of descriptors is %d", length);
  if (sets == nullptr && length > 0) fail_at(call, process, nullptr, "the descriptor array is null");
  Lists lists;
  for (int i = 0; i < length; ++i) {
    armci_giov_t const& set = sets[i];
    if (set.bytes < 0)
      fail_at(call, process, nullptr, "descriptor %d has segments of %d bytes", i, set.bytes);
    if (set.ptr_array_len < 0)
      fail_at(call, process, nullptr, "descriptor %d has %d segments", i, set.ptr_array_len);
    if (set.bytes == 0 || set.ptr_array_len == 0) continue;
    if (set.src_ptr_array == nullptr || set.dst_ptr_array == nullptr)
      fail_at(call, process, nullptr, "descriptor %d has a null array", i);
    void** const local = direction == Direction::get ? set.dst_ptr_array : set.src_ptr_array;
    void** const remote = direction == Direction::get ? set.src_ptr_array : set.dst_ptr_array;
    // Accumulates have kernels for rows, so the strided form is tried first.
    if (direction == Direction::accumulate &&
        transfer_regular<direction>(call, local, remote, set, process, scaled, mode))
      continue;
    int const done = move_segments<direction>(call, local, remote, set, process, scaled);
    if (done == set.ptr_array_len ||
        (done == 0 && transfer_regular<direction>(call, local, remote, set, process, scaled, mode)))
      continue;
    lists.local_base = local[done];
    lists.remote_base = remote[done];
    lists.segment_bytes = static_cast<std::size_t>(set.bytes);
    list_segments(call, process, local, done, set, lists.local);
    list_segments(call, process, remote, done, set, lists.remote);
    transfer_lists<direction>(call, lists, process, scaled, mode);
  }
  return 0;
}

}  // namespace
}  // namespace armci

using namespace armci;

int PARMCI_PutV(armci_giov_t* iov, int iov_len, int proc) {
  return return_code_of(
      [&] { return transfer_sets<Direction::put>("ARMCI_PutV", iov, iov_len, proc, {}, Blocking{}); });
}
int PARMCI_GetV(armci_giov_t* iov, int iov_len, int proc) {
  return return_code_of(
      [&] { return transfer_sets<Direction::get>("ARMCI_GetV", iov, iov_len, proc, {}, Blocking{}); });
}
int PARMCI_AccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc) {
  return return_code_of([&] {
    return transfer_sets<Direction::accumulate>("ARMCI_AccV", iov, iov_len, proc, {datatype, scale},
                                                Blocking{});
  });
}
int PARMCI_NbPutV(armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return return_code_of([&] {
    return transfer_sets<Direction::put>("ARMCI_NbPutV", iov, iov_len, proc, {},
                                         NonBlocking{handle_of(handle)});
  });
}
int PARMCI_NbGetV(armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return return_code_of([&] {
    return transfer_sets<Direction::get>("ARMCI_NbGetV", iov, iov_len, proc, {},
                                         NonBlocking{handle_of(handle)});
  });
}
int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return return_code_of([&] {
    return transfer_sets<Direction::accumulate>("ARMCI_NbAccV", iov, iov_len, proc, {datatype, scale},
                                                NonBlocking{handle_of(handle)});
  });
}

ARMCI_ALIAS(PutV);
ARMCI_ALIAS(GetV);
ARMCI_ALIAS(AccV);
ARMCI_ALIAS(NbPutV);
ARMCI_ALIAS(NbGetV);
ARMCI_ALIAS(NbAccV);

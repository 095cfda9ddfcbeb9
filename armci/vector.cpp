/// Vector transfers: lists of equally long segments.
#include "armci/vector.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "armci/overlap.hpp"
#include "armci/settings.hpp"

namespace armci {

namespace {

using mpixrma::engine::LayoutRun;

/// Appends the segments from `first` on, relative to that segment's pointer.
void list(char const* call, int process, void* const* pointers, int first, armci_giov_t const& set,
          std::vector<LayoutRun>& segments) {
  auto const* const base = static_cast<char const*>(pointers[first]);
  segments.clear();
  for (int i = first; i < set.ptr_array_len; ++i) {
    if (pointers[i] == nullptr) fail_at(call, process, nullptr, "the address of segment %d is null", i);
    segments.push_back({static_cast<char const*>(pointers[i]) - base, static_cast<std::size_t>(set.bytes)});
  }
}

/// Copies segments one by one while the target memory is mapped here; all methods are equivalent then.
/// Returns the number of segments copied.
template <Direction direction>
int move_segments(char const* call, void* const* local, void* const* remote, armci_giov_t const& set,
                  int process, Scaled const& scaled) {
  // A long list of accumulates takes the locks of the memory only once.
  constexpr int max_accumulates = 4;
  bool const locks_once = direction == Direction::accumulate && set.ptr_array_len > max_accumulates;
  if (settings.iov_checks || locks_once) return 0;
  int done = 0;
  while (done < set.ptr_array_len && local[done] != nullptr && remote[done] != nullptr &&
         move_directly<direction>(call, local[done], remote[done], static_cast<std::size_t>(set.bytes),
                                  process, scaled))
    ++done;
  return done;
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

}  // namespace

template <Direction direction, typename Mode>
void transfer_lists(char const* call, Lists const& lists, int process, Scaled const& scaled, Mode mode) {
  auto const& destination = direction == Direction::get ? lists.local : lists.remote;
  bool const looks = settings.iov_method == IovMethod::automatic || settings.iov_checks;
  bool const overlapping = looks && overlap(destination);
  if (overlapping && settings.iov_checks)
    fail_at(call, process, lists.remote_base, "segments of the destination overlap");
  std::size_t batch = lists.local.size();
  if (overlapping || settings.iov_method == IovMethod::conservative) {
    batch = 1;
  } else if (settings.iov_method == IovMethod::batched && settings.batch > 0) {
    batch = static_cast<std::size_t>(settings.batch);
  }
  for (std::size_t first = 0; first < lists.local.size(); first += batch)
    transfer_segments<direction>(call, lists, first, std::min(batch, lists.local.size() - first), process,
                                 scaled, mode);
}

#define ARMCI_TRANSFER_LISTS(direction, Mode) \
  template void transfer_lists<Direction::direction>(char const*, Lists const&, int, Scaled const&, Mode)
ARMCI_TRANSFER_LISTS(put, Blocking);
ARMCI_TRANSFER_LISTS(get, Blocking);
ARMCI_TRANSFER_LISTS(accumulate, Blocking);
ARMCI_TRANSFER_LISTS(put, NonBlocking);
ARMCI_TRANSFER_LISTS(get, NonBlocking);
ARMCI_TRANSFER_LISTS(accumulate, NonBlocking);
#undef ARMCI_TRANSFER_LISTS

namespace {

template <Direction direction, typename Mode>
int vector(char const* call, armci_giov_t* sets, int length, int process, Scaled const& scaled, Mode mode) {
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
    int const done = move_segments<direction>(call, local, remote, set, process, scaled);
    if (done == set.ptr_array_len) continue;
    lists.local_base = local[done];
    lists.remote_base = remote[done];
    lists.segment_bytes = static_cast<std::size_t>(set.bytes);
    list(call, process, local, done, set, lists.local);
    list(call, process, remote, done, set, lists.remote);
    transfer_lists<direction>(call, lists, process, scaled, mode);
  }
  return 0;
}

}  // namespace
}  // namespace armci

using namespace armci;

int PARMCI_PutV(armci_giov_t* iov, int iov_len, int proc) {
  return returning([&] { return vector<Direction::put>("ARMCI_PutV", iov, iov_len, proc, {}, Blocking{}); });
}
int PARMCI_GetV(armci_giov_t* iov, int iov_len, int proc) {
  return returning([&] { return vector<Direction::get>("ARMCI_GetV", iov, iov_len, proc, {}, Blocking{}); });
}
int PARMCI_AccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc) {
  return returning([&] {
    return vector<Direction::accumulate>("ARMCI_AccV", iov, iov_len, proc, {datatype, scale}, Blocking{});
  });
}
int PARMCI_NbPutV(armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return returning([&] {
    return vector<Direction::put>("ARMCI_NbPutV", iov, iov_len, proc, {}, NonBlocking{handle_of(handle)});
  });
}
int PARMCI_NbGetV(armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return returning([&] {
    return vector<Direction::get>("ARMCI_NbGetV", iov, iov_len, proc, {}, NonBlocking{handle_of(handle)});
  });
}
int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc, void* handle) {
  return returning([&] {
    return vector<Direction::accumulate>("ARMCI_NbAccV", iov, iov_len, proc, {datatype, scale},
                                         NonBlocking{handle_of(handle)});
  });
}

ARMCI_ALIAS(PutV);
ARMCI_ALIAS(GetV);
ARMCI_ALIAS(AccV);
ARMCI_ALIAS(NbPutV);
ARMCI_ALIAS(NbGetV);
ARMCI_ALIAS(NbAccV);

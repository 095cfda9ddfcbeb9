/// Vector transfers: lists of equally long segments.
#include <vector>

#include "armci/onesided.hpp"

namespace armci {

namespace {

using mpix::engine::Segment;

/// Segments relative to the first pointer.
void list(void* const* pointers, armci_giov_t const& set, std::vector<Segment>& segments) {
  auto const* const base = static_cast<char const*>(pointers[0]);
  segments.clear();
  for (int i = 0; i < set.ptr_array_len; ++i) {
    segments.push_back({static_cast<char const*>(pointers[i]) - base, static_cast<std::size_t>(set.bytes)});
  }
}

template <Direction direction, typename Mode>
int vector(char const* call, armci_giov_t* sets, int length, int process, Scaled const& scaled, Mode mode) {
  if (length < 0) fail(call, "number of descriptors is %d", length);
  if (sets == nullptr && length > 0) fail(call, "the descriptor array is null");
  std::vector<Segment> here;
  std::vector<Segment> there;
  for (int i = 0; i < length; ++i) {
    armci_giov_t const& set = sets[i];
    if (set.bytes < 0) fail(call, "descriptor %d has segments of %d bytes", i, set.bytes);
    if (set.ptr_array_len < 0) fail(call, "descriptor %d has %d segments", i, set.ptr_array_len);
    if (set.bytes == 0 || set.ptr_array_len == 0) continue;
    if (set.src_ptr_array == nullptr || set.dst_ptr_array == nullptr)
      fail(call, "descriptor %d has a null array", i);
    void** const local = direction == Direction::get ? set.dst_ptr_array : set.src_ptr_array;
    void** const remote = direction == Direction::get ? set.src_ptr_array : set.dst_ptr_array;
    list(local, set, here);
    list(remote, set, there);
    std::size_t const bytes = here.size() * static_cast<std::size_t>(set.bytes);
    transfer<direction>(call, local[0], Layout{bytes, {}, here}, remote[0], Layout{bytes, {}, there}, process,
                        scaled, mode);
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
int PARMCI_NbPutV(armci_giov_t* iov, int iov_len, int proc, armci_hdl_t* handle) {
  return returning(
      [&] { return vector<Direction::put>("ARMCI_NbPutV", iov, iov_len, proc, {}, NonBlocking{handle}); });
}
int PARMCI_NbGetV(armci_giov_t* iov, int iov_len, int proc, armci_hdl_t* handle) {
  return returning(
      [&] { return vector<Direction::get>("ARMCI_NbGetV", iov, iov_len, proc, {}, NonBlocking{handle}); });
}
int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* iov, int iov_len, int proc, armci_hdl_t* handle) {
  return returning([&] {
    return vector<Direction::accumulate>("ARMCI_NbAccV", iov, iov_len, proc, {datatype, scale},
                                         NonBlocking{handle});
  });
}

ARMCI_ALIAS(PutV);
ARMCI_ALIAS(GetV);
ARMCI_ALIAS(AccV);
ARMCI_ALIAS(NbPutV);
ARMCI_ALIAS(NbGetV);
ARMCI_ALIAS(NbAccV);

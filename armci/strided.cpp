/// Strided transfers.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <span>

#include "armci/onesided.hpp"
#include "armci/overlap.hpp"
#include "armci/settings.hpp"
#include "armci/vector.hpp"

namespace armci {

namespace {

using mpixrma::engine::Dimension;

constexpr int max_levels = 8;  // limit of the ARMCI interface

/// The parts of a call that its error texts name.
struct Subject {
  char const* call;
  int process = -1;
  void const* remote = nullptr;
};

/// One side of a strided transfer. Not movable, because it holds pointers to itself.
class Strides {
 public:
  Strides(Subject const& at, int const* strides, int const* count, int levels) {
    std::ptrdiff_t bytes = count[0];
    bool too_large = false;
    for (int i = 0; i < levels; ++i) {
      if (count[i + 1] < 0) fail_at(at.call, at.process, at.remote, "count[%d] is %d", i + 1, count[i + 1]);
      dims_[i] = {static_cast<std::size_t>(count[i + 1]), strides[i]};
      too_large = __builtin_mul_overflow(bytes, count[i + 1], &bytes) || too_large;
    }
    if (too_large && std::none_of(count, count + levels + 1, [](int one) { return one == 0; }))
      fail_at(at.call, at.process, at.remote, "the counts give 2^63 bytes or more");
    layout_ = {static_cast<std::size_t>(count[0]), {dims_, static_cast<std::size_t>(levels)}, {}};
  }
  Strides(Strides const&) = delete;
  Strides& operator=(Strides const&) = delete;

  Layout const& layout() const { return layout_; }

 private:
  Dimension dims_[max_levels];
  Layout layout_;
};

/// The arguments of a call on one side.
struct Side {
  void* address;
  int* strides;
};

enum class Access { read, write };

void check_side(Subject const& at, char const* name, Access access, Side const& side, int const* count,
                int levels) {
  if (levels < 0 || levels > max_levels)
    fail_at(at.call, at.process, at.remote, "stride_levels %d is not in 0..%d", levels, max_levels);
  if (count == nullptr) fail_at(at.call, at.process, at.remote, "count is null");
  if (count[0] < 0) fail_at(at.call, at.process, at.remote, "count[0] is %d", count[0]);
  if (levels > 0 && side.strides == nullptr)
    fail_at(at.call, at.process, at.remote, "the %s stride array is null", name);
  if (side.address == nullptr) fail_at(at.call, at.process, at.remote, "the %s address is null", name);
  if (levels == 0 || count[1] <= 1) return;
  bool const repeats_row = access == Access::read && side.strides[0] == 0;
  if (!repeats_row && std::abs(std::int64_t{side.strides[0]}) < count[0]) {
    fail_at(at.call, at.process, at.remote, "the %s stride %d is smaller than the block of %d bytes", name,
            side.strides[0], count[0]);
  }
}

/// Returns the size in bytes of a block that is contiguous on both sides, such as one element of an array; -1
/// for other blocks.
int contiguous_bytes(Side const& local, Side const& remote, int const* count, int levels) {
  long bytes = count[0];
  for (int i = 0; i < levels; ++i) {
    if (count[i + 1] == 1) continue;
    bool const follows = local.strides[i] == bytes && remote.strides[i] == bytes;
    if (!follows || count[i + 1] < 0) return -1;
    bytes *= count[i + 1];
    if (bytes > INT_MAX) return -1;
  }
  return static_cast<int>(bytes);
}

/// Whether each stride is at least as large as all that it repeats. Then no two rows share a byte.
bool are_nested(std::size_t row, std::span<Dimension const> dims) noexcept {
  auto extent = static_cast<std::ptrdiff_t>(row);
  for (Dimension const& dim : dims) {
    if (dim.count <= 1) continue;
    std::ptrdiff_t const stride = std::abs(dim.stride);
    if (stride < extent) return false;
    extent += static_cast<std::ptrdiff_t>(dim.count - 1) * stride;  // below 2^63: both are from an int
  }
  return true;
}

/// As are_nested(), whatever the order of the dimensions. A block without data is nested.
[[gnu::noinline]] bool are_nested_in_some_order(Layout const& rows) {
  if (rows.size() == 0) return true;
  std::array<Dimension, max_levels> dims{};
  std::copy(rows.dims.begin(), rows.dims.end(), dims.begin());
  std::sort(dims.begin(), dims.end(),
            [](Dimension const& a, Dimension const& b) { return std::abs(a.stride) < std::abs(b.stride); });
  return are_nested(rows.block, dims);
}

void list(Layout const& layout, std::vector<mpixrma::engine::LayoutRun>& segments) {
  mpixrma::engine::LayoutCursor cursor(layout);
  while (cursor.remaining() != 0) segments.push_back(cursor.next());
}

Lists lists_of(Side const& local, Strides const& here, Side const& remote, Strides const& there) {
  Lists lists{local.address, remote.address, here.layout().block, {}, {}};
  list(here.layout(), lists.local);
  list(there.layout(), lists.remote);
  return lists;
}

template <Direction direction, typename Mode>
int strided(char const* call, Side const& local, Side const& remote, int* count, int levels, int process,
            Scaled const& scaled, Mode mode) {
  Subject const subject{call, process, remote.address};
  constexpr bool reads_remote = direction == Direction::get;
  check_side(subject, "local", reads_remote ? Access::write : Access::read, local, count, levels);
  check_side(subject, "remote", reads_remote ? Access::read : Access::write, remote, count, levels);
  if (int const bytes = contiguous_bytes(local, remote, count, levels); bytes >= 0)
    return contiguous<direction>(call, local.address, remote.address, bytes, process, scaled, mode);
  Strides const here(subject, local.strides, count, levels);
  Strides const there(subject, remote.strides, count, levels);
  if (settings.strided_as_iov && count[0] != 0) {
    check_process(call, process);
    transfer_lists<direction>(call, lists_of(local, here, remote, there), process, scaled, mode);
    return 0;
  }
  if constexpr (direction == Direction::accumulate) {
    Layout const& rows = there.layout();
    if (!are_nested(rows.block, rows.dims) && !are_nested_in_some_order(rows)) [[unlikely]] {
      Lists const lists = lists_of(local, here, remote, there);
      // One operation may read all rows of the target before it writes any, so it must not update a byte
      // twice.
      transfer_lists<direction>(call, lists, overlap(lists.remote) ? 1 : lists.remote.size(), process, scaled,
                                mode);
      return 0;
    }
  }
  transfer<direction>(call, local.address, here.layout(), remote.address, there.layout(), process, scaled,
                      mode);
  return 0;
}

/// Copies between a strided block here and a contiguous buffer; `copy` receives the block's layout and the
/// buffer.
template <Access access, typename Copy>
void copy_block(char const* call, Side const& block, int const* count, int levels, char* buffer, Copy copy) {
  abort_on_failure([&] {
    check_side({call}, "block's", access, block, count, levels);
    if (buffer == nullptr) fail(call, "the buffer is null");
    Strides const strides({call}, block.strides, count, levels);
    copy(strides.layout(), reinterpret_cast<std::byte*>(buffer));
  });
}

}  // namespace
}  // namespace armci

using namespace armci;

int PARMCI_PutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                int stride_levels, int proc) {
  return return_code_of([&] {
    return strided<Direction::put>("ARMCI_PutS", {src_ptr, src_stride_ar}, {dst_ptr, dst_stride_ar}, count,
                                   stride_levels, proc, {}, Blocking{});
  });
}
int PARMCI_GetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                int stride_levels, int proc) {
  return return_code_of([&] {
    return strided<Direction::get>("ARMCI_GetS", {dst_ptr, dst_stride_ar}, {src_ptr, src_stride_ar}, count,
                                   stride_levels, proc, {}, Blocking{});
  });
}
int PARMCI_AccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                int dst_stride_ar[], int count[], int stride_levels, int proc) {
  return return_code_of([&] {
    return strided<Direction::accumulate>("ARMCI_AccS", {src_ptr, src_stride_ar}, {dst_ptr, dst_stride_ar},
                                          count, stride_levels, proc, {datatype, scale}, Blocking{});
  });
}
int PARMCI_NbPutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                  int stride_levels, int proc, void* hdl) {
  return return_code_of([&] {
    return strided<Direction::put>("ARMCI_NbPutS", {src_ptr, src_stride_ar}, {dst_ptr, dst_stride_ar}, count,
                                   stride_levels, proc, {}, NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_NbGetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                  int stride_levels, int proc, void* hdl) {
  return return_code_of([&] {
    return strided<Direction::get>("ARMCI_NbGetS", {dst_ptr, dst_stride_ar}, {src_ptr, src_stride_ar}, count,
                                   stride_levels, proc, {}, NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_NbAccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                  int dst_stride_ar[], int count[], int stride_levels, int proc, void* hdl) {
  return return_code_of([&] {
    return strided<Direction::accumulate>("ARMCI_NbAccS", {src_ptr, src_stride_ar}, {dst_ptr, dst_stride_ar},
                                          count, stride_levels, proc, {datatype, scale},
                                          NonBlocking{handle_of(hdl)});
  });
}
int PARMCI_PutS_flag(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                     int stride_levels, int* flag, int value, int proc) {
  return return_code_of([&] {
    check_flag("ARMCI_PutS_flag", flag, proc);
    strided<Direction::put>("ARMCI_PutS_flag", {src_ptr, src_stride_ar}, {dst_ptr, dst_stride_ar}, count,
                            stride_levels, proc, {}, Blocking{});
    return put_flag("ARMCI_PutS_flag", flag, value, proc);
  });
}

ARMCI_ALIAS(PutS);
ARMCI_ALIAS(GetS);
ARMCI_ALIAS(AccS);
ARMCI_ALIAS(NbPutS);
ARMCI_ALIAS(NbGetS);
ARMCI_ALIAS(NbAccS);
ARMCI_ALIAS(PutS_flag);

void armci_write_strided(void* ptr, int stride_levels, int stride_arr[], int count[], char* buf) {
  copy_block<Access::read>("armci_write_strided", {ptr, stride_arr}, count, stride_levels, buf,
                           [&](Layout const& layout, std::byte* buffer) {
                             mpixrma::engine::pack(buffer, static_cast<std::byte*>(ptr), layout, 0,
                                                   layout.size());
                           });
}
void armci_read_strided(void* ptr, int stride_levels, int stride_arr[], int count[], char* buf) {
  copy_block<Access::write>("armci_read_strided", {ptr, stride_arr}, count, stride_levels, buf,
                            [&](Layout const& layout, std::byte* buffer) {
                              mpixrma::engine::unpack(static_cast<std::byte*>(ptr), layout, 0, buffer,
                                                      layout.size());
                            });
}

/// Transfers by the kernel: in system calls of any size, and the status for missing memory.
#include "engine/proto/cross_memory.hpp"

#include <sys/uio.h>

#include <cstring>
#include <vector>

#include "tests/support/child.hpp"

namespace mpixrma::engine {
namespace {

using test::Child;

constexpr std::size_t page_bytes = 4096;

/// Memory of which a forked process has its own copy at the same address.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        base_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(base_, MAP_FAILED);
  }
  ~Pages() { ::munmap(base_, bytes_); }
  Pages(Pages const&) = delete;
  Pages& operator=(Pages const&) = delete;

  std::byte* data() const { return base_; }
  std::size_t size() const { return bytes_; }
  RemoteAddress address() const { return reinterpret_cast<RemoteAddress>(base_); }
  void unmap_from(std::size_t offset) const { EXPECT_EQ(::munmap(base_ + offset, bytes_ - offset), 0); }
  void number(unsigned seed) const {
    for (std::size_t i = 0; i < bytes_; ++i) base_[i] = static_cast<std::byte>((i * 7 + seed) >> (i % 3));
  }

 private:
  std::size_t bytes_;
  std::byte* base_;
};

/// Returns the child's memory, read page by page; a page that is not mapped remains zero.
std::vector<std::byte> content(Child const& child, Pages const& pages) {
  std::vector<std::byte> result(pages.size());
  for (std::size_t at = 0; at < pages.size(); at += page_bytes) {
    iovec const here{result.data() + at, page_bytes};
    iovec const there{pages.data() + at, page_bytes};
    (void)::process_vm_readv(child.pid(), &here, 1, &there, 1, 0);
  }
  return result;
}

RmaOp transfer(OpKind direction, Pages const& origin, Layout const& origin_layout, Pages const& target,
               Layout const& target_layout) {
  RmaOp made;
  made.kind = direction;
  made.origin = origin.data();
  made.origin_layout = origin_layout;
  made.target = target.address();
  made.target_layout = target_layout;
  return made;
}

constexpr std::size_t limits[] = {1, 37, 1000, page_bytes, cross_memory_call_bytes};

TEST(CrossMemory, ContiguousDataArriveForAnyLimitPerCall) {
  Pages const origin(4 * page_bytes);
  Pages const target(4 * page_bytes);
  Child const child([] {});
  Layout const all = Layout::contiguous(origin.size());
  for (std::size_t const limit : limits) {
    origin.number(static_cast<unsigned>(limit));
    std::vector<std::byte> const sent(origin.data(), origin.data() + origin.size());
    EXPECT_EQ(execute_across(transfer(OpKind::put, origin, all, target, all), child.pid(), limit),
              Status::ok);
    EXPECT_EQ(content(child, target), sent) << limit;
    origin.number(0);
    EXPECT_EQ(execute_across(transfer(OpKind::get, origin, all, target, all), child.pid(), limit),
              Status::ok);
    EXPECT_EQ(std::memcmp(origin.data(), sent.data(), sent.size()), 0) << limit;
  }
}

TEST(CrossMemory, PiecesArriveForAnyLimitPerCall) {
  Pages const origin(8 * page_bytes);
  Pages const target(8 * page_bytes);
  Child const child([] {});
  // More pieces than fit into one call, with other lengths on the other side.
  Dimension const every_50[] = {{600, 50}};
  std::vector<LayoutRun> pieces;
  for (std::size_t i = 0; i < 111; ++i) pieces.push_back({static_cast<std::ptrdiff_t>(i * 250 + i % 7), 200});
  Layout const fine{37, every_50, {}};
  Layout const coarse{111 * 200, {}, pieces};
  ASSERT_EQ(fine.size(), coarse.size());
  for (std::size_t const limit : limits) {
    origin.number(static_cast<unsigned>(limit));
    EXPECT_EQ(execute_across(transfer(OpKind::put, origin, fine, target, coarse), child.pid(), limit),
              Status::ok);
    std::vector<std::byte> const arrived = content(child, target);
    std::vector<std::byte> back(origin.size());
    for (std::size_t k = 0; k < fine.size(); ++k) {
      std::size_t const from = k / 37 * 50 + k % 37;
      std::size_t const to = static_cast<std::size_t>(pieces[k / 200].offset) + k % 200;
      ASSERT_EQ(arrived[to], origin.data()[from]) << k << " limit " << limit;
      back[from] = arrived[to];
    }
    std::memset(origin.data(), 0, origin.size());
    EXPECT_EQ(execute_across(transfer(OpKind::get, origin, fine, target, coarse), child.pid(), limit),
              Status::ok);
    EXPECT_EQ(std::memcmp(origin.data(), back.data(), back.size()), 0) << limit;
  }
}

/// More data than the kernel moves by one call, which returns a short count: the same memory repeatedly.
TEST(CrossMemory, ContinuesAfterShortCall) {
  constexpr std::size_t block = std::size_t{16} << 20;
  Pages const origin(2 * block);
  Pages const target(2 * block);
  origin.number(5);
  Child const child([&] { std::memset(target.data(), 1, target.size()); });
  Dimension const again[] = {{129, 0}};
  std::vector<LayoutRun> const first_then_second{{0, block}, {block, 1}};
  Layout const layout{block + 1, again, first_then_second};
  EXPECT_EQ(execute_across(transfer(OpKind::put, origin, layout, target, layout), child.pid(), SIZE_MAX),
            Status::ok);
  std::vector<std::byte> const arrived = content(child, target);
  EXPECT_EQ(std::memcmp(arrived.data(), origin.data(), block + 1), 0);
  EXPECT_EQ(arrived[block + 1], std::byte{1});
}

TEST(CrossMemory, MovesDataBeforeUnmappedTargetMemoryThenFails) {
  Pages const origin(4 * page_bytes);
  Pages const target(4 * page_bytes);
  origin.number(1);
  Child const child([&] { target.unmap_from(2 * page_bytes); });
  Layout const all = Layout::contiguous(origin.size());
  for (std::size_t const limit : {std::size_t{1000}, cross_memory_call_bytes}) {
    EXPECT_EQ(execute_across(transfer(OpKind::put, origin, all, target, all), child.pid(), limit),
              Status::bad_address);
    std::vector<std::byte> const arrived = content(child, target);
    EXPECT_EQ(std::memcmp(arrived.data(), origin.data(), 2 * page_bytes), 0);
    EXPECT_EQ(execute_across(transfer(OpKind::get, origin, all, target, all), child.pid(), limit),
              Status::bad_address);
  }
}

TEST(CrossMemory, DistinguishesUnmappedOriginFromUnmappedTarget) {
  Pages const origin(4 * page_bytes);
  Pages const target(4 * page_bytes);
  Child const child([] {});
  origin.unmap_from(3 * page_bytes);
  ASSERT_EQ(::mprotect(origin.data() + 2 * page_bytes, page_bytes, PROT_READ), 0);
  Layout const three = Layout::contiguous(3 * page_bytes);
  Layout const four = Layout::contiguous(4 * page_bytes);
  Dimension const rows[] = {{4, page_bytes}};
  Layout const pieces{page_bytes, rows, {}};
  for (std::size_t const limit : {std::size_t{1000}, cross_memory_call_bytes}) {
    auto const run = [&](OpKind direction, Layout const& layout, Layout const& target_layout) {
      return execute_across(transfer(direction, origin, layout, target, target_layout), child.pid(), limit);
    };
    EXPECT_EQ(run(OpKind::put, three, three), Status::ok);
    EXPECT_EQ(run(OpKind::put, four, four), Status::bad_origin);
    EXPECT_EQ(run(OpKind::put, pieces, four), Status::bad_origin);
    EXPECT_EQ(run(OpKind::get, three, three), Status::bad_origin);  // that page is read-only
    EXPECT_EQ(run(OpKind::get, pieces, four), Status::bad_origin);
    EXPECT_EQ(run(OpKind::get, Layout::contiguous(2 * page_bytes), Layout::contiguous(2 * page_bytes)),
              Status::ok);
  }
}

TEST(CrossMemory, ManySmallPiecesAreScattered) {
  auto const rows = [](std::size_t count, std::size_t bytes) {
    Dimension const dimension[] = {{count, static_cast<std::ptrdiff_t>(2 * bytes)}};
    return is_scattered(Layout{bytes, dimension, {}});
  };
  EXPECT_TRUE(rows(1024, 16));
  EXPECT_FALSE(rows(8, 16));
  EXPECT_FALSE(rows(1024, 4096));
  EXPECT_FALSE(is_scattered(Layout::contiguous(16)));
  std::vector<LayoutRun> pieces;
  for (std::ptrdiff_t i = 0; i < 100; ++i) pieces.push_back({100 * i, 8});
  EXPECT_TRUE(is_scattered(Layout{800, {}, pieces}));
}

}  // namespace
}  // namespace mpixrma::engine

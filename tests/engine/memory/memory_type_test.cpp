/// Detection of device memory from UCX's records.
#include "engine/memory/memory_type.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucs/memory/memtype_cache.h>

#include <cstdlib>

namespace mpixrma::engine {
namespace {

constexpr std::size_t bytes = 1 << 16;

/// A mapping whose memory type is recorded in UCX.
class DevicePages {
 public:
  explicit DevicePages(int protection)
      : base_(::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~DevicePages() {
    forget();
    ::munmap(base_, bytes);
  }
  DevicePages(DevicePages const&) = delete;
  DevicePages& operator=(DevicePages const&) = delete;

  void record(ucs_memory_type_t type) const {
    forget();
    ucs_memtype_cache_update(base_, bytes, type, UCS_SYS_DEVICE_ID_UNKNOWN);
  }
  void forget() const { ucs_memtype_cache_remove(base_, bytes); }
  std::byte* base() const { return static_cast<std::byte*>(base_); }

 private:
  void* base_;
};

struct MemoryType : testing::Test {
  void SetUp() override {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM;
    ASSERT_EQ(ucp_init(&params, nullptr, &context), UCS_OK);
    ::setenv("MPIX_TEST_DEVICE_MEMORY", "1000-1008", 1);
    memory.open(context);
    ::unsetenv("MPIX_TEST_DEVICE_MEMORY");
    ASSERT_TRUE(memory.is_possible());
  }
  void TearDown() override {
    if (context != nullptr) ucp_cleanup(context);
  }
  bool holds(DevicePages const& pages) const { return memory.holds(pages.base() + 64, 128, Access::write); }

  ucp_context_h context = nullptr;
  DeviceMemory memory;
};

TEST_F(MemoryType, IsTakenFromUcxRecords) {
  DevicePages const pages(PROT_READ | PROT_WRITE);
  EXPECT_FALSE(holds(pages));
  for (auto const type : {UCS_MEMORY_TYPE_CUDA, UCS_MEMORY_TYPE_ROCM}) {
    pages.record(type);
    EXPECT_TRUE(holds(pages)) << type;
  }
  for (auto const type : {UCS_MEMORY_TYPE_CUDA_MANAGED, UCS_MEMORY_TYPE_ROCM_MANAGED}) {
    pages.record(type);
    EXPECT_FALSE(holds(pages)) << type;
  }
  pages.forget();
  EXPECT_FALSE(holds(pages));
}

TEST_F(MemoryType, OfInaccessibleUnknownKindIsDeviceMemory) {
  DevicePages const open(PROT_READ | PROT_WRITE);
  DevicePages const closed(PROT_NONE);
  open.record(UCS_MEMORY_TYPE_UNKNOWN);
  closed.record(UCS_MEMORY_TYPE_UNKNOWN);
  EXPECT_FALSE(holds(open));
  EXPECT_TRUE(holds(closed));
}

TEST_F(MemoryType, OfEveryPieceIsChecked) {
  DevicePages const host(PROT_READ | PROT_WRITE);
  DevicePages const device(PROT_NONE);
  device.record(UCS_MEMORY_TYPE_CUDA);
  LayoutRun pieces[] = {{0, 8}, {device.base() - host.base(), 8}};
  RmaOp transfer;
  transfer.origin = host.base();
  transfer.origin_layout = {16, {}, pieces};
  EXPECT_TRUE(memory.holds_origin_of(transfer));
  pieces[1].offset = 100;
  EXPECT_FALSE(memory.holds_origin_of(transfer));
  RmaOp update = update_with(ReduceOp::increment, ElementType::int64);
  update.origin = host.base();
  update.origin_layout = update.result_layout = Layout::contiguous(8);
  EXPECT_FALSE(memory.holds_origin_of(update));
  update.result = device.base();
  EXPECT_TRUE(memory.holds_origin_of(update));
}

TEST_F(MemoryType, SkipsCheckWithoutDevices) {
  DeviceMemory unasked;
  DevicePages const pages(PROT_NONE);
  pages.record(UCS_MEMORY_TYPE_CUDA);
  EXPECT_TRUE(holds(pages));
  EXPECT_FALSE(unasked.is_possible());
  EXPECT_FALSE(unasked.holds(pages.base(), bytes, Access::write));
}

}  // namespace
}  // namespace mpixrma::engine

/// NUMA nodes: the one that a process belongs to, on synthetic topologies, and the policy of its memory. The
/// machine of the tests may have only one node, so the tests do not check that pages come from another node.
#include "engine/memory/numa.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/memory/segment_table.hpp"
#include "engine/runtime/placement.hpp"

namespace mpixrma::engine {
namespace {

std::string list_of(hwloc_const_bitmap_t cores) {
  std::array<char, 1024> text{};
  hwloc_bitmap_list_snprintf(text.data(), text.size(), cores);
  return text.data();
}

Cores cores_of(hwloc_const_bitmap_t set) {
  Cores cores;
  EXPECT_TRUE(parse_cores(list_of(set), &cores)) << list_of(set);
  return cores;
}

/// A machine as hwloc describes it, with the kernel's files of its nodes.
class SyntheticMachine {
 public:
  explicit SyntheticMachine(char const* description) {
    EXPECT_EQ(hwloc_topology_init(&topology_), 0);
    EXPECT_EQ(hwloc_topology_set_synthetic(topology_, description), 0) << description;
    EXPECT_EQ(hwloc_topology_load(topology_), 0);
    std::filesystem::create_directories(directory_ / "power");
    std::ofstream(directory_ / "online") << "0-7\n";
    for (hwloc_obj_t node : objects(HWLOC_OBJ_NUMANODE)) add_node(node->os_index, list_of(node->cpuset));
  }
  ~SyntheticMachine() {
    std::filesystem::remove_all(directory_);
    hwloc_topology_destroy(topology_);
  }
  SyntheticMachine(SyntheticMachine const&) = delete;

  void add_node(unsigned number, std::string const& cores) const {
    auto const place = directory_ / ("node" + std::to_string(number));
    std::filesystem::create_directories(place);
    std::ofstream(place / "cpulist") << cores << '\n';
  }
  std::vector<NumaNode> nodes() const { return read_numa_nodes(directory_.c_str()); }
  std::vector<hwloc_obj_t> objects(hwloc_obj_type_t type) const {
    std::vector<hwloc_obj_t> found;
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology_, type, object)) != nullptr;)
      found.push_back(object);
    return found;
  }

 private:
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("mpix-numa-" + std::to_string(::getpid()));
  hwloc_topology_t topology_ = nullptr;
};

class NumaTopology : public ::testing::TestWithParam<char const*> {};

INSTANTIATE_TEST_SUITE_P(Synthetic, NumaTopology,
                         ::testing::Values("node:1 core:4 pu:1", "node:2 core:4 pu:2",
                                           "pack:2 node:2 core:3 pu:1",
                                           "pack:2 core:8 pu:2(indexes=pack:core)", "node:8 core:16 pu:2",
                                           "node:2 core:4 pu:2(indexes=2*8:1*2)",
                                           "node:4(indexes=3,0,2,1) core:2 pu:2(indexes=pu:core)"));

/// The expected nodes are those that hwloc reports as near to each object.
TEST_P(NumaTopology, ProcessBelongsToTheNodeOfAllItsCores) {
  SyntheticMachine const machine(GetParam());
  std::vector<NumaNode> const nodes = machine.nodes();
  ASSERT_EQ(nodes.size(), machine.objects(HWLOC_OBJ_NUMANODE).size());
  int bound = 0;
  for (auto type : {HWLOC_OBJ_PU, HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_NUMANODE, HWLOC_OBJ_MACHINE}) {
    for (hwloc_obj_t object : machine.objects(type)) {
      std::optional<NumaNode> const node = node_of(nodes, cores_of(object->cpuset));
      bool const is_near_one = nodes.size() > 1 && hwloc_bitmap_weight(object->nodeset) == 1;
      ASSERT_EQ(node.has_value(), is_near_one) << list_of(object->cpuset);
      if (!node) continue;
      EXPECT_EQ(static_cast<int>(node->number), hwloc_bitmap_first(object->nodeset));
      ++bound;
    }
  }
  EXPECT_EQ(bound > 0, nodes.size() > 1);
}

/// A process is bound to the first core of each node in turn: alone, or with others that are bound to the
/// rest of the node.
TEST_P(NumaTopology, AgentStaysOnNodeOfItsProcess) {
  SyntheticMachine const machine(GetParam());
  std::vector<NumaNode> const nodes = machine.nodes();
  Cores const all = cores_of(machine.objects(HWLOC_OBJ_MACHINE).front()->cpuset);
  for (hwloc_obj_t node : machine.objects(HWLOC_OBJ_NUMANODE)) {
    Cores const near = cores_of(node->cpuset);
    Cores own;
    own.set(static_cast<std::size_t>(hwloc_bitmap_first(node->cpuset)));
    EXPECT_EQ(cores_for_agent(own, all, {}, nodes), near & ~own);
    // Others have taken the rest of the node: a core of another node is better than the process's own.
    EXPECT_EQ(cores_for_agent(own, all, near & ~own, nodes), all & ~near);
  }
}

TEST(NumaNodes, WithoutCoresAreIgnored) {
  SyntheticMachine const machine("node:2 core:2 pu:1");
  machine.add_node(2, "");
  machine.add_node(3, "no list");
  EXPECT_EQ(machine.nodes().size(), 2u);
}

TEST(NumaNodes, AreUnknownWithoutTheKernelsFiles) {
  EXPECT_TRUE(read_numa_nodes("/nowhere").empty());
  EXPECT_FALSE(node_of({}, Cores().set(0)));
  EXPECT_FALSE(node_of({{0, Cores().set(0)}, {1, Cores().set(1)}}, {}));
}

struct Policy {
  int mode = -1;
  unsigned long nodes = 0;
};

/// The policy of the page at `address`; a mode of -1 if the kernel has none.
Policy policy_at(void const* address) {
  Policy policy;
  std::array<unsigned long, 16> nodes{};
  constexpr unsigned long of_address = 2;  // MPOL_F_ADDR
  if (::syscall(SYS_get_mempolicy, &policy.mode, nodes.data(), 8 * sizeof nodes, address, of_address) != 0)
    return {};
  policy.nodes = nodes.front();
  return policy;
}

constexpr int preferred = 1;  // MPOL_PREFERRED

TEST(NumaMemory, OfSegmentsPrefersTheNode) {
  SegmentTable segments;
  segments.set_node(0);
  ASSERT_EQ(segments.open(1, 1u << 20), Status::ok);
  SegmentTable::Reservation reservation;
  ASSERT_EQ(segments.reserve(4096, {}, &reservation), Status::ok);
  auto* const memory = reinterpret_cast<void*>(reservation.segment.base);
  Policy const policy = policy_at(memory);
  if (policy.mode < 0) GTEST_SKIP() << "the kernel has no memory policies";
  EXPECT_EQ(policy.mode, preferred);
  EXPECT_EQ(policy.nodes, 1u);
}

TEST(NumaMemory, OfOtherProcessesMappingsPrefersTheOwnersNode) {
  FileDescriptor file;
  ASSERT_EQ(create_shared("numa", 1u << 20, &file), Status::ok);
  Mapping const owners = Mapping::of(file, 1u << 20);
  Mapping const peers = Mapping::of(file, 1u << 20);
  if (policy_at(peers.base()).mode < 0) GTEST_SKIP() << "the kernel has no memory policies";
  EXPECT_NE(policy_at(peers.base()).mode, preferred);
  EXPECT_EQ(owners.prefer_node(0), 0);
  EXPECT_EQ(policy_at(peers.base()).mode, preferred);
}

TEST(NumaMemory, IsAllocatedIfTheNodeDoesNotExist) {
  for (unsigned const node : {700u, 100000u}) {
    SegmentTable segments;
    segments.set_node(node);
    ASSERT_EQ(segments.open(1, 1u << 20), Status::ok);
    SegmentTable::Reservation reservation;
    ASSERT_EQ(segments.reserve(4096, {}, &reservation), Status::ok);
    *reinterpret_cast<int*>(reservation.segment.base) = 7;
    EXPECT_NE(policy_at(reinterpret_cast<void*>(reservation.segment.base)).mode, preferred);
  }
}

}  // namespace
}  // namespace mpixrma::engine

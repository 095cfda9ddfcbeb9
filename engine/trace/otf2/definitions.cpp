#include "engine/trace/otf2/definitions.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace mpixrma::engine {

namespace {

// Without an explicit size, so that the assertion detects a missing name.
constexpr char const* op_names[] = {"put",
                                    "get",
                                    "accumulate",
                                    "increment",
                                    "swap",
                                    "compare and swap",
                                    "fetch and add",
                                    "fetch and increment",
                                    "fetch and accumulate",
                                    "request"};
static_assert(std::size(op_names) == traced_op_count);

class Definitions {
 public:
  explicit Definitions(OTF2_GlobalDefWriter* writer) : writer_(writer) {
    for (char const* const protocol : protocol_names) string(protocol);  // see protocol_string()
    none_ = string("");
  }

  void write_clock(TraceTimes times) {
    constexpr std::uint64_t per_second = 1'000'000'000;
    check_otf2(OTF2_GlobalDefWriter_WriteClockProperties(writer_, per_second, times.first,
                                                         times.last - times.first + 1, times.first));
  }

  void write_regions() {
    for (std::size_t op = 0; op < traced_op_count; ++op)
      region(issue_region(static_cast<TracedOp>(op)), op_names[op], "operation, at its origin");
    for (std::size_t op = 0; op < traced_op_count; ++op)
      region(execution_region(static_cast<TracedOp>(op)), std::string("execute ") + op_names[op],
             "requests of an origin, at the target");
    region(wait_region, "wait", "wait for messages to a target");
  }

  void write_attributes() {
    attribute(TraceAttribute::protocol, "protocol", OTF2_TYPE_STRING);
    attribute(TraceAttribute::rank, "rank", OTF2_TYPE_UINT32);
    attribute(TraceAttribute::requests, "requests", OTF2_TYPE_UINT32);
    attribute(TraceAttribute::bytes, "bytes", OTF2_TYPE_UINT64);
  }

  void write_processes(std::span<ProcessRecords const> processes, EventCounts const& events) {
    OTF2_StringRef const host_class = string("host");
    std::map<std::string, OTF2_SystemTreeNodeRef> hosts;
    for (ProcessRecords const& process : processes) {
      auto const [host, is_new] =
          hosts.try_emplace(process.host, static_cast<OTF2_SystemTreeNodeRef>(hosts.size()));
      if (!is_new) continue;
      OTF2_StringRef const name = string(process.host.empty() ? "unknown host" : process.host);
      check_otf2(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, host->second, name, host_class,
                                                          OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    }
    bool const one_job = std::ranges::all_of(processes, [&](ProcessRecords const& process) {
      return process.process >> 32 == processes.front().process >> 32;
    });
    for (std::size_t i = 0; i < processes.size(); ++i) {
      std::string name = "rank " + std::to_string(static_cast<std::uint32_t>(processes[i].process));
      if (!one_job) name += " of job " + std::to_string(processes[i].process >> 32);
      OTF2_StringRef const text = string(name);
      check_otf2(OTF2_GlobalDefWriter_WriteLocationGroup(
          writer_, static_cast<OTF2_LocationGroupRef>(i), text, OTF2_LOCATION_GROUP_TYPE_PROCESS,
          hosts.at(processes[i].host), OTF2_UNDEFINED_LOCATION_GROUP));
      write_threads(processes[i], i, events);
    }
  }

  /// A window of all processes, which the records of OTF2 for one-sided communication refer to.
  void write_window(std::size_t processes) {
    std::vector<std::uint64_t> locations;
    std::vector<std::uint64_t> ranks;
    for (std::size_t i = 0; i < processes; ++i) {
      locations.push_back(location_of(i, 0));
      ranks.push_back(i);
    }
    auto const group = [&](OTF2_GroupRef number, OTF2_GroupType type, std::vector<std::uint64_t> const& of) {
      check_otf2(OTF2_GlobalDefWriter_WriteGroup(writer_, number, none_, type, OTF2_PARADIGM_MPI,
                                                 OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(of.size()),
                                                 of.data()));
    };
    group(0, OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
    group(1, OTF2_GROUP_TYPE_COMM_GROUP, ranks);
    check_otf2(OTF2_GlobalDefWriter_WriteComm(writer_, 0, string("all processes"), 1, OTF2_UNDEFINED_COMM,
                                              OTF2_COMM_FLAG_NONE));
    check_otf2(OTF2_GlobalDefWriter_WriteRmaWin(writer_, trace_window, string("MPIX_RMA"), 0,
                                                OTF2_RMA_WIN_FLAG_NONE));
  }

 private:
  OTF2_StringRef string(std::string const& text) {
    check_otf2(OTF2_GlobalDefWriter_WriteString(writer_, strings_, text.c_str()));
    return strings_++;
  }

  void region(OTF2_RegionRef number, std::string const& name, char const* description) {
    OTF2_StringRef const text = string(name);
    check_otf2(OTF2_GlobalDefWriter_WriteRegion(writer_, number, text, text, string(description),
                                                OTF2_REGION_ROLE_RMA, OTF2_PARADIGM_MPI,
                                                OTF2_REGION_FLAG_NONE, none_, 0, 0));
  }

  void attribute(TraceAttribute number, char const* name, OTF2_Type type) {
    check_otf2(OTF2_GlobalDefWriter_WriteAttribute(writer_, static_cast<OTF2_AttributeRef>(number),
                                                   string(name), none_, type));
  }

  void write_threads(ProcessRecords const& process, std::size_t place, EventCounts const& events) {
    unsigned agents = 0;
    unsigned others = 0;
    for (std::size_t i = 0; i < process.threads.size(); ++i) {
      std::string name = "main thread";
      if (i != 0)
        name = process.threads[i].is_agent() ? "agent " + std::to_string(agents++)
                                             : "thread " + std::to_string(++others);
      OTF2_LocationRef const location = location_of(place, i);
      check_otf2(OTF2_GlobalDefWriter_WriteLocation(writer_, location, string(name),
                                                    OTF2_LOCATION_TYPE_CPU_THREAD, events.at(location),
                                                    static_cast<OTF2_LocationGroupRef>(place)));
    }
  }

  OTF2_GlobalDefWriter* writer_;
  OTF2_StringRef strings_ = 0;
  OTF2_StringRef none_;
};

}  // namespace

void write_definitions(OTF2_GlobalDefWriter* writer, std::span<ProcessRecords const> processes,
                       TraceTimes times, EventCounts const& events) {
  Definitions definitions(writer);
  definitions.write_clock(times);
  definitions.write_regions();
  definitions.write_attributes();
  definitions.write_processes(processes, events);
  definitions.write_window(processes.size());
}

}  // namespace mpixrma::engine

#include "engine/runtime/parameters.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>
#include <system_error>

#include "engine/op/kernel/copy_methods.hpp"
#include "engine/op/statistics.hpp"
#include "engine/runtime/mpix_engine.h"

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;
constexpr std::uint64_t tib = 1024 * gib;

#define QUOTED_PROTOCOL(name, NAME, number, means) "`" #name "`, "
#define LISTED_PROTOCOL(name, NAME, number, means) #name ", "
#define QUOTED_PROTOCOLS MPIX_ENGINE_PROTOCOLS(QUOTED_PROTOCOL)
#define LISTED_PROTOCOLS MPIX_ENGINE_PROTOCOLS(LISTED_PROTOCOL)
#define FIELD(member) offsetof(mpix_engine_config, member)

constexpr auto size_kind = MPIX_ENGINE_PARAMETER_SIZE;
constexpr auto number_kind = MPIX_ENGINE_PARAMETER_NUMBER;
constexpr auto switch_kind = MPIX_ENGINE_PARAMETER_SWITCH;
constexpr auto words_kind = MPIX_ENGINE_PARAMETER_WORDS;

constexpr mpix_engine_parameter table[] = {
    {"path", words_kind, 0, 0, 0, 0, 0, "auto", "", 5,
     "Protocols that operations may use: a list of " QUOTED_PROTOCOLS
     "or `auto` for all. Messages serve what the others cannot, whether listed or not. "
     "Without `direct`, `cross_memory` and `ring`, processes of the same host are treated like those of "
     "another host."},
    {"network", words_kind, 0, 0, 0, 0, 0, "auto", "", 5,
     "Use of the protocol `network`, UCX put and get, for registered memory of other hosts: `auto` where the "
     "network does them in hardware; `warn`: as `auto`, but prints a warning if the hardware lacks them; "
     "`never`: all operations on other hosts are messages. `emulated`, for tests: also where UCX emulates "
     "them; the target's process is killed if registered memory is unmapped or protected. All processes of a "
     "job must agree on whether UCX puts and gets, by this parameter and by `path`: UCX 1.13 ends a process "
     "that connects to one with other features."},
    {"interfaces", words_kind, 0, 0, 0, 0, 0, "auto", "", 5,
     "Interfaces for messages over TCP: names and IPv4 subnets (`eth1,10.1.0.0/16`). A leading `^` "
     "excludes the listed ones; a leading `+` (`+eth1`) adds the loopback interface. `auto`: the "
     "interfaces of `btl_tcp_if_include` and `btl_tcp_if_exclude`, and the loopback interface in a job "
     "on one host; only the loopback interface in a job that cannot leave its host (docs/security.md). "
     "`all`: every interface. `UCX_NET_DEVICES` takes precedence."},
    // Large enough to make the cost of a message negligible, small enough to be copied while the next one
    // arrives.
    {"fragment_size", size_kind, FIELD(fragment_bytes), 256, 16 * mib, 128 * kib, 0, nullptr, "bytes", 6,
     "Largest payload of one message. UCX's TCP segments are enlarged to hold such a message with its header "
     "where 64 KiB do not suffice, unless `UCX_TCP_RX_SEG_SIZE` is set."},
    {"credit", size_kind, FIELD(credit_bytes), 256, gib, 2 * mib, 0, nullptr, "bytes", 6,
     "Maximum number of bytes in flight to a target as messages; not below `fragment_size`. A target with "
     "many origins grants each of them less."},
    {"batch_size", size_kind, FIELD(batch_bytes), kib, mib, 60 * kib, 1, nullptr, "bytes", 6,
     "Largest batch: a message with several small operations to one target, which are collected while "
     "earlier messages are in flight, or while a series of operations is expected (docs/semantics.md, "
     "Protocols). 0: each operation is a message of its own."},
    {"target_memory", size_kind, FIELD(target_memory_bytes), 64 * kib, tib, 8 * mib, 0, nullptr, "bytes", 6,
     "Memory for operations that wait to be sent to one target. A call that would exceed it "
     "blocks, and makes progress meanwhile."},
    {"process_memory", size_kind, FIELD(process_memory_bytes), 64 * kib, tib, 64 * mib, 0, nullptr, "bytes",
     6, "The same for all targets together, including messages that wait in UCX. At least `target_memory`."},
    {"origins_memory", size_kind, FIELD(origins_memory_bytes), 64 * kib, tib, 256 * mib, 0, nullptr, "bytes",
     6,
     "Memory for requests of all origins at this process. Each origin's credit is a share of it, at "
     "least 65536."},
    {"max_endpoints", size_kind, FIELD(max_endpoints), 1, 16 * mib, 1024, 0, nullptr, "", 6,
     "Open connections to other processes. Beyond this number, the least recently used idle connections "
     "are closed, and reopened when they are needed. The process lowers the number to half of the file "
     "descriptors that it may still open when the engine starts."},
    {"heap_size", size_kind, FIELD(heap_bytes), 64 * kib, tib, 64 * mib, 0, nullptr, "bytes", 6,
     "Size of the regions in which communicatable memory is taken from the system."},
    {"idle_memory", size_kind, FIELD(idle_memory_bytes), 1, tib, gib, 1, nullptr, "bytes", 6,
     "Freed communicatable memory that the process keeps for later allocations, as long as the machine "
     "has eight times as much left. 0: all memory returns to the system at once."},
    {"same_address_base", size_kind, FIELD(same_address_base), gib, 64 * tib, 32 * tib, 0, nullptr, "", 6,
     "Where the addresses of allocations with the info key `mpix_same_address` begin. They end 16 TiB above. "
     "Nothing else should be mapped there in any process of the job, which all have the same value."},
    {"agent_cores", words_kind, 0, 0, 0, 0, 0, "auto", "", 6,
     "Cores of the agent thread. `auto`: if the process is bound to cores, those of the host to which no "
     "process of the job is bound. `bound`: the cores of the process. Or a list such as `0,2-3`."},
    // A small multiple of the time to fall asleep and to wake up.
    {"agent_linger_us", number_kind, FIELD(agent_linger_us), 1, 1000000, 30, 1, nullptr, "microseconds", 6,
     "How long the agent polls for the next message before it sleeps, if messages arrive that fast. "
     "Falling asleep and waking up takes about 10 microseconds of the core's time. While the agent polls, a "
     "thread that computes on the same core has to wait. 0: the agent does not poll."},
    // The time of a wake-up of the agent: a polling process occasionally pauses for that long.
    {"ring_us", number_kind, FIELD(ring_us), 1, 1000, 20, 1, nullptr, "microseconds", 6,
     "How long an origin waits for a target on its host to poll the target's ring, which serves operations "
     "on memory that is not mapped, before the origin uses another protocol (docs/semantics.md, Protocols). "
     "After such a time-out the origin avoids the ring for some operations. 0: the ring is not used."},
    {"agent_poll_us", number_kind, FIELD(agent_poll_us), 1, 1000000, 500, 0, nullptr, "microseconds", 6,
     "Interval at which the agent checks whether an application that polls, or issues operations, still "
     "does."},
    {"channels", number_kind, FIELD(channels), 1, 16, 0, 1, nullptr, "", 6,
     "Channels for messages. Each has a lock, a UCX worker and an agent thread, so threads that "
     "communicate on different channels do not wait for each other. A worker takes about 4 MiB of "
     "`/dev/shm` and some descriptors. 0: with MPI_THREAD_MULTIPLE, and 1 GiB free in `/dev/shm`, one "
     "channel for each core that the process may use, at most 4; otherwise 1."},
    {"copy", words_kind, 0, 0, 0, 0, 0, "auto", "", 6,
     "Methods of copies of at least 2 KiB: `library` (memcpy), `vector`, or `string` (the processor's string "
     "copy), for all or as a list of `SIZE=METHOD` and `SIZE.SHIFT=METHOD`, of which later items prevail "
     "(`library,2k.close=vector,2m=string`). Sizes are `2k`, `8k`, `32k`, `128k`, `512k`, `2m`, `8m`. "
     "The shift is the distance from the origin's offset in a page to the target's: `alike` (a multiple of "
     "64), `close` (less than 64 ahead), `ahead` (less than 2048 ahead), `other`. `auto`, and what is not "
     "listed: as measured on this host, which `mpix-rma info` shows and `mpix-rma tune` repeats; without a "
     "measurement `library`."},
    {"prefault", switch_kind, FIELD(prefault), 0, 1, 1, 0, nullptr, "", 6,
     "1: a thread prefaults large mappings of other processes' memory (MADV_POPULATE_READ, since Linux 5.14) "
     "where accesses cause many page faults. 0: each first access to a page is a page fault."},
    {"numa_memory", switch_kind, FIELD(numa_memory), 0, 1, 1, 0, nullptr, "", 6,
     "1: communicatable memory of a process that is bound to cores of one NUMA node is allocated on that "
     "node, "
     "whatever process touches it first. 0: on the node of the thread that touches it first."},
    {"defer_network", switch_kind, FIELD(defer_network), 0, 1, 1, 0, nullptr, "", 6,
     "1: in a job on one host, UCX as a whole, not only its put and get, starts when the first message is "
     "sent; most such jobs send none. 0: UCX starts with the engine, as in a job on several hosts."},
    {"check", switch_kind, FIELD(check), 0, 1, MPIX_CHECKING, 0, nullptr, "", 4,
     "1: verify that memory is communicatable if a call says so; if it is not, the call fails and prints "
     "one line. The default is 1 in builds with `-DMPIX_CHECKING=ON`."},
    {"statistics", switch_kind, FIELD(count_direct), 0, 1, 0, 0, nullptr, "", 4,
     "1: count operations by load and store as well. Each of them then takes several times as "
     "long."},
    {"trace", words_kind, 0, 0, 0, 0, 0, "none", "", 4,
     "Directory of an OTF2 trace of all operations (What each process did, and when); a contiguous "
     "operation by load and store then takes 60 to 100 more instructions. `none`: no trace is written."},
    {"verbose", number_kind, FIELD(verbose), 0, 2, 0, 0, nullptr, "", 4,
     "1: life cycle and memory, 2: also peers and protocols."},
};

#undef FIELD

/// Stores a size, a number or a switch.
void store(mpix_engine_config& config, mpix_engine_parameter const& parameter, std::uint64_t value) noexcept {
  auto* const field = reinterpret_cast<char*>(&config) + parameter.field;
  // In these fields 0 means the default, and all bits set mean none or never.
  bool const never = value == 0 && parameter.permits_zero != 0 && parameter.initial != 0;
  if (parameter.kind == MPIX_ENGINE_PARAMETER_SIZE) {
    std::size_t const number = never ? SIZE_MAX : static_cast<std::size_t>(value);
    std::memcpy(field, &number, sizeof number);
  } else {
    int const number = never ? -1 : static_cast<int>(value);
    std::memcpy(field, &number, sizeof number);
  }
}

template <typename... Values>
int refuse(char* why, std::size_t bytes, char const* format, Values... values) {
  std::snprintf(why, bytes, format, values...);
  return MPIX_ENGINE_BAD_ARGUMENT;
}

int refuse_value(mpix_engine_parameter const& parameter, char const* value, char* why, std::size_t bytes) {
  bool const from_zero = parameter.permits_zero != 0 && parameter.minimum <= 1;
  bool const or_zero = parameter.permits_zero != 0 && !from_zero;
  bool const has_unit = *parameter.unit != '\0';
  return refuse(why, bytes, "%s is %s%s%s; expected %llu to %llu%s", parameter.name, value,
                has_unit ? " " : "", parameter.unit,
                static_cast<unsigned long long>(from_zero ? 0 : parameter.minimum),
                static_cast<unsigned long long>(parameter.maximum), or_zero ? ", or 0" : "");
}

struct FormerName {
  std::string_view former;
  std::string_view name;
};
constexpr FormerName former_parameters[] = {
    {"rdma", "network"}, {"mailbox_us", "ring_us"}, {"window_size", "credit"}};
constexpr FormerName former_protocols[] = {{"rdma", "network"}, {"agent", "ring,message"}};

/// Returns 0 if the word names no protocol.
unsigned protocol_of(std::string_view word) noexcept {
  auto const found = std::ranges::find(mpixrma::engine::protocol_names, word);
  return found == mpixrma::engine::protocol_names.end()
             ? 0
             : 1U << (found - mpixrma::engine::protocol_names.begin());
}

/// Returns the protocols of a former name, whose new names are written to `why`; 0 if the word is no former
/// name.
unsigned former_protocols_of(std::string_view word, char* why, std::size_t bytes) noexcept {
  for (FormerName const& protocol : former_protocols) {
    if (protocol.former != word) continue;
    std::snprintf(why, bytes, "path has \"%.*s\", whose name is now \"%.*s\"", static_cast<int>(word.size()),
                  word.data(), static_cast<int>(protocol.name.size()), protocol.name.data());
    return word == "rdma" ? protocol_of("network") : protocol_of("ring") | protocol_of("message");
  }
  return 0;
}

/// Unless `direct` or `cross_memory` is listed too, `agent` means messages only, even on the same host.
unsigned without_lone_ring(unsigned protocols) noexcept {
  constexpr unsigned mapped = MPIX_ENGINE_PROTOCOL_DIRECT | MPIX_ENGINE_PROTOCOL_CROSS_MEMORY;
  return (protocols & mapped) != 0 ? protocols : protocols & ~unsigned{MPIX_ENGINE_PROTOCOL_RING};
}

/// `path` and `network` may be set in either order, because both only clear bits of `protocols`.
int set_protocols(mpix_engine_config& config, std::string_view text, char* why, std::size_t bytes) {
  if (text == "auto") return 0;
  unsigned protocols = 0;
  unsigned former = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view const word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
    unsigned const protocol = protocol_of(word);
    unsigned const before = protocol == 0 ? former_protocols_of(word, why, bytes) : 0;
    if ((protocol | before) == 0)
      return refuse(why, bytes, "path has \"%.*s\", which is none of " LISTED_PROTOCOLS "auto",
                    static_cast<int>(word.size()), word.data());
    protocols |= protocol;
    former |= before;
  }
  config.protocols &= protocols | without_lone_ring(protocols | former);
  return 0;
}

int set_network(mpix_engine_config& config, std::string_view word, char* why, std::size_t bytes) {
  if (word == "never") {
    config.protocols &= ~static_cast<unsigned>(MPIX_ENGINE_PROTOCOL_NETWORK);
  } else if (word == "warn") {
    config.network_hardware_expected = 1;
  } else if (word == "emulated") {
    config.network_without_hardware = 1;
  } else if (word != "auto") {
    return refuse(why, bytes, "network is \"%.*s\"; expected auto, warn, never or emulated",
                  static_cast<int>(word.size()), word.data());
  }
  return 0;
}

int set_copy(mpix_engine_config& config, char const* text, char* why, std::size_t bytes) {
  mpixrma::engine::CopyTable chosen;
  std::string_view const wrong = mpixrma::engine::read_copy_methods(text, chosen);
  if (!wrong.empty())
    return refuse(why, bytes,
                  "copy has \"%.*s\"; expected auto, or items METHOD, SIZE=METHOD or SIZE.SHIFT=METHOD with "
                  "library, vector or string for METHOD",
                  static_cast<int>(wrong.size()), wrong.data());
  config.copy_methods = text;
  return 0;
}

}  // namespace

const mpix_engine_parameter* mpix_engine_parameters(std::size_t* count) {
  *count = std::size(table);
  return table;
}

const char* mpix_engine_former_name(const mpix_engine_parameter* parameter) {
  for (FormerName const& one : former_parameters)
    if (one.name == parameter->name) return one.former.data();
  return nullptr;
}

int mpix_engine_set_number(mpix_engine_config* config, const mpix_engine_parameter* parameter,
                           std::int64_t value, char* why, std::size_t bytes) {
  auto const number = static_cast<std::uint64_t>(value);
  bool const in_range = value >= 0 && number >= parameter->minimum && number <= parameter->maximum;
  if (in_range || (value == 0 && parameter->permits_zero != 0)) {
    store(*config, *parameter, number);
    return 0;
  }
  char text[24];
  std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  return refuse_value(*parameter, text, why, bytes);
}

int mpix_engine_set_text(mpix_engine_config* config, const mpix_engine_parameter* parameter, const char* text,
                         char* why, std::size_t bytes) {
  std::string_view const given = text;
  *why = '\0';
  if (parameter->kind == MPIX_ENGINE_PARAMETER_WORDS) {
    std::string_view const name = parameter->name;
    if (name == "path") return set_protocols(*config, given, why, bytes);
    if (name == "network") return set_network(*config, given, why, bytes);
    if (name == "copy") return set_copy(*config, text, why, bytes);
    if (name == "trace") config->trace = given.empty() || given == "none" ? nullptr : text;
    if (name == "agent_cores") config->agent_cores = text;
    if (name == "interfaces" && given != "auto") config->interfaces = given == "all" ? nullptr : text;
    return 0;
  }
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(given.begin(), given.end(), value);
  if (error != std::errc{} || end != given.end()) return refuse_value(*parameter, text, why, bytes);
  return mpix_engine_set_number(config, parameter, value, why, bytes);
}

int mpix_engine_check_config(const mpix_engine_config* config, char* why, std::size_t bytes) {
  auto const refuse_pair = [&](char const* less, std::size_t least, char const* more, std::size_t most) {
    return refuse(why, bytes, "%s is %zu bytes; expected at least %s, %zu bytes", less, least, more, most);
  };
  if (config->credit_bytes < config->fragment_bytes)
    return refuse_pair("credit", config->credit_bytes, "fragment_size", config->fragment_bytes);
  if (config->process_memory_bytes < config->target_memory_bytes)
    return refuse_pair("process_memory", config->process_memory_bytes, "target_memory",
                       config->target_memory_bytes);
  return 0;
}

#include "nam/client/session.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/net/address.hpp"
#include "nam/protocol/host_address.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t piece_bytes = 1u << 20;
constexpr std::uint64_t region_alignment = 64;
constexpr std::size_t max_regions = 65536;
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;  ///< the sum of two such numbers fits

[[noreturn]] void refuse_window() {
  throw Error(ErrorCode::malformed, "the memory server sent an inconsistent description of a window");
}

std::uint64_t bytes_of(WindowInfo const& window) noexcept {
  std::uint64_t bytes = 0;
  for (WindowRegion const& region : window.regions) bytes += region.bytes;
  return bytes;
}

/// Adds the regions of the answer. Throws if the data from the server are inconsistent.
void add_regions(Json const& answer, WindowInfo* window) {
  auto const sizes = field<std::vector<std::uint64_t>>(answer, "sizes");
  auto const units = field<std::vector<std::uint64_t>>(answer, "units");
  std::uint64_t end = field<std::uint64_t>(answer, "offset");
  if (sizes.size() != units.size() || sizes.size() > max_regions || end > max_bytes) refuse_window();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    end = (end + region_alignment - 1) / region_alignment * region_alignment;
    if (units[i] == 0 || sizes[i] > max_bytes || end > max_bytes - sizes[i]) refuse_window();
    window->regions.push_back({end, sizes[i], units[i]});
    end += sizes[i];
  }
}

Durability durability_of(Json const& answer) {
  auto const name = field<std::string>(answer, "durability");
  try {
    return parse_durability(name);
  } catch (Error const&) {
    refuse_window();
  }
}

WindowInfo window_from(Json const& answer) {
  WindowInfo window;
  window.id = field<std::string>(answer, "window");
  window.port = field_or<std::string>(answer, "port", "");
  window.grant = field<std::string>(answer, "grant");
  window.owner = field<std::uint64_t>(answer, "owner");
  window.other_parts = field_or<std::vector<std::string>>(answer, "other_parts", {});
  window.chunk_bytes = field_or<std::uint64_t>(answer, "stripe", 0);
  window.persistent = field<bool>(answer, "persistent");
  window.owns_grant = field_or(answer, "owns_grant", true);
  window.may_read = field<bool>(answer, "read");
  window.may_write = field<bool>(answer, "write");
  window.durability = durability_of(answer);
  window.slot = field<SharedControl::Slot>(answer, "slot");
  window.generation = field<std::uint64_t>(answer, "generation");
  window.exposure = field_or<std::uint64_t>(answer, "exposure", 0);
  if (window.other_parts.size() >= max_parts || window.chunk_bytes % chunk_granularity != 0) refuse_window();
  add_regions(answer, &window);
  return window;
}

/// Checks that the server created the window as requested.
void check_shape(WindowInfo const& window, std::vector<std::uint64_t> const& sizes,
                 std::vector<std::uint64_t> const& units) {
  if (window.regions.size() != sizes.size() || sizes.size() != units.size()) refuse_window();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (window.regions[i].bytes != sizes[i] || window.regions[i].unit != units[i]) refuse_window();
  }
}

/// Checks the size of the descriptor's file, because an access beyond its end would kill the process.
engine::Mapping mapping_of(FileDescriptor const& descriptor, std::uint64_t bytes) {
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::uint64_t>(status.st_size) < bytes)
    throw Error(ErrorCode::malformed, "the memory server sent less memory than the grant has");
  return engine::Mapping::of(descriptor, bytes);
}

}  // namespace

GrantMapping::GrantMapping(FileDescriptor const& descriptor, std::uint64_t bytes, SharedControl control)
    : mapping_(mapping_of(descriptor, bytes)), control_(std::move(control)) {
  if (!mapping_) throw Error(ErrorCode::unavailable, "the memory of the grant cannot be mapped");
}

void GrantMapping::check(WindowInfo const& window) const {
  bool fits = window.slot < control_.slots();
  for (WindowRegion const& region : window.regions)
    fits = fits && region.offset <= bytes() && region.bytes <= bytes() - region.offset;
  if (!fits) refuse_window();
}

namespace {

/// Opens a connection and sends the request that turns it into a session. The server may hand the session to
/// a data process that has just died, which closes the connection; the retry reaches its successor.
template <typename... Timeout>
Client open_client(Address const& server, Json const& request, Json* answer, Timeout... timeout_ms) {
  Client client(server, timeout_ms...);
  try {
    *answer = client.request(request);
    return client;
  } catch (Error const& error) {
    if (error.code() != ErrorCode::unavailable) throw;
  }
  Client again(server, timeout_ms...);
  *answer = again.request(request);
  return again;
}

}  // namespace

Session Session::open(Locator const& grant, int timeout_ms) {
  Json answer;
  Client client = open_client(grant.address, {{"op", "open"}, {"grant", grant.grant}}, &answer, timeout_ms);
  client.keep_lease();
  return Session(std::move(client));
}

Session Session::connect(std::string const& port, WindowInfo* window) {
  return connect(port, parse_locator(port).address, window);
}

Session Session::connect(std::string const& port, Address const& server, WindowInfo* window) {
  Json answer;
  Client client = open_client(server, {{"op", "connect"}, {"port", port}}, &answer);
  *window = window_from(answer);
  window->port = port;
  client.keep_lease();
  return Session(std::move(client));
}

WindowInfo Session::allocate(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                             WindowOptions const& options) {
  WindowInfo window = window_from(client_.request({{"op", "allocate"},
                                                   {"sizes", sizes},
                                                   {"units", units},
                                                   {"persistent", options.persistent},
                                                   {"durability", to_string(options.durability)},
                                                   {"mode", options.mode},
                                                   {"other_parts", options.other_parts},
                                                   {"stripe", options.chunk_bytes}}));
  check_shape(window, sizes, units);
  return window;
}

WindowInfo Session::join(std::string const& window) {
  WindowInfo joined = window_from(client_.request({{"op", "join"}, {"window", window}}));
  if (joined.id != window) refuse_window();
  return joined;
}

void Session::make_persistent(WindowInfo* window) {
  client_.expect_work(bytes_of(*window));
  WindowInfo kept = window_from(client_.request({{"op", "keep"}, {"window", window->id}}));
  if (kept.id != window->id || kept.slot != window->slot || kept.regions != window->regions) refuse_window();
  *window = std::move(kept);
}

namespace {

Json release_of(WindowInfo const& window) { return {{"op", "release"}, {"window", window.id}}; }

}  // namespace

void Session::release(WindowInfo const& window) { (void)client_.request(release_of(window)); }

void Session::release_soon(WindowInfo const& window) { client_.send_unanswered(release_of(window)); }

void Session::persist(WindowInfo const& window) {
  client_.expect_work(bytes_of(window));
  (void)client_.request({{"op", "persist"}, {"window", window.id}});
}

void Session::read(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset,
                   std::span<std::byte> into) {
  while (!into.empty()) {
    std::size_t const bytes = std::min(into.size(), piece_bytes);
    std::vector<std::byte> data;
    (void)client_.exchange(
        {{"op", "read"}, {"window", window.id}, {"rank", rank}, {"offset", offset}, {"bytes", bytes}}, {},
        &data, nullptr);
    if (data.size() != bytes)
      throw Error(ErrorCode::malformed, "the memory server sent less data than requested");
    std::copy(data.begin(), data.end(), into.begin());
    into = into.subspan(bytes);
    offset += bytes;
  }
}

void Session::write(WindowInfo const& window, std::uint64_t rank, std::uint64_t offset,
                    std::span<std::byte const> from) {
  while (!from.empty()) {
    std::size_t const bytes = std::min(from.size(), piece_bytes);
    (void)client_.exchange({{"op", "write"}, {"window", window.id}, {"rank", rank}, {"offset", offset}},
                           from.first(bytes), nullptr, nullptr);
    from = from.subspan(bytes);
    offset += bytes;
  }
}

bool Session::operate(WindowInfo const& window, std::uint64_t rank, OperationRequest const& request,
                      std::span<std::byte> fetched) {
  Json head{{"op", "operate"}, {"window", window.id}, {"rank", rank}};
  std::vector<std::byte> const sent = pack(request, &head);
  std::vector<std::byte> received;
  Json const answer = client_.exchange(head, sent, &received, nullptr);
  if (!field<bool>(answer, "executed")) return false;
  if (received.size() != fetched.size())
    throw Error(ErrorCode::malformed, "the memory server sent less data than requested");
  std::copy(received.begin(), received.end(), fetched.begin());
  return true;
}

GrantMapping Session::map() {
  std::vector<FileDescriptor> descriptors;
  Json const answer = client_.exchange({{"op", "map"}}, {}, nullptr, &descriptors);
  if (descriptors.size() < 2) throw Error(ErrorCode::malformed, "the memory server sent no memory");
  // A process that waits for a stripe checks by pid whether the holder is alive.
  if (field<std::uint64_t>(answer, "pid_namespace") != engine::HostIdentity::of_this_process().pid_namespace)
    throw Error(ErrorCode::unsupported,
                "memory is mapped by processes that the server can see: this one is in another namespace");
  return {descriptors[0], field<std::uint64_t>(answer, "bytes"), SharedControl(std::move(descriptors[1]))};
}

std::vector<std::byte> Session::engine_address() {
  std::vector<std::byte> address;
  bool const demanded = demands_encryption();
  (void)client_.exchange(
      {{"op", "engine_address"}, {"encrypt", demanded}, {"addresses", own_host_addresses()}}, {}, &address,
      nullptr);
  if (demanded) demand_encryption(address);
  return address;
}

bool Session::try_lock(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank,
                       engine::LockMode mode, bool* has_turn) {
  Json const answer = client_.request({{"op", "try_lock"},
                                       {"window", window.id},
                                       {"holder", holder},
                                       {"rank", rank},
                                       {"exclusive", mode == engine::LockMode::exclusive},
                                       {"has_turn", *has_turn}});
  *has_turn = field<bool>(answer, "has_turn");
  return field<bool>(answer, "taken");
}

void Session::unlock_soon(WindowInfo const& window, std::uint64_t holder, std::uint32_t rank) {
  client_.send_unanswered({{"op", "unlock"}, {"holder", holder}, {"slot", window.slot}, {"rank", rank}});
}

void Session::end_locks(std::uint64_t holder) {
  client_.send_unanswered({{"op", "end_locks"}, {"holder", holder}});
}

Json Session::usage() { return client_.request({{"op", "usage"}}); }

bool demands_encryption() noexcept {
  char const* const given = std::getenv("MPIX_NAM_ENCRYPT");
  return given != nullptr && std::string_view(given) == "1";
}

bool is_encrypted(std::span<std::byte const> address) {
  engine::ProcessAddress published;
  engine::Secret ignored;
  return engine::read_published(address, &published, &ignored) && published.encrypt;
}

/// An older server ignores the request for encryption, so the client checks the result.
void demand_encryption(std::span<std::byte const> address) {
  if (!is_encrypted(address))
    throw Error(
        ErrorCode::unsupported,
        "the memory server does not encrypt data, which this client requires: start it with --encrypt");
}

}  // namespace mpixrma::nam

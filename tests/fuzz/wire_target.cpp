/// Messages: checked as by the receiver, and walked as by the executor, without access to the addressed
/// memory.
#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/net/wire.hpp"
#include "engine/target/executor.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::engine;

// The first byte of an input. Without `foreign` and `cut`, magic and version are corrected, so that inputs
// stay useful when these change; without `cut`, a short header is padded with zeros.
constexpr unsigned reply_bit = 1;
constexpr unsigned foreign_bit = 2;
constexpr unsigned cut_bit = 4;

constexpr std::uint64_t longest_walk = 1u << 16;  // data bytes

/// Returns a header, or with `cut` a part of one, on the heap, where the sanitizer detects reads beyond it.
template <typename Header>
std::unique_ptr<std::byte[]> make_header(Input bytes, unsigned mode) {
  bool const cut = (mode & cut_bit) != 0;
  auto made = std::make_unique<std::byte[]>(cut ? bytes.size() : sizeof(Header));
  std::memcpy(made.get(), bytes.data(), bytes.size());
  if ((mode & foreign_bit) == 0 && !cut) {
    std::memcpy(made.get() + offsetof(Header, magic), &wire::magic, sizeof wire::magic);
    std::memcpy(made.get() + offsetof(Header, version), &wire::version, sizeof wire::version);
  }
  return made;
}

/// Checks the properties that the executor relies on.
void walk(wire::CheckedRequest const& request) {
  wire::RequestHeader const& header = request.header;
  std::size_t const size = request.layout.size();
  require(header.layout_offset <= size && header.bytes <= size - header.layout_offset,
          "a range outside of the layout");
  require(request.layout.dims.size() <= max_dimensions, "too many dimensions");
  Extent const whole = request.layout.extent();
  require(whole.begin <= whole.end, "an extent that ends before it begins");
  (void)request.layout.has_whole(8);
  if (header.bytes > longest_walk) return;
  RemoteAddress begin = 0;
  RemoteAddress end = 0;
  bool const in_memory = touched_range(request, &begin, &end);
  static UpdateModes const modes;
  (void)stripes_for(request, modes);
  LayoutCursor cursor(request.layout);
  cursor.seek(header.layout_offset);
  for (std::uint64_t rest = header.bytes; rest != 0;) {
    LayoutRun const run = cursor.next(rest);
    require(run.length != 0 && run.length <= rest, "a run that is empty or too long");
    auto const run_end = run.offset + static_cast<std::ptrdiff_t>(run.length);
    require(run.offset >= whole.begin && run_end <= whole.end, "a run outside of the extent");
    RemoteAddress const at = header.address + static_cast<std::uint64_t>(run.offset);
    require(!in_memory || (at >= begin && at + run.length <= end), "a run outside of the touched range");
    rest -= run.length;
  }
}

}  // namespace

bool wire(Input input) {
  Reader reader(input);
  unsigned const mode = reader.byte();
  bool const is_reply = (mode & reply_bit) != 0;
  std::size_t const wanted = is_reply ? sizeof(wire::ReplyHeader) : sizeof(wire::RequestHeader);
  Input const given = reader.take(wanted);
  auto const header =
      is_reply ? make_header<wire::ReplyHeader>(given, mode) : make_header<wire::RequestHeader>(given, mode);
  std::size_t const header_bytes = (mode & cut_bit) != 0 ? given.size() : wanted;
  Input const data = reader.rest();
  auto const payload = std::make_unique<std::byte[]>(data.size());  // aligned, as a received one
  if (!data.empty()) std::memcpy(payload.get(), data.data(), data.size());
  if (is_reply) {
    wire::ReplyHeader out{};
    if (wire::check({header.get(), header_bytes}, {payload.get(), data.size()}, &out) != nullptr)
      return false;
    require(out.bytes == data.size(), "a reply of another size than it says");
    return true;
  }
  wire::CheckedRequest request{};
  std::size_t const copied = wire::copy_bytes_for({header.get(), header_bytes}, data.size());
  auto const copy = std::make_unique<std::byte[]>(copied);
  if (wire::check({header.get(), header_bytes}, {payload.get(), data.size()}, &request,
                  {copy.get(), copied}) != nullptr)
    return false;
  walk(request);
  return true;
}

}  // namespace mpixrma::fuzz

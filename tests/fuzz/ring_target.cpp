/// Requests in a ring: an executor takes them, and they change only exposed memory. A process that can write
/// the ring can write arbitrary data.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "engine/target/executor.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::engine;

// The first byte of an input. Without `foreign`, fields that no input could guess or keep are corrected:
// magic, version, the position in a stream, and the id of the exposure.
constexpr unsigned staged_bit = 1;
constexpr unsigned foreign_ring_bit = 2;
constexpr unsigned read_only_bit = 4;
constexpr unsigned non_temporal_bit = 8;

constexpr std::size_t memory_bytes = 4096;
constexpr std::size_t exposed_begin = 1024;
constexpr std::size_t exposed_bytes = 2048;
constexpr auto untouched = std::byte{0xc3};

/// A process of which only exposed memory is accessible.
class Victim {
 public:
  Victim() : memory_(std::make_unique<std::byte[]>(memory_bytes)) {
    auto const base = reinterpret_cast<RemoteAddress>(memory_.get());
    bool const made =
        !failed(segments_.open(credentials_.process, std::size_t{1} << 20)) &&
        !failed(segments_.attach(memory_.get(), memory_bytes, Registrar::host, &replaced_)) &&
        !failed(segments_.expose({base + exposed_begin, exposed_bytes, Rights::all}, &exposure_)) &&
        !failed(segments_.expose({base + exposed_begin, exposed_bytes, Rights::read}, &read_only_));
    require(made, "no process to send a request to");
    locks_.open(segments_.control().shared, segments_.control().lock_clock);
  }

  /// Fills a slot, has it executed, and returns the reply.
  template <typename Fill>
  Status send(Fill fill) {
    std::memset(memory_.get(), static_cast<int>(untouched), memory_bytes);
    Ring& ring = segments_.control().ring;
    RingSlot* const slot = ring.claim(0, ::getpid());
    require(slot != nullptr, "a slot that was not given back");
    fill(slot->content(), ring.staged_of(*slot));
    ring.post(*slot);
    require(executor_.ring.take(ring) == 1 && slot->is_complete(), "request without a reply");
    auto const status = static_cast<Status>(slot->content().status);
    ring.free(*slot);
    return status;
  }
  /// Checks that [begin, end) of the memory is unchanged.
  void require_untouched(std::size_t begin, std::size_t end) const {
    require(std::all_of(&memory_[begin], &memory_[end], [](std::byte byte) { return byte == untouched; }),
            "memory that was changed without the right to");
  }
  std::uint64_t exposure(bool read_only) const noexcept {
    return static_cast<std::uint64_t>(read_only ? read_only_ : exposure_);
  }

 private:
  Log const log_{-1, 0};  // silent
  Credentials const credentials_ = Credentials::make(1, {.exposed_only = true});
  SegmentTable segments_{log_};
  LockTable locks_{log_};
  Transport transport_{log_};
  ProcessWatch watch_;
  Connections connections_{transport_, watch_, HostIdentity::of_this_process(), 1, log_};
  Executor executor_{{transport_, connections_, segments_, locks_, credentials_}, {}, log_};
  std::unique_ptr<std::byte[]> const memory_;
  std::vector<OwnSegment> replaced_;
  ExposureId exposure_{};
  ExposureId read_only_{};
};

template <typename Value>
void fill_front(Value& value, Reader& reader, std::size_t bytes = sizeof(Value)) {
  Input const given = reader.take(bytes);
  std::memset(static_cast<void*>(&value), 0, bytes);
  if (!given.empty()) std::memcpy(static_cast<void*>(&value), given.data(), given.size());
}

void fill_staged(StagedRequest& staged, Reader& reader, unsigned mode, std::uint64_t exposure) {
  fill_front(staged.header, reader);
  Input const payload = reader.rest();
  staged.payload_bytes = payload.size();
  if ((mode & foreign_ring_bit) != 0) {
    fill_front(staged.payload_bytes, reader);
  } else {
    staged.header.magic = wire::magic;
    staged.header.version = wire::version;
    staged.header.sequence = 1;
    staged.header.exposure = exposure;
  }
  Input const rest = reader.rest();
  std::size_t const fits = std::min(rest.size(), sizeof staged.payload);
  std::memset(staged.payload, 0, sizeof staged.payload);
  if (fits != 0) std::memcpy(staged.payload, rest.data(), fits);
}

}  // namespace

bool ring(Input input) {
  static Victim victim;
  Reader reader(input);
  unsigned const mode = reader.byte();
  bool const read_only = (mode & read_only_bit) != 0;
  std::uint64_t const exposure = victim.exposure(read_only);
  Status const status = victim.send([&](RingEntry& entry, StagedRequest& staged) {
    entry = RingEntry{};
    if ((mode & staged_bit) != 0) {
      entry.staging = (mode & non_temporal_bit) != 0 ? Staging::non_temporal : Staging::cached;
      return fill_staged(staged, reader, mode, exposure);
    }
    fill_front(entry, reader);
    entry.staging = Staging::none;
    if ((mode & foreign_ring_bit) == 0) entry.exposure = exposure;
  });
  require(status < Status::count_, "a reply without a status");
  victim.require_untouched(0, exposed_begin);
  victim.require_untouched(exposed_begin + exposed_bytes, memory_bytes);
  bool const foreign = (mode & foreign_ring_bit) != 0;
  if (read_only && !foreign) victim.require_untouched(exposed_begin, exposed_begin + exposed_bytes);
  return status == Status::ok;
}

}  // namespace mpixrma::fuzz

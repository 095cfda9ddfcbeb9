#include "mpi-windows/nam/description.hpp"

#include <mpi.h>

#include <cstring>

#include "mpi-windows/nam/window.hpp"

namespace mpixrma::windows {

namespace {

class Writer {
 public:
  void add(std::uint64_t number) { bytes_.append(reinterpret_cast<char const*>(&number), sizeof number); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    std::memcpy(&number, next(sizeof number).data(), sizeof number);
    return number;
  }
  std::string text() { return std::string(next(number())); }
  /// Reads the number of items of at least `each` bytes, and checks it against the remaining bytes.
  std::uint64_t count(std::size_t each) {
    std::uint64_t const count = number();
    if (count > bytes_.size() / each) refuse();
    return count;
  }

 private:
  [[noreturn]] static void refuse() {
    throw NamError(MPI_ERR_INTERN, "malformed description of a window from another process");
  }
  std::string_view next(std::uint64_t length) {
    if (length > bytes_.size()) refuse();
    std::string_view const found = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return found;
  }

  std::string_view bytes_;
};

constexpr std::size_t number_bytes = sizeof(std::uint64_t);

void add(Writer& packed, NamGrantPart const& part) {
  packed.add(nam::format(part.grant));
  packed.add(part.control);
  packed.add(part.secret);
  packed.add(part.window.id);
  packed.add(part.window.port);
  packed.add(std::uint64_t{part.window.owns_grant ? 1u : 0u});
  packed.add(std::uint64_t{part.window.slot});
  packed.add(part.window.generation);
  packed.add(std::uint64_t{part.window.regions.size()});
  for (nam::WindowRegion const& region : part.window.regions) {
    packed.add(region.offset);
    packed.add(region.bytes);
    packed.add(region.unit);
  }
}

NamGrantPart next_part(Reader& packed) {
  NamGrantPart part;
  part.grant = nam::parse_locator(packed.text());
  part.control = packed.number();
  part.secret = packed.text();
  part.window.id = packed.text();
  part.window.port = packed.text();
  part.window.owns_grant = packed.number() != 0;
  part.window.slot = static_cast<nam::SharedControl::Slot>(packed.number());
  part.window.generation = packed.number();
  part.window.regions.resize(packed.count(3 * number_bytes));
  for (nam::WindowRegion& region : part.window.regions) {
    region.offset = packed.number();
    region.bytes = packed.number();
    region.unit = packed.number();
  }
  return part;
}

}  // namespace

std::string NamDescription::pack() const {
  Writer packed;
  packed.add(chunk_bytes);
  packed.add(std::uint64_t{parts.size()});
  for (NamGrantPart const& part : parts) add(packed, part);
  return packed.take();
}

NamDescription NamDescription::unpack(std::string_view bytes) {
  Reader packed(bytes);
  NamDescription found;
  found.chunk_bytes = packed.number();
  found.parts.resize(packed.count(8 * number_bytes));
  for (NamGrantPart& part : found.parts) part = next_part(packed);
  return found;
}

}  // namespace mpixrma::windows

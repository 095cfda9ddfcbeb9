/// A frame of Ethernet as a man in the middle reads and changes it: most have a segment of TCP in a packet of
/// IPv4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mpixrma::nam {

class Packet {
 public:
  explicit Packet(std::vector<std::byte> frame);

  std::vector<std::byte> const& frame() const noexcept { return frame_; }
  bool is_tcp() const noexcept { return payload_ != 0; }
  std::uint16_t source() const noexcept { return number16(tcp_); }
  std::uint16_t destination() const noexcept { return number16(tcp_ + 2); }
  bool has_port(std::uint16_t port) const noexcept { return source() == port || destination() == port; }
  std::span<std::byte const> payload() const noexcept;

  // All return valid packets.
  /// Replaces the data, which may be shorter.
  Packet with_payload(std::span<std::byte const> data) const;
  /// Ends the connection in the name of the sender.
  Packet reset() const;

 private:
  std::uint16_t number16(std::size_t at) const noexcept;
  void set_number16(std::size_t at, std::uint32_t value) noexcept;
  void update_checksums() noexcept;
  std::uint32_t sum(std::size_t from, std::size_t to) const noexcept;

  std::vector<std::byte> frame_;
  std::size_t tcp_ = 0;
  std::size_t payload_ = 0;  ///< 0: no segment of TCP
};

}  // namespace mpixrma::nam

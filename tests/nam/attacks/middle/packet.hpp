/// An Ethernet frame, which a man in the middle reads and changes: most frames have a TCP segment in an IPv4
/// packet.
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

  // Both return valid packets, made of this one.
  /// Replaces the packet's data by `data`, which may have another length.
  Packet with_payload(std::span<std::byte const> data) const;
  /// Replaces the data by a TCP reset, which ends the connection in the name of the sender.
  Packet reset() const;

 private:
  std::uint16_t number16(std::size_t at) const noexcept;
  void set_number16(std::size_t at, std::uint32_t value) noexcept;
  void update_checksums() noexcept;
  std::uint32_t sum(std::size_t from, std::size_t to) const noexcept;

  std::vector<std::byte> frame_;
  std::size_t tcp_ = 0;
  std::size_t payload_ = 0;  ///< 0: no TCP segment
};

}  // namespace mpixrma::nam

#include "tests/nam/attacks/middle/packet.hpp"

#include <algorithm>

namespace mpixrma::nam {

namespace {

constexpr std::size_t ip = 14;  ///< behind the header of Ethernet
constexpr std::uint16_t type_ipv4 = 0x0800;
constexpr unsigned protocol_tcp = 6;
constexpr std::byte flag_reset{0x04};
constexpr std::byte flag_acknowledge{0x10};

unsigned value(std::byte byte) noexcept { return std::to_integer<unsigned>(byte); }

std::uint16_t folded(std::uint32_t sum) noexcept {
  while ((sum >> 16) != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

Packet::Packet(std::vector<std::byte> frame) : frame_(std::move(frame)) {
  if (frame_.size() < ip + 40 || number16(12) != type_ipv4 || value(frame_[ip + 9]) != protocol_tcp) return;
  std::size_t const bytes = ip + number16(ip + 2);
  tcp_ = ip + 4 * (value(frame_[ip]) & 0xf);
  if (bytes > frame_.size() || tcp_ + 20 > bytes) return;
  frame_.resize(bytes);  // without padding
  std::size_t const payload = tcp_ + 4 * (value(frame_[tcp_ + 12]) >> 4);
  if (payload <= bytes) payload_ = payload;
}

std::span<std::byte const> Packet::payload() const noexcept {
  return is_tcp() ? std::span(frame_).subspan(payload_) : std::span<std::byte const>();
}

Packet Packet::with_payload(std::span<std::byte const> data) const {
  Packet made = *this;
  made.frame_.resize(payload_);
  made.frame_.insert(made.frame_.end(), data.begin(), data.end());
  made.update_checksums();
  return made;
}

Packet Packet::reset() const {
  Packet made = *this;
  made.frame_[tcp_ + 13] = flag_reset | flag_acknowledge;
  return made.with_payload({});
}

std::uint16_t Packet::number16(std::size_t at) const noexcept {
  return static_cast<std::uint16_t>(value(frame_[at]) << 8 | value(frame_[at + 1]));
}

void Packet::set_number16(std::size_t at, std::uint32_t number) noexcept {
  frame_[at] = static_cast<std::byte>(number >> 8);
  frame_[at + 1] = static_cast<std::byte>(number);
}

std::uint32_t Packet::sum(std::size_t from, std::size_t to) const noexcept {
  std::uint32_t total = 0;
  for (std::size_t at = from; at < to; at += 2)
    total += value(frame_[at]) << 8 | (at + 1 < to ? value(frame_[at + 1]) : 0);
  return total;
}

void Packet::update_checksums() noexcept {
  set_number16(ip + 2, static_cast<std::uint32_t>(frame_.size() - ip));
  set_number16(ip + 10, 0);
  set_number16(ip + 10, folded(sum(ip, tcp_)));
  set_number16(tcp_ + 16, 0);
  std::uint32_t const pseudo_header =
      sum(ip + 12, ip + 20) + protocol_tcp + static_cast<std::uint32_t>(frame_.size() - tcp_);
  set_number16(tcp_ + 16, folded(pseudo_header + sum(tcp_, frame_.size())));
}

}  // namespace mpixrma::nam

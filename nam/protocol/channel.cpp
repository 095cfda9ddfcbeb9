#include "nam/protocol/channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/text.hpp"

namespace mpixrma::nam {

namespace {

struct FrameHeader {
  std::uint32_t magic;
  std::uint32_t head_bytes;
  std::uint32_t data_bytes;
  std::uint32_t descriptors;
};

constexpr std::uint32_t frame_magic = 0x316d616e;  // "nam1"
constexpr std::size_t max_descriptors = 16;
constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t free_allowance = 4096;  ///< of an idle channel: not charged to the account
constexpr int deepest_nesting = 64;

/// Limits the number of values and the nesting: printing a more deeply nested text could exhaust the stack.
bool is_bounded(char const* text, std::size_t bytes, std::size_t max_values) noexcept {
  int depth = 0;
  std::size_t values = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < bytes; ++i) {
    char const c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    bool const opens = c == '[' || c == '{';
    if (opens) ++depth;
    if (c == ']' || c == '}') --depth;
    if (opens || c == ',') ++values;
    if (depth > deepest_nesting || values > max_values) return false;
  }
  return true;
}

}  // namespace

Channel::Channel(FileDescriptor socket, ChannelLimits const& limits)
    : socket_(std::move(socket)), carries_descriptors_(may_carry_descriptors(socket_)), limits_(limits) {}

Channel::~Channel() {
  // Closing a received descriptor may block on the sender's file system.
  InterruptedWait const interrupted(carries_descriptors_);
  FileDescriptor const closed = std::move(socket_);
  // Received sockets may have descriptors in their own queues.
  output_.clear();
  arrived_.clear();
}

/// Receives once. Returns false at the end of the stream, after an error, or if descriptors arrive that are
/// not permitted.
bool Channel::take_in(std::byte* into, std::size_t bytes, std::size_t* got) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))> control;
  iovec part{into, bytes};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  bool const are_welcome = limits_.descriptors != 0;
  // Without a control buffer the kernel drops descriptors before this process owns them. Closing an owned
  // descriptor could block on a file system of the sender.
  if (are_welcome) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  ssize_t received = 0;
  do {
    InterruptedWait const interrupted(carries_descriptors_);
    received = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  *got = received > 0 ? static_cast<std::size_t>(received) : 0;
  if (received < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  if ((header.msg_flags & MSG_CTRUNC) != 0) descriptors_lost_ = true;
  for (cmsghdr* control_message = CMSG_FIRSTHDR(&header); control_message != nullptr;
       control_message = CMSG_NXTHDR(&header, control_message)) {
    if (control_message->cmsg_level != SOL_SOCKET || control_message->cmsg_type != SCM_RIGHTS) continue;
    std::size_t const count = (control_message->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control_message) + i * sizeof fd, sizeof fd);
      arrived_.emplace_back(fd);
    }
  }
  bool const came_unasked = !are_welcome && descriptors_lost_;
  return received != 0 && !came_unasked && arrived_.size() <= 4 * limits_.descriptors;
}

/// Reads into the stack, so that an idle connection needs no memory and a thread no thread-local memory.
bool Channel::fill() {
  std::array<std::byte, read_bytes> buffer;  // uninitialised: recvmsg() writes the bytes that are read
  std::size_t const limit = sizeof(FrameHeader) + limits_.head_bytes + limits_.data_bytes;
  std::size_t const chunk = cipher_ ? read_bytes : std::min(read_bytes, limit);
  drop_taken();
  while (input_.size() < limit && !damage_) {
    std::size_t got = 0;
    bool const open = take_in(buffer.data(), chunk, &got);
    std::span<std::byte const> const received(buffer.data(), got);
    if (cipher_) {
      open_records(received);
    } else {
      input_.insert(input_.end(), received.begin(), received.end());
    }
    if (!fits_account()) damage_ = Error(ErrorCode::malformed, "too many bytes of incomplete messages");
    if (!open || got < chunk) return open && !damage_;
  }
  return !damage_;
}

/// Opens complete records. The stored part of an incomplete record is bounded by the record's length.
void Channel::open_records(std::span<std::byte const> received) {
  records_.insert(records_.end(), received.begin(), received.end());
  try {
    std::size_t const opened = cipher_->open(records_, &input_);
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(opened));
  } catch (Error const& error) {
    damage_ = error;
  }
  if (records_.empty() && records_.capacity() > free_allowance) records_ = std::vector<std::byte>();
}

void Channel::drop_taken() {
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  if (input_.empty() && input_.capacity() > free_allowance) input_ = std::vector<std::byte>();
}

bool Channel::fits_account() {
  std::size_t const kept = input_.capacity() + records_.capacity() + output_bytes_;
  return kept_.set(kept > free_allowance ? kept : 0);
}

void Channel::protect(SecureStream stream) {
  if (has_input()) throw Error(ErrorCode::malformed, "a message came before the connection was secured");
  cipher_ = stream;
}

std::optional<Message> Channel::next() {
  std::size_t const available = input_.size() - taken_;
  FrameHeader header{};
  if (available < sizeof header) {
    if (damage_) throw *damage_;
    return std::nullopt;
  }
  std::byte const* const begin = input_.data() + taken_;
  std::memcpy(&header, begin, sizeof header);
  if (header.magic != frame_magic || header.head_bytes > limits_.head_bytes ||
      header.data_bytes > limits_.data_bytes || header.descriptors > limits_.descriptors)
    throw Error(ErrorCode::malformed, "malformed message header");
  std::size_t const frame_bytes = sizeof header + header.head_bytes + header.data_bytes;
  if (available < frame_bytes) {
    if (damage_) throw *damage_;
    return std::nullopt;
  }
  bool const lacks_descriptors = header.descriptors != 0 && descriptors_lost_;
  if (lacks_descriptors) {
    // The received descriptors may belong to another message.
    arrived_.clear();
    descriptors_lost_ = false;
  } else if (arrived_.size() < header.descriptors) {
    throw Error(ErrorCode::malformed, "descriptors of the message are missing");
  }
  auto const* const text = reinterpret_cast<char const*>(begin + sizeof header);
  Message message;
  if (!is_bounded(text, header.head_bytes, limits_.values))
    throw Error(ErrorCode::malformed, "the message is nested too deeply, or has too many values");
  message.head = Json::parse(text, text + header.head_bytes, nullptr, false);
  if (!message.head.is_object()) throw Error(ErrorCode::malformed, "the message is not a JSON object");
  std::byte const* const data = begin + sizeof header + header.head_bytes;
  message.data.assign(data, data + header.data_bytes);
  for (std::uint32_t i = 0; i < header.descriptors && !lacks_descriptors; ++i) {
    message.descriptors.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  taken_ += frame_bytes;
  if (taken_ == input_.size()) {
    drop_taken();
    (void)fits_account();
  }
  return message;
}

void Channel::post(Json const& head, std::vector<std::byte> data, std::vector<FileDescriptor> descriptors) {
  std::string const text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  FrameHeader const header{frame_magic, static_cast<std::uint32_t>(text.size()),
                           static_cast<std::uint32_t>(data.size()),
                           static_cast<std::uint32_t>(descriptors.size())};
  std::vector<std::byte> bytes(sizeof header + text.size() + data.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, text.data(), text.size());
  std::copy(data.begin(), data.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(sizeof header + text.size()));
  Outgoing& out = output_.emplace_back();
  if (cipher_) {
    cipher_->seal(bytes, &out.bytes);
  } else {
    out.bytes = std::move(bytes);
  }
  out.descriptors = std::move(descriptors);
  output_bytes_ += out.bytes.size();
  // Bytes that the socket takes at once are not kept.
  if (fits_account() || (flush() && fits_account())) return;
  if (output_.empty()) return;
  output_bytes_ -= out.bytes.size();
  output_.pop_back();
  is_broken_ = true;
}

bool Channel::flush() {
  if (is_broken_) return false;
  while (!output_.empty()) {
    Outgoing& out = output_.front();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(max_descriptors * sizeof(int))> control{};
    iovec part{out.bytes.data() + out.sent, out.bytes.size() - out.sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!out.descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(out.descriptors.size() * sizeof(int));
      cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(out.descriptors.size() * sizeof(int));
      for (std::size_t i = 0; i < out.descriptors.size(); ++i) {
        int const fd = out.descriptors[i].get();
        std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
      }
    }
    ssize_t const sent = ::sendmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    is_starved_ = sent < 0 && is_shortage(errno);
    if (sent < 0) return is_starved_ || errno == EAGAIN || errno == EWOULDBLOCK;
    if (!out.descriptors.empty()) {
      // The receiver may have closed its copies already; then closing the last one may block.
      InterruptedWait const interrupted(carries_descriptors_);
      out.descriptors.clear();
    }
    out.sent += static_cast<std::size_t>(sent);
    if (out.sent < out.bytes.size()) continue;
    output_bytes_ -= out.bytes.size();
    output_.pop_front();
    (void)fits_account();
  }
  return true;
}

void Channel::withdraw_unsent() {
  for (; !output_.empty() && output_.back().sent == 0; output_.pop_back())
    output_bytes_ -= output_.back().bytes.size();
  is_starved_ = false;
  (void)fits_account();
}

Json to_answer(Error const& error) { return {{"error", to_string(error.code())}, {"text", error.what()}}; }

void throw_if_refused(Json const& answer) {
  if (!answer.contains("error")) return;
  // The text may come from an impostor and is printed on a terminal.
  throw Error(error_code(field<std::string>(answer, "error")),
              printable(field_or<std::string>(answer, "text", "refused")));
}

}  // namespace mpixrma::nam

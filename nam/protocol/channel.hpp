/// Messages over a stream socket: a JSON object, data bytes, and file descriptors. Input is bounded and
/// checked, and never trusted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/shared_memory.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/kept_bytes.hpp"
#include "nam/protocol/secure_stream.hpp"

namespace mpixrma::nam {

using engine::FileDescriptor;
using Json = nlohmann::json;

struct Message {
  Json head;
  std::vector<std::byte> data;
  std::vector<FileDescriptor> descriptors;  ///< empty if this process has no free descriptors
};

/// Limits of incoming messages.
struct ChannelLimits {
  std::size_t head_bytes = 8u << 20;
  std::size_t data_bytes = 1u << 20;
  std::size_t descriptors = 0;                                   ///< per message
  std::size_t values = std::numeric_limits<std::size_t>::max();  ///< of the JSON object
};

/// Enough for each request of a session: a window has at most 60000 regions, each with a size and a unit. A
/// parsed value takes up to 40 times as much memory as its text.
inline constexpr std::size_t max_request_values = 1u << 18;

/// One end of a connection. Does not block. Not thread-safe.
class Channel {
 public:
  Channel() = default;
  Channel(FileDescriptor socket, ChannelLimits const& limits);
  Channel(Channel&&) = default;
  Channel& operator=(Channel&&) = default;
  /// Does not wait for the sender of descriptors that next() has not returned.
  ~Channel();

  int descriptor() const noexcept { return socket_.get(); }
  FileDescriptor const& socket() const noexcept { return socket_; }
  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

  /// Reads the available input, at most until one message of the largest size is complete. Returns false if
  /// the other end has closed, or the input is damaged; complete messages remain available.
  bool fill();
  /// Returns the next message. Throws Error(malformed), after which the channel is unusable.
  std::optional<Message> next();
  /// Whether there is input that next() has not returned.
  bool has_input() const noexcept { return taken_ != input_.size() || !records_.empty(); }

  void post(Json const& head, std::vector<std::byte> data = {}, std::vector<FileDescriptor> descriptors = {});
  /// Sends as much as the socket accepts. Returns false if the other end is gone, or post() has exceeded the
  /// account.
  bool flush();
  /// Takes back the last messages, as far as nothing of them was sent. Not for a protected channel.
  void withdraw_unsent();
  bool has_output() const noexcept { return !output_.empty() || is_broken_; }
  /// Bytes of messages that are not sent, or not in full.
  std::size_t output_bytes() const noexcept { return output_bytes_; }
  /// Whether flush() has stopped for a lack of descriptors or memory (is_shortage): to wait until the socket
  /// is writable does not help.
  bool is_starved() const noexcept { return is_starved_; }

  void set_limits(ChannelLimits const& limits) noexcept { limits_ = limits; }
  /// A channel that needs more memory than `account` permits behaves as if its peer had closed it. An idle
  /// channel is not charged to the account.
  void set_account(KeptBytes::Account account) { kept_ = KeptBytes(std::move(account)); }
  /// Sends all later messages in `stream`; messages posted before stay unencrypted. Throws Error(malformed)
  /// if the peer has sent bytes behind the end of the handshake.
  void protect(SecureStream stream);
  bool is_protected() const noexcept { return cipher_.has_value(); }
  /// The state of a protected channel, for the process that continues the connection.
  std::string stream_state() const { return cipher_->state(); }
  /// Releases the socket; no message must be in progress.
  FileDescriptor release() noexcept { return std::move(socket_); }

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
    std::vector<FileDescriptor> descriptors;
  };

  bool take_in(std::byte* into, std::size_t bytes, std::size_t* got);
  void open_records(std::span<std::byte const> received);
  void drop_taken();
  /// Charges the account. Returns whether it permits the bytes.
  bool fits_account();

  FileDescriptor socket_;
  bool carries_descriptors_ = false;  ///< whether incoming messages may carry descriptors
  ChannelLimits limits_;
  std::vector<std::byte> input_;
  std::size_t taken_ = 0;  ///< bytes of `input_` that next() has returned
  std::deque<FileDescriptor> arrived_;
  bool descriptors_lost_ = false;  ///< descriptors of a message that next() has not returned
  std::deque<Outgoing> output_;
  std::size_t output_bytes_ = 0;
  KeptBytes kept_;
  bool is_broken_ = false;   ///< a posted message exceeded the permitted memory
  bool is_starved_ = false;  ///< the last flush() lacked descriptors or memory
  std::optional<SecureStream> cipher_;
  std::vector<std::byte> records_;  ///< received but incomplete records
  std::optional<Error> damage_;     ///< error in the received input
};

/// Returns the answer that reports `error`.
Json to_answer(Error const& error);
/// Throws the Error that `answer` reports, if any.
void throw_if_refused(Json const& answer);

/// Whether the value has the type. Numbers are neither converted nor truncated.
template <typename Value>
bool is_a(Json const& json) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return json.is_string();
  } else if constexpr (std::is_same_v<Value, bool>) {
    return json.is_boolean();
  } else if constexpr (std::is_unsigned_v<Value>) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= std::numeric_limits<Value>::max();
  } else {
    return json.is_array() && std::all_of(json.begin(), json.end(), is_a<typename Value::value_type>);
  }
}

/// Returns a field of a message. Throws Error(malformed) if it is missing or of another type.
template <typename Value>
Value field(Json const& object, char const* name) {
  auto const found = object.find(name);
  if (found == object.end() || !is_a<Value>(*found))
    throw Error(ErrorCode::malformed, std::string("the message has no valid '") + name + "'");
  return found->template get<Value>();
}

template <typename Value>
Value field_or(Json const& object, char const* name, Value const& otherwise) {
  return object.contains(name) ? field<Value>(object, name) : otherwise;
}

}  // namespace mpixrma::nam

/// Input of a memory server and its clients: messages on a socket, and the names of grants and windows.
#include <sys/socket.h>

#include <string_view>

#include "nam/data/window.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/operation_request.hpp"
#include "nam/protocol/units.hpp"
#include "tests/fuzz/targets.hpp"

namespace mpixrma::fuzz {

namespace {

using namespace mpixrma::nam;

constexpr ChannelLimits limits{.head_bytes = 16384, .data_bytes = 4096, .descriptors = 0};
constexpr std::size_t max_input = 32768;  // bytes that a socket buffers

/// Whether `read` accepts the input; it may throw only this library's errors.
template <typename Read>
bool is_taken(Read read) {
  try {
    read();
    return true;
  } catch (Error const&) {
    return false;
  }
}

/// Reads the fields of a message; accepted values are equal after another round trip.
void interpret(Json const& head) {
  (void)is_taken([&] { throw_if_refused(head); });
  (void)is_taken([&] { (void)field<std::string>(head, "op"); });
  (void)is_taken([&] {
    Window const window = window_from(head);
    require(to_json(window_from(to_json(window))) == to_json(window), "a window that has changed");
    std::uint64_t end = window.offset;
    for (Region const& region : window.regions) {
      require(region.offset >= end || window.offset > UINT64_MAX / 2, "regions that overlap");
      end = region.offset + region.bytes;
    }
  });
}

/// An accepted operation stays within its region and has all of its operands.
void interpret_operation(Message const& message) {
  constexpr std::uint64_t region_bytes = 1000;
  (void)is_taken([&] {
    OperationRequest const request = unpack_operation(message.head, message.data, region_bytes);
    for (engine::LayoutRun const& run : request.runs)
      require(run.offset >= 0 && static_cast<std::uint64_t>(run.offset) + run.length <= region_bytes,
              "a run outside of the region");
    require(request.operand.size() + request.operand2.size() == request.operands() * request.bytes(),
            "operands of another size");
  });
}

}  // namespace

bool messages(Input input) {
  if (input.size() > max_input) return false;
  int ends[2] = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "no socket");
  Channel channel(FileDescriptor(ends[0]), limits);
  {
    FileDescriptor const sender(ends[1]);
    bool const sent = input.empty() || ::send(ends[1], input.data(), input.size(), MSG_DONTWAIT) ==
                                           static_cast<ssize_t>(input.size());
    require(sent, "a socket that takes too little");
  }
  std::size_t count = 0;
  bool const sound = is_taken([&] {
    for (bool open = true; open;) {
      open = channel.fill();
      while (std::optional<Message> const message = channel.next()) {
        require(message->data.size() <= limits.data_bytes, "more data than permitted");
        interpret(message->head);
        interpret_operation(*message);
        ++count;
      }
    }
  });
  return sound && count != 0 && !channel.has_input();
}

bool names(Input input) {
  std::string_view const text(reinterpret_cast<char const*>(input.data()), input.size());
  (void)is_taken(
      [&] { require(parse_bytes(format_bytes(parse_bytes(text))) <= INT64_MAX, "too many bytes"); });
  (void)is_taken([&] { require(parse_seconds(text) >= 0, "a time before now"); });
  (void)is_taken([&] {
    Address const address = parse_address(text);
    require(parse_address(format(address)) == address, "another address");
  });
  return is_taken([&] {
           std::vector<Locator> const grants = parse_grants(text);
           require(!grants.empty() && grants.size() <= max_parts, "too many grants");
           for (Locator const& grant : grants)
             require(parse_locator(format(grant)) == grant, "another grant");
         }) ||
         is_taken([&] {
           Locator const locator = parse_locator(text);
           require(parse_locator(format(locator)) == locator, "another window");
         });
}

}  // namespace mpixrma::fuzz

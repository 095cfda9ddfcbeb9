/// Message protocol: operations that the target's agent executes.
#include <utility>

#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

std::optional<Issued> message::issue(Dispatch& dispatch) {
  Channel& channel = dispatch.channel();
  std::uint64_t const messages = channel.message_protocol.sender.messages();
  Issued const issued = channel.message_protocol.streams.issue(dispatch.peer(), dispatch.named(),
                                                               std::move(dispatch.stream().origin));
  dispatch.note_access(Path::message, issued);
  if (!failed(issued.status)) dispatch.ask_for_key();
  MessageStream const& stream = dispatch.peer_state().messages;
  bool const joined = channel.message_protocol.sender.messages() == messages && stream.is_joining() &&
                      stream.unsent == nullptr;
  joined ? channel.drive_joining() : channel.drive_issuing();
  return issued;
}

}  // namespace mpixrma::engine

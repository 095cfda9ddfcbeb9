/// Message protocol: operations are executed at the target, by a thread of the target that is in the library,
/// or else by the target's agent.
#include <utility>

#include "engine/runtime/dispatch.hpp"

namespace mpixrma::engine {

std::optional<Issued> message::issue(Dispatch& dispatch) {
  Channel& channel = dispatch.channel();
  std::uint64_t const messages = channel.message_protocol.sender.messages();
  Issued const issued = channel.message_protocol.streams.issue(
      dispatch.peer(), dispatch.original(), std::move(dispatch.stream_conditions().origin_stripes));
  dispatch.track_access(Protocol::message, issued);
  if (!failed(issued.status)) dispatch.query_key();
  OriginStream const& stream = dispatch.peer_state().messages;
  bool const is_batch = channel.message_protocol.sender.messages() == messages && stream.has_open_batch() &&
                        stream.unsent == nullptr;
  is_batch ? channel.progress_after_batching() : channel.progress_after_issue();
  return issued;
}

}  // namespace mpixrma::engine
